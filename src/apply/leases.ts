import type pg from "pg";
import { BUCKET_TERM, queryEachBucket } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";

/** Moves counters from where they are. */
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
 * The buckets that this connection may apply. A lease names its backend and epoch and ends with the
 * backend; lease and writes share a session, so an applier that lost a bucket cannot commit to it.
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

  /** Gives buckets up, outside a transaction that locked them. Returns the epochs at which they are free. */
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
   * Locks the leases until the transaction ends and returns their change counters. Throws LeaseLost and
   * forgets a bucket that was taken over.
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
    const { rowCount } = await client.query({ ...writeChangeCounters, values: [JSON.stringify(rows)] });
    if (rowCount !== rows.length)
      throw new Error("A counter of changes is not where its bucket's owner found it.");
  }
}

/**
 * Takes those of $2 (buckets, with the epoch they had when nobody held them) that nobody has taken since, for the backend $3
 * that began at $4. The epoch shows a former holder that it is one.
 */
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
/** Gives up the buckets $1 as far as the backend $2, which began at $3, holds them. */
const giveUpBuckets = namedStatement(
  "give-up-buckets",
  `update bellhop.bucket_lease as t
  set epoch = t.epoch + 1, owner = null, backend_pid = null, backend_start = null
  where t.bucket = any ($1::smallint[]) and t.backend_pid = $2::integer
    and t.backend_start = $3::timestamptz`,
);
/** The first statement of every apply transaction: holds the leases of the buckets it will write to its end. */
const lockBuckets = namedStatement(
  "lock-buckets",
  `select t.bucket, t.epoch::text as epoch
  from bellhop.bucket_lease as t
  where t.bucket = any ($1::smallint[]) ${BUCKET_TERM}
  order by t.bucket
  for update`,
);
/**
 * The next change number of each of the buckets $1, in a statement of its own, once their leases are locked: the one that
 * locked them may have waited for a transaction whose numbers it does not see.
 */
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

/** The leases of buckets as PostgreSQL keeps them, by way of one connection, which holds what it takes. */
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

  /** As `lockBuckets`, of buckets that lie anywhere, and without their counters. */
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
      if (next_change === undefined) throw new Error(`Bucket ${lease.bucket} has no counter of changes.`);
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
