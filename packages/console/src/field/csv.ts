import { withoutFormula } from "../../../contract/src/without-formula.ts";

export type Cell = string | number | null;

/** RFC 4180. Prefixes text that a spreadsheet would run as a formula with an apostrophe (OWASP, CSV injection). */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  const safe = isNumber ? text : withoutFormula(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
