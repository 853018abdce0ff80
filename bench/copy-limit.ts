import type pg from "pg";
import { lowestIdAt } from "../src/ingest/log/part-name.ts";
import { copyIn, copyOut } from "./copy-stream.ts";
import { columnsOf } from "./table-columns.ts";

const COPIES = "bench_copy";

export interface CopyRound {
  readonly recordsPerSecond: number;
  readonly rowsPerSecond: number;
  readonly bytes: number;
}

/** The tables with outcomes or request ids of state. */
async function writtenTables(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ table: string }>(
    `select c.oid::regclass::text as table from pg_class c join pg_attribute on attrelid = c.oid
     where relkind = 'r' and relnamespace = any ('{bellhop_state,bellhop}'::regnamespace[])
     group by c.oid
     having bool_or(attname = 'request_id') and not bool_or(attname = 'log_writer_id')
       and (relnamespace = 'bellhop_state'::regnamespace or c.oid = 'bellhop.request_outcome'::regclass)`,
  );
  return rows.map(({ table }) => table);
}

/**
 * The third limit: copies the rows that apply wrote since a moment, read beforehand, into empty tables with the same
 * columns, keys and indexes, in one transaction and the binary format. Nothing is parsed, classified or looked up.
 */
export async function copyRound(client: pg.ClientBase, since: number, records: number): Promise<CopyRound> {
  const firstId = lowestIdAt(Math.floor(since));
  await client.query(`drop schema if exists ${COPIES} cascade; create schema ${COPIES}`);
  const loads: { copy: string; bytes: Buffer }[] = [];
  let rows = 0;
  for (const table of await writtenTables(client)) {
    const columns = (await columnsOf(client, table)).join(", ");
    const where = `request_id >= '${firstId}'`;
    const counted = await client.query<{ count: number }>(`select count(*) from ${table} where ${where}`);
    const count = counted.rows[0]?.count ?? 0;
    if (count === 0) continue;
    rows += count;
    const copy = `${COPIES}.${table.split(".")[1]}`;
    await client.query(`create table ${copy} (like ${table} including all)`);
    const bytes = await copyOut(client, `select ${columns} from ${table} where ${where}`);
    loads.push({ copy: `${copy} (${columns})`, bytes });
  }
  const begunAt = performance.now();
  await client.query("begin");
  for (const { copy, bytes } of loads) await copyIn(client, copy, bytes);
  await client.query("commit");
  const seconds = (performance.now() - begunAt) / 1000;
  await client.query(`drop schema ${COPIES} cascade`);
  const bytes = loads.reduce((sum, load) => sum + load.bytes.length, 0);
  return { recordsPerSecond: records / seconds, rowsPerSecond: rows / seconds, bytes };
}
