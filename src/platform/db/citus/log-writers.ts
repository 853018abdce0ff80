import type pg from "pg";
import { monotonicNow } from "../../runtime/shared-memory.ts";
import { sqlState } from "../database-errors.ts";
import { namedStatement, readStatement, type Statement } from "../statement.ts";
import { type Queryable, withTransaction } from "../transaction.ts";
import { CONNECT_MS_MAX, findHomes, type Home, WORKERS_ANSWER_MS_MAX } from "./workers.ts";

/** application_name of log writer sessions. */
export const LOG_WRITER_SESSION = "bellhop accept";

/** A registered log writer. `floor`: the newest id of the log, or null. */
export interface LogWriterRegistration {
  readonly log_writer_id: string;
  readonly floor: string | null;
  readonly database_now_ms: number;
}

/** One request of a flush. */
export interface FlushItem {
  readonly requestId: string;
  readonly append: {
    readonly idempotency: unknown;
    readonly entries: readonly { readonly bucket: number }[];
  };
}

/** The result of a flush. `clockReadBy`: when the database's clock had been read, if before the end of the flush. */
export interface FlushAnswer {
  readonly rows: readonly { readonly request_id: string; readonly database_now_ms: number }[];
  readonly clockReadBy?: number;
}

/** The parameters of append-entries.sql for these items; `keysOnly`: only their entries are used, not their bytes. */
export type FlushParameters<Item> = (items: readonly Item[], keysOnly?: boolean) => readonly [string, Buffer];

/** The statements of a log writer. `first`: the coordinator session whose transaction holds the registration lock. */
export interface LogWriterStatements<Item> {
  register(yields: boolean, first: pg.ClientBase): Promise<LogWriterRegistration | undefined>;
  append(items: readonly Item[], parametersOf: FlushParameters<Item>): Promise<FlushAnswer>;
  /** Runs a statement about keys, each with the bucket that it lies in. */
  readKeys<Row extends object>(
    statement: Statement,
    wanted: readonly { readonly bucket: number }[],
  ): Promise<{ readonly rows: readonly Row[] }>;
}

/** As register-log-writer; the newest id, which lies on the workers, is asked for before, in the same transaction. */
const registerOnCitus = namedStatement(
  "register-log-writer-on-citus",
  `insert into bellhop.log_writer (backend_pid, backend_start, yields)
  select pid, backend_start, $1 from pg_stat_activity where pid = pg_backend_pid()
  returning log_writer_id::text as log_writer_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms`,
);
/** Each worker reads the end of one index. */
const readNewestId = namedStatement(
  "read-newest-id",
  "select request_id from bellhop.accept_log order by request_id desc limit 1",
);
const readNewestIdOfBuckets = namedStatement(
  "read-newest-id-of-buckets",
  "select request_id from bellhop.accept_log where bucket = any ($1::smallint[]) order by request_id desc limit 1",
);
const readNow = namedStatement(
  "database-now",
  "select (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms",
);
const claimKeys = readStatement(new URL("./claim-keys.sql", import.meta.url));
const appendEntriesOfBuckets = readStatement(new URL("./append-entries-of-buckets.sql", import.meta.url));
const appendEntriesOfBucket = readStatement(new URL("./append-entries-of-bucket.sql", import.meta.url));

interface NewestRow {
  readonly request_id: string;
}

/** A log writer whose keys are rows of the coordinator and whose entries are rows of the workers that have their buckets. */
export class CitusLogWriter<Item extends FlushItem> implements LogWriterStatements<Item> {
  readonly #client: pg.Client;
  #isInDoubt = false;

  constructor(client: pg.Client) {
    this.#client = client;
    // A worker that went away after preparing shows its rows only when Citus has recovered: what this log writer wrote there
    // next would be seen before them. So the log writer ends with this flush.
    client.on("notice", ({ message }) => {
      if (message?.startsWith("failed to commit transaction") === true) this.#isInDoubt = true;
    });
  }

  async register(yields: boolean): Promise<LogWriterRegistration | undefined> {
    const floor = await newestId(this.#client);
    // Last: the clock that it answers is taken for that of the moment.
    const { rows } = await this.#client.query<Omit<LogWriterRegistration, "floor">>({
      ...registerOnCitus,
      values: [yields],
    });
    return rows[0] && { ...rows[0], floor };
  }

  /**
   * A flush of one bucket is one statement of that worker. Any other is a transaction in two phases: prepared on every worker
   * before the coordinator commits, so that all of it is on disk or nothing is.
   */
  async append(items: readonly Item[], parametersOf: FlushParameters<Item>): Promise<FlushAnswer> {
    const keyed = items.filter(({ append }) => append.idempotency !== null);
    const clock = await this.#client.query<{ database_now_ms: number }>(readNow);
    // What follows takes the longer part of a flush; counted in, ids would lie that much behind the database's clock.
    const clockReadBy = monotonicNow();
    const database_now_ms = clock.rows[0]?.database_now_ms ?? Number.NaN;
    let written = items;
    if (keyed.length === 0) await this.#write(items, parametersOf, false);
    else written = await this.#appendKeyed(items, keyed, parametersOf);
    if (this.#isInDoubt) void this.#client.end();
    return {
      clockReadBy,
      rows: written.map(({ requestId }) => ({ request_id: requestId, database_now_ms })),
    };
  }

  /** A key and its entry are one transaction of two servers, also where the entry has one worker. */
  async #appendKeyed(
    items: readonly Item[],
    keyed: readonly Item[],
    parametersOf: FlushParameters<Item>,
  ): Promise<readonly Item[]> {
    return await withTransaction(this.#client, async (client) => {
      const [entries] = parametersOf(keyed, true);
      const claimed = await client.query<NewestRow>({ ...claimKeys, values: [entries] });
      const mine = new Set(claimed.rows.map(({ request_id }) => request_id));
      const written = items.filter(
        ({ append, requestId }) => append.idempotency === null || mine.has(requestId),
      );
      if (written.length > 0) await this.#write(written, parametersOf, true);
      return written;
    });
  }

  readKeys<Row extends object>(
    statement: Statement,
    wanted: readonly object[],
  ): Promise<{ readonly rows: readonly Row[] }> {
    return this.#client.query<Row>({ ...statement, values: [JSON.stringify(wanted)] });
  }

  async #write(
    items: readonly Item[],
    parametersOf: FlushParameters<Item>,
    inTwoPhases: boolean,
  ): Promise<void> {
    const [entries, bytes] = parametersOf(items);
    const buckets = new Set(items.flatMap(({ append }) => append.entries.map(({ bucket }) => bucket)));
    const [bucket] = buckets;
    if (buckets.size === 1 && !inTwoPhases)
      await this.#client.query({ ...appendEntriesOfBucket, values: [entries, bytes, bucket] });
    else
      await this.#client.query({ ...appendEntriesOfBuckets, values: [entries, bytes] }).catch((error) => {
        throw withoutPartition(error);
      });
  }
}

/** Citus passes an error of a row that it sends to a worker on without its SQLSTATE: here of one that no partition takes. */
function withoutPartition(error: unknown): unknown {
  return error instanceof Error && error.message.startsWith("no partition of relation")
    ? Object.assign(error, { code: "23514" })
    : error;
}

/**
 * The newest id of the log, in the transaction that registers a log writer; null of an empty log. Where a worker does not answer
 * it is that of the others, or nothing would be accepted for anybody until it does. Ids of the log writer are then above those
 * of this process and the coordinator's clock, and below another process's only if that clock was set back as well.
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
  await client.query(
    `set local statement_timeout = ${WORKERS_ANSWER_MS_MAX}; set local citus.node_connection_timeout = ${CONNECT_MS_MAX}`,
  );
  const answer = await ask().catch((error: unknown) => {
    if (error instanceof Error && sqlState(error) !== undefined) return error;
    throw error;
  });
  await client.query("rollback to savepoint asked");
  return answer;
}

/**
 * The log writers whose end nobody has noted: of the coordinator's sessions those that are gone, as in retire-log-writers, and those of
 * workers that have left. Of a worker that is there its appliers close them (shard-session.ts).
 */
const findDeadLogWriters = namedStatement(
  "find-dead-log-writers",
  `select log_writer.log_writer_id::text as log_writer_id, log_writer.backend_pid
  from bellhop.log_writer as log_writer
  where log_writer.closed_at is null
    and not exists (
      select from pg_stat_activity writer
      where log_writer.node = 0 and writer.pid = log_writer.backend_pid
        and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
    )
    and (log_writer.node = 0 or log_writer.node not in (select groupid from pg_dist_node))`,
);
export const closeLogWriters = namedStatement(
  "close-log-writers",
  `update bellhop.log_writer set closed_at = clock_timestamp()
  where log_writer_id = any ($1::bigint[]) and closed_at is null`,
);
const findClosed = namedStatement(
  "find-closed-log-writers",
  `select log_writer_id::text as log_writer_id from bellhop.log_writer where closed_at is not null and retired_at is null`,
);
const findUnread = readStatement(new URL("./find-unread-log-writers.sql", import.meta.url));
const retireRead = namedStatement(
  "retire-read-log-writers",
  `update bellhop.log_writer set retired_at = clock_timestamp()
  where log_writer_id = any ($1::bigint[]) and retired_at is null`,
);

/**
 * Citus names what it prepares on a worker by the coordinator's group (0) and backend, and its sessions there by a number that ends in
 * the backend's, of ten digits behind the node's. (A worker's backend of the same number holds a log writer up for a moment.)
 */
const BEGUN_BY = /^citus_(?:0_|internal gpid=)(\d+)/;
const BACKENDS_OF_NODE = 10_000_000_000;
const BEGUN_ON_WORKER = `
  select coalesce(json_agg(name), '[]') from (
    select gid from pg_prepared_xacts where database = current_database()
    union all
    select application_name from pg_stat_activity where datname = current_database() and xact_start is not null
  ) as begun (name)`;

interface LogWriterRow {
  readonly log_writer_id: string;
}

const idsOf = (rows: readonly LogWriterRow[]): string[] => rows.map(({ log_writer_id }) => log_writer_id);

/**
 * As retire-log-writers. A flush of several workers is committed on the coordinator first: where a worker was away at that moment its
 * rows appear when Citus has recovered, perhaps long after the session is gone; and a statement of one worker may still be at
 * work there. So a log writer is closed once its session is gone and no worker has anything that the session began.
 */
export async function retireLogWritersOnCitus(
  client: Queryable,
  { query_timeout }: { readonly query_timeout?: number },
): Promise<void> {
  const run = <Row extends object>(statement: Omit<pg.QueryConfig, "values">, values: unknown[] = []) =>
    client.query<Row>({ ...statement, ...(query_timeout === undefined ? {} : { query_timeout }), values });
  const { rows: dead } = await run<LogWriterRow & { readonly backend_pid: number }>(findDeadLogWriters);
  if (dead.length > 0) {
    const { rows } = await run<{ success: boolean; result: string }>(
      { text: "select success, result from run_command_on_workers($1)" },
      [BEGUN_ON_WORKER],
    );
    const atWork = new Set(
      rows
        .flatMap(({ success, result }) => (success ? (JSON.parse(result) as string[]) : []))
        .map((name) => Number(BEGUN_BY.exec(name)?.[1]) % BACKENDS_OF_NODE),
    );
    const ended = dead.filter(({ backend_pid }) => !atWork.has(backend_pid));
    if (rows.every(({ success }) => success)) await run(closeLogWriters, [idsOf(ended)]);
  }
  const closed = idsOf((await run<LogWriterRow>(findClosed)).rows);
  if (closed.length === 0) return;
  const unread = new Set(idsOf((await run<LogWriterRow>(findUnread, [closed])).rows));
  await run(retireRead, [closed.filter((id) => !unread.has(id))]);
}
