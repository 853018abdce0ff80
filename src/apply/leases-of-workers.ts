import type pg from "pg";
import { ALL_BUCKETS } from "../ingest/log/bucket.ts";
import { sqlState } from "../platform/db/database-errors.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { findHomes, type Home, WORKERS_ANSWER_MS_MAX } from "../platform/db/workers.ts";
import { monotonicNow } from "../platform/runtime/time.ts";
import { SHORT } from "./answer-bounds.ts";
import type { Lease } from "./leases.ts";

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
