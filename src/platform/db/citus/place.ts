import type { Queryable } from "../transaction.ts";

/** The table that the others lie beside: it says how many shards there are, and on which worker each lies. */
export const FIRST_TABLE = "bellhop.bucket_lease";

/** Distributes a table by bucket: the first one over so many shards, another beside it. */
export async function placeTable(on: Queryable, table: string, shards?: number): Promise<void> {
  await identifyRows(on, table);
  if (shards !== undefined)
    await on.query(
      "select create_distributed_table($1::regclass, 'bucket', colocate_with => 'none', shard_count => $2)",
      [table, shards],
    );
  else
    await on.query("select create_distributed_table($1::regclass, 'bucket', colocate_with => $2)", [
      table,
      FIRST_TABLE,
    ]);
}

/** Citus moves shards while they are written to by logical replication, which has to know rows: without a key, by all of their columns. */
async function identifyRows(on: Queryable, table: string): Promise<void> {
  const keyed = await on.query("select from pg_index where indrelid = $1::regclass and indisprimary", [
    table,
  ]);
  if (keyed.rowCount === 0) await on.query(`alter table ${table} replica identity full`);
}
