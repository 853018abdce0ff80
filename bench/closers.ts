/** What has to be stopped at the end, in the order in which it was started; stopped in the reverse order. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];
  #closed: Promise<void> | undefined;

  constructor() {
    // Nothing is left running by a bench that is interrupted.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => void this.close().finally(() => process.exit(1)));
    }
  }

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Keeps what was started, to stop it at the end. */
  kept<Started extends { stop(): unknown }>(started: Started): Started {
    this.add(() => started.stop());
    return started;
  }

  /** Stops everything; whoever asks again meanwhile waits for the same. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.reverse()) {
      try {
        await close();
      } catch (error) {
        // The others are stopped all the same.
        console.error(error);
      }
    }
  }
}
