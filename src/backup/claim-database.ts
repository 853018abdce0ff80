import type pg from "pg";
import { sqlState } from "../db/sql-state.ts";
import { markUnfinished, readUnfinished, UNFINISHED_SCHEMA } from "../db/unfinished.ts";
import { BackupError } from "./backup-error.ts";

/** Advisory lock of whoever fills a database (any fixed number of our own). */
const FILLING_LOCK = 7_302_011;

/** Schemas of ours; a replay that was cut off may have left others of its own. */
const OUR_SCHEMAS = `select quote_ident(nspname) as name from pg_namespace
  where nspname in ('bellhop', 'bellhop_state', 'bellhop_migration', 'bellhop_unfinished', 'analytics')
    or nspname like 'bellhop\\_replay\\_%'`;

const OUT_OF_SHARED_MEMORY = "53200";

/** A log of years has more partitions than one transaction may lock, so they go one by one. */
async function dropTables(client: pg.ClientBase, schemas: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', namespace.nspname, part.relname) as name
    from pg_class as part join pg_namespace as namespace on namespace.oid = part.relnamespace
    where part.relispartition and quote_ident(namespace.nspname) = any ($1::text[])`,
    [schemas],
  );
  for (const { name } of rows) await client.query(`drop table if exists ${name}`);
}

async function dropSchemas(client: pg.ClientBase, schemas: readonly string[]): Promise<void> {
  const drop = () => client.query(`drop schema ${schemas.join(", ")} cascade`);
  await drop().catch(async (error: unknown) => {
    if (sqlState(error) !== OUT_OF_SHARED_MEMORY) throw error;
    await dropTables(client, schemas);
    await drop();
  });
}

/**
 * Takes an empty database for the client's session, to be filled: from now on it says `note` to whoever starts something on
 * it. What an earlier try has left there is dropped; anything else of ours in it is a reason to refuse. Throws BackupError.
 */
export async function claimDatabase(client: pg.ClientBase, note: string): Promise<void> {
  const lock = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
    FILLING_LOCK,
  ]);
  if (lock.rows[0]?.taken !== true)
    throw new BackupError("Another restore or move is filling this database: wait for its end.");
  // Nothing counts before the last commit (`settleFilled`), which is waited for, and with it all before it.
  await client.query("set synchronous_commit = off");
  const { rows } = await client.query<{ name: string }>(OUR_SCHEMAS);
  if (rows.length > 0) {
    const unfinished = await readUnfinished(client);
    if (unfinished?.isDisposable !== true)
      throw new BackupError(
        "The database is not empty, there is a Bellhop in it: name an empty one (a new database, or another DATA_DIR).",
      );
    // Last of all what says that it may be dropped.
    const names = rows.map(({ name }) => name).filter((name) => name !== UNFINISHED_SCHEMA);
    await dropSchemas(client, [...names, UNFINISHED_SCHEMA]);
  }
  await markUnfinished(client, { note, isDisposable: true });
}
