import type pg from "pg";
import { readStatement } from "../../platform/db/statement.ts";

const describe = readStatement(new URL("./sql/describe-tables.sql", import.meta.url));

/** A table to copy. */
export interface TableDescription {
  readonly table: string;
  readonly columns: readonly string[];
  /** Its partitions with their bounds as PostgreSQL writes them. */
  readonly partitions: readonly { readonly name: string; readonly bounds: string }[];
}

interface DescribedTable extends TableDescription {
  readonly refers_to: readonly string[];
}

/** Sorts referenced tables first. The schema has no cycles. */
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

/** Describes the existing tables among these, referenced tables first, so that they can be filled in order. */
export async function describeTables(
  client: pg.ClientBase,
  tables: readonly string[],
): Promise<readonly TableDescription[]> {
  const { rows } = await client.query<DescribedTable>({ ...describe, values: [tables] });
  return inOrder(rows).map(({ table, columns, partitions }) => ({ table, columns, partitions }));
}

/** The columns as an SQL list. */
export function columnList({ columns }: Pick<TableDescription, "columns">): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
