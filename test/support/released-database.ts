import { gunzipSync, gzipSync } from "node:zlib";
import type pg from "pg";
import type { Migration } from "../../src/platform/db/migration-records.ts";
import { withTransaction } from "../../src/platform/db/transaction.ts";

/**
 * A database as text, so that every later version can be given it: first the statements that the migrations of that version do not
 * make, then the rows of each table as PostgreSQL writes them as JSON, which it reads again without a change.
 */
interface Section {
  readonly statement?: string;
  readonly table?: string;
  readonly columns?: string;
  /** Of the rows that follow. */
  readonly bytes?: number;
}

/** A table before those that refer to it. */
const TABLES = `
  with recursive own as (
    select c.oid, c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname like 'bellhop%'
  ), depth as (
    select oid, 0 as deep from own
    union
    select f.conrelid, deep + 1 from depth join pg_constraint f on f.contype = 'f' and f.confrelid = depth.oid and f.conrelid <> f.confrelid
  )
  select own.name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
  from own
  join (select oid, max(deep) as deep from depth group by oid) as placed using (oid)
  join pg_attribute a on a.attrelid = own.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by own.name, placed.deep order by placed.deep, own.name`;

/** The migrations' own tables, whose schema belongs to the version. */
const RECORD_TABLES = `
  select format('create table %s (%s, primary key (name))', c.oid::regclass, string_agg(
    format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') || case when a.attnotnull then ' not null' else '' end,
    ', ' order by a.attnum)) as statement
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relnamespace = 'bellhop_migration'::regnamespace and c.relkind = 'r' group by c.oid order by 1`;

const PARTITIONS = `
  select format('create table %s partition of %s %s', c.oid::regclass, i.inhparent::regclass, pg_get_expr(c.relpartbound, c.oid)) as statement
  from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_namespace n on n.oid = c.relnamespace
  where c.relispartition and c.relkind = 'r' and n.nspname like 'bellhop%' order by c.oid::regclass::text`;

const SEQUENCES = `
  select format('select setval(%L, %s)', format('%I.%I', schemaname, sequencename), last_value) as statement
  from pg_sequences where schemaname like 'bellhop%' and last_value is not null order by 1`;

/** Writes everything that the service has stored, of one snapshot. */
export async function writeDatabase(client: pg.Client): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const add = (section: Section, rows = Buffer.alloc(0)) =>
    chunks.push(Buffer.from(`${JSON.stringify(section)}\n`), rows);
  await withTransaction(
    client,
    async () => {
      // So that every name comes with its schema.
      await client.query("set local search_path = pg_catalog");
      const statements = async (query: string) =>
        (await client.query<{ statement: string }>(query)).rows.map(({ statement }) => statement);
      add({ statement: "create schema bellhop_migration" });
      for (const statement of [...(await statements(RECORD_TABLES)), ...(await statements(PARTITIONS))])
        add({ statement });
      const tables = await client.query<{ name: string; columns: string }>(TABLES);
      add({ statement: `truncate ${tables.rows.map(({ name }) => name).join(", ")}` });
      for (const { name, columns } of tables.rows) {
        const { rows } = await client.query<{ rows: string | null }>(
          `select json_agg(to_json(t))::text as rows from (select ${columns} from ${name}) as t`,
        );
        const json = Buffer.from(rows[0]?.rows ?? "[]");
        if (rows[0]?.rows) add({ table: name, columns, bytes: json.length }, json);
      }
      for (const statement of await statements(SEQUENCES)) add({ statement });
    },
    { isolation: "repeatable read", readOnly: true },
  );
  return gzipSync(Buffer.concat(chunks), { level: 9 });
}

/** Gives an empty database what was written: `migrations` are those of the version that it is of. */
export async function loadDatabase(
  client: pg.Client,
  migrations: readonly Pick<Migration, "sql" | "concurrentIndex">[],
  written: Buffer,
): Promise<void> {
  for (const { sql, concurrentIndex } of migrations)
    if (concurrentIndex === null) await withTransaction(client, () => client.query(sql));
    else await client.query(sql);
  const content = gunzipSync(written);
  await withTransaction(client, async () => {
    for (let at = 0; at < content.length; ) {
      const end = content.indexOf("\n", at);
      const section = JSON.parse(content.toString("utf8", at, end)) as Section;
      at = end + 1;
      if (section.statement !== undefined) await client.query(section.statement);
      const { table, columns, bytes = 0 } = section;
      if (table !== undefined)
        await client.query(
          `insert into ${table} (${columns}) overriding system value
          select ${columns} from json_populate_recordset(null::${table}, $1)`,
          [content.toString("utf8", at, at + bytes)],
        );
      at += bytes;
    }
  });
}
