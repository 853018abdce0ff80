import { hash } from "node:crypto";

/**
 * Milliseconds of the machine's monotonic clock, the same in every thread. (`performance.now()` counts from each thread's
 * own beginning.)
 */
export function monotonicNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

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

/** What is done under a lock takes a microsecond; a holder that was interrupted gets this many looks before one sleeps. */
const LOOKS = 100;
/** Nobody holds such a lock for as long, unless its thread was ended within: better an error than a thread that hangs. */
const WAIT_MS_MAX = 5_000;

/**
 * A lock between the threads of a process: one word of shared memory. For a few arithmetic steps on memory that several
 * threads write, never around anything that waits.
 */
export class SharedLock {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #waitMsMax: number;

  /** The word of index `at` is the lock; it begins as zero, which is free. */
  constructor(words: Int32Array, at: number, waitMsMax = WAIT_MS_MAX) {
    this.#words = words;
    this.#at = at;
    this.#waitMsMax = waitMsMax;
  }

  /** Runs `work` alone. Not to be nested with itself. */
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
    // The thread that releases the lock finds the mark and wakes one waiting thread.
    while (Atomics.exchange(this.#words, this.#at, WAITED_FOR) !== FREE) {
      if (Atomics.wait(this.#words, this.#at, WAITED_FOR, this.#waitMsMax) === "timed-out")
        throw new Error("A lock in shared memory was not released.");
    }
  }
}

/** A key can lie in the rows of one set alone, whose lock guards them. */
const ROWS_OF_SET = 16;
const KEY_WORDS = 4;
const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT;

/** How large a table is: rows at most (rounded up to whole sets), numbers in a row. */
interface TableShape {
  readonly rows: number;
  readonly numbers: number;
}

/** The numbers of one row, to be read and written while `SharedTable.use` runs. */
interface Row {
  readonly isNew: boolean;
  get(index: number): number;
  set(index: number, value: number): void;
}

function setsOf({ rows }: TableShape): number {
  return Math.ceil(rows / ROWS_OF_SET);
}

/**
 * Numbers by key in memory that all threads share, with a fixed number of rows: a new key replaces the least recently used of its
 * set that may go. Keys are 128 bits of their SHA-256, so that nobody chooses the set a key falls in.
 */
export class SharedTable {
  readonly #sets: number;
  readonly #width: number;
  readonly #locks: SharedLock[];
  readonly #keys: Int32Array;
  /** Of each row: when it was used last, then its numbers. */
  readonly #values: Float64Array;
  #lastKey: string | undefined;
  #lastDigest = Buffer.alloc(32);

  /** Memory for a table of this shape, all zero. */
  static allocate(shape: TableShape): SharedArrayBuffer {
    const sets = setsOf(shape);
    const rows = sets * ROWS_OF_SET;
    const words = sets + (sets % 2) + rows * KEY_WORDS;
    return new SharedArrayBuffer(words * WORD_BYTES + rows * (shape.numbers + 1) * NUMBER_BYTES);
  }

  constructor(memory: SharedArrayBuffer, shape: TableShape) {
    this.#sets = setsOf(shape);
    this.#width = shape.numbers + 1;
    const rows = this.#sets * ROWS_OF_SET;
    const lockWords = this.#sets + (this.#sets % 2);
    const locks = new Int32Array(memory, 0, lockWords);
    this.#locks = Array.from({ length: this.#sets }, (_, at) => new SharedLock(locks, at));
    this.#keys = new Int32Array(memory, lockWords * WORD_BYTES, rows * KEY_WORDS);
    this.#values = new Float64Array(memory, (lockWords + rows * KEY_WORDS) * WORD_BYTES, rows * this.#width);
  }

  /**
   * Runs `work` with the key's row, alone; `now` is when it is used. A new row's numbers are zero. Without room for a new
   * row, as no other row of its set `mayGo`, the answer is undefined.
   */
  use<Result>(
    key: string,
    now: number,
    work: (row: Row) => Result,
    mayGo: (row: Row) => boolean = () => true,
  ): Result | undefined {
    const digest = this.#digestOf(key);
    const set = digest.readUInt32LE(16) % this.#sets;
    const lock = this.#locks[set] as SharedLock;
    return lock.run(() => {
      const known = this.#find(set, digest);
      const at = known ?? this.#make(set, digest, mayGo);
      if (at === undefined) return undefined;
      this.#values[at * this.#width] = now;
      return work(this.#row(at, known === undefined));
    });
  }

  #digestOf(key: string): Buffer {
    // A body's chunks come one after another from the same client.
    if (key !== this.#lastKey) {
      this.#lastKey = key;
      this.#lastDigest = hash("sha256", key, "buffer");
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

/** A word of a key as it is kept: the first never zero, which marks an empty row. */
function keyWord(digest: Buffer, word: number): number {
  const value = digest.readInt32LE(word * WORD_BYTES);
  return word === 0 ? value | 1 : value;
}

/** How many may come within how many milliseconds. */
interface SlidingWindow {
  readonly most: number;
  readonly windowMs: number;
}

/**
 * Notes one more in a row whose first `most` numbers are the times of the last ones, milliseconds of any steady clock. Answers 0, or
 * the whole seconds until another may come; then it is not noted.
 */
export function noteInWindow(times: Row, now: number, { most, windowMs }: SlidingWindow): number {
  let oldest = 0;
  for (let at = 0; at < most; at += 1) {
    if (times.isNew) times.set(at, Number.NEGATIVE_INFINITY);
    if (times.get(at) < times.get(oldest)) oldest = at;
  }
  const leavesAt = times.get(oldest) + windowMs;
  if (leavesAt > now) return Math.max(1, Math.ceil((leavesAt - now) / 1_000));
  times.set(oldest, now);
  return 0;
}

const WORD_BITS = 32;
const NOBODY = 0;
/** The other threads, as one of them sees them. */
export interface Siblings {
  /** Says whether this one has nothing to do. */
  setIdle(isIdle: boolean): void;
  /** Claims one that is idle; what is returned wakes it once buckets were given up for it. */
  claimIdle(): (() => void) | undefined;
}

/** What a thread has said last: that it has nothing to do, or another, that it has passed something on to it. */
const BUSY = 0;
const IDLE = 1;
const OFFERED = 2;

/**
 * Hints, one bit per bucket, that a bucket has something new, for the thread that owns it. Repeated hints merge, so
 * nothing queues up (a message would cost both threads several µs). Hints of buckets without an owner are dropped.
 * A busy thread finds by them one that has nothing to do, and passes buckets on to it.
 */
export class SharedHints {
  /** Of each bucket: the thread that owns it, counted from 1. */
  readonly #owners: Int32Array;
  /** One for each owning thread: its bits, a count of hints, on which it waits, and whether it is idle. */
  readonly #ofThreads: readonly Int32Array[];
  readonly #words: number;

  /** For so many buckets and threads that own them. */
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

  /** Makes a thread the owner of these buckets. Earlier hints are not repeated: the thread then checks them itself. */
  own(thread: number, buckets: readonly number[]): void {
    const owned = new Set(buckets);
    for (let bucket = 0; bucket < this.#owners.length; bucket += 1) {
      if (owned.has(bucket)) Atomics.store(this.#owners, bucket, thread + 1);
      // Unless another thread has said meanwhile that it has it.
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
      // An offer stays until it is heard.
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

  /** Calls back with the buckets hinted to a thread since the last call, and when it was offered some, until `signal`. */
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

  /** Lets `listen` look at its signal. */
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
