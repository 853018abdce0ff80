import type pg from "pg";
import { readStatement } from "../db/statement.ts";

const takeBuckets = readStatement(new URL("./sql/take-buckets.sql", import.meta.url));
const giveUpBuckets = readStatement(new URL("./sql/give-up-buckets.sql", import.meta.url));
const lockBuckets = readStatement(new URL("./sql/lock-buckets.sql", import.meta.url));
const writeChangeCounters = readStatement(new URL("./sql/write-change-counters.sql", import.meta.url));

/** Another applier has taken a bucket over: this one's transaction must not go on. */
export class OwnershipLost extends Error {
  readonly buckets: readonly number[];

  constructor(buckets: readonly number[]) {
    super(`Buckets ${buckets.join(", ")} have another owner now.`);
    this.buckets = buckets;
  }
}

/** A bucket that nobody held when it was looked at, and the epoch it had. */
export interface FreeBucket {
  readonly bucket: number;
  readonly epoch: string;
}

/**
 * Which buckets this connection may apply. A lease names the backend that holds it and its epoch; it ends with that
 * backend. Lease and writes share one session, so whoever lost a bucket cannot commit to it.
 */
export class Ownership {
  readonly #client: pg.ClientBase;
  readonly #owner: string;
  readonly #epochs = new Map<number, string>();

  constructor(client: pg.ClientBase, owner: string) {
    this.#client = client;
    this.#owner = owner;
  }

  /** In the order in which they were taken. */
  get buckets(): readonly number[] {
    return [...this.#epochs.keys()];
  }

  /** Takes those of `free` that nobody has taken since; answers the buckets taken now. */
  async take(free: readonly FreeBucket[]): Promise<readonly number[]> {
    if (free.length === 0) return [];
    const { rows } = await this.#client.query<{ bucket: number; epoch: string }>({
      ...takeBuckets,
      values: [this.#owner, JSON.stringify(free)],
    });
    for (const { bucket, epoch } of rows) this.#epochs.set(bucket, epoch);
    return rows.map(({ bucket }) => bucket);
  }

  /** Nobody holds these as the database says: what was held of them is lost (a replay ends all leases). */
  forget(free: readonly FreeBucket[]): void {
    for (const { bucket } of free) this.#epochs.delete(bucket);
  }

  /** Gives buckets up, for another to take. Not within a transaction that has locked them. */
  async giveUp(buckets: readonly number[]): Promise<void> {
    if (buckets.length === 0) return;
    // Before the answer: whether or not it comes, they are not to be counted on any more.
    for (const bucket of buckets) this.#epochs.delete(bucket);
    await this.#client.query({ ...giveUpBuckets, values: [buckets] });
  }

  /**
   * Holds the leases of `buckets` until the running transaction ends, and hands out their change numbers.
   * Throws OwnershipLost when one has been taken over; it is then no longer among `buckets`.
   */
  async lock(buckets: readonly number[]): Promise<ChangeCounters> {
    const { rows } = await this.#client.query<{ bucket: number; epoch: string; next_change: string }>({
      ...lockBuckets,
      values: [buckets],
    });
    const lost = rows
      .filter(({ bucket, epoch }) => this.#epochs.get(bucket) !== epoch)
      .map(({ bucket }) => bucket);
    for (const bucket of lost) this.#epochs.delete(bucket);
    if (lost.length > 0) throw new OwnershipLost(lost);
    return new ChangeCounters(new Map(rows.map((row) => [row.bucket, Number(row.next_change)])));
  }
}

/** The change numbers of one transaction: increasing within a bucket, not necessarily without gaps. */
export class ChangeCounters {
  readonly #next: Map<number, number>;
  readonly #used = new Set<number>();

  constructor(next: Map<number, number>) {
    this.#next = next;
  }

  readonly take = (bucket: number): number => {
    const number = this.#next.get(bucket);
    if (number === undefined) throw new Error(`Bucket ${bucket} is not locked by this transaction.`);
    this.#next.set(bucket, number + 1);
    this.#used.add(bucket);
    return number;
  };

  /** Writes the counters that were used; part of the transaction. */
  async write(client: pg.ClientBase): Promise<void> {
    if (this.#used.size === 0) return;
    const rows = [...this.#used].map((bucket) => ({
      bucket,
      next_change: this.#next.get(bucket),
    }));
    await client.query({ ...writeChangeCounters, values: [JSON.stringify(rows)] });
  }
}
