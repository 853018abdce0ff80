import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import pg from "pg";
import type { Logger } from "../observe/log.ts";
import { withTransaction } from "./transaction.ts";
import { readUnfinished } from "./unfinished.ts";

interface Migration {
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}

interface AppliedMigration {
  name: string;
  checksum: string;
}

/** The database and this version of the code do not belong together; the message says how, in one line. */
export class MigrationError extends Error {}

const MIGRATIONS_DIRECTORY = new URL("../../sql/migrations/", import.meta.url);

export interface MigrationOptions {
  readonly directory?: URL;
  /** Of a database that a restore or move is filling: which ones run now, by name, and that it is not finished is no fault. */
  readonly filling?: ReadonlySet<string>;
}

/** Any constant will do, as long as every version of the service takes the same: "bellhop" in ASCII. */
const MIGRATION_LOCK = "27707136475951984";

/**
 * Brings the database to the schema of this code: runs the files of sql/migrations that it has not had, forward only,
 * each in a transaction of its own together with its record. An advisory lock lets several nodes start at once: one
 * migrates, the others wait and find nothing to do. Throws MigrationError for a database that a newer version has
 * migrated, whose applied migrations were edited since, or that is not finished (unfinished.ts).
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
    const applied = await readApplied(client);
    checkApplied(migrations, applied);
    for (const migration of migrations.slice(applied.length)) {
      await withTransaction(client, async () => {
        await client.query(migration.sql);
        await client.query("insert into bellhop_migration.applied (name, checksum) values ($1, $2)", [
          migration.name,
          migration.checksum,
        ]);
      });
      log.info({ migration: migration.name }, "migrated");
    }
  } finally {
    // Ending the session frees the lock.
    await client.end();
  }
}

/** The names of the migrations of this code, in order. Throws MigrationError for a name or number out of order. */
export async function readMigrations(directory: URL = MIGRATIONS_DIRECTORY): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (name, index) => {
      const number = /^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)+\.sql$/.exec(name)?.[1];
      if (number === undefined || Number(number) !== index + 1) {
        throw new MigrationError(
          `The migration ${name} is not named NNNN-verb-noun.sql with the next number.`,
        );
      }
      const sql = await readFile(new URL(name, directory), "utf8");
      return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

async function takeMigrationLock(client: pg.Client, log: Logger): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(
    `select pg_try_advisory_lock(${MIGRATION_LOCK}) as taken`,
  );
  if (rows[0]?.taken === true) return;
  log.info("waiting for another node that is migrating the database");
  await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<{ known: boolean }>(
    "select to_regclass('bellhop_migration.applied') is not null as known",
  );
  if (rows[0]?.known !== true) {
    // A schema of its own: since PostgreSQL 15 an ordinary role may not create tables in public.
    await client.query(`
      create schema if not exists bellhop_migration;
      create table bellhop_migration.applied (
        name text primary key,
        checksum text not null,
        applied_at timestamptz not null default clock_timestamp()
      )`);
  }
  const applied = await client.query<AppliedMigration>(
    "select name, checksum from bellhop_migration.applied order by name",
  );
  return applied.rows;
}

function checkApplied(migrations: readonly Migration[], applied: readonly AppliedMigration[]): void {
  for (const [index, { name, checksum }] of applied.entries()) {
    const ours = migrations[index];
    if (ours?.name !== name) {
      throw new MigrationError(
        `The database has the migration ${name}, which this version of Bellhop does not know: start a newer version.`,
      );
    }
    if (ours.checksum !== checksum) {
      throw new MigrationError(
        `The migration ${name} was edited after the database had it: restore the file as it was.`,
      );
    }
  }
}
