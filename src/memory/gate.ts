/** More wait at a gate than may. */
export class GateFull extends Error {
  constructor() {
    super("Too much waits to be done.");
  }
}

/** Lets so many through at once, has so many wait in order, and refuses the others: a bound for work that costs. */
export class Gate {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number, waitingMax: number) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
  }

  /** Runs the work once it is its turn. Throws GateFull where there is no room to wait. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#enter();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < this.#atOnce) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= this.#waitingMax) throw new GateFull();
    // Who leaves hands its place on, so that nobody who comes meanwhile takes it.
    await new Promise<void>((resume) => this.#waiting.push(resume));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
