/** How each thing that was started is stopped. */
export class Stops {
  readonly #stops: (() => unknown)[] = [];

  push(stop: () => unknown): void {
    this.#stops.push(stop);
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
