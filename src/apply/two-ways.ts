import { Applier, type ApplierOptions } from "./applier.ts";
import type { OpenApplySession } from "./apply-session.ts";
import type { LogPart } from "./backlog.ts";
import { LongShifts, LongWay } from "./long-way.ts";

export interface TwoWaysOptions extends ApplierOptions {
  /** Opens the session of the second applier, which is not to be counted among those that share the buckets. */
  readonly openLongSession: OpenApplySession;
  /** Which parts are long; by default isLongPart. */
  readonly isLong?: (part: LogPart) => boolean;
}

/**
 * What applies on one thread: an applier that shares the buckets out with the others, and, once there was something that
 * takes long, a second one for that, so that nobody else's batches wait for it.
 */
export class TwoWays {
  readonly #first: Applier;
  readonly #second: Applier;
  #hasSecond = false;

  constructor({ openLongSession, isLong, ...options }: TwoWaysOptions) {
    const way = new LongWay(
      () => this.#first,
      () => this.#begunSecond(),
      isLong,
    );
    this.#first = new Applier({ ...options, longWay: way });
    const { owns: _, ...events } = options.events;
    this.#second = new Applier({
      ...options,
      openSession: openLongSession,
      owner: `${options.owner}/long`,
      events,
      shifts: (session, ownership) => new LongShifts(way, session, ownership),
    });
  }

  start(): void {
    this.#first.start();
  }

  /** Whether it has a session to apply on. */
  get ready(): boolean {
    return this.#first.ready;
  }

  wake(buckets: Iterable<number>): void {
    this.#first.wake(buckets);
  }

  /** Lets the running transactions end, then releases everything. */
  async stop(): Promise<void> {
    await Promise.all([this.#first.stop(), this.#second.stop()]);
  }

  #begunSecond(): Applier {
    if (!this.#hasSecond) this.#second.start();
    this.#hasSecond = true;
    return this.#second;
  }
}
