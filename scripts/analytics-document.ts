import { COUNTED_RELATIONS, type CountedRelation } from "../src/platform/db/analytics/counted-relations.ts";
import { RELATIONS } from "../src/platform/db/analytics/relations.ts";

type Column = CountedRelation["columns"][number];

/** Columns of all relations. */
const CODES = ["client_code", "property_code"];

/** The table of a relation's columns; those beside each other with one type and source are one row. */
function columnTable(columns: readonly Column[]): string {
  const groups: Column[][] = [];
  for (const column of columns.filter(({ name }) => !CODES.includes(name))) {
    const last = groups.at(-1)?.[0];
    if (last?.type === column.type && last.source === column.source) groups.at(-1)?.push(column);
    else groups.push([column]);
  }
  const rows = groups.map((group) => {
    const [{ type, source }] = group as [Column];
    return `| ${group.map(({ name }) => `\`${name}\``).join(", ")} | ${type} | ${source} |`;
  });
  return `| Columns | Type | Source |\n|---|---|---|\n${rows.join("\n")}\n`;
}

/** docs/analytics.md with the columns of each relation written again. */
export function withColumns(document: string): string {
  const tables = new Map(
    [...RELATIONS, ...COUNTED_RELATIONS].map(({ name, columns }) => [name, columnTable(columns)]),
  );
  return document.replace(
    /(<!-- checked: columns of (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (whole, open: string, name: string, close: string) => {
      const table = tables.get(name);
      return table === undefined ? whole : `${open}\n${table}\n${close}`;
    },
  );
}
