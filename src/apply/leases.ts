import type pg from "pg";
import { ofBucket, queryEachBucket } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";

const writeChangeCounters = namedStatement(
  "write-change-counters",
  `update bellhop.change_counter as counter
  set next_change = moved.next_change
  from json_to_recordset($1::json) as moved (bucket smallint, former bigint, next_change bigint)
  where counter.bucket = moved.bucket and counter.next_change = moved.former`,
);

/** Another applier has taken over a bucket of this transaction, which must not continue. */
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

/** A lease whose row the transaction has locked. */
export interface LockedLease extends Lease {
  readonly next_change: string;
}

/** The statements on leases, on the connection that applies. */
export interface LeaseSession {
  /** Takes the leases of `free` whose epoch has not changed, and returns them with their new epochs. */
  takeBuckets(owner: string, free: readonly Lease[]): Promise<readonly Lease[]>;
  giveUpBuckets(buckets: readonly number[]): Promise<unknown>;
  /** Locks the rows of the leases until the end of the transaction. */
  lockBuckets(buckets: readonly number[]): Promise<readonly LockedLease[]>;
}

/**
 * The buckets that this connection may apply. A lease names its backend and epoch, and ends with the backend. It shares the
 * session with the writes, so an applier that lost a bucket cannot commit to it.
 */
export class Leases {
  readonly #session: LeaseSession;
  readonly #owner: string;
  readonly #epochs = new Map<number, string>();

  constructor(session: LeaseSession, owner: string) {
    this.#session = session;
    this.#owner = owner;
  }

  /** In the order taken. */
  get buckets(): readonly number[] {
    return [...this.#epochs.keys()];
  }

  /** Takes the leases of `free` that are still free, and returns their buckets. */
  async take(free: readonly Lease[]): Promise<readonly number[]> {
    if (free.length === 0) return [];
    const leases = await this.#session.takeBuckets(this.#owner, free);
    for (const { bucket, epoch } of leases) this.#epochs.set(bucket, epoch);
    return leases.map(({ bucket }) => bucket);
  }

  /** Forgets leases that the database no longer shows as held: a replay ends all of them. */
  keep(held: readonly Lease[]): void {
    const epochs = new Map(held.map(({ bucket, epoch }) => [bucket, epoch]));
    for (const [bucket, epoch] of this.#epochs) if (epochs.get(bucket) !== epoch) this.#epochs.delete(bucket);
  }

  /** Releases buckets, outside a transaction that locked them. Returns the free leases with their epochs. */
  async giveUp(buckets: readonly number[]): Promise<readonly Lease[]> {
    if (buckets.length === 0) return [];
    const free = buckets.flatMap((bucket) => {
      const epoch = this.#epochs.get(bucket);
      return epoch === undefined ? [] : [{ bucket, epoch: String(BigInt(epoch) + 1n) }];
    });
    // Before the statement, whose outcome is unknown if the connection fails.
    for (const bucket of buckets) this.#epochs.delete(bucket);
    await this.#session.giveUpBuckets(buckets);
    return free;
  }

  /** Locks the leases until the transaction ends and returns their change counters. Throws LeaseLost and forgets buckets taken over. */
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
  /** Former values of the counters that were used. */
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

  /** Writes the counters that were used. */
  async write(client: pg.ClientBase): Promise<void> {
    if (this.#former.size === 0) return;
    const rows = [...this.#former].map(([bucket, former]) => ({
      bucket,
      former,
      next_change: this.#next.get(bucket),
    }));
    const { rowCount } = await client.query({ ...writeChangeCounters, values: [JSON.stringify(rows)] });
    if (rowCount !== rows.length)
      throw new Error("A change counter was modified by a session that does not own its bucket.");
  }
}

/** Takes the leases $2 whose epoch has not changed, for backend $3 started at $4. The new epoch fences off a former holder. */
const takeBuckets = namedStatement(
  "take-buckets",
  `with free as (
    select t.bucket from json_to_recordset($2::json) as seen (bucket smallint, epoch bigint)
    join bellhop.bucket_lease as t on t.bucket = seen.bucket and t.epoch = seen.epoch
    order by t.bucket for update of t skip locked
  )
  update bellhop.bucket_lease as t
  set epoch = t.epoch + 1, owner = $1, backend_pid = $3::integer, backend_start = $4::timestamptz
  from free
  where t.bucket = free.bucket
  returning t.bucket, t.epoch::text as epoch`,
);
/** Releases the buckets $1 that backend $2, started at $3, holds. */
const giveUpBuckets = namedStatement(
  "give-up-buckets",
  `update bellhop.bucket_lease as t
  set epoch = t.epoch + 1, owner = null, backend_pid = null, backend_start = null
  where t.bucket = any ($1::smallint[]) and t.backend_pid = $2::integer
    and t.backend_start = $3::timestamptz`,
);
/** The first statement of every apply transaction. */
const lockBuckets = {
  name: "lock-buckets",
  ...ofBucket(
    2,
    ({ andBucket }) => `select t.bucket, t.epoch::text as epoch
  from bellhop.bucket_lease as t
  where t.bucket = any ($1::smallint[]) ${andBucket}
  order by t.bucket
  for update`,
  ),
};
/** The next change numbers of buckets $1. Separate from `lockBuckets`, whose snapshot may predate a transaction that it waited for. */
export const readCounters = namedStatement(
  "read-change-counters",
  `select counter.bucket, counter.next_change::text as next_change
  from unnest($1::smallint[]) as locked (bucket)
  cross join lateral (
    select * from bellhop.change_counter as any_version
    where any_version.bucket = locked.bucket
    order by any_version.next_change desc limit 1
  ) as counter`,
);

interface Backend {
  readonly pid: number;
  readonly backend_start: string;
}

const OWN_BACKEND =
  "select pid, backend_start::text as backend_start from pg_stat_activity where pid = pg_backend_pid()";

const placed = (buckets: readonly number[]) => buckets.map((bucket) => ({ bucket }));
const numbersOf = (some: readonly { readonly bucket: number }[]) => [some.map(({ bucket }) => bucket)];

/** The leases in PostgreSQL, taken for the backend of one connection. */
export class LeaseStatements implements LeaseSession {
  protected readonly client: pg.ClientBase;
  #backend: Backend | undefined;

  constructor(client: pg.ClientBase) {
    this.client = client;
  }

  async takeBuckets(owner: string, free: readonly Lease[]): Promise<readonly Lease[]> {
    const { pid, backend_start } = await this.#ownBackend();
    const valuesOf = (some: readonly Lease[]) => [owner, JSON.stringify(some), pid, backend_start];
    return (await queryEachBucket<Lease, Lease>(this.client, takeBuckets, free, valuesOf)).rows;
  }

  async giveUpBuckets(buckets: readonly number[]): Promise<unknown> {
    const { pid, backend_start } = await this.#ownBackend();
    return queryEachBucket(this.client, giveUpBuckets, placed(buckets), (some) => [
      ...numbersOf(some),
      pid,
      backend_start,
    ]);
  }

  /** Locks leases on any server, without reading their counters. */
  async holdLeases(buckets: readonly number[]): Promise<void> {
    await queryEachBucket(this.client, lockBuckets, placed(buckets), numbersOf);
  }

  async lockBuckets(buckets: readonly number[]): Promise<LockedLease[]> {
    const { rows: leases } = await this.client.query<Lease>({ ...lockBuckets, values: [buckets] });
    const { rows } = await this.client.query<Omit<LockedLease, "epoch">>({
      ...readCounters,
      values: [buckets],
    });
    const next = new Map(rows.map(({ bucket, next_change }) => [bucket, next_change]));
    return leases.map((lease) => {
      const next_change = next.get(lease.bucket);
      if (next_change === undefined) throw new Error(`Bucket ${lease.bucket} has no change counter.`);
      return { ...lease, next_change };
    });
  }

  async #ownBackend(): Promise<Backend> {
    this.#backend ??= (await this.client.query<Backend>(OWN_BACKEND)).rows[0];
    if (this.#backend === undefined)
      throw new Error("The database does not show this connection in pg_stat_activity.");
    return this.#backend;
  }
}
