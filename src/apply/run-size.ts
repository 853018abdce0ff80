/** What a session begins with: a tenth of a second's work on a machine that is very busy. */
export const FIRST_RECORDS = 64;
/** Larger transactions are hardly cheaper a record, and what is undone when a node is killed grows with them. */
const RECORDS_MAX = 2_000;
const GROWTH = 4;
/** A transaction that took so long is large enough for the machine, as busy as it is. */
const LONG_MS = 1_000;

/**
 * About how many records the next transaction of a session takes: few at first, then four times as many after each that was
 * committed soon. A node that is killed again and again keeps what it has committed in between; with a large
 * transaction at once it would be killed within it each time, and never get on.
 */
export class RunSize {
  #records = FIRST_RECORDS;

  get records(): number {
    return this.#records;
  }

  /** A transaction was committed, after so many milliseconds. */
  committed(durationMs: number): void {
    if (durationMs < LONG_MS) this.#records = Math.min(RECORDS_MAX, this.#records * GROWTH);
  }
}
