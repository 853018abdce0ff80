import type pg from "pg";
import { CODE_VERSION, isAtLeast } from "./code-version.ts";
import type { Migration } from "./migration-files.ts";
import { MigrationError } from "./migration-files.ts";
import type { Queryable } from "./transaction.ts";

/** A migration that the database has had. */
export interface MigrationRecord {
  readonly name: string;
  readonly checksum: string;
  /** Of a contract migration: the oldest version that may start since; null for one that every version may ignore. */
  readonly oldest: string | null;
}

const READ_RECORDS = "select name, checksum, oldest from bellhop_migration.applied order by name";

/** Creates the table of records where it is missing, in a schema of its own: since PostgreSQL 15 an ordinary role may not create tables in public. */
export async function prepareRecords(client: pg.ClientBase): Promise<void> {
  if (await hasRecords(client)) return;
  await client.query(`
    create schema if not exists bellhop_migration;
    create table if not exists bellhop_migration.applied (
      name text primary key,
      checksum text not null,
      oldest text,
      applied_at timestamptz not null default clock_timestamp()
    )`);
}

async function hasRecords(on: Queryable): Promise<boolean> {
  const { rows } = await on.query<{ found: boolean }>(
    "select to_regclass('bellhop_migration.applied') is not null as found",
  );
  return rows[0]?.found === true;
}

/** What the database has had, in order. */
export async function readRecords(client: Queryable): Promise<readonly MigrationRecord[]> {
  const { rows } = await client.query<MigrationRecord>(READ_RECORDS);
  return rows;
}

/** The same of a database that may have no records; writes nothing. */
export async function findRecords(client: Queryable): Promise<readonly MigrationRecord[]> {
  return (await hasRecords(client)) ? await readRecords(client) : [];
}

/** Records, in its own transaction, that the database has had a migration. */
export async function recordMigration(client: pg.ClientBase, migration: Migration): Promise<void> {
  const { name, checksum, oldest } = migration;
  await client.query("insert into bellhop_migration.applied (name, checksum, oldest) values ($1, $2, $3)", [
    name,
    checksum,
    oldest,
  ]);
}

/**
 * The migrations of this code that the database has not had. Throws MigrationError where this version cannot work with it:
 * something that it does not know and has to heed, a migration that was edited since, or one that is missing amid others.
 */
export function pendingMigrations(
  ours: readonly Migration[],
  records: readonly MigrationRecord[],
  version: string = CODE_VERSION,
): readonly Migration[] {
  const known = new Map(ours.map((migration) => [migration.name, migration]));
  const unknown = records.filter(({ name }) => !known.has(name));
  for (const { name, oldest } of unknown) {
    if (oldest === null || isAtLeast(version, oldest)) continue;
    throw new MigrationError(
      `The database has the migration ${name}, which version ${version} of Bellhop cannot work with: start version ${oldest} or newer.`,
    );
  }
  const had = new Map(records.map(({ name, checksum }) => [name, checksum]));
  for (const { name, checksum } of ours) {
    if (had.has(name) && had.get(name) !== checksum)
      throw new MigrationError(
        `The migration ${name} was edited after the database had it: restore the file as it was.`,
      );
  }
  const pending = ours.filter(({ name }) => !had.has(name));
  const [first] = pending;
  const beyond = records.find(({ name }) => first !== undefined && name > first.name);
  if (first !== undefined && beyond !== undefined)
    throw new MigrationError(
      `The database has the migration ${beyond.name} and not ${first.name}, which comes before it: they are of different lines of versions.`,
    );
  return pending;
}
