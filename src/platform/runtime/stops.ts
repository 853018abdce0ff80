/** A stack of stop functions. */
export class Stops {
  readonly #stops: (() => unknown)[] = [];
  readonly #signal: AbortSignal | undefined;

  /** `signal` aborts once nothing more may be started. */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Throws, with `stop` registered, once the signal is aborted. */
  push(stop: () => unknown): void {
    this.#stops.push(stop);
    this.#signal?.throwIfAborted();
  }

  /** Registers the stop function of `started`, if defined. Throws as `push`. */
  add<Started extends { stop(): unknown } | undefined>(started: Started): Started {
    this.push(() => started?.stop());
    return started;
  }

  /** Runs all stop functions, the last registered first, even if some fail. Throws the first error. */
  async all(): Promise<void> {
    const errors: unknown[] = [];
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
