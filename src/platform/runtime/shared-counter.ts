/** A number in memory that all threads of the process share; it goes round after 2^32 steps. */
export class SharedCounter {
  readonly #words: Int32Array;

  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  }

  constructor(memory = SharedCounter.allocate()) {
    this.#words = new Int32Array(memory);
  }

  get value(): number {
    return Atomics.load(this.#words, 0);
  }

  increment(): void {
    Atomics.add(this.#words, 0, 1);
  }
}
