import { BUCKET_COUNT } from "../ingest/log/part-name.ts";

const WORD_BITS = 32;
const WORDS = BUCKET_COUNT / WORD_BITS;
/** Counts what was told; whoever listens waits for it to change. */
const TOLD = WORDS;
const WORDS_A_THREAD = WORDS + 1;
const NOBODY = 0;

/**
 * Which buckets have something new, told by the threads that accept to those that apply: a bit a bucket in shared
 * memory. Bits that are told twice before they are read are one, so however late the other reads, nothing queues up; and a
 * message a flush would cost both threads several µs. A bucket that no thread of this process applies is told to none: the
 * node that has it looks by itself.
 */
export class BucketHints {
  /** Of each bucket: the thread that applies it, counted from 1. */
  readonly #owners: Int32Array;
  /** One for each thread that applies, as each takes what it was told. */
  readonly #ofThreads: readonly Int32Array[];

  /** For so many threads that apply. */
  static allocate(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer((BUCKET_COUNT + threads * WORDS_A_THREAD) * Int32Array.BYTES_PER_ELEMENT);
  }

  constructor(memory: SharedArrayBuffer) {
    const words = memory.byteLength / Int32Array.BYTES_PER_ELEMENT - BUCKET_COUNT;
    this.#owners = new Int32Array(memory, 0, BUCKET_COUNT);
    this.#ofThreads = Array.from(
      { length: words / WORDS_A_THREAD },
      (_, thread) =>
        new Int32Array(
          memory,
          (BUCKET_COUNT + thread * WORDS_A_THREAD) * Int32Array.BYTES_PER_ELEMENT,
          WORDS_A_THREAD,
        ),
    );
  }

  /**
   * A thread says which buckets it applies from now on. What was accepted before is not told again: it looks for that
   * afterwards.
   */
  own(thread: number, buckets: readonly number[]): void {
    const owned = new Set(buckets);
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
      if (owned.has(bucket)) Atomics.store(this.#owners, bucket, thread + 1);
      // Unless another thread has said meanwhile that it has it.
      else Atomics.compareExchange(this.#owners, bucket, thread + 1, NOBODY);
    }
  }

  tell(buckets: Iterable<number>): void {
    const told = new Set<Int32Array>();
    for (const bucket of buckets) {
      const owner = Atomics.load(this.#owners, bucket);
      if (owner === NOBODY) continue;
      const words = this.#wordsOf(owner - 1);
      Atomics.or(words, Math.floor(bucket / WORD_BITS), 1 << (bucket % WORD_BITS));
      told.add(words);
    }
    for (const words of told) wake(words);
  }

  /** Calls back with the buckets that a thread was told of since the last time, for as long as it lives or until `signal`. */
  async listen(
    thread: number,
    hear: (buckets: readonly number[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const words = this.#wordsOf(thread);
    while (!signal.aborted) {
      const told = Atomics.load(words, TOLD);
      const buckets = takeBuckets(words);
      if (buckets.length > 0) hear(buckets);
      const change = Atomics.waitAsync(words, TOLD, told);
      if (change.async) await change.value;
    }
  }

  /** Lets `listen` look at its signal. */
  wakeListeners(): void {
    for (const words of this.#ofThreads) wake(words);
  }

  #wordsOf(thread: number): Int32Array {
    const words = this.#ofThreads[thread];
    if (words === undefined) throw new RangeError(`No thread ${thread} applies.`);
    return words;
  }
}

function wake(words: Int32Array): void {
  Atomics.add(words, TOLD, 1);
  Atomics.notify(words, TOLD);
}

function takeBuckets(words: Int32Array): number[] {
  const buckets: number[] = [];
  for (let word = 0; word < WORDS; word += 1) {
    const bits = Atomics.exchange(words, word, 0);
    for (let bit = 0; bit < WORD_BITS; bit += 1) {
      if ((bits & (1 << bit)) !== 0) buckets.push(word * WORD_BITS + bit);
    }
  }
  return buckets;
}
