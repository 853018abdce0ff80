/** The least pause between two runs: what wakes a loop comes in bursts. */
const GAP_MS = 20;

/** Repeats its work: `everyMs` after the last run, or as soon as it is woken. A failure is reported and tried again. */
export class Repeat {
  readonly #work: () => Promise<unknown>;
  readonly #everyMs: number;
  readonly #failed: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #stopped = false;

  constructor(
    work: () => Promise<unknown>,
    everyMs: number,
    failed: (error: unknown) => void,
    firstMs = everyMs,
  ) {
    this.#work = work;
    this.#everyMs = everyMs;
    this.#failed = failed;
    this.#plan(firstMs);
  }

  wake(): void {
    if (this.#running === undefined) this.#plan(GAP_MS);
    else this.#isWanted = true;
  }

  /** Lets the current run end, and nothing follow. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #plan(ms: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, ms).unref();
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    try {
      await this.#work();
    } catch (error) {
      if (!this.#stopped) this.#failed(error);
    }
    this.#running = undefined;
    this.#plan(this.#isWanted ? GAP_MS : this.#everyMs);
  }
}
