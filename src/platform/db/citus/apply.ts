import type pg from "pg";
import { monotonicNow } from "../../runtime/shared-memory.ts";
import { sqlState } from "../database-errors.ts";
import { namedStatement, readStatement } from "../statement.ts";
import { findBacklog, WorkerReaders } from "./worker-readers.ts";
import { findHomes, type Home, SHORT, WORKERS_ANSWER_MS_MAX } from "./workers.ts";

/** A bucket and the epoch of its lease. */
interface Lease {
  readonly bucket: number;
  readonly epoch: string;
}

/** The leases of the buckets $1, from the workers that have them. */
const readLeases = namedStatement(
  "read-leases",
  `select bucket, epoch::text as epoch, owner, backend_pid, backend_start::text as backend_start
  from bellhop.bucket_lease
  where bucket = any ($1::smallint[])`,
);
const readOfBucket = readStatement(new URL("./read-backlog-of-bucket.sql", import.meta.url));
const readLogWriters = namedStatement(
  "read-log-writers",
  "select log_writer_id::text as log_writer_id, is_backfill from bellhop.log_writer where retired_at is null",
);

const ALL_BUCKETS = Array.from({ length: 64 }, (_, bucket) => bucket);
/** So few buckets are read one after another; of more, every worker is asked first which of them have something. */
const BUCKETS_TRIED_MAX = 2;

/** A worker that did not answer is asked again after so many times as long as it was waited for: nothing is applied meanwhile. */
const PAUSE_TIMES = 5;

/** A lease as read-cluster-view.sql takes it. */
interface LeaseRow extends Lease {
  readonly owner: string | null;
  readonly backend_pid: number | null;
  readonly backend_start: string | null;
}

/** A session that applies: its connection, and the leases that it took since it was opened. */
export interface ApplyConnection {
  readonly client: pg.ClientBase;
  readonly taken: ReadonlyMap<number, Lease>;
  /** Hears of what keeps buckets from being applied. */
  failed(error: unknown): void;
}

/**
 * What the sessions of a thread that applies know of the workers of Citus: the leases, and who answers. Where a worker does not answer, those of
 * the others are read, so that what lies there is applied. A session that may hold leases at such a worker ends, and what it
 * held is free; the next takes nothing there until the worker answers.
 */
export class WorkersOfThread {
  /** By bucket, the epoch of a lease whose session was closed here. */
  readonly #left = new Map<number, string>();
  /** Workers that did not answer, and when they are asked again. */
  readonly #away = new Map<string, number>();
  /** What asked all workers has failed, and not each of them has answered since. */
  #isInDoubt = false;

  readonly #readers = new WorkerReaders();
  /** Which buckets a connection has found to have something, the longest waiting first. */
  readonly #found = new WeakMap<pg.ClientBase, number[]>();

  /**
   * A session that had taken these was closed. The coordinator's backend may outlive it by as long as a worker hangs: it is
   * still notifying it that the statement is called off. Nobody uses what it holds, and in the middle of a transaction it has the row.
   */
  leave(leases: Iterable<Lease>): void {
    for (const { bucket, epoch } of leases) this.#left.set(bucket, epoch);
  }

  /** Runs a query over all workers; skipped while a worker may be down. Reports its failure instead of throwing it. */
  async whenComplete({ client, failed }: ApplyConnection, ask: () => Promise<unknown>): Promise<void> {
    if (this.#isInDoubt) return;
    try {
      await withinLimit(client, ask);
    } catch (error) {
      this.#isInDoubt = true;
      if (isOfSession(error)) throw error;
      failed(error);
    }
  }

  async readLeases(reader: ApplyConnection): Promise<readonly LeaseRow[]> {
    const leases = await this.#readAnswered(reader);
    return leases.map((lease) =>
      this.#left.get(lease.bucket) === lease.epoch
        ? { ...lease, owner: null, backend_pid: null, backend_start: null }
        : lease,
    );
  }

  /**
   * As read-backlog, with its parameters: a transaction has one bucket, so that it takes place on one worker. Of these buckets
   * one that has something; what was found for the others is remembered for the next times.
   */
  async readBacklog<Row extends pg.QueryResultRow>(
    client: pg.ClientBase,
    asked: { readonly query_timeout?: number },
    [buckets, partsMax, recordsMax, bytesMax, yieldsMs, backfillRecords]: readonly [
      readonly number[],
      ...unknown[],
    ],
  ): Promise<Row[]> {
    const { rows: logWriters } = await client.query<{ log_writer_id: string; is_backfill: boolean }>({
      ...readLogWriters,
      ...SHORT,
    });
    if (logWriters.length === 0) return [];
    const columns = [
      logWriters.map(({ log_writer_id }) => log_writer_id),
      logWriters.map(({ is_backfill }) => is_backfill),
    ];
    const bound = { query_timeout: asked.query_timeout ?? SHORT.query_timeout };
    const readFirstOf = async (wanted: number[]): Promise<Row[]> => {
      this.#found.set(client, wanted);
      for (let bucket = wanted.shift(); bucket !== undefined; bucket = wanted.shift()) {
        const values = [bucket, partsMax, recordsMax, bytesMax, ...columns, yieldsMs, backfillRecords];
        const { rows } = await client.query<Row>({ ...readOfBucket, ...bound, values });
        if (rows.length > 0) return rows;
      }
      return [];
    };
    const remembered = await readFirstOf(
      (this.#found.get(client) ?? []).filter((bucket) => buckets.includes(bucket)),
    );
    if (remembered.length > 0) return remembered;
    if (buckets.length <= BUCKETS_TRIED_MAX || this.#isInDoubt) return readFirstOf([...buckets]);
    const values = [buckets, ...columns, yieldsMs];
    const found = await this.#readers.find(client, values);
    if (found !== undefined) return readFirstOf([...found]);
    const waiting = await client.query<{ bucket: number }>({ ...findBacklog, ...SHORT, values });
    return readFirstOf(waiting.rows.map(({ bucket }) => bucket));
  }

  async #readAnswered(reader: ApplyConnection): Promise<readonly LeaseRow[]> {
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
    { client, taken, failed }: ApplyConnection,
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
    // Of a session that is lost the first error says more.
    await takeBack().catch(() => undefined);
    throw error;
  });
  await takeBack();
  return answer;
}
