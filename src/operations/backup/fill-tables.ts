import type pg from "pg";
import { ROW_SUM, type RowSum } from "../../apply/state/state-schema.ts";
import { VERSION_WINDOWS } from "../../apply/state/write-versions.ts";
import { ACCEPT_LOG, REQUEST_OUTCOME } from "../../ingest/log/partitions.ts";
import { copyOut, copyPartsIn } from "../../platform/db/copy.ts";
import { slicesOf } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { createWindowTable } from "../../platform/db/time-windows.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import { openWindows } from "../../retention/open-windows.ts";
import { columnList, describeTables, type TableDescription } from "./describe-tables.ts";

/** Identity columns of the tables $1 and their sequences. */
const findIdentities = namedStatement(
  "find-identities",
  `select
    format('%s.%s', namespace.nspname, numbered.relname) as table, attname as column,
    pg_get_serial_sequence(format('%I.%I', namespace.nspname, numbered.relname), attname) as sequence
  from pg_attribute
  join pg_class as numbered on numbered.oid = attrelid
  join pg_namespace as namespace on namespace.oid = numbered.relnamespace
  where attidentity <> '' and not attisdropped and numbered.relkind in ('r', 'p')
    and format('%s.%s', namespace.nspname, numbered.relname) = any ($1::text[])`,
);

/** The log is partitioned from its migration on, the others once a retention period is set. */
const WINDOWED = [ACCEPT_LOG, REQUEST_OUTCOME, ...VERSION_WINDOWS];
const ANY_WINDOW_MS = 7 * 86_400_000;

/** Replaces the existing empty partitions with the described ones. */
async function replacePartitions(
  client: pg.ClientBase,
  { table, partitions }: TableDescription,
): Promise<void> {
  const windowed = WINDOWED.find((of) => `${of.schema}.${of.table}` === table);
  if (windowed === undefined) throw new OperatorError(`The schema has no partitions of ${table}.`);
  await openWindows(client, windowed, { nowMs: Date.now(), windowMs: ANY_WINDOW_MS });
  const [made] = await describeTables(client, [table]);
  for (const { name } of made?.partitions ?? []) await client.query(`drop table ${name}`);
  for (const { name, bounds } of partitions) {
    await createWindowTable(client, windowed, name.slice(windowed.schema.length + 1));
    await client.query(`alter table ${table} attach partition ${name} ${bounds}`);
  }
}

/**
 * Prepares tables for filling: deletes rows inserted by migrations and creates the described partitions. Throws OperatorError if the schema
 * lacks a table or column.
 */
export async function prepareTables(
  client: pg.ClientBase,
  tables: readonly TableDescription[],
): Promise<void> {
  const names = tables.map(({ table }) => table);
  const made = new Map((await describeTables(client, names)).map((table) => [table.table, table]));
  for (const table of tables) {
    const found = made.get(table.table);
    const missing = table.columns.find((column) => found?.columns.includes(column) !== true);
    if (found === undefined || missing !== undefined)
      throw new OperatorError(
        `The schema has no ${table.table}${missing === undefined ? "" : `.${missing}`}, but the backup has rows of it.`,
      );
    if (table.partitions.length > 0) await replacePartitions(client, table);
  }
  await client.query(`truncate ${names.join(", ")} cascade`);
}

/** Several parts are in memory at once, raw and compressed; smaller ones compress worse and need more calls. */
export const PART_BYTES = 4 * 1_048_576;

/** Yields a table's parts for `fillTable`, and counts its rows. */
export async function copyTableOut(
  client: pg.ClientBase,
  description: TableDescription,
): Promise<ReturnType<typeof copyOut>> {
  const from = `select ${columnList(description)} from ${description.table}`;
  const slices = await slicesOf(client, description.table);
  const statements = slices.map((slice) => `copy (${from} where ${slice}) to stdout (format binary)`);
  return copyOut(client, statements, PART_BYTES);
}

/** Fills a table from the parts of its binary COPY; returns the number of rows. */
export function fillTable(
  client: pg.ClientBase,
  description: TableDescription,
  parts: AsyncIterable<Buffer>,
): Promise<number> {
  const statement = `copy ${description.table} (${columnList(description)}) from stdin (format binary)`;
  return copyPartsIn(client, statement, parts);
}

/** Row count and order-independent digest of a table. */
export async function sumTable(client: pg.ClientBase, description: TableDescription): Promise<RowSum> {
  const { rows } = await client.query<RowSum>(
    `select ${ROW_SUM(`row(${columnList(description)})::text`)} from ${description.table}`,
  );
  return rows[0] ?? { count: 0, hash: "" };
}

/** Sets identity sequences past the highest number in their table. */
export async function moveIdentities(
  client: pg.ClientBase,
  tables: readonly TableDescription[],
): Promise<void> {
  const names = tables.map(({ table }) => table);
  const asked = { ...findIdentities, values: [names] };
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(asked);
  for (const { table, column, sequence } of rows)
    await client.query(
      `select setval($1, coalesce(max("${column}"), 1), max("${column}") is not null) from ${table}`,
      [sequence],
    );
}

/** Updates planner statistics, which otherwise treat the tables as empty. */
export async function analyzeTables(
  client: pg.ClientBase,
  tables: readonly TableDescription[],
): Promise<void> {
  for (const { table } of tables) await client.query(`analyze ${table}`);
}
