import type pg from "pg";
import { ALL_BUCKETS } from "../ingest/log/part-name.ts";
import { sqlState } from "../platform/db/database-errors.ts";
import { queryEachBucket } from "../platform/db/dialect.ts";
import { isDistributed } from "../platform/db/distribution.ts";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import { findHomes, type Home, WORKERS_ANSWER_MS_MAX } from "../platform/db/workers.ts";
import { monotonicNow } from "../platform/runtime/time.ts";
import { SHORT } from "./backlog.ts";

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
    const { rowCount } = await queryEachBucket(client, writeChangeCounters, rows, (some) => [
      JSON.stringify(some),
    ]);
    if (rowCount !== rows.length)
      throw new Error("A counter of changes is not where its bucket's owner found it.");
  }
}

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

/** The leases of the buckets $1, from the workers that have them. */
const readLeases = namedStatement(
  "read-leases-distributed",
  `select bucket, epoch::text as epoch, owner, backend_pid, backend_start::text as backend_start
  from bellhop.bucket_lease
  where bucket = any ($1::smallint[])`,
);

/** A worker that did not answer is asked again after so many times as long as it was waited for: nothing is applied meanwhile. */
const PAUSE_TIMES = 5;

/** A lease as read-cluster-view.sql takes it. */
export interface LeaseRow {
  readonly bucket: number;
  readonly epoch: string;
  readonly owner: string | null;
  readonly backend_pid: number | null;
  readonly backend_start: string | null;
}

/** A session that asks for leases: its connection, and the buckets that it took since it was opened. */
export interface LeaseReader {
  readonly client: pg.ClientBase;
  readonly taken: ReadonlyMap<number, Lease>;
  /** Hears of what keeps buckets from being applied. */
  failed(error: unknown): void;
}

/**
 * The leases as the workers of Citus tell them, to the sessions of a thread that applies. Where a worker does not answer, those of
 * the others are read, so that what lies there is applied. A session that may hold leases at such a worker ends, and what it
 * held is free; the next takes nothing there until the worker answers.
 */
export class LeasesOfWorkers {
  /** By bucket, the epoch of a lease whose session was closed here. */
  readonly #left = new Map<number, string>();
  /** Workers that did not answer, and when they are asked again. */
  readonly #away = new Map<string, number>();
  /** What asked all workers has failed, and not each of them has answered since. */
  #isInDoubt = false;

  /** Whether every worker is taken to answer. */
  get areComplete(): boolean {
    return !this.#isInDoubt;
  }

  /**
   * A session that had taken these was closed. The coordinator's backend may outlive it by as long as a worker hangs: it is
   * still telling it that the statement is called off. Nobody uses what it holds, and in the middle of a transaction it has the row.
   */
  leave(leases: Iterable<Lease>): void {
    for (const { bucket, epoch } of leases) this.#left.set(bucket, epoch);
  }

  /** Runs what asks all workers; not while one of them may not answer. What fails of it is told, and not in the way of what answers. */
  async whenComplete({ client, failed }: LeaseReader, ask: () => Promise<unknown>): Promise<void> {
    if (this.#isInDoubt) return;
    try {
      await withinLimit(client, ask);
    } catch (error) {
      this.#isInDoubt = true;
      if (isOfSession(error)) throw error;
      failed(error);
    }
  }

  async read(reader: LeaseReader): Promise<readonly LeaseRow[]> {
    const leases = await this.#readAnswered(reader);
    return leases.map((lease) =>
      this.#left.get(lease.bucket) === lease.epoch
        ? { ...lease, owner: null, backend_pid: null, backend_start: null }
        : lease,
    );
  }

  async #readAnswered(reader: LeaseReader): Promise<readonly LeaseRow[]> {
    if (!this.#isInDoubt) {
      try {
        return await readOf(reader.client, ALL_BUCKETS);
      } catch (error) {
        this.#isInDoubt = true;
        if (isOfSession(error)) throw error;
      }
    }
    const { rows: homes } = await reader.client.query<Home>({ ...findHomes, ...SHORT });
    for (const worker of this.#away.keys())
      if (!homes.some((home) => home.worker === worker)) this.#away.delete(worker);
    const leases: LeaseRow[] = [];
    for (const home of homes) leases.push(...(await this.#readOfWorker(reader, home)));
    this.#isInDoubt = this.#away.size > 0;
    return leases;
  }

  /** Nothing where the worker does not answer. */
  async #readOfWorker(
    { client, taken, failed }: LeaseReader,
    { worker, buckets }: Home,
  ): Promise<readonly LeaseRow[]> {
    const askAt = this.#away.get(worker);
    const askedAt = monotonicNow();
    const mayHold = buckets.some((bucket) => taken.has(bucket));
    if (askAt !== undefined && askedAt < askAt) {
      if (mayHold) throw notAnswering(worker);
      return [];
    }
    try {
      const leases = await readOf(client, buckets);
      this.#away.delete(worker);
      return leases;
    } catch (cause) {
      const now = monotonicNow();
      // Also where the session is lost: perhaps by the waiting.
      this.#away.set(worker, now + PAUSE_TIMES * (now - askedAt));
      const error = notAnswering(worker, cause);
      if (isOfSession(cause) || mayHold) throw error;
      if (askAt === undefined) failed(error);
      return [];
    }
  }
}

function notAnswering(worker: string, cause?: unknown): Error {
  return new Error(`The worker ${worker} does not answer: nothing of its buckets is applied.`, { cause });
}

/** An error that no server answered with: the session cannot be used further. */
function isOfSession(error: unknown): boolean {
  return sqlState(error) === undefined;
}

function readOf(client: pg.ClientBase, buckets: readonly number[]): Promise<readonly LeaseRow[]> {
  return withinLimit(
    client,
    async () => (await client.query<LeaseRow>({ ...readLeases, ...SHORT, values: [buckets] })).rows,
  );
}

/** The session can go on: the limit passes well before the session itself is given up (SHORT). */
async function withinLimit<Result>(client: pg.ClientBase, ask: () => Promise<Result>): Promise<Result> {
  const takeBack = () => client.query({ ...SHORT, text: "reset statement_timeout" });
  await client.query({ ...SHORT, text: `set statement_timeout = ${WORKERS_ANSWER_MS_MAX}` });
  const answer = await ask().catch(async (error) => {
    // Of a session that is lost the first error tells more.
    await takeBack().catch(() => undefined);
    throw error;
  });
  await takeBack();
  return answer;
}
