import type pg from "pg";
import { readStatement } from "../../platform/db/statement.ts";

const describe = readStatement(new URL("./sql/describe-tables.sql", import.meta.url));

/** A table as it is copied. */
export interface TableDescription {
  readonly table: string;
  readonly columns: readonly string[];
  /** Its partitions, and which rows lie in each, as PostgreSQL writes that. */
  readonly partitions: readonly { readonly name: string; readonly bounds: string }[];
}

interface DescribedTable extends TableDescription {
  readonly refers_to: readonly string[];
}

/** Tables that others refer to before those. The schema has no circles. */
function inOrder(tables: readonly DescribedTable[]): readonly DescribedTable[] {
  const ordered: DescribedTable[] = [];
  const place = (table: DescribedTable) => {
    if (ordered.includes(table)) return;
    for (const name of table.refers_to) {
      const referred = tables.find((candidate) => candidate.table === name);
      if (referred !== undefined) place(referred);
    }
    ordered.push(table);
  };
  for (const table of tables) place(table);
  return ordered;
}

/**
 * Describes those of the tables that the database has, in an order in which they can be filled: what is referred to comes before
 * what refers to it.
 */
export async function describeTables(
  client: pg.ClientBase,
  tables: readonly string[],
): Promise<readonly TableDescription[]> {
  const { rows } = await client.query<DescribedTable>({ ...describe, values: [tables] });
  return inOrder(rows).map(({ table, columns, partitions }) => ({ table, columns, partitions }));
}

/** The columns as a list of a statement. */
export function columnList({ columns }: Pick<TableDescription, "columns">): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
