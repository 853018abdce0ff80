import type { ResourceLetter } from "#contract/resource.ts";
import { recordCountOf } from "../ingest/log/body-layout.ts";
import type { LogPart } from "./backlog.ts";
import { FIRST_RECORDS } from "./pipeline.ts";

/** About 20 ms of an applier. A push of 730 inventory dates stays below it: applying those apart cost a tenth more CPU. */
const LARGE_RECORDS: Readonly<Record<ResourceLetter, number>> = { i: 1_000, r: 256, g: 256 };
/** Larger transactions are hardly cheaper per record, and lose more work when a node is killed. */
const RECORDS_MAX = 2_000;
const RECORDS_GROWTH = 4;
/** Transactions that take this long do not grow further. */
const LONG_MS = 1_000;
/** Longest pause before the next transaction, during which single records accumulate. */
const REST_MS_MAX = 50;
const RETRY_MS_MAX = 5_000;
const RETRY_MS_FIRST = 100;

/** Whether a part, or the next piece of it, may be slow enough for senders to notice, so that small parts go first. */
export function isLarge({ resource, layout, rejectedIndexes, progress, yields = false }: LogPart): boolean {
  const records = layout === null ? 0 : recordCountOf(layout);
  return yields || progress !== undefined || records - rejectedIndexes.size >= LARGE_RECORDS[resource];
}

/** The parts before the first large one of each log writer and bucket, and the first large one of all. */
function smallOf(
  parts: readonly LogPart[],
  large: (part: LogPart) => boolean,
): { readonly small: readonly LogPart[]; readonly firstLarge: LogPart | undefined } {
  const stopped = new Set<string>();
  let firstLarge: LogPart | undefined;
  const small = parts.filter((part) => {
    const place = `${part.bucket} ${part.logWriterId}`;
    if (!stopped.has(place) && large(part)) {
      stopped.add(place);
      firstLarge ??= part;
    }
    return !stopped.has(place);
  });
  return { small, firstLarge };
}

/** The buckets to read now. `polled`: the turn used up a poll, so reading them again needs another one. */
export interface Turn {
  readonly buckets: readonly number[];
  readonly polled: boolean;
}

/** A bucket whose last transaction failed: read alone, not before `dueAt`. */
interface Retry {
  readonly dueAt: number;
  readonly failures: number;
}

/**
 * Chooses what an applier applies next, and how much per transaction. In order of priority:
 *
 * 1. a bucket whose transaction failed, alone, once its delay has passed;
 * 2. live parts before large ones and those of backfills, which yield for some seconds (read-backlog.sql);
 * 3. small parts before large ones, or a piece of one, which take turns with them one at a time.
 *
 * Hinted buckets are read at once, all buckets when a poll is due. Transactions start small and grow while commits are fast.
 * Times are milliseconds of any monotonic clock.
 */
export class Scheduler {
  readonly #isLarge: (part: LogPart) => boolean;
  readonly #retries = new Map<number, Retry>();
  #hinted = new Set<number>();
  #pollDue = true;
  #isLargeNext = false;
  #recordsMax = FIRST_RECORDS;

  constructor(large = isLarge) {
    this.#isLarge = large;
  }

  /** Whether `next` may return buckets now. */
  get hasWork(): boolean {
    return this.#pollDue || this.#hinted.size > 0;
  }

  /** Target number of records of the next transaction. */
  get recordsMax(): number {
    return this.#recordsMax;
  }

  hint(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#hinted.add(bucket);
  }

  poll(): void {
    this.#pollDue = true;
  }

  /** Schedules the buckets of a turn again, as they may have further parts. */
  readAgain({ buckets, polled }: Turn): void {
    this.hint(buckets);
    if (polled) this.poll();
  }

  next(owned: readonly number[], now: number): Turn {
    const due = owned.find((bucket) => (this.#retries.get(bucket)?.dueAt ?? Number.POSITIVE_INFINITY) <= now);
    if (due !== undefined) return { buckets: [due], polled: false };
    const polled = this.#pollDue;
    const buckets = owned.filter(
      (bucket) => (polled || this.#hinted.has(bucket)) && !this.#retries.has(bucket),
    );
    this.#pollDue = false;
    this.#hinted = new Set();
    return { buckets, polled };
  }

  /** Chooses the parts of the next transaction, a prefix of each log writer and bucket. */
  choose(read: readonly LogPart[]): readonly LogPart[] {
    const { small, firstLarge } = smallOf(read, this.#isLarge);
    const isLargeNext = this.#isLargeNext;
    this.#isLargeNext = false;
    if (firstLarge === undefined || small.length === 0) return read;
    if (isLargeNext) {
      const { bucket, logWriterId } = firstLarge;
      return read
        .slice(0, read.indexOf(firstLarge) + 1)
        .filter((part) => part.bucket === bucket && part.logWriterId === logWriterId);
    }
    this.#isLargeNext = true;
    return small;
  }

  /** Records that these buckets were applied or had nothing to apply. */
  succeeded(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#retries.delete(bucket);
  }

  /** Records that a transaction of these buckets failed. Each is retried alone, to find the one that causes it. */
  failed(buckets: readonly number[], now: number): void {
    for (const bucket of buckets) {
      const earlier = this.#retries.get(bucket)?.failures ?? 0;
      const failures = buckets.length === 1 ? earlier + 1 : earlier;
      const delayMs =
        failures === 0 ? 0 : Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(failures, 6));
      this.#retries.set(bucket, { dueAt: now + delayMs, failures });
    }
  }

  /** Starts with small transactions, so that a node that is killed repeatedly still makes progress. */
  beginSession(): void {
    this.#recordsMax = FIRST_RECORDS;
  }

  /**
   * Records a commit and returns the pause in ms before the next transaction. If this one emptied the backlog and more parts
   * arrived meanwhile, the pause is as long as the transaction, so that single records share one.
   */
  committed(durationMs: number, tookAll: boolean): number {
    if (durationMs < LONG_MS) this.#recordsMax = Math.min(RECORDS_MAX, this.#recordsMax * RECORDS_GROWTH);
    return tookAll && this.hasWork ? Math.min(durationMs, REST_MS_MAX) : 0;
  }
}
