/** The minimum pause between runs, because wake-ups come in bursts. */
const GAP_MS = 20;

/** Repeats work `everyMs` after the last run, or when woken. A failure is reported and retried. */
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

  /** Waits for the current run; no other follows. */
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
