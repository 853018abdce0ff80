import type pg from "pg";
import { CODE_VERSION, isAtLeast } from "./code-version.ts";
import { MigrationError } from "./migration-error.ts";
import type { Migration } from "./migration-files.ts";
import type { Queryable } from "./transaction.ts";

/** What the database says that was done to it. */
export interface MigrationRecord {
  readonly name: string;
  readonly checksum: string;
  /** Whether a version that does not know it has to heed it. */
  readonly heeded: boolean;
  /** Where it is heeded: the oldest version that may start all the same; null for none that does not know it. */
  readonly oldest: string | null;
}

const READ_RECORDS = `
  select name, checksum, true as heeded, oldest from bellhop_migration.applied
  union all
  select name, checksum, false, null from bellhop_migration.expansion
  order by name`;

/**
 * Makes the tables of records where they are missing. There are two, because version 0.1.0 refuses to start where `applied` has a
 * row that it does not know: what it has to heed stands there, and what it need not know in `expansion`. A schema of its own, as
 * since PostgreSQL 15 an ordinary role may not create tables in public.
 */
export async function prepareRecords(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ both: boolean }>(
    "select to_regclass('bellhop_migration.expansion') is not null as both",
  );
  if (rows[0]?.both === true) return;
  await client.query(`
    create schema if not exists bellhop_migration;
    create table if not exists bellhop_migration.applied (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp()
    );
    alter table bellhop_migration.applied add column if not exists oldest text;
    create table bellhop_migration.expansion (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp()
    )`);
}

/** What the database has had, in order. */
export async function readRecords(client: Queryable): Promise<readonly MigrationRecord[]> {
  const { rows } = await client.query<MigrationRecord>(READ_RECORDS);
  return rows;
}

/** The same of a database that may have no records, or those of version 0.1.0; writes nothing. */
export async function findRecords(client: Queryable): Promise<readonly MigrationRecord[]> {
  const { rows: found } = await client.query<{ applied: boolean; expansion: boolean }>(
    `select to_regclass('bellhop_migration.applied') is not null as applied,
      to_regclass('bellhop_migration.expansion') is not null as expansion`,
  );
  if (found[0]?.expansion === true) return await readRecords(client);
  if (found[0]?.applied !== true) return [];
  const { rows } = await client.query<MigrationRecord>(
    "select name, checksum, true as heeded, null as oldest from bellhop_migration.applied order by name",
  );
  return rows;
}

/** Records, in its own transaction, that the database has had a migration. */
export async function recordMigration(client: pg.ClientBase, migration: Migration): Promise<void> {
  const { name, checksum, kind, oldest } = migration;
  if (kind === "expand") {
    await client.query("insert into bellhop_migration.expansion (name, checksum) values ($1, $2)", [
      name,
      checksum,
    ]);
  } else {
    await client.query("insert into bellhop_migration.applied (name, checksum, oldest) values ($1, $2, $3)", [
      name,
      checksum,
      oldest,
    ]);
  }
}

/** Other records say since when the database holds what older versions cannot read (oldest-version.ts). */
export function isMigration(name: string): boolean {
  return /^\d{4}-/.test(name);
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
  for (const { name, oldest } of unknown.filter(({ heeded }) => heeded)) {
    if (oldest !== null && isAtLeast(version, oldest)) continue;
    throw new MigrationError(
      `The database has ${isMigration(name) ? "the migration " : ""}${name}, which this version of Bellhop does not know: start ${oldest === null ? "a newer version" : `version ${oldest} or a newer one`}.`,
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
  const beyond = records.find(({ name }) => first !== undefined && isMigration(name) && name > first.name);
  if (first !== undefined && beyond !== undefined)
    throw new MigrationError(
      `The database has the migration ${beyond.name} and not ${first.name}, which comes before it: they are of different lines of versions.`,
    );
  return pending;
}
