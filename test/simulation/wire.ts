import type { Scheduler } from "./scheduler.ts";

/** What a network does to what travels over it: one for each node, in each direction. */
export interface Road {
  /** Nothing arrives any more; what was sent does when it opens again, as TCP sends it again. */
  isHoled: boolean;
  latencyMs(): number;
}

/** One direction of a connection: what is sent arrives in order, or not at all. */
export class Wire {
  readonly #scheduler: Scheduler;
  readonly #road: Road;
  readonly #held: (() => void)[] = [];
  #lastAt = 0;
  #isCut = false;

  constructor(scheduler: Scheduler, road: Road) {
    this.#scheduler = scheduler;
    this.#road = road;
  }

  send(call: () => void): void {
    if (this.#isCut) return;
    this.#lastAt = Math.max(this.#lastAt, this.#scheduler.now + this.#road.latencyMs());
    this.#scheduler.at(this.#lastAt, () => {
      if (this.#isCut) return;
      if (this.#road.isHoled || this.#held.length > 0) this.#held.push(call);
      else call();
    });
  }

  /** Delivers what was held while the road was closed, before what is under way. */
  reopen(): void {
    for (const call of this.#held.splice(0)) if (!this.#isCut) call();
  }

  /** Nothing of what is under way arrives. */
  cut(): void {
    this.#isCut = true;
    this.#held.length = 0;
  }
}
