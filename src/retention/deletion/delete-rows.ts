import type pg from "pg";
import { readStatement } from "../../db/statement.ts";

const findTables = readStatement(new URL("./sql/find-tables-of-properties.sql", import.meta.url));

/** Which property is deleted, by its codes and by its number. */
export interface DeletedProperty {
  readonly propertyId: number;
  readonly bucket: number;
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** Rows by table. */
export type RowCounts = Map<string, number>;

interface Target {
  readonly table: string;
  readonly where: string;
  readonly values: readonly unknown[];
}

const OF_BACKFILL =
  "(select backfill_id from bellhop.backfill where client_code = $1 and property_code = $2)";

/** What is deleted with a property beside its records in the log. */
async function targetsOf(client: pg.ClientBase, of: DeletedProperty): Promise<Target[]> {
  const { bucket, propertyId, clientCode, propertyCode } = of;
  const tables = await client.query<{ name: string }>(findTables);
  const byNumber = { where: "bucket = $1 and property_id = $2", values: [bucket, propertyId] };
  const byCodes = { where: "client_code = $1 and property_code = $2", values: [clientCode, propertyCode] };
  return [
    ...tables.rows.map(({ name }) => ({ table: name, ...byNumber })),
    { table: "bellhop.property_setting", ...byCodes },
    {
      table: "bellhop.backfill_signature",
      where: `backfill_id in ${OF_BACKFILL}`,
      values: byCodes.values,
    },
    { table: "bellhop.backfill", ...byCodes },
  ];
}

/** Deletes the rows of a property, or only counts them. */
export async function deleteRows(
  client: pg.ClientBase,
  of: DeletedProperty,
  counts: RowCounts,
  isDryRun: boolean,
): Promise<void> {
  for (const { table, where, values } of await targetsOf(client, of)) {
    const { rows, rowCount } = await client.query<{ count: string }>(
      isDryRun
        ? `select count(*)::text as count from ${table} where ${where}`
        : `delete from ${table} where ${where}`,
      [...values],
    );
    const found = isDryRun ? Number(rows[0]?.count ?? 0) : (rowCount ?? 0);
    if (found > 0) counts.set(table, (counts.get(table) ?? 0) + found);
  }
}
