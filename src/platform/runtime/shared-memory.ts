import { hash, randomFillSync } from "node:crypto";

/** Milliseconds of the machine's monotonic clock, the same in all threads (unlike `performance.now()`). */
export function monotonicNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

/** A counter shared by all threads of the process; wraps at 2^32. */
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

  set value(value: number) {
    Atomics.store(this.#words, 0, value);
  }

  increment(): void {
    Atomics.add(this.#words, 0, 1);
  }
}

const FREE = 0;
const HELD = 1;
const WAITED_FOR = 2;

/** Spins before sleeping; work under a lock takes about 1 µs. */
const LOOKS = 100;
/** A lock held for longer belongs to a terminated thread: an error is better than a hang. */
const WAIT_MS_MAX = 5_000;

/** A lock between threads: one word of shared memory. For a few arithmetic operations on shared memory, never for work that waits. */
export class SharedLock {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #waitMsMax: number;

  /** The lock is the word at index `at`, initially 0 (free). */
  constructor(words: Int32Array, at: number, waitMsMax = WAIT_MS_MAX) {
    this.#words = words;
    this.#at = at;
    this.#waitMsMax = waitMsMax;
  }

  /** Runs `work` exclusively. Not reentrant. */
  run<Result>(work: () => Result): Result {
    this.#enter();
    try {
      return work();
    } finally {
      if (Atomics.exchange(this.#words, this.#at, FREE) === WAITED_FOR)
        Atomics.notify(this.#words, this.#at, 1);
    }
  }

  #enter(): void {
    for (let look = 0; look < LOOKS; look += 1) {
      if (Atomics.compareExchange(this.#words, this.#at, FREE, HELD) === FREE) return;
    }
    // The releasing thread sees the mark and wakes one waiter.
    while (Atomics.exchange(this.#words, this.#at, WAITED_FOR) !== FREE) {
      if (Atomics.wait(this.#words, this.#at, WAITED_FOR, this.#waitMsMax) === "timed-out")
        throw new Error("A lock in shared memory was not released.");
    }
  }
}

/** Rows per set. A key belongs to one set, which has its own lock. */
const ROWS_OF_SET = 16;
const KEY_WORDS = 4;
/** The random prefix of all hashed keys of a table, at the start of its memory. */
const SECRET_BYTES = 16;
const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT;

/** Maximum rows (rounded up to whole sets), and numbers per row. */
interface TableShape {
  readonly rows: number;
  readonly numbers: number;
}

/** The numbers of one row, valid within `SharedTable.use`. */
interface Row {
  readonly isNew: boolean;
  get(index: number): number;
  set(index: number, value: number): void;
}

function setsOf({ rows }: TableShape): number {
  return Math.ceil(rows / ROWS_OF_SET);
}

/**
 * A fixed-size table of numbers by key, shared by all threads. A new key replaces the least recently used row of its set that `mayGo`.
 * Keys are hashed with SHA-256 (128 bits) after a random prefix of each table, so that clients cannot choose the set.
 */
export class SharedTable {
  readonly #sets: number;
  readonly #width: number;
  readonly #locks: SharedLock[];
  readonly #keys: Int32Array;
  /** Per row: the time of its last use, then its numbers. */
  readonly #values: Float64Array;
  readonly #secret: string;
  #lastKey: string | undefined;
  #lastDigest = Buffer.alloc(32);

  /** Memory for a table of this shape: a random prefix, then zeros. */
  static allocate(shape: TableShape): SharedArrayBuffer {
    const sets = setsOf(shape);
    const rows = sets * ROWS_OF_SET;
    const words = sets + (sets % 2) + rows * KEY_WORDS;
    const bytes = SECRET_BYTES + words * WORD_BYTES + rows * (shape.numbers + 1) * NUMBER_BYTES;
    const memory = new SharedArrayBuffer(bytes);
    const secret = randomFillSync(Buffer.alloc(SECRET_BYTES));
    new Uint8Array(memory, 0, SECRET_BYTES).set(secret);
    return memory;
  }

  constructor(memory: SharedArrayBuffer, shape: TableShape) {
    this.#sets = setsOf(shape);
    this.#width = shape.numbers + 1;
    const rows = this.#sets * ROWS_OF_SET;
    const lockWords = this.#sets + (this.#sets % 2);
    this.#secret = Buffer.from(new Uint8Array(memory, 0, SECRET_BYTES)).toString("base64url");
    const locks = new Int32Array(memory, SECRET_BYTES, lockWords);
    this.#locks = Array.from({ length: this.#sets }, (_, at) => new SharedLock(locks, at));
    const keysAt = SECRET_BYTES + lockWords * WORD_BYTES;
    this.#keys = new Int32Array(memory, keysAt, rows * KEY_WORDS);
    this.#values = new Float64Array(memory, keysAt + rows * KEY_WORDS * WORD_BYTES, rows * this.#width);
  }

  /** Runs `work` exclusively on the key's row, zeroed if new. Undefined if the set is full and no row `mayGo`. */
  use<Result>(
    key: string,
    now: number,
    work: (row: Row) => Result,
    mayGo: (row: Row) => boolean = () => true,
  ): Result | undefined {
    const digest = this.#digestOf(key);
    const set = this.#setOf(digest);
    return this.#lockOf(set).run(() => {
      const known = this.#find(set, digest);
      const at = known ?? this.#make(set, digest, mayGo);
      if (at === undefined) return undefined;
      this.#values[at * this.#width] = now;
      return work(this.#row(at, known === undefined));
    });
  }

  /** Runs `work` exclusively on the key's row. Undefined if the key has none: it is not created. */
  useKnown<Result>(key: string, work: (row: Row) => Result): Result | undefined {
    const digest = this.#digestOf(key);
    const set = this.#setOf(digest);
    return this.#lockOf(set).run(() => {
      const at = this.#find(set, digest);
      return at === undefined ? undefined : work(this.#row(at, false));
    });
  }

  #setOf(digest: Buffer): number {
    return digest.readUInt32LE(16) % this.#sets;
  }

  #lockOf(set: number): SharedLock {
    return this.#locks[set] as SharedLock;
  }

  #digestOf(key: string): Buffer {
    // Consecutive uses usually have the same key.
    if (key !== this.#lastKey) {
      this.#lastKey = key;
      this.#lastDigest = hash("sha256", this.#secret + key, "buffer");
    }
    return this.#lastDigest;
  }

  #find(set: number, digest: Buffer): number | undefined {
    for (let at = set * ROWS_OF_SET; at < (set + 1) * ROWS_OF_SET; at += 1) {
      let word = 0;
      while (word < KEY_WORDS && this.#keys[at * KEY_WORDS + word] === keyWord(digest, word)) word += 1;
      if (word === KEY_WORDS) return at;
    }
    return undefined;
  }

  #make(set: number, digest: Buffer, mayGo: (row: Row) => boolean): number | undefined {
    let chosen: number | undefined;
    for (let at = set * ROWS_OF_SET; at < (set + 1) * ROWS_OF_SET; at += 1) {
      if (this.#keys[at * KEY_WORDS] === 0) {
        chosen = at;
        break;
      }
      const used = this.#values[at * this.#width] as number;
      const oldest = chosen === undefined ? Number.POSITIVE_INFINITY : this.#values[chosen * this.#width];
      if (used < (oldest as number) && mayGo(this.#row(at, false))) chosen = at;
    }
    if (chosen === undefined) return undefined;
    for (let word = 0; word < KEY_WORDS; word += 1) {
      this.#keys[chosen * KEY_WORDS + word] = keyWord(digest, word);
    }
    this.#values.fill(0, chosen * this.#width, (chosen + 1) * this.#width);
    return chosen;
  }

  #row(at: number, isNew: boolean): Row {
    const values = this.#values;
    const first = at * this.#width + 1;
    return {
      isNew,
      get: (index) => values[first + index] as number,
      set: (index, value) => {
        values[first + index] = value;
      },
    };
  }
}

/** A word of a stored key; the first is never 0, which marks an empty row. */
function keyWord(digest: Buffer, word: number): number {
  const value = digest.readInt32LE(word * WORD_BYTES);
  return word === 0 ? value | 1 : value;
}

/** At most `most` events within `windowMs`. */
interface SlidingWindow {
  readonly most: number;
  readonly windowMs: number;
}

/**
 * Records an event in a row of the times (ms of any monotonic clock) of the last `most` events, and returns 0; if the window is full,
 * returns the whole seconds until it is not.
 */
export function noteInWindow(times: Row, now: number, window: SlidingWindow): number {
  for (let at = 0; times.isNew && at < window.most; at += 1) times.set(at, Number.NEGATIVE_INFINITY);
  const waitSeconds = waitOfWindow(times, now, window);
  if (waitSeconds === 0) times.set(oldestOf(times, window.most), now);
  return waitSeconds;
}

/** The whole seconds until a window recorded by `noteInWindow` has room; 0 if it has. */
export function waitOfWindow(times: Row, now: number, { most, windowMs }: SlidingWindow): number {
  const leavesAt = times.get(oldestOf(times, most)) + windowMs;
  return leavesAt > now ? Math.max(1, Math.ceil((leavesAt - now) / 1_000)) : 0;
}

function oldestOf(times: Row, most: number): number {
  let oldest = 0;
  for (let at = 1; at < most; at += 1) if (times.get(at) < times.get(oldest)) oldest = at;
  return oldest;
}

const WORD_BITS = 32;
const NOBODY = 0;
/** The other apply threads of the process. */
export interface Siblings {
  /** Reports whether this thread is idle. */
  setIdle(isIdle: boolean): void;
  /** Claims an idle thread. Call the returned function to wake it after giving up buckets. */
  claimIdle(): (() => void) | undefined;
}

/** States of a thread; a claiming thread sets the last one. */
const BUSY = 0;
const IDLE = 1;
const OFFERED = 2;

/**
 * Hints to the owning thread that a bucket has new parts, one bit per bucket: repeated hints merge (messages would cost several µs each).
 * Hints for buckets without an owner are dropped. Also shares which threads are idle.
 */
export class SharedHints {
  /** The owning thread of each bucket, from 1. */
  readonly #owners: Int32Array;
  /** Per thread: its bits, a count of hints on which it waits, and its state. */
  readonly #ofThreads: readonly Int32Array[];
  readonly #words: number;

  static allocate(buckets: number, threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer((buckets + threads * (buckets / WORD_BITS + 2)) * WORD_BYTES);
  }

  constructor(memory: SharedArrayBuffer, buckets: number) {
    this.#owners = new Int32Array(memory, 0, buckets);
    this.#words = buckets / WORD_BITS;
    const length = this.#words + 2;
    const threads = (memory.byteLength / WORD_BYTES - buckets) / length;
    this.#ofThreads = Array.from(
      { length: threads },
      (_, thread) => new Int32Array(memory, (buckets + thread * length) * WORD_BYTES, length),
    );
  }

  /** Sets the buckets that a thread owns. It must poll them once, because earlier hints were dropped. */
  own(thread: number, buckets: readonly number[]): void {
    const owned = new Set(buckets);
    for (let bucket = 0; bucket < this.#owners.length; bucket += 1) {
      if (owned.has(bucket)) Atomics.store(this.#owners, bucket, thread + 1);
      // Only if no other thread has become the owner meanwhile.
      else Atomics.compareExchange(this.#owners, bucket, thread + 1, NOBODY);
    }
  }

  notify(buckets: Iterable<number>): void {
    const notified = new Set<Int32Array>();
    for (const bucket of buckets) {
      const owner = Atomics.load(this.#owners, bucket);
      if (owner === NOBODY) continue;
      const words = this.#wordsOf(owner - 1);
      Atomics.or(words, Math.floor(bucket / WORD_BITS), 1 << (bucket % WORD_BITS));
      notified.add(words);
    }
    for (const words of notified) this.#wake(words);
  }

  siblingsOf(thread: number): Siblings {
    const state = this.#words + 1;
    const own = this.#wordsOf(thread);
    return {
      // Keeps a pending offer.
      setIdle: (isIdle) =>
        void Atomics.compareExchange(own, state, isIdle ? BUSY : IDLE, isIdle ? IDLE : BUSY),
      claimIdle: () => {
        const idle = this.#ofThreads.find(
          (words) => words !== own && Atomics.compareExchange(words, state, IDLE, BUSY) === IDLE,
        );
        if (idle === undefined) return undefined;
        return () => {
          Atomics.store(idle, state, OFFERED);
          this.#wake(idle);
        };
      },
    };
  }

  /** Calls back with the buckets hinted to a thread since the last call, and whether it was offered buckets, until `signal` aborts. */
  async listen(
    thread: number,
    hear: (buckets: readonly number[], isOffered: boolean) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const words = this.#wordsOf(thread);
    while (!signal.aborted) {
      const seen = Atomics.load(words, this.#words);
      const buckets = this.#takeBuckets(words);
      const isOffered = Atomics.compareExchange(words, this.#words + 1, OFFERED, BUSY) === OFFERED;
      if (buckets.length > 0 || isOffered) hear(buckets, isOffered);
      const change = Atomics.waitAsync(words, this.#words, seen);
      if (change.async) await change.value;
    }
  }

  /** Makes `listen` check its signal. */
  wakeListeners(): void {
    for (const words of this.#ofThreads) this.#wake(words);
  }

  #wordsOf(thread: number): Int32Array {
    const words = this.#ofThreads[thread];
    if (words === undefined) throw new RangeError(`No thread ${thread} owns buckets.`);
    return words;
  }

  #wake(words: Int32Array): void {
    Atomics.add(words, this.#words, 1);
    Atomics.notify(words, this.#words);
  }

  #takeBuckets(words: Int32Array): number[] {
    const buckets: number[] = [];
    for (let word = 0; word < this.#words; word += 1) {
      const bits = Atomics.exchange(words, word, 0);
      for (let bit = 0; bit < WORD_BITS; bit += 1) {
        if ((bits & (1 << bit)) !== 0) buckets.push(word * WORD_BITS + bit);
      }
    }
    return buckets;
  }
}
