import pg from "pg";
import { endWithClient } from "../../platform/db/connection.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { isDistributed } from "../../platform/db/distribution.ts";
import { type StatementWatch, watchStatements } from "../../platform/db/pool.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { findHomes, type Home, WORKERS_ANSWER_MS_MAX } from "../../platform/db/workers.ts";
import { appendDistributed } from "./append-distributed.ts";
import { flushParameters } from "./log-entry.ts";
import type {
  AppendedRow,
  HeldKey,
  LogWriterBirth,
  LogWriterSession,
  OpenLogWriterSession,
  StampedAppend,
} from "./log-writer-session.ts";
import { ensurePartitions } from "./partitions.ts";
import type { PayloadKey } from "./seal-body.ts";

/** Also where a log writer stands that never wrote: each worker reads the end of one index. */
const readNewestId = namedStatement(
  "read-newest-id",
  `select request_id from bellhop.accept_log order by request_id desc limit 1`,
);
/** As read-newest-id, of the buckets $1. */
const readNewestIdOfBuckets = namedStatement(
  "read-newest-id-of-buckets",
  `select request_id from bellhop.accept_log where bucket = any ($1::smallint[]) order by request_id desc limit 1`,
);

interface NewestRow {
  readonly request_id: string;
}

/**
 * The newest id of the log on Citus, in the transaction that a log writer is born in; null of an empty log. Where a worker does not
 * answer it is that of the others: a log writer ends with each flush that such a worker had a part of, and if none were born until it
 * answers, nothing would be accepted for anybody. The log writer's ids are then above those of this process and the coordinator's clock all
 * the same, and below one of another process only if that clock was set back as well.
 */
async function newestId(client: pg.ClientBase): Promise<string | null> {
  const all = await answered(() => client.query<NewestRow>(readNewestId), client);
  if (!(all instanceof Error)) return newestOf(all.rows);
  const { rows: homes } = await client.query<Home>(findHomes);
  const found: NewestRow[] = [];
  let silent = 0;
  for (const { buckets } of homes) {
    const one = await answered(
      () => client.query<NewestRow>({ ...readNewestIdOfBuckets, values: [buckets] }),
      client,
    );
    if (one instanceof Error) silent += 1;
    else found.push(...one.rows);
  }
  if (silent === homes.length) throw all;
  return newestOf(found);
}

function newestOf(rows: readonly NewestRow[]): string | null {
  const ids = rows.map(({ request_id }) => request_id).sort();
  return ids.at(-1) ?? null;
}

/** What was asked of workers, or the error that it was answered with; the transaction goes on. Throws where the session is lost. */
async function answered<Result>(ask: () => Promise<Result>, client: pg.ClientBase): Promise<Result | Error> {
  await client.query("savepoint asked");
  await client.query(`set local statement_timeout = ${WORKERS_ANSWER_MS_MAX}`);
  const answer = await ask().catch((error: unknown) => {
    if (error instanceof Error && sqlState(error) !== undefined) return error;
    throw error;
  });
  await client.query("rollback to savepoint asked");
  return answer;
}

/**
 * A log writer is born with its connection. The newest id of the log is its floor: it never stamps at or below it.
 * $1: whether it is for batches of backfills, which appliers read after the others.
 */
const registerLogWriter = namedStatement(
  "register-log-writer",
  `with born as (
    insert into bellhop.log_writer (backend_pid, backend_start, is_backfill)
    select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
    returning log_writer_id
  )
  select
    log_writer_id::text,
    (select request_id from bellhop.accept_log order by request_id desc limit 1) as floor,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms
  from born`,
);
const appendEntries = readStatement(new URL("./sql/append-entries.sql", import.meta.url));
/** As register-log writer; the newest id, which lies on the workers, has been asked for before, in the same transaction. */
const registerLogWriterDistributed = namedStatement(
  "register-log-writer-distributed",
  `insert into bellhop.log_writer (backend_pid, backend_start, is_backfill)
  select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
  returning log_writer_id::text as log_writer_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms`,
);
/** At or below it no id is taken any more. */
const readPromise = namedStatement(
  "read-promise",
  "select promised::text as promised from bellhop.closed_timestamp",
);
/** Who holds the keys that a flush could not claim. */
const readIdempotencyKeys = namedStatement(
  "read-idempotency-keys",
  `select held.client_id, held.key, held.request_id, encode(held.fingerprint, 'hex') as fingerprint
  from json_to_recordset($1::json) as wanted (client_id text, key text)
  join bellhop.idempotency_key held on held.client_id = wanted.client_id and held.key = wanted.key`,
);

/** Advisory lock held while a log writer is born, so that floors are taken one after another. */
const LOG_WRITER_BIRTH_LOCK = 7_302_003;
/** A flush that takes longer has an unknown outcome: its connection, and so its log writer, is given up. */
const FLUSH_TIMEOUT_MS = 20_000;

/** The key that records are sealed with from now on; undefined where they are stored readable. */
export type SealingKey = () => PayloadKey | undefined;

/** How log writers write; by default for appliers to read in the order of receipt, and readable. */
export interface LogWriterSettings {
  /** Appliers read them after the others. */
  readonly isBackfill?: boolean;
  readonly sealingKey?: SealingKey;
  /** Hears of slow statements. */
  readonly watch?: StatementWatch;
}

class PostgresLogWriterSession implements LogWriterSession {
  readonly #client: pg.Client;
  readonly #isDistributed: boolean;
  readonly #isBackfill: boolean;
  readonly #sealingKey: SealingKey;
  #isInDoubt = false;

  constructor(client: pg.Client, isDistributed: boolean, { isBackfill, sealingKey }: LogWriterSettings) {
    this.#client = client;
    this.#isBackfill = isBackfill ?? false;
    this.#sealingKey = sealingKey ?? (() => undefined);
    this.#isDistributed = isDistributed;
    if (isDistributed) client.on("notice", ({ message }) => this.#hear(message));
  }

  /**
   * What was committed and prepared on every worker is on disk, but a worker that then went away shows it only when Citus
   * has recovered: what this log writer would write there next would be seen before it. So the log writer ends with this flush.
   */
  #hear(message: string | undefined): void {
    if (message?.startsWith("failed to commit transaction") === true) this.#isInDoubt = true;
  }

  async beginBirth(): Promise<void> {
    await this.#client.query("begin");
    await this.#client.query("select pg_advisory_xact_lock($1)", [LOG_WRITER_BIRTH_LOCK]);
  }

  async register(): Promise<LogWriterBirth | undefined> {
    const values = [this.#isBackfill];
    if (!this.#isDistributed)
      return (await this.#client.query<LogWriterBirth>({ ...registerLogWriter, values })).rows[0];
    const floor = await newestId(this.#client);
    // Last: the clock that it answers is taken for that of the moment.
    const { rows } = await this.#client.query<Omit<LogWriterBirth, "floor">>({
      ...registerLogWriterDistributed,
      values,
    });
    return rows[0] && { ...rows[0], floor };
  }

  commit(): Promise<unknown> {
    return this.#client.query("commit");
  }

  makePartitions(atMs: number): Promise<void> {
    return ensurePartitions(this.#client, atMs);
  }

  async append(
    logWriterId: string,
    stamped: readonly StampedAppend[],
  ): Promise<{ readonly rows: AppendedRow[]; readonly clockReadBy?: number }> {
    if (this.#isDistributed) {
      const appended = await appendDistributed(this.#client, logWriterId, stamped, this.#sealingKey());
      if (this.#isInDoubt) void this.#client.end();
      return appended;
    }
    const values = flushParameters(logWriterId, stamped, this.#sealingKey());
    return this.#client.query({ ...appendEntries, values });
  }

  async readPromise(): Promise<string | undefined> {
    return (await this.#client.query<{ promised: string }>(readPromise)).rows[0]?.promised;
  }

  readHeldKeys(wanted: readonly object[]): Promise<{ readonly rows: HeldKey[] }> {
    return this.#client.query({ ...readIdempotencyKeys, values: [JSON.stringify(wanted)] });
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

/** Sessions of log writers on PostgreSQL. */
export function logWriterSessions(
  clientConfig: pg.ClientConfig,
  settings: LogWriterSettings = {},
): OpenLogWriterSession {
  return async (lost) => {
    const client = new pg.Client({
      ...clientConfig,
      application_name: "bellhop accept",
      query_timeout: FLUSH_TIMEOUT_MS,
      statement_timeout: FLUSH_TIMEOUT_MS - 5_000,
    });
    client.on("error", lost);
    client.on("end", () => lost(new Error("The log writer's connection ended.")));
    if (settings.watch !== undefined) watchStatements(client, settings.watch);
    await client.connect();
    try {
      await endWithClient(client);
      return new PostgresLogWriterSession(client, await isDistributed(client), settings);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
