import type pg from "pg";
import { copyIn, copyOut } from "./copy-stream.ts";

const COPIES = "bench_copy";

/** The tables that apply writes a round's records to, and which of their rows are a round's. */
const TABLES: readonly { readonly table: string; readonly rows: string }[] = [
  { table: "bellhop_state.inventory_version", rows: "property_id = any (array[PROPERTIES])" },
  { table: "bellhop_state.reservation_version", rows: "property_id = any (array[PROPERTIES])" },
  { table: "bellhop_state.group_version", rows: "property_id = any (array[PROPERTIES])" },
  { table: "bellhop_state.current_record", rows: "property_id = any (array[PROPERTIES])" },
  { table: "bellhop_state.known_room_type", rows: "property_id = any (array[PROPERTIES])" },
  {
    table: "bellhop.request_outcome",
    rows: "request_id in (select request_id from bellhop.accept_log where received_at >= 'STARTED_AT')",
  },
];

export interface CopyRound {
  /** From the first row sent to the commit's answer. */
  readonly seconds: number;
  readonly rows: number;
  readonly bytes: number;
}

/** A table's columns less those that the database computes. */
async function writtenColumns(client: pg.ClientBase, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(attname, ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? "";
}

/**
 * The second limit: the rows that apply wrote for the properties of a round (those whose code ends in `mark`), read out
 * beforehand, then copied in one transaction, in the binary format, into empty tables with the same columns, keys and
 * indexes on the same server. Nothing is parsed, classified or looked up.
 */
export async function copyRound(client: pg.ClientBase, mark: string, startedAt: number): Promise<CopyRound> {
  const { rows: properties } = await client.query<{ property_id: number }>(
    "select property_id from bellhop.property where property_code like '%' || $1",
    [mark],
  );
  const ids = properties.map(({ property_id }) => property_id).join(", ");
  const since = new Date(startedAt).toISOString();
  await client.query(`drop schema if exists ${COPIES} cascade; create schema ${COPIES}`);
  const loads: { copy: string; bytes: Buffer }[] = [];
  let rows = 0;
  for (const { table, rows: condition } of TABLES) {
    const where = condition.replace("PROPERTIES", ids).replace("STARTED_AT", since);
    const counted = await client.query<{ count: number }>(`select count(*) from ${table} where ${where}`);
    const count = counted.rows[0]?.count ?? 0;
    if (count === 0) continue;
    rows += count;
    const copy = `${COPIES}.${table.split(".")[1]}`;
    await client.query(`create table ${copy} (like ${table} including all)`);
    const columns = await writtenColumns(client, table);
    const bytes = await copyOut(client, `select ${columns} from ${table} where ${where}`);
    loads.push({ copy: `${copy} (${columns})`, bytes });
  }
  const begunAt = performance.now();
  await client.query("begin");
  for (const { copy, bytes } of loads) await copyIn(client, copy, bytes);
  await client.query("commit");
  const seconds = (performance.now() - begunAt) / 1000;
  await client.query(`drop schema ${COPIES} cascade`);
  return { seconds, rows, bytes: loads.reduce((sum, { bytes }) => sum + bytes.length, 0) };
}
