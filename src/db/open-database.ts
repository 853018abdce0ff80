import { statfs } from "node:fs/promises";
import type pg from "pg";
import type { Logger } from "../observe/log.ts";
import { clientConfig, type ServerAddress, type SessionSource } from "./connection.ts";
import { findUndistributed } from "./distribute.ts";
import { isDistributed } from "./distribution.ts";
import { hasCluster } from "./embedded/home.ts";
import { type DatabaseRole, startEmbeddedPostgres } from "./embedded-postgres.ts";
import { NoInstallation, requireInstallation } from "./installation.ts";
import { migrate } from "./migrate.ts";
import { createPool } from "./pool.ts";
import { checkServer, UnusableDatabaseError } from "./server-checks.ts";
import type { StatementWatch } from "./watch-statements.ts";
import { durabilityGapsOf, readWorkers } from "./workers.ts";

/** What of the configuration (src/config.ts) the database needs. */
export interface DatabaseConfig {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly allowUnsafeDurability: boolean;
}

export interface DatabaseOptions {
  /** `service` holds the data directory alone; a `command` works beside it. By default `service`. */
  readonly role?: DatabaseRole;
  /** Connections of the pool at most; by default 10. Lanes and appliers open their own, beyond these. */
  readonly poolSize?: number;
  /** How long a statement of the pool may take (ms); by default as long as it likes. */
  readonly answerMsMax?: number;
  /** Leaves the schema as it is found, for whoever only looks, or is about to fill it. */
  readonly leavesSchema?: boolean;
  /** Refuses a database that no service has started on; by default that is where one begins. */
  readonly existing?: boolean;
  /** Run once the data directory is this process's own, before a server is made or started in it, or a schema changed. */
  readonly first?: () => Promise<void>;
  /** Hears of slow statements of the pool. */
  readonly watch?: StatementWatch;
}

export interface Database {
  /** For statements that no session state hangs on. */
  readonly pool: pg.Pool;
  /** For connections of one's own (lanes, appliers): `new pg.Client(database.clientConfig)`. */
  readonly clientConfig: pg.ClientConfig;
  /** What another thread makes its own `clientConfig` of, which cannot be handed over. */
  readonly session: SessionSource;
  readonly embedded: boolean;
  /** The embedded server's data directory, to watch its free space (`freeDiskBytes`). */
  readonly dataDirectory: string | undefined;
  /** Closes the pool and leaves the embedded server. Connections of one's own are closed before, by their owner. */
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
  const embedded = await startEmbeddedPostgres(config.dataDir, options.role ?? "service", log, options.first);
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

function checkedUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url;
  // The value is not repeated: it may hold a password.
  throw new UnusableDatabaseError("DATABASE_URL must begin with postgresql://.");
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
  if (options.leavesSchema !== true) await migrate(sessionConfig, log);
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

/** Where the tables are distributed, a batch is on the disks of workers: what holds for the coordinator has to hold there. */
async function checkWorkers(pool: pg.Pool, allowUnsafeDurability: boolean): Promise<void> {
  if (allowUnsafeDurability || !(await isDistributed(pool))) return;
  const gaps = (await readWorkers(pool)).flatMap(durabilityGapsOf);
  if (gaps.length > 0) {
    throw new UnusableDatabaseError(
      `An accepted batch could be lost on ${gaps.join(", ")}: switch it on there, or set ALLOW_UNSAFE_DURABILITY=yes if its storage is durable by itself.`,
    );
  }
}

/** Tables that migrations have made since are to lie by bucket as well, before anything is written there. */
async function checkDistribution(pool: pg.Pool): Promise<void> {
  if (!(await isDistributed(pool))) return;
  const missing = await findUndistributed(pool);
  if (missing.length > 0) {
    throw new UnusableDatabaseError(
      `Of the tables that lie on the workers of Citus by bucket, ${missing.join(", ")} came with this version: stop every node, run bellhop citus distribute, and start again.`,
    );
  }
}

/** Bytes that an ordinary process may still write on the file system of a directory. */
export async function freeDiskBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
