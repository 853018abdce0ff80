import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "../telemetry/log.ts";
import { MIGRATIONS_DIRECTORY, type Migration, MigrationError, readMigrations } from "./migration-files.ts";
import { pendingMigrations, prepareRecords, readRecords, recordMigration } from "./migration-records.ts";
import { sqlState } from "./sql-state.ts";
import { withTransaction } from "./transaction.ts";
import { readUnfinished } from "./unfinished.ts";

export interface MigrationOptions {
  readonly directory?: URL;
  /** Of a database that a restore or move is filling: which ones run now, by name, and that it is not finished is no fault. */
  readonly filling?: ReadonlySet<string>;
}

/** Any constant will do, as long as every version of the service takes the same: "bellhop" in ASCII. */
const MIGRATION_LOCK = "27707136475951984";

/** How often a node asks whether another has done with migrating. */
const ASK_AGAIN_MS = 200;

/**
 * How long a migration waits for a lock, and with it whoever comes to that table after it: as short as the first tries, so
 * that batches are taken meanwhile; longer later, as under load there may be no gap that is found at once.
 */
const LOCK_WAITS_MS = [50, 50, 100, 100, 200, 200, 400] as const;
const LOCK_WAIT_LONGEST_MS = 800;
const TRY_AGAIN_MS = 500;
/** Longer than any transaction of the service; what holds a table for longer is somebody's query. */
const TRIES_MS_MAX = 300_000;

const LOCK_NOT_AVAILABLE = "55P03";
const DEADLOCK_DETECTED = "40P01";

/**
 * Brings the database to the schema of this code: runs the files of sql/migrations that it has not had, forward only,
 * each in a transaction of its own together with its record, while nodes of the version before go on (docs/upgrades.md).
 * An advisory lock lets several nodes start at once: one migrates, the others wait and find nothing to do. A database that
 * is ahead is taken as it is when all of that only adds. Throws MigrationError for one that needs a newer version, whose
 * applied migrations were edited since, in which somebody holds a table for minutes, or that is not finished (unfinished.ts).
 */
export async function migrate(
  config: pg.ClientConfig,
  log: Logger,
  { directory = MIGRATIONS_DIRECTORY, filling }: MigrationOptions = {},
): Promise<void> {
  const migrations = (await readMigrations(directory)).filter(({ name }) => filling?.has(name) ?? true);
  const client = new pg.Client(config);
  // Without a listener a lost connection would end the process; the statement under way reports it.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await takeMigrationLock(client, log);
    const unfinished = filling === undefined ? await readUnfinished(client) : undefined;
    if (unfinished !== undefined) throw new MigrationError(unfinished.note);
    await prepareRecords(client);
    let patience = new Patience();
    for (;;) {
      const [next] = pendingMigrations(migrations, await readRecords(client));
      if (next === undefined) return;
      try {
        await run(client, next, patience.lockWaitMs);
      } catch (error) {
        await patience.afterFailure(error, next.name, log);
        continue;
      }
      log.info({ migration: next.name }, "migrated");
      patience = new Patience();
    }
  } finally {
    // Ending the session frees the lock.
    await client.end();
  }
}

/** The tries of one migration. */
class Patience {
  readonly #startedAt = performance.now();
  #tries = 0;

  get lockWaitMs(): number {
    return LOCK_WAITS_MS[this.#tries] ?? LOCK_WAIT_LONGEST_MS;
  }

  /** Waits until it may be tried again. Throws what cannot be mended by waiting. */
  async afterFailure(error: unknown, name: string, log: Logger): Promise<void> {
    if (![LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED].includes(sqlState(error) ?? "")) throw error;
    if (performance.now() - this.#startedAt > TRIES_MS_MAX)
      throw new MigrationError(
        `The migration ${name} found its tables in use for ${TRIES_MS_MAX / 60_000} minutes: look in pg_stat_activity for a transaction that lasts.`,
        { cause: error },
      );
    if (this.#tries === 0) log.info({ migration: name }, "waiting for a table that is in use");
    this.#tries += 1;
    await delay(TRY_AGAIN_MS);
  }
}

/** Asks again and again: a session that waits in the server would be waited for, in turn, by an index that is built concurrently. */
async function takeMigrationLock(client: pg.Client, log: Logger): Promise<void> {
  for (let asked = 0; ; asked += 1) {
    const { rows } = await client.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(${MIGRATION_LOCK}) as taken`,
    );
    if (rows[0]?.taken === true) return;
    if (asked === 0) log.info("waiting for another node that is migrating the database");
    await delay(ASK_AGAIN_MS);
  }
}

async function run(client: pg.Client, migration: Migration, lockWaitMs: number): Promise<void> {
  if (migration.concurrentIndex !== null) {
    // Its waits for other transactions block nobody.
    await dropUnfinished(client, migration.concurrentIndex);
    await client.query(migration.sql);
    return await recordMigration(client, migration);
  }
  await withTransaction(client, async () => {
    await client.query(`set local lock_timeout = ${lockWaitMs}`);
    await client.query(migration.sql);
    await recordMigration(client, migration);
  });
}

/** What a build that broke off has left: an index that is kept up to date and never used, or one that is whole, but not recorded. */
async function dropUnfinished(client: pg.Client, concurrentIndex: string): Promise<void> {
  await client.query(`drop index concurrently if exists ${concurrentIndex}`);
}
