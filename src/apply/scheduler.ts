import { recordCountOf } from "../ingest/log/body-layout.ts";
import type { LogPart } from "./backlog.ts";
import type { ResourceLetter } from "./state/version-tables.ts";

/**
 * Some 20 ms of an applier. A hotel's two years of inventory, 730 dates, are not large: in transactions of their own, a backlog of
 * pushes and small batches took a tenth more of both processors' time.
 */
const LARGE_RECORDS: Readonly<Record<ResourceLetter, number>> = { i: 1_000, r: 256, g: 256 };
/**
 * A part of so many records, or stored bytes, takes an applier some tenths of a second; one of 10,000 a second
 * (docs/decisions/0017). Handing over a bucket for each push of 730 dates cost a nightly push a fifth of its rate.
 */
const BULK_RECORDS = 2_000;
const BULK_STORED_BYTES = 1_048_576;

/** What a session begins with: a tenth of a second's work on a machine that is very busy. */
export const FIRST_RECORDS = 64;
/** Larger transactions are hardly cheaper a record, and what is undone when a node is killed grows with them. */
const RECORDS_MAX = 2_000;
const RECORDS_GROWTH = 4;
/** A transaction that took so long is large enough for the machine, as busy as it is. */
const LONG_MS = 1_000;
/**
 * One transaction applies up to about this many bytes as sent (the part that passes it is the last). Two runs are in memory
 * at a time: the one that is applied and the next.
 */
export const INFLATED_BYTES_TARGET = 8 * 1_048_576;

const RETRY_MS_MAX = 5_000;
const RETRY_MS_FIRST = 100;

/** What decides when a part is applied. */
export interface PartWeight {
  /** Senders notice that they wait for it, so small parts of other buckets go first. */
  readonly isLarge: boolean;
  /** Live parts do not wait for it at all: it goes to the bulk applier. */
  readonly isBulk: boolean;
}

/** Weighs a part by its records and bytes; what belongs to a backfill is bulk whatever its size. */
export function weighPart({ resource, layout, body, rejectedIndexes, isBackfill }: LogPart): PartWeight {
  const records = layout === null ? 0 : recordCountOf(layout);
  const isBulk = isBackfill === true || records >= BULK_RECORDS || (body?.length ?? 0) >= BULK_STORED_BYTES;
  return {
    isLarge: records - rejectedIndexes.size >= LARGE_RECORDS[resource],
    isBulk: layout !== null && body !== null && isBulk,
  };
}

/** The parts before the first of each bucket that `stops`, and those firsts by bucket. */
function before(
  parts: readonly LogPart[],
  stops: (part: LogPart) => boolean,
): { readonly parts: readonly LogPart[]; readonly stopped: ReadonlyMap<number, LogPart> } {
  const stopped = new Map<number, LogPart>();
  const taken = parts.filter((part) => {
    if (!stopped.has(part.bucket) && stops(part)) stopped.set(part.bucket, part);
    return !stopped.has(part.bucket);
  });
  return { parts: taken, stopped };
}

/** The buckets to read now; `polled` when they are all that are due, so that what remains of them needs another poll. */
export interface Turn {
  readonly buckets: readonly number[];
  readonly polled: boolean;
}

/** A bucket whose last transaction failed: read in a turn of its own, and not before `dueAt`. */
interface Retry {
  readonly dueAt: number;
  readonly failures: number;
}

export interface SchedulerOptions {
  /** By default weighPart. */
  readonly weigh?: ((part: LogPart) => PartWeight) | undefined;
  /** Bulk parts are left to another applier. */
  readonly handsOverBulk?: boolean;
}

/**
 * What an applier applies next, and how much of it at once. In order of priority:
 *
 * 1. a bucket whose transaction failed, in a turn of its own once its delay has passed, so that it holds up no other;
 * 2. live parts before backfills (read-backlog.sql) and bulk, which goes to the bulk applier;
 * 3. small parts before large ones, which come one at a time in turn with them.
 *
 * Buckets with a hint of something new are read at once, all of them when a poll is due. A transaction is bounded by records
 * (few at first, more with each that commits soon) and bytes. Times are milliseconds of any monotonic clock.
 */
export class Scheduler {
  readonly #weigh: (part: LogPart) => PartWeight;
  readonly #handsOverBulk: boolean;
  readonly #retries = new Map<number, Retry>();
  #hinted = new Set<number>();
  #pollDue = true;
  #isLargeNext = false;
  #recordsMax = FIRST_RECORDS;

  constructor({ weigh = weighPart, handsOverBulk = false }: SchedulerOptions = {}) {
    this.#weigh = weigh;
    this.#handsOverBulk = handsOverBulk;
  }

  /** Whether `next` may find something without waiting. */
  get hasWork(): boolean {
    return this.#pollDue || this.#hinted.size > 0;
  }

  /** About how many records the next transaction takes. */
  get recordsMax(): number {
    return this.#recordsMax;
  }

  hint(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#hinted.add(bucket);
  }

  poll(): void {
    this.#pollDue = true;
  }

  /** There may be more of these buckets, whether or not what was read of them is applied. */
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

  /**
   * Which of the parts that were read the next transaction applies, of each bucket the beginning; the others are read again.
   * `bulk`: buckets whose next part is bulk, where that is handed over.
   */
  choose(read: readonly LogPart[]): { readonly parts: readonly LogPart[]; readonly bulk: readonly number[] } {
    const live = before(read, (part) => this.#handsOverBulk && this.#weigh(part).isBulk);
    const begun = new Set(live.parts.map(({ bucket }) => bucket));
    const bulk = [...live.stopped.keys()].filter((bucket) => !begun.has(bucket));
    return { parts: this.#smallBeforeLarge(live.parts), bulk };
  }

  #smallBeforeLarge(parts: readonly LogPart[]): readonly LogPart[] {
    const small = before(parts, (part) => this.#weigh(part).isLarge);
    const [first] = small.stopped.values();
    const isLargeNext = this.#isLargeNext;
    this.#isLargeNext = false;
    if (first === undefined || small.parts.length === 0) return parts;
    if (isLargeNext)
      return parts.slice(0, parts.indexOf(first) + 1).filter(({ bucket }) => bucket === first.bucket);
    this.#isLargeNext = true;
    return small.parts;
  }

  /** These buckets were read and applied, or had nothing to apply. */
  succeeded(buckets: Iterable<number>): void {
    for (const bucket of buckets) this.#retries.delete(bucket);
  }

  /** A transaction of these buckets failed. Of several it is not known which is to blame: each is tried on its own. */
  failed(buckets: readonly number[], now: number): void {
    for (const bucket of buckets) {
      const earlier = this.#retries.get(bucket)?.failures ?? 0;
      const failures = buckets.length === 1 ? earlier + 1 : earlier;
      const delayMs =
        failures === 0 ? 0 : Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.min(failures, 6));
      this.#retries.set(bucket, { dueAt: now + delayMs, failures });
    }
  }

  /**
   * A session begins with small transactions: a node that is killed again and again keeps what it has committed in between;
   * with a large transaction at once it would be killed within it each time, and never get on.
   */
  beginSession(): void {
    this.#recordsMax = FIRST_RECORDS;
  }

  /** A transaction was committed, after so many milliseconds. */
  committed(durationMs: number): void {
    if (durationMs < LONG_MS) this.#recordsMax = Math.min(RECORDS_MAX, this.#recordsMax * RECORDS_GROWTH);
  }
}
