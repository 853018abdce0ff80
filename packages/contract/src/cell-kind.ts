export type Cell = string | number | null;

/** What a column of a file holds, derived from its name and values. */
export type CellKind = "text" | "integer" | "number" | "amount" | "date" | "instant";

/** Members with decimal text. Codes may look like numbers but stay text. */
const AMOUNT_NAME = /(revenue|adr|revpar|occupancy)$/i;
const AMOUNT_TEXT = /^-?\d{1,14}(\.\d{1,4})?$/;
export const DATE_TEXT = /^\d{4}-\d\d-\d\d$/;
const INSTANT_TEXT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;
const INT32_MAX = 2 ** 31 - 1;

export function cellKindOf(name: string, cells: readonly Cell[]): CellKind {
  const known = cells.filter((cell) => cell !== null);
  if (known.length === 0) return "text";
  const isEach = (form: RegExp) => known.every((cell) => typeof cell === "string" && form.test(cell));
  if (known.every((cell) => typeof cell === "number"))
    return known.every((cell) => Number.isInteger(cell) && Math.abs(Number(cell)) <= INT32_MAX)
      ? "integer"
      : "number";
  if (AMOUNT_NAME.test(name) && isEach(AMOUNT_TEXT)) return "amount";
  if (isEach(DATE_TEXT)) return "date";
  return isEach(INSTANT_TEXT) ? "instant" : "text";
}
