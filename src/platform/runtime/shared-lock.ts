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
    // Whoever leaves finds the mark and wakes one of those that wait.
    while (Atomics.exchange(this.#words, this.#at, WAITED_FOR) !== FREE) {
      if (Atomics.wait(this.#words, this.#at, WAITED_FOR, this.#waitMsMax) === "timed-out")
        throw new Error("A lock in shared memory was not given back.");
    }
  }
}
