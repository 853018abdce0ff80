import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Logger } from "../telemetry/log.ts";
import { makeRelations, RELATIONS_HASH, readMadeRelations } from "./analytics/make-relations.ts";
import { CODE_VERSION, isAtLeast } from "./code-version.ts";
import { endWithClient, withSession } from "./connection.ts";
import { sqlState } from "./database-errors.ts";
import {
  hasTable,
  type Migration,
  MigrationError,
  pendingMigrations,
  prepareRecords,
  readRecords,
  recordMigration,
} from "./migration-records.ts";
import { type Queryable, withTransaction } from "./transaction.ts";

const MIGRATIONS_DIRECTORY = new URL("../../../sql/migrations/", import.meta.url);

/** The migrations of this code, in order. Throws MigrationError for a name or number out of order, or a mark that says nothing. */
export async function readMigrations(directory: URL = MIGRATIONS_DIRECTORY): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)+\.sql$/.exec(name)?.[1]);
      if (number !== index + 1) {
        throw new MigrationError(
          `The migration ${name} is not named NNNN-verb-noun.sql with the next number.`,
        );
      }
      const sql = await readFile(new URL(name, directory), "utf8");
      const checksum = createHash("sha256").update(sql).digest("hex");
      return { name, sql, checksum, ...marksOf(name, sql) };
    }),
  );
}

function marksOf(name: string, sql: string): Pick<Migration, "oldest" | "concurrentIndex"> {
  const [, mark] = /^-- (contract|concurrently)\b/.exec(sql) ?? [];
  if (mark === "contract") {
    const oldest = /^-- contract (\d+\.\d+\.\d+): /.exec(sql)?.[1];
    if (oldest !== undefined) return { oldest, concurrentIndex: null };
    throw new MigrationError(
      `The migration ${name} does not begin with "-- contract 1.2.3: why", the oldest version that works after it.`,
    );
  }
  if (mark === "concurrently") {
    // PostgreSQL takes several statements in one message for a transaction, in which it builds no index so.
    const [, index, schema] =
      /^(?:--[^\n]*\n)+create (?:unique )?index concurrently (\w+)\s+on (\w+)\.\w[^;]*;?\s*$/i.exec(sql) ??
      [];
    if (index !== undefined) return { oldest: null, concurrentIndex: `${schema}.${index}` };
    throw new MigrationError(
      `The migration ${name} is marked "-- concurrently" and is not one "create index concurrently name on schema.table".`,
    );
  }
  return { oldest: null, concurrentIndex: null };
}

interface MigrationOptions {
  readonly directory?: URL;
  /** Of a database that a restore or move is filling: which ones run now, by name, and that it is not finished is no fault. */
  readonly filling?: ReadonlySet<string>;
  /** For a node that accepts and does nothing else: it starts before a move has filled the database, where that allows it. */
  readonly onlyAccepts?: boolean;
  /** Ends the session once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Any constant will do, as long as every version of the service takes the same: "bellhop" in ASCII. */
export const MIGRATION_LOCK = "27707136475951984";

/** Interval at which a node checks whether another has finished migrating. */
const ASK_AGAIN_MS = 200;

/**
 * How long a migration waits for a lock; queries on the table queue behind it. Short at first, so that batches are
 * still accepted; longer later, as under load short waits may never find a gap.
 */
const LOCK_WAITS_MS = [50, 50, 100, 100, 200, 200, 400] as const;
const LOCK_WAIT_LONGEST_MS = 800;
const TRY_AGAIN_MS = 500;
/** Longer than any transaction of the service: a table locked for longer is held by another program. */
const TRIES_MS_MAX = 300_000;

const LOCK_NOT_AVAILABLE = "55P03";
const DEADLOCK_DETECTED = "40P01";

/**
 * Brings the database to the schema of this code: runs the files of sql/migrations that it has not had, forward only,
 * each in a transaction of its own together with its record, while nodes of the version before go on (docs/upgrades.md). Then makes the
 * relations of analytics, if those of this version are others.
 * An advisory lock lets several nodes start at once: one migrates, the others wait and find nothing to do. A database that
 * is ahead is taken as it is when all of that only adds. Throws MigrationError for one that needs a newer version, whose
 * applied migrations were edited since, in which somebody holds a table for minutes, or that is not finished.
 */
export async function migrate(
  config: pg.ClientConfig,
  log: Logger,
  { directory = MIGRATIONS_DIRECTORY, filling, onlyAccepts = false, signal }: MigrationOptions = {},
): Promise<void> {
  const ours = await readMigrations(directory);
  const migrations = ours.filter(({ name }) => filling?.has(name) ?? true);
  await withSession(config, "migrate", async (client) => {
    await endWithClient(client);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", () => void client.end(), { once: true });
    await takeMigrationLock(client, log);
    const unfinished = filling === undefined ? await readUnfinished(client) : undefined;
    if (unfinished !== undefined && !(onlyAccepts && unfinished.acceptsAfter !== null))
      throw new MigrationError(unfinished.note);
    await prepareRecords(client);
    for (;;) {
      const [next] = pendingMigrations(migrations, await readRecords(client));
      // Ending the session frees the lock.
      if (next === undefined) break;
      if (unfinished !== undefined) throw new MigrationError(unfinished.note);
      await patiently(next.name, log, (lockWaitMs) => run(client, next, lockWaitMs));
      log.info({ migration: next.name }, "migrated");
    }
    const isWhole = directory === MIGRATIONS_DIRECTORY && migrations.length === ours.length;
    if (!isWhole || unfinished !== undefined || !(await needsRelations(client))) return;
    const isMade = await patiently("of the relations of analytics", log, (lockWaitMs) =>
      withTransaction(client, async () => {
        await client.query(`set local lock_timeout = ${lockWaitMs}`);
        return await makeRelations(client, CODE_VERSION);
      }),
    );
    log.info(
      isMade
        ? "made the relations of analytics"
        : "the relations of analytics have more columns than this code declares: they stay",
    );
  });
}

/** Relations that a newer version has made stay: they only have more. */
async function needsRelations(client: pg.ClientBase): Promise<boolean> {
  const made = await readMadeRelations(client);
  return made === undefined || (made.hash !== RELATIONS_HASH && isAtLeast(CODE_VERSION, made.version));
}

async function patiently<Result>(
  name: string,
  log: Logger,
  attempt: (lockWaitMs: number) => Promise<Result>,
): Promise<Result> {
  const patience = new Patience();
  for (;;) {
    try {
      return await attempt(patience.lockWaitMs);
    } catch (error) {
      await patience.afterFailure(error, name, log);
    }
  }
}

/** The tries of one migration. */
class Patience {
  readonly #startedAt = performance.now();
  #tries = 0;

  get lockWaitMs(): number {
    return LOCK_WAITS_MS[this.#tries] ?? LOCK_WAIT_LONGEST_MS;
  }

  /** Waits until the next try. Throws errors that a retry cannot resolve. */
  async afterFailure(error: unknown, name: string, log: Logger): Promise<void> {
    if (![LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED].includes(sqlState(error) ?? "")) throw error;
    if (performance.now() - this.#startedAt > TRIES_MS_MAX)
      throw new MigrationError(
        `The migration ${name} found its tables in use for ${TRIES_MS_MAX / 60_000} minutes: look for a long transaction in pg_stat_activity.`,
        { cause: error },
      );
    if (this.#tries === 0) log.info({ migration: name }, "waiting for a table that is in use");
    this.#tries += 1;
    await delay(TRY_AGAIN_MS);
  }
}

/** Polls for the lock: a concurrent index build would wait for a session that waits in the server. */
async function takeMigrationLock(client: pg.ClientBase, log: Logger): Promise<void> {
  for (let asked = 0; ; asked += 1) {
    const { rows } = await client.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(${MIGRATION_LOCK}) as taken`,
    );
    if (rows[0]?.taken === true) return;
    if (asked === 0) log.info("waiting for another node that is migrating the database");
    await delay(ASK_AGAIN_MS);
  }
}

/** Has nodes that start wait for `work` before they look at the database. Where it fails, the end of the session lets them go on. */
export async function holdingStarts<Result>(
  client: pg.ClientBase,
  log: Logger,
  work: () => Promise<Result>,
): Promise<Result> {
  await takeMigrationLock(client, log);
  const result = await work();
  await client.query(`select pg_advisory_unlock(${MIGRATION_LOCK})`);
  return result;
}

async function run(client: pg.Client, migration: Migration, lockWaitMs: number): Promise<void> {
  if (migration.concurrentIndex !== null) {
    // A build that broke off has left an index that is never used, or one that is whole and not recorded.
    await client.query(`drop index concurrently if exists ${migration.concurrentIndex}`);
    // Its waits for other transactions block nobody.
    await client.query(migration.sql);
    return await recordMigration(client, migration);
  }
  await withTransaction(client, async () => {
    await client.query(`set local lock_timeout = ${lockWaitMs}`);
    await client.query(migration.sql);
    await recordMigration(client, migration);
  });
}

/**
 * A database that is not to be used as it is says so itself: one that a restore or a move is filling, and one that was moved
 * away. The schema is the first thing that is made there, and the last that goes.
 */
export const UNFINISHED_SCHEMA = "bellhop_unfinished";

export interface Unfinished {
  /** One line for an operator who starts a command on it: what to do. */
  readonly note: string;
  /** Whether it holds only what a restore or move has put there so far. */
  readonly isDisposable: boolean;
  /**
   * Where nodes accept before a move has filled it: the greatest log writer of the former database. What later ones have written was
   * accepted here and is nowhere else. Null where no node may start.
   */
  readonly acceptsAfter: string | null;
}

/** What a database says of itself; undefined for one that may be used. */
export async function readUnfinished(client: Queryable): Promise<Unfinished | undefined> {
  if (!(await hasTable(client, `${UNFINISHED_SCHEMA}.note`))) return undefined;
  const said = await client.query<Unfinished>(
    `select note, is_disposable as "isDisposable", accepts_after as "acceptsAfter" from ${UNFINISHED_SCHEMA}.note`,
  );
  return said.rows[0];
}

/** A node that was taken for stopped and is not, as it hung, has no batch accepted then. */
const CLOSE_LOG = `
  create function ${UNFINISHED_SCHEMA}.refuse() returns trigger language plpgsql as $body$
  begin
    raise exception 'The database was moved, or is being moved.';
  end
  $body$;
  create trigger refuse before insert on bellhop.accept_log execute function ${UNFINISHED_SCHEMA}.refuse()`;

interface Mark extends Partial<Unfinished> {
  readonly note: string;
  /** Has the log of the database take nothing more until it is cleared. */
  readonly closesLog?: boolean;
}

/** Has the database say so from now on, in place of what it has said. */
export async function markUnfinished(
  client: pg.ClientBase,
  { note, isDisposable = false, acceptsAfter = null, closesLog = false }: Mark,
): Promise<void> {
  await withTransaction(client, async () => {
    await client.query(`drop schema if exists ${UNFINISHED_SCHEMA} cascade`);
    await client.query(`create schema ${UNFINISHED_SCHEMA}`);
    await client.query(
      `create table ${UNFINISHED_SCHEMA}.note (note text not null, is_disposable boolean not null, accepts_after bigint)`,
    );
    await client.query(`insert into ${UNFINISHED_SCHEMA}.note values ($1, $2, $3)`, [
      note,
      isDisposable,
      acceptsAfter,
    ]);
    if (closesLog) await client.query(CLOSE_LOG);
  });
}

/** Has the database say something else; what it accepts stays. */
export async function renoteUnfinished(client: pg.ClientBase, note: string): Promise<void> {
  await client.query(`update ${UNFINISHED_SCHEMA}.note set note = $1`, [note]);
}

/** It may be used now; in the caller's transaction, where there is one. */
export async function clearUnfinished(client: pg.ClientBase): Promise<void> {
  await client.query(`drop schema ${UNFINISHED_SCHEMA} cascade`);
}
