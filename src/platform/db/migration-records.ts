import type pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import { CODE_VERSION, isAtLeast } from "./code-version.ts";
import type { Queryable } from "./transaction.ts";

/** The database is incompatible with this version; the message gives the reason in one line. */
export class MigrationError extends OperatorError {}

/** An applied migration. */
export interface MigrationRecord {
  readonly name: string;
  readonly checksum: string;
  /**
   * Of a contract migration (docs/internal/releases.md): the oldest version that works without what it takes away; older ones are
   * refused from then on. Null for one that only adds, which every version may ignore.
   */
  readonly oldest: string | null;
}

export interface Migration extends MigrationRecord {
  readonly sql: string;
  /** The index that it builds while rows are written, outside a transaction; null for all others. */
  readonly concurrentIndex: string | null;
}

/** Creates the table of records in a schema of its own: since PostgreSQL 15 an ordinary role may not create tables in public. */
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

export async function hasTable(on: Queryable, name: string): Promise<boolean> {
  const { rows } = await on.query<{ found: boolean }>("select to_regclass($1) is not null as found", [name]);
  return rows[0]?.found === true;
}

const hasRecords = (on: Queryable) => hasTable(on, "bellhop_migration.applied");

/** The applied migrations, in order. */
export async function readRecords(client: Queryable): Promise<readonly MigrationRecord[]> {
  const { rows } = await client.query<MigrationRecord>(
    "select name, checksum, oldest from bellhop_migration.applied order by name",
  );
  return rows;
}

/** As `readRecords`, for a database that may have none. Read-only. */
export async function findRecords(client: Queryable): Promise<readonly MigrationRecord[]> {
  return (await hasRecords(client)) ? await readRecords(client) : [];
}

/** Records an applied migration, in its transaction. */
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
      throw new MigrationError(`The migration ${name} was edited after it was applied: restore the file.`);
  }
  const pending = ours.filter(({ name }) => !had.has(name));
  const [first] = pending;
  const beyond = records.find(({ name }) => first !== undefined && name > first.name);
  if (first !== undefined && beyond !== undefined)
    throw new MigrationError(
      `The database has the migration ${beyond.name} and not ${first.name}, which precedes it: the database belongs to another line of versions.`,
    );
  return pending;
}
