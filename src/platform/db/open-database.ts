import pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import type { Logger } from "../telemetry/log.ts";
import {
  clientConfig,
  createPool,
  type DurableCommit,
  type ServerAddress,
  type SessionSource,
  type StatementWatch,
  withSession,
} from "./connection.ts";
import { findDurabilityGaps } from "./dialect.ts";
import { findUndistributed } from "./distribute.ts";
import { isDistributed } from "./distribution.ts";
import { hasCluster } from "./embedded/home.ts";
import { type DatabaseRole, startEmbeddedPostgres } from "./embedded-postgres.ts";
import { migrate, readUnfinished } from "./migrate.ts";
import { findRecords } from "./migration-records.ts";

/** The database cannot be used; the message gives the reason and the remedy in one line. */
class UnusableDatabaseError extends OperatorError {}

const SERVER_VERSION_MIN = 150_000;

/** Long enough for a slow network; a pool of one server connection would otherwise hang the probe. */
const PROBE_TIMEOUT_MS = 5_000;

const POOLER =
  "DATABASE_URL names a pooler in transaction mode, which loses session locks: name PostgreSQL, or a pooler in session mode.";

/**
 * Checks what every guarantee rests on: PostgreSQL 15 or newer, a primary, UTF-8, fsync and full_page_writes on
 * (unless `allowUnsafeDurability`), sessions that stay on one server. Returns the synchronous_commit that sessions
 * take: `on`, or the server's own `remote_apply`, which waits for more. Throws UnusableDatabaseError.
 */
export async function checkServer(
  address: ServerAddress,
  allowUnsafeDurability: boolean,
  log: Logger,
): Promise<DurableCommit> {
  const level = await withClient(clientConfig(address), async (client) => {
    const { rows } = await client.query<ServerState>(SERVER_STATE);
    if (rows[0] === undefined)
      throw new UnusableDatabaseError("The database did not report its version and settings.");
    return checkState(rows[0], allowUnsafeDurability, log);
  });
  await refusePooler(clientConfig(address, level), level);
  return level;
}

interface ServerState {
  version: number;
  version_text: string;
  encoding: string;
  fsync: string;
  full_page_writes: string;
  synchronous_commit: string;
  standby: boolean;
}

const SERVER_STATE = `
  select current_setting('server_version_num')::int as version,
         current_setting('server_version') as version_text,
         current_setting('server_encoding') as encoding,
         current_setting('fsync') as fsync,
         current_setting('full_page_writes') as full_page_writes,
         current_setting('synchronous_commit') as synchronous_commit,
         pg_is_in_recovery() as standby`;

function checkState(state: ServerState, allowUnsafeDurability: boolean, log: Logger): DurableCommit {
  if (state.version < SERVER_VERSION_MIN) {
    throw new UnusableDatabaseError(
      `The database is PostgreSQL ${state.version_text}; 15 or newer is needed.`,
    );
  }
  if (state.standby)
    throw new UnusableDatabaseError("The database is a read-only standby: name the primary.");
  if (state.encoding !== "UTF8")
    throw new UnusableDatabaseError(`The database's encoding is ${state.encoding}; UTF8 is needed.`);
  const unsafe = (["fsync", "full_page_writes"] as const).filter((name) => state[name] !== "on");
  if (unsafe.length > 0) {
    const names = unsafe.join(" and ");
    if (!allowUnsafeDurability) {
      throw new UnusableDatabaseError(
        `The database has ${names} off, so an accepted batch could be lost: switch it on, or set ALLOW_UNSAFE_DURABILITY=yes if its storage is durable without it.`,
      );
    }
    log.warn({ unsafe }, "the database's durability settings are off, by ALLOW_UNSAFE_DURABILITY");
  }
  return state.synchronous_commit === "remote_apply" ? "remote_apply" : "on";
}

/**
 * A transaction pooler assigns a server session per transaction: with one session open and idle, a second that begins a
 * transaction gets the first's server session, or the first moves to another; direct connections do neither.
 */
async function refusePooler(config: pg.ClientConfig, level: DurableCommit): Promise<void> {
  const probe = { ...config, query_timeout: PROBE_TIMEOUT_MS };
  await withClient(probe, async (first) =>
    withClient(probe, async (second) => {
      const before = await backendOf(first);
      if (before.level !== level) throw new UnusableDatabaseError(POOLER);
      await second.query("begin");
      const other = await backendOf(second);
      const after = await backendOf(first);
      if (before.pid === other.pid || before.pid !== after.pid) throw new UnusableDatabaseError(POOLER);
      await second.query("rollback");
    }),
  );
}

async function backendOf(client: pg.Client): Promise<{ pid: number; level: string }> {
  const { rows } = await client.query<{ pid: number; level: string }>(
    "select pg_backend_pid() as pid, current_setting('synchronous_commit') as level",
  );
  if (rows[0] === undefined) throw new UnusableDatabaseError(POOLER);
  return rows[0];
}

async function withClient<Result>(
  config: pg.ClientConfig,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  try {
    return await withSession(config, "start", use);
  } catch (error) {
    // pgbouncer refuses start-up options that it does not know; a pool of one server connection answers the probe never.
    if (error instanceof Error && /unsupported startup parameter|Query read timeout/i.test(error.message))
      throw new UnusableDatabaseError(POOLER, { cause: error });
    throw error;
  }
}

/** The database has no installation; the message gives the remedy. */
class NoInstallation extends OperatorError {
  constructor(where: string) {
    super(
      `${where} contains no Bellhop installation: start the service there first, or set the service's DATA_DIR or DATABASE_URL.`,
    );
  }
}

/**
 * Commands must not create an installation: a mistyped address would yield an empty one, and backups of it.
 * Throws NoInstallation for a database without Bellhop's schema.
 */
async function requireInstallation(config: pg.ClientConfig): Promise<void> {
  const isInstalled = await withSession(
    config,
    "start",
    async (client) => (await findRecords(client)).length > 0 || (await readUnfinished(client)) !== undefined,
  );
  if (!isInstalled) throw new NoInstallation("the database");
}

/** The configuration of the database (src/config.ts). */
export interface DatabaseConfig {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly allowUnsafeDurability: boolean;
}

export interface DatabaseOptions {
  /** `service` holds the data directory alone; a `command` works beside it. By default `service`. */
  readonly role?: DatabaseRole;
  /** Maximum connections of the pool (default 10), besides those of log writers and appliers. */
  readonly poolSize?: number;
  /** Statement timeout of the pool in ms; default: none. */
  readonly answerMsMax?: number;
  /** Leaves the schema as it is, for commands that only read, or that are about to fill it. */
  readonly leavesSchema?: boolean;
  /** For a node that accepts and does nothing else: it starts before a move has filled the database, where that allows it. */
  readonly onlyAccepts?: boolean;
  /** Refuses a database that no service has started on; by default that is where one begins. */
  readonly existing?: boolean;
  /** Run once the data directory is this process's own, before a server is made or started in it, or a schema changed. */
  readonly first?: () => Promise<void>;
  /** Reports slow statements of the pool. */
  readonly watch?: StatementWatch;
  /** Aborted when the database is no longer wanted: opening it then fails, however long it would have waited. */
  readonly signal?: AbortSignal | undefined;
}

export interface Database {
  /** For statements that do not depend on session state. */
  readonly pool: pg.Pool;
  /** For separate connections (log writers, appliers): `new pg.Client(database.clientConfig)`. */
  readonly clientConfig: pg.ClientConfig;
  /** From this, other threads make their own `clientConfig`, which cannot be cloned. */
  readonly session: SessionSource;
  readonly embedded: boolean;
  /** The embedded server's data directory, to watch its free space (`freeDiskBytes`). */
  readonly dataDirectory: string | undefined;
  /** Closes the pool and leaves the embedded server. Close separate connections before. */
  close(): Promise<void>;
}

/**
 * Opens the database: DATABASE_URL's, or the embedded one in DATA_DIR; checks what the guarantees rest on and brings
 * the schema up to date. Throws, with a message of one line for the operator, EmbeddedPostgresError,
 * UnusableDatabaseError, NoInstallation or MigrationError; and what pg throws when the server of DATABASE_URL cannot be reached.
 */
export async function openDatabase(
  config: DatabaseConfig,
  log: Logger,
  options: DatabaseOptions = {},
): Promise<Database> {
  if (config.databaseUrl !== undefined) {
    await options.first?.();
    return await openServer({ connectionString: checkedUrl(config.databaseUrl) }, config, log, options);
  }
  if (options.existing === true && !(await hasCluster(config.dataDir)))
    throw new NoInstallation(config.dataDir);
  const { role = "service", first, signal } = options;
  const embedded = await startEmbeddedPostgres(config.dataDir, role, log, first, signal);
  try {
    const database = await openServer(embedded.address, config, log, options);
    return {
      ...database,
      embedded: true,
      dataDirectory: embedded.dataDirectory,
      close: async () => {
        await database.close();
        await embedded.close();
      },
    };
  } catch (error) {
    await embedded.close();
    throw error;
  }
}

/** Throws UnusableDatabaseError without the value, which may contain a password. */
function checkedUrl(url: string): string {
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new UnusableDatabaseError("DATABASE_URL must begin with postgresql://.");
  try {
    // Where the address has a space or a stray %, pg escapes the session's options twice.
    if (/\s/.test(url)) throw new URIError("It has a space.");
    decodeURIComponent(url);
    new pg.Client({ connectionString: url });
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof URIError)) throw error;
    throw new UnusableDatabaseError(
      "DATABASE_URL is no valid address: in a password write % as %25, # as %23, / as %2F, ? as %3F and a space as %20.",
    );
  }
  return url;
}

async function openServer(
  address: ServerAddress,
  config: DatabaseConfig,
  log: Logger,
  options: DatabaseOptions,
): Promise<Database> {
  const level = await checkServer(address, config.allowUnsafeDurability, log);
  const sessionConfig = clientConfig(address, level);
  if (options.existing === true) await requireInstallation(sessionConfig);
  if (options.leavesSchema !== true)
    await migrate(sessionConfig, log, { onlyAccepts: options.onlyAccepts === true, signal: options.signal });
  const pool = createPool(sessionConfig, log, options.poolSize ?? 10, options.answerMsMax, options.watch);
  try {
    await checkWorkers(pool, config.allowUnsafeDurability);
    if ((options.role ?? "service") === "service") await checkDistribution(pool);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    pool,
    clientConfig: sessionConfig,
    session: { address, synchronousCommit: level },
    embedded: false,
    dataDirectory: undefined,
    close: () => pool.end(),
  };
}

/**
 * Where the tables are distributed, a batch is on the disks of workers: what holds for the coordinator has to hold there. A node starts
 * without a worker that is away.
 */
async function checkWorkers(pool: pg.Pool, allowUnsafeDurability: boolean): Promise<void> {
  if (allowUnsafeDurability) return;
  const gaps = await findDurabilityGaps(pool, true);
  if (gaps.length > 0) {
    throw new UnusableDatabaseError(
      `An accepted batch could be lost on ${gaps.join(", ")}: switch it on there, or set ALLOW_UNSAFE_DURABILITY=yes if its storage is durable without it.`,
    );
  }
}

/** Tables that migrations have made since are to lie by bucket as well, before anything is written there. */
async function checkDistribution(pool: pg.Pool): Promise<void> {
  if (!(await isDistributed(pool))) return;
  const missing = await findUndistributed(pool);
  if (missing.length > 0) {
    throw new UnusableDatabaseError(
      `The tables ${missing.join(", ")} are new in this version and not distributed yet: stop every node, run bellhop citus distribute, and start again.`,
    );
  }
}
