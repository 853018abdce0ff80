import { type Cell, cellKindOf } from "../../../contract/src/cell-kind.ts";
import { csvCell } from "../../../contract/src/csv-cell.ts";
import { withoutFormula } from "../../../contract/src/without-formula.ts";

/** How spreadsheets of a language separate cells and write decimals. */
export type CsvForm = "comma" | "semicolon";

/** Excel reads a file as UTF-8 only with it. */
export const BYTE_ORDER_MARK = "\ufeff";

/** RFC 4180. Prefixes text that a spreadsheet would run as a formula with an apostrophe (OWASP, CSV injection). */
export function toCsv(rows: readonly (readonly Cell[])[], form: CsvForm = "comma"): string {
  if (form === "comma") return rows.map((row) => `${row.map((cell) => cellOf(cell)).join(",")}\r\n`).join("");
  // Codes keep their points.
  const [names = [], ...items] = rows;
  const isDecimal = names.map((name, place) =>
    ["number", "amount"].includes(
      cellKindOf(
        String(name),
        items.map((row) => row[place] ?? null),
      ),
    ),
  );
  return rows
    .map((row, at) => {
      const cells = row.map((cell, place) =>
        at > 0 && isDecimal[place] ? String(cell ?? "").replace(".", ",") : cellOf(cell),
      );
      return `${cells.map((cell) => (cell.includes(";") && !cell.startsWith('"') ? `"${cell}"` : cell)).join(";")}\r\n`;
    })
    .join("");
}

function cellOf(value: Cell): string {
  if (value === null) return "";
  const text = String(value);
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  return csvCell(isNumber ? text : withoutFormula(text));
}
