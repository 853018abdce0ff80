/** More work waits than may. */
export class SemaphoreFull extends Error {
  constructor() {
    super("Too much waits to be done.");
  }
}

/**
 * Lets so many through at once, has so many wait, and refuses the others: a bound for work that costs. Those of one group wait in
 * order; groups take turns, and one of them cannot take all the places.
 */
export class Semaphore {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #groupWaitingMax: number;
  /** Of each group in which any wait; the group whose turn is next comes first. */
  readonly #groups = new Map<string, (() => void)[]>();
  #running = 0;
  #waiting = 0;

  constructor(atOnce: number, waitingMax: number, groupWaitingMax = waitingMax) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
    this.#groupWaitingMax = groupWaitingMax;
  }

  /** Runs the work once it is its turn. Throws SemaphoreFull where there is no room to wait. */
  async run<Result>(work: () => Promise<Result>, group = ""): Promise<Result> {
    await this.#enter(group);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(group: string): Promise<void> {
    if (this.#running < this.#atOnce) {
      this.#running += 1;
      return;
    }
    const waiting = this.#groups.get(group) ?? [];
    if (this.#waiting >= this.#waitingMax || waiting.length >= this.#groupWaitingMax)
      throw new SemaphoreFull();
    this.#groups.set(group, waiting);
    this.#waiting += 1;
    // Who leaves hands its place on, so that nobody who comes meanwhile takes it.
    await new Promise<void>((resume) => waiting.push(resume));
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
