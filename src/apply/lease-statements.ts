import type pg from "pg";
import { isDistributed } from "../platform/db/distribution.ts";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import type { Lease, LeaseSession, LockedLease } from "./leases.ts";

const takeBuckets = readStatement(new URL("./sql/take-buckets.sql", import.meta.url));
/** Gives up the buckets $1 as far as this session holds them: whoever looks next finds them free. */
const giveUpBuckets = namedStatement(
  "give-up-buckets",
  `update bellhop.bucket_lease as lease
  set epoch = lease.epoch + 1, owner = null, backend_pid = null, backend_start = null
  from pg_stat_activity as me
  where me.pid = pg_backend_pid()
    and lease.bucket = any ($1::smallint[])
    and lease.backend_pid = me.pid and lease.backend_start = me.backend_start`,
);
/** The first statement of every apply transaction: holds the leases of the buckets it will write to its end. */
const lockBuckets = namedStatement(
  "lock-buckets",
  `select bucket, epoch::text as epoch
  from bellhop.bucket_lease
  where bucket = any ($1::smallint[])
  order by bucket
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
/** As take-buckets, of one bucket ($1, at the epoch $5), for the backend $3 of the coordinator, which began at $4. */
const takeBucket = namedStatement(
  "take-bucket-distributed",
  `with free as (
    select bucket from bellhop.bucket_lease where bucket = $1 and epoch = $5::bigint for update skip locked
  )
  update bellhop.bucket_lease as lease
  set epoch = lease.epoch + 1, owner = $2, backend_pid = $3::integer, backend_start = $4::timestamptz
  from free
  where lease.bucket = $1 and free.bucket = $1
  returning lease.bucket, lease.epoch::text as epoch`,
);
/** As give-up-buckets, of one bucket, as far as the backend $2 of the coordinator, which began at $3, holds it. */
const giveUpBucket = namedStatement(
  "give-up-bucket-distributed",
  `update bellhop.bucket_lease
  set epoch = epoch + 1, owner = null, backend_pid = null, backend_start = null
  where bucket = $1 and backend_pid = $2::integer and backend_start = $3::timestamptz`,
);
/** As lock-buckets, of one bucket: the row is locked on the worker that has the bucket, in the transaction that writes there. */
const lockBucket = namedStatement(
  "lock-bucket-distributed",
  `select bucket, epoch::text as epoch
  from bellhop.bucket_lease
  where bucket = $1
  for update`,
);
/** As read-change-counters, of the bucket $1. */
const readCounter = namedStatement(
  "read-change-counter-distributed",
  `select bucket, next_change::text as next_change from bellhop.change_counter
  where bucket = $1
  order by change_counter.next_change desc limit 1`,
);

interface Counter {
  readonly bucket: number;
  readonly next_change: string;
}

interface Backend {
  readonly pid: number;
  readonly backend_start: string;
}

const OWN_BACKEND =
  "select pid, backend_start::text as backend_start from pg_stat_activity where pid = pg_backend_pid()";

/** The leases of buckets as PostgreSQL keeps them, by way of one connection, which holds what it takes. */
export class LeaseStatements implements LeaseSession {
  protected readonly client: pg.ClientBase;
  #backend: Backend | undefined;

  constructor(client: pg.ClientBase) {
    this.client = client;
  }

  async takeBuckets(owner: string, free: readonly Lease[]): Promise<Lease[]> {
    if (await isDistributed(this.client)) {
      const { pid, backend_start } = await this.#ownBackend();
      return this.#eachOf(takeBucket, free, ({ bucket, epoch }) => [
        bucket,
        owner,
        pid,
        backend_start,
        epoch,
      ]);
    }
    const values = [owner, JSON.stringify(free)];
    return (await this.client.query<Lease>({ ...takeBuckets, values })).rows;
  }

  async giveUpBuckets(buckets: readonly number[]): Promise<unknown> {
    if (await isDistributed(this.client)) {
      const { pid, backend_start } = await this.#ownBackend();
      return this.#eachOf(giveUpBucket, buckets, (bucket) => [bucket, pid, backend_start]);
    }
    return this.client.query({ ...giveUpBuckets, values: [buckets] });
  }

  async lockBuckets(buckets: readonly number[]): Promise<LockedLease[]> {
    const [leases, counters] = (await isDistributed(this.client))
      ? [
          await this.#eachOf<number, Lease>(lockBucket, buckets, (bucket) => [bucket]),
          await this.#eachOf<number, Counter>(readCounter, buckets, (bucket) => [bucket]),
        ]
      : [
          (await this.client.query<Lease>({ ...lockBuckets, values: [buckets] })).rows,
          (await this.client.query<Counter>({ ...readCounters, values: [buckets] })).rows,
        ];
    const next = new Map(counters.map(({ bucket, next_change }) => [bucket, next_change]));
    return leases.map((lease) => {
      const next_change = next.get(lease.bucket);
      if (next_change === undefined) throw new Error(`Bucket ${lease.bucket} has no counter of changes.`);
      return { ...lease, next_change };
    });
  }

  /** A lease is locked and written on the worker that has it, which only a statement of one bucket can be sent to. */
  async #eachOf<Item, Row extends pg.QueryResultRow>(
    statement: Statement,
    items: readonly Item[],
    values: (item: Item) => unknown[],
  ): Promise<Row[]> {
    const found: Row[] = [];
    for (const item of items)
      found.push(...(await this.client.query<Row>({ ...statement, values: values(item) })).rows);
    return found;
  }

  /** Asked of the coordinator by itself, as on a worker this session is another backend. */
  async #ownBackend(): Promise<Backend> {
    this.#backend ??= (await this.client.query<Backend>(OWN_BACKEND)).rows[0];
    if (this.#backend === undefined)
      throw new Error("The database does not show this connection in pg_stat_activity.");
    return this.#backend;
  }
}
