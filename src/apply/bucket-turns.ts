const RETRY_MS_MAX = 5_000;
const RETRY_MS_FIRST = 100;

/** A bucket whose last transaction failed: read again by itself, and not before `dueAt`. */
interface Suspect {
  readonly dueAt: number;
  readonly failures: number;
}

/**
 * Which buckets an applier reads next: those with a hint of something new, all of them when a poll is due. Buckets whose
 * transaction failed get turns of their own, with growing delays, so that a part which fails again and again holds up
 * its own bucket and no other. Times are milliseconds of any monotonic clock.
 */
export class BucketTurns {
  readonly #suspects = new Map<number, Suspect>();
  #hinted = new Set<number>();
  #pollDue = true;

  /** Whether `next` may find something without waiting. */
  get waiting(): boolean {
    return this.#pollDue || this.#hinted.size > 0;
  }

  hint(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#hinted.add(bucket);
  }

  poll(): void {
    this.#pollDue = true;
  }

  /** The buckets to read now; `polled` when they are all there are, so that what is left of them needs another poll. */
  next(owned: readonly number[], now: number): { buckets: readonly number[]; polled: boolean } {
    const due = owned.find(
      (bucket) => (this.#suspects.get(bucket)?.dueAt ?? Number.POSITIVE_INFINITY) <= now,
    );
    if (due !== undefined) return { buckets: [due], polled: false };
    const polled = this.#pollDue;
    const buckets = owned.filter(
      (bucket) => (polled || this.#hinted.has(bucket)) && !this.#suspects.has(bucket),
    );
    this.#pollDue = false;
    this.#hinted = new Set();
    return { buckets, polled };
  }

  /** These buckets were read and applied, or had nothing to apply. */
  succeeded(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#suspects.delete(bucket);
  }

  /** A transaction of these buckets failed. Of several it is not known which is to blame: each is tried by itself. */
  failed(buckets: readonly number[], now: number): void {
    for (const bucket of buckets) {
      const before = this.#suspects.get(bucket)?.failures ?? 0;
      const failures = buckets.length === 1 ? before + 1 : before;
      const delayMs =
        failures === 0 ? 0 : Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(failures, 6));
      this.#suspects.set(bucket, { dueAt: now + delayMs, failures });
    }
  }
}
