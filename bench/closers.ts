/** Stops everything that was started, in reverse order. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];
  #closed: Promise<void> | undefined;

  constructor() {
    // Also when the bench is interrupted.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => void this.close().finally(() => process.exit(1)));
    }
  }

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Registers an object to be stopped at the end. */
  kept<Started extends { stop(): unknown }>(started: Started): Started {
    this.add(() => started.stop());
    return started;
  }

  /** Stops everything; concurrent calls share one promise. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        // Continue with the others.
        console.error(error);
      }
    }
  }
}
