/** So soon again at most, however often it is woken: what wakes it comes in bursts. */
const GAP_MS = 20;

/**
 * Does its work again and again: `everyMs` after the last time, or as soon as it is woken. What fails is told and tried again
 * like the rest.
 */
export class Repeat {
  readonly #work: () => Promise<void>;
  readonly #everyMs: number;
  readonly #failed: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #stopped = false;

  constructor(work: () => Promise<void>, everyMs: number, failed: (error: unknown) => void) {
    this.#work = work;
    this.#everyMs = everyMs;
    this.#failed = failed;
  }

  start(): void {
    this.#plan(0);
  }

  wake(): void {
    if (this.#running === undefined) this.#plan(GAP_MS);
    else this.#isWanted = true;
  }

  /** Lets what runs end, and nothing follow. */
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
    }, ms);
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
