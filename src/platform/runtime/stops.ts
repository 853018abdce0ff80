/** How each thing that was started is stopped. */
export class Stops {
  readonly #stops: (() => unknown)[] = [];
  readonly #signal: AbortSignal | undefined;

  /** `signal`: aborted once nothing more is to be started. */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Throws, with `stop` registered, once the signal is aborted. */
  push(stop: () => unknown): void {
    this.#stops.push(stop);
    this.#signal?.throwIfAborted();
  }

  /** Has what was started be stopped, if anything was; throws as `push`. */
  add<Started extends { stop(): unknown } | undefined>(started: Started): Started {
    this.push(() => started?.stop());
    return started;
  }

  /** Stops what was started, the last first; what cannot be stopped keeps nothing else from it. Throws the first error. */
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
