/** The queue of a semaphore is full. */
export class SemaphoreFull extends Error {
  constructor() {
    super("The queue of the semaphore is full.");
  }
}

/** A semaphore with a bounded queue. Work of one group waits in order; groups take turns, and none can fill the whole queue. */
export class Semaphore {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #groupWaitingMax: number;
  /** The queue of each waiting group; the next group is first. */
  readonly #groups = new Map<string, (() => void)[]>();
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
    if (this.#waiting >= this.#waitingMax || waiting.length >= this.#groupWaitingMax)
      throw new SemaphoreFull();
    this.#groups.set(group, waiting);
    this.#waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Finished work passes its slot on, so that new arrivals cannot take it.
    const resume = () => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    };
    const giveUp = () => {
      waiting.splice(waiting.indexOf(resume), 1);
      if (waiting.length === 0) this.#groups.delete(group);
      this.#waiting -= 1;
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    waiting.push(resume);
    await promise;
  }

  #leave(): void {
    const [next] = this.#groups;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [group, waiting] = next;
    this.#groups.delete(group);
    const resume = waiting.shift();
    if (waiting.length > 0) this.#groups.set(group, waiting);
    this.#waiting -= 1;
    resume?.();
  }
}
