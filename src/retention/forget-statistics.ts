import type pg from "pg";

/** A table that nothing is left in keeps its statistics when it is analysed; PostgreSQL has a way to take them away since 18. */
const CLEAR_ALL = `
  select pg_clear_attribute_stats(schemaname, tablename, attname, inherited)
  from pg_stats
  where format('%I.%I', schemaname, tablename)::regclass in (
    select relid from unnest($1::text[]) as named (name), pg_partition_tree(named.name::regclass)
    union all select name::regclass from unnest($1::text[]) as named (name)
  )`;

const LOG = "bellhop.accept_log";

/**
 * Columns of the log but those that hold what arrived: a node that has not heard of an erasure yet may have written there meanwhile
 * what is redacted when it is applied.
 */
const LOG_COLUMNS = `
  select string_agg(quote_ident(attname), ', ' order by attnum) as columns
  from pg_attribute
  where attrelid = '${LOG}'::regclass and attnum > 0 and not attisdropped
    and atttypid not in ('bytea'::regtype, 'json'::regtype) and attname not in ('correlation_id', 'reply_to')`;

/**
 * Has PostgreSQL forget what it noted of the columns of these tables for its plans: what was taken out of a column may still stand
 * among its most common values. `tables` are qualified and quoted.
 */
export async function forgetStatistics(client: pg.ClientBase, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return;
  const { rows } = await client.query<{ canClear: boolean }>(
    `select to_regproc('pg_clear_attribute_stats') is not null as "canClear"`,
  );
  if (rows[0]?.canClear !== true) {
    await client.query(`analyze ${tables.join(", ")}`);
    return;
  }
  await client.query(CLEAR_ALL, [tables]);
  const log = await client.query<{ columns: string }>(LOG_COLUMNS);
  const analysed = tables.map((table) =>
    table === LOG ? `${table} (${log.rows[0]?.columns ?? ""})` : table,
  );
  await client.query(`analyze ${analysed.join(", ")}`);
}
