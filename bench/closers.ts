/** What has to be stopped at the end, in the order in which it was started; stopped in the reverse order. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];

  constructor() {
    // Nothing is left running by a bench that is interrupted.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.once(signal, () => void this.close().finally(() => process.exit(1)));
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

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
