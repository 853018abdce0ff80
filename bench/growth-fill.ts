import type pg from "pg";
import { bucketOf } from "../src/ingest/log/part-name.ts";
import { hotelCode } from "./batches.ts";
import { CLIENT_CODE } from "./record-templates.ts";
import { columnsOf } from "./table-columns.ts";

/** Approximate rows per statement: set-based, but with visible progress. */
const ROWS_PER_STATEMENT = 500_000;

/** The template's request id with a different end, so that its timestamp stays. */
const COPIED_REQUEST = "(left(row.request_id::text, 24) || lpad(to_hex(fill.copy), 12, '0'))::uuid";

export interface FillOptions {
  /** The hotels filled through the API; each copy has as many. */
  readonly templates: readonly number[];
  /** Number of the first hotel of the first copy. */
  readonly firstHotel: number;
  /** Approximate number of versions at the end. */
  readonly versions: number;
}

/**
 * Indexes are dropped during copying and rebuilt, because their maintenance grows with their depth
 * (docs/decisions/0012). The fill factor is that of random insertion, as after a year of operation.
 */
const LEAVES_FILLED_PERCENT = 70;

interface PutAside {
  readonly drop: string;
  readonly build: string;
  readonly settle: string;
}

/** Statements that drop the indexes of these tables, rebuild them, and restore the normal fill factor. */
async function indexesOf(client: pg.ClientBase, tables: readonly string[]): Promise<PutAside[]> {
  const { rows } = await client.query<{
    table: string;
    index: string;
    schema: string;
    key: string | null;
    text: string;
  }>(
    `select indrelid::regclass::text as table, index.relname as index, relnamespace::regnamespace::text as schema,
       pg_get_constraintdef(con.oid) as key, pg_get_indexdef(indexrelid) as text
     from pg_index join pg_class as index on index.oid = indexrelid
     left join pg_constraint as con on conindid = indexrelid
     where indrelid = any ($1::regclass[])`,
    [tables],
  );
  const filled = ` with (fillfactor = ${LEAVES_FILLED_PERCENT})`;
  return rows.map(({ table, index, schema, key, text }) => {
    // BRIN indexes have no fill factor.
    if (text.includes(" USING brin "))
      return { drop: `drop index ${schema}.${index}`, build: text, settle: "" };
    return {
      ...(key === null
        ? {
            drop: `drop index ${schema}.${index}`,
            build: text.includes(" WHERE ")
              ? text.replace(" WHERE ", `${filled} WHERE `)
              : `${text}${filled}`,
          }
        : {
            drop: `alter table ${table} drop constraint ${index}`,
            build: `alter table ${table} add constraint ${index} ${key}${filled}`,
          }),
      settle: `alter index ${schema}.${index} reset (fillfactor)`,
    };
  });
}

/** Registers the hotels of the copies; the table `fill` maps them to templates. */
async function addHotels(client: pg.ClientBase, options: FillOptions, copies: number): Promise<void> {
  const { templates, firstHotel } = options;
  const rows = Array.from({ length: copies * templates.length }, (_, at) => {
    const code = hotelCode(firstHotel + at);
    return {
      copy: 1 + Math.floor(at / templates.length),
      code,
      bucket: bucketOf(CLIENT_CODE, code),
      of: templates[at % templates.length],
    };
  });
  await client.query(
    `create temp table fill as
     with wanted as (
       select * from json_to_recordset($1) as w (copy integer, code text, bucket smallint, "of" integer)
     ), added as (
       insert into bellhop.property (client_code, property_code, bucket, created_by)
       select $2, code, bucket, 'bench' from wanted returning property_id, property_code
     )
     select copy, "of" as from_id, wanted.bucket, property_id from wanted join added on property_code = code`,
    [JSON.stringify(rows), CLIENT_CODE],
  );
  await client.query("create index on fill (copy)");
}

/** Tables of state with rows per property, and the log and outcomes with rows per request. */
async function tablesOf(client: pg.ClientBase): Promise<{ table: string; columns: string[] }[]> {
  const { rows } = await client.query<{ table: string }>(
    `select c.oid::regclass::text as table from pg_class c join pg_attribute a on attrelid = c.oid
     where relkind = 'r' and relnamespace = 'bellhop_state'::regnamespace and attname = 'property_id' order by 1`,
  );
  const tables = [...rows.map(({ table }) => table), "bellhop.request_outcome", "bellhop.accept_log"];
  const found: { table: string; columns: string[] }[] = [];
  for (const table of tables) found.push({ table, columns: await columnsOf(client, table) });
  return found;
}

/** Copies the rows of the template hotels, each with its hotel. */
async function takeTemplates(
  client: pg.ClientBase,
  templates: readonly number[],
  tables: readonly { table: string; columns: readonly string[] }[],
): Promise<number> {
  let versions = 0;
  await client.query("create temp table template_request (request_id uuid, from_id integer)");
  for (const [number, { table, columns }] of tables.entries()) {
    const ofProperty = columns.includes("property_id");
    const { rowCount } = await client.query(
      ofProperty
        ? `create temp table template_${number} as select *, property_id as from_id from ${table}
           where property_id = any (array[${templates.join(", ")}])`
        : `create temp table template_${number} as select row.*, from_id from ${table} as row
           join (select distinct * from template_request) as request using (request_id)`,
    );
    if (!/_version$/.test(table)) continue;
    versions += rowCount ?? 0;
    await client.query(
      `insert into template_request select distinct request_id, from_id from template_${number}`,
    );
  }
  return versions;
}

/**
 * Fills the database with copies of template hotels by SQL, in every table that accepting and applying write: the same
 * records for other hotels, buckets and requests, in a closed log writer. Returns the number of hotels.
 */
export async function fill(client: pg.ClientBase, options: FillOptions): Promise<number> {
  const tables = await tablesOf(client);
  const versions = await takeTemplates(client, options.templates, tables);
  const copies = Math.max(1, Math.round(options.versions / versions));
  await addHotels(client, options, copies);
  const logWriter = await client.query<{ id: string }>(
    `insert into bellhop.log_writer (backend_pid, backend_start, closed_at, retired_at)
     values (0, clock_timestamp(), clock_timestamp(), clock_timestamp()) returning log_writer_id::text as id`,
  );
  const replaced: Readonly<Record<string, string>> = {
    bucket: "fill.bucket",
    property_id: "fill.property_id",
    request_id: COPIED_REQUEST,
    log_writer_id: logWriter.rows[0]?.id ?? "0",
  };
  const indexes = await indexesOf(
    client,
    tables.filter(({ columns }) => columns.includes("property_id")).map(({ table }) => table),
  );
  for (const { drop } of indexes) await client.query(drop);
  const step = Math.max(1, Math.floor(ROWS_PER_STATEMENT / versions));
  for (let copy = 1; copy <= copies; copy += step) {
    for (const [number, { table, columns }] of tables.entries()) {
      await client.query(
        `insert into ${table} (${columns.join(", ")})
         select ${columns.map((column) => replaced[column] ?? `row.${column}`).join(", ")}
         from fill join template_${number} as row using (from_id)
         where fill.copy >= ${copy} and fill.copy < ${copy + step}`,
      );
    }
    if (copy % (step * 4) === 1)
      console.error(`filled ${(copy * versions).toLocaleString("en-US")} versions`);
  }
  await client.query("set maintenance_work_mem = '1GB'");
  for (const { build, settle } of indexes) {
    await client.query(build);
    await client.query(settle);
  }
  // Leaves no work for autovacuum during measurements. Keeps vacuum's default buffer ring, without which it evicted the
  // log from shared buffers (scattered pages: 160 ms instead of 127).
  for (const { table } of tables) await client.query(`vacuum (analyze) ${table}`);
  return copies * options.templates.length;
}
