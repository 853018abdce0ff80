import { BUCKET_COUNT } from "../accept/bucket.ts";

const WORD_BITS = 32;
const WORDS = BUCKET_COUNT / WORD_BITS;
/** Counts what was told; whoever listens waits for it to change. */
const TOLD = WORDS;

/**
 * Which buckets have something new, told by the threads that accept to the one that applies: a bit a bucket in shared
 * memory. Bits that are told twice before they are read are one, so however late the other reads, nothing queues up; and a
 * message a flush would cost both threads several µs.
 */
export class BucketHints {
  readonly #words: Int32Array;

  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer((WORDS + 1) * Int32Array.BYTES_PER_ELEMENT);
  }

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  tell(buckets: Iterable<number>): void {
    for (const bucket of buckets) {
      Atomics.or(this.#words, Math.floor(bucket / WORD_BITS), 1 << (bucket % WORD_BITS));
    }
    Atomics.add(this.#words, TOLD, 1);
    Atomics.notify(this.#words, TOLD);
  }

  /** Calls back with the buckets told since the last time, for as long as the thread lives or until `signal`. */
  async listen(hear: (buckets: readonly number[]) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const told = Atomics.load(this.#words, TOLD);
      const buckets = this.#take();
      if (buckets.length > 0) hear(buckets);
      const change = Atomics.waitAsync(this.#words, TOLD, told);
      if (change.async) await change.value;
    }
  }

  /** Lets `listen` look at its signal. */
  wakeListeners(): void {
    Atomics.add(this.#words, TOLD, 1);
    Atomics.notify(this.#words, TOLD);
  }

  #take(): number[] {
    const buckets: number[] = [];
    for (let word = 0; word < WORDS; word += 1) {
      const bits = Atomics.exchange(this.#words, word, 0);
      for (let bit = 0; bit < WORD_BITS; bit += 1) {
        if ((bits & (1 << bit)) !== 0) buckets.push(word * WORD_BITS + bit);
      }
    }
    return buckets;
  }
}
