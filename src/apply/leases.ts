import type pg from "pg";
import { queryEachBucket } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";

/** Moves counters from where they are (migration 0011). */
const writeChangeCounters = namedStatement(
  "write-change-counters",
  `update bellhop.change_counter as counter
  set next_change = moved.next_change
  from json_to_recordset($1::json) as moved (bucket smallint, former bigint, next_change bigint)
  where counter.bucket = moved.bucket and counter.next_change = moved.former`,
);

/** Another applier has taken a bucket over: this one's transaction must not go on. */
export class LeaseLost extends Error {
  readonly buckets: readonly number[];

  constructor(buckets: readonly number[]) {
    super(`Buckets ${buckets.join(", ")} have another owner now.`);
    this.buckets = buckets;
  }
}

/** A bucket and the epoch of its lease. */
export interface Lease {
  readonly bucket: number;
  readonly epoch: string;
}

/** A lease while a transaction holds its row. */
export interface LockedLease extends Lease {
  readonly next_change: string;
}

/** What leases ask of the database, on the connection that applies. */
export interface LeaseSession {
  /** Takes those of `free` that still have the epoch at which nobody held them; answers their new ones. */
  takeBuckets(owner: string, free: readonly Lease[]): Promise<readonly Lease[]>;
  giveUpBuckets(buckets: readonly number[]): Promise<unknown>;
  /** Waits for the leases' rows and holds them until the running transaction ends. */
  lockBuckets(buckets: readonly number[]): Promise<readonly LockedLease[]>;
}

/**
 * Which buckets this connection may apply. A lease names the backend that holds it and its epoch; it ends with that
 * backend. Lease and writes share one session, so whoever lost a bucket cannot commit to it.
 */
export class Leases {
  readonly #session: LeaseSession;
  readonly #owner: string;
  readonly #epochs = new Map<number, string>();

  constructor(session: LeaseSession, owner: string) {
    this.#session = session;
    this.#owner = owner;
  }

  /** In the order in which they were taken. */
  get buckets(): readonly number[] {
    return [...this.#epochs.keys()];
  }

  /** Takes those of `free` that nobody has taken since; answers the buckets taken now. */
  async take(free: readonly Lease[]): Promise<readonly number[]> {
    if (free.length === 0) return [];
    const leases = await this.#session.takeBuckets(this.#owner, free);
    for (const { bucket, epoch } of leases) this.#epochs.set(bucket, epoch);
    return leases.map(({ bucket }) => bucket);
  }

  /** Keeps only what it holds as the database says: a replay ends all leases, and others may have taken them since. */
  keep(held: readonly Lease[]): void {
    const epochs = new Map(held.map(({ bucket, epoch }) => [bucket, epoch]));
    for (const [bucket, epoch] of this.#epochs) if (epochs.get(bucket) !== epoch) this.#epochs.delete(bucket);
  }

  /**
   * Gives buckets up, for another to take. Not within a transaction that has locked them. Answers with which epochs they are
   * then free.
   */
  async giveUp(buckets: readonly number[]): Promise<readonly Lease[]> {
    if (buckets.length === 0) return [];
    const free = buckets.flatMap((bucket) => {
      const epoch = this.#epochs.get(bucket);
      return epoch === undefined ? [] : [{ bucket, epoch: String(BigInt(epoch) + 1n) }];
    });
    // Before the answer: whether or not it comes, they are not to be counted on any more.
    for (const bucket of buckets) this.#epochs.delete(bucket);
    await this.#session.giveUpBuckets(buckets);
    return free;
  }

  /**
   * Holds the leases of `buckets` until the running transaction ends, and hands out their change numbers.
   * Throws LeaseLost when one has been taken over; it is then no longer among `buckets`.
   */
  async lock(buckets: readonly number[]): Promise<ChangeCounters> {
    const leases = await this.#session.lockBuckets(buckets);
    const lost = leases
      .filter(({ bucket, epoch }) => this.#epochs.get(bucket) !== epoch)
      .map(({ bucket }) => bucket);
    for (const bucket of lost) this.#epochs.delete(bucket);
    if (lost.length > 0) throw new LeaseLost(lost);
    return new ChangeCounters(new Map(leases.map((lease) => [lease.bucket, Number(lease.next_change)])));
  }
}

/** The change numbers of one transaction: increasing within a bucket, not necessarily without gaps. */
export class ChangeCounters {
  readonly #next: Map<number, number>;
  /** What the counters were, of those that were used. */
  readonly #former = new Map<number, number>();

  constructor(next: Map<number, number>) {
    this.#next = next;
  }

  readonly take = (bucket: number): number => {
    const number = this.#next.get(bucket);
    if (number === undefined) throw new Error(`Bucket ${bucket} is not locked by this transaction.`);
    this.#next.set(bucket, number + 1);
    if (!this.#former.has(bucket)) this.#former.set(bucket, number);
    return number;
  };

  /** Writes the counters that were used; part of the transaction. */
  async write(client: pg.ClientBase): Promise<void> {
    if (this.#former.size === 0) return;
    const rows = [...this.#former].map(([bucket, former]) => ({
      bucket,
      former,
      next_change: this.#next.get(bucket),
    }));
    const { rowCount } = await queryEachBucket(client, writeChangeCounters, rows, (some) => [
      JSON.stringify(some),
    ]);
    if (rowCount !== rows.length)
      throw new Error("A counter of changes is not where its bucket's owner found it.");
  }
}
