/** The queue of a semaphore is full. */
export class SemaphoreFull extends Error {
  constructor() {
    super("The queue of the semaphore is full.");
  }
}

interface Waiting {
  resume(): void;
  refuse(error: unknown): void;
}

/**
 * A semaphore with a bounded queue. Work of one group waits in order; groups take turns. In a full queue new work takes the last place of
 * the longest group, or that of any group where each has one, so that no groups can keep out another.
 */
export class Semaphore {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #groupWaitingMax: number;
  /** The queue of each waiting group; the next group is first. */
  readonly #groups = new Map<string, Waiting[]>();
  #running = 0;
  #waiting = 0;

  constructor(atOnce: number, waitingMax: number, groupWaitingMax = waitingMax) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
    this.#groupWaitingMax = groupWaitingMax;
  }

  /** Runs the work once it is its turn. Throws SemaphoreFull where there is no room to wait, or the signal's reason if it aborts first. */
  async run<Result>(work: () => Promise<Result>, group = "", signal?: AbortSignal): Promise<Result> {
    await this.#enter(group, signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(group: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#running < this.#atOnce) {
      this.#running += 1;
      return;
    }
    const waiting = this.#groups.get(group) ?? [];
    if (waiting.length >= this.#groupWaitingMax) throw new SemaphoreFull();
    if (this.#waiting >= this.#waitingMax) this.#makeRoom(waiting.length + 1);
    this.#groups.set(group, waiting);
    this.#waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Finished work passes its slot on, so that new arrivals cannot take it.
    const own: Waiting = {
      resume() {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      },
      refuse(error) {
        signal?.removeEventListener("abort", giveUp);
        reject(error);
      },
    };
    const giveUp = () => {
      waiting.splice(waiting.indexOf(own), 1);
      if (waiting.length === 0) this.#groups.delete(group);
      this.#waiting -= 1;
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    waiting.push(own);
    await promise;
  }

  /**
   * Refuses the last work of the longest group. Where each group has one, a random one loses it to a new group: a queue that strangers
   * keep full would otherwise refuse everyone else. Throws SemaphoreFull if no group is longer than `length`.
   */
  #makeRoom(length: number): void {
    const groups = [...this.#groups];
    let longest = groups[Math.floor(Math.random() * groups.length)];
    for (const group of groups) if (group[1].length > (longest?.[1].length ?? 0)) longest = group;
    const [name, waiting] = longest ?? ["", []];
    if (waiting.length < length || (waiting.length === length && length > 1)) throw new SemaphoreFull();
    const last = waiting.pop();
    if (last === undefined) throw new SemaphoreFull();
    if (waiting.length === 0) this.#groups.delete(name);
    this.#waiting -= 1;
    last.refuse(new SemaphoreFull());
  }

  #leave(): void {
    const [next] = this.#groups;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [group, waiting] = next;
    this.#groups.delete(group);
    const first = waiting.shift();
    if (waiting.length > 0) this.#groups.set(group, waiting);
    this.#waiting -= 1;
    first?.resume();
  }
}
