/**
 * The bytes of all bodies in flight, received and inflated, under one bound, so that many large bodies at once are
 * refused instead of exhausting the memory.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytesInUse(): number {
    return this.#bytes;
  }

  /** Takes bytes if there is room; `false` otherwise. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
