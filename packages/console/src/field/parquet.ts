import { parquetWriteBuffer } from "hyparquet-writer";
import type { Cell } from "./csv.ts";

type Element = Exclude<Parameters<typeof parquetWriteBuffer>[0]["schema"], undefined>[number];
type Value = Cell | bigint;

/** How a column stores its values. */
interface ColumnKind {
  readonly element: Omit<Element, "name">;
  readonly store: (value: string | number) => Value;
}

const TEXT: ColumnKind = {
  element: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  store: String,
};
const INTEGER: ColumnKind = { element: { type: "INT32" }, store: Number };
const NUMBER: ColumnKind = { element: { type: "DOUBLE" }, store: Number };
const DATE: ColumnKind = {
  element: { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } },
  store: (text) => Date.parse(`${text}T00:00:00Z`) / 86_400_000,
};
const INSTANT: ColumnKind = {
  element: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
  store: (text) => microseconds(String(text)),
};
const DECIMALS = 4;
const AMOUNT: ColumnKind = {
  element: {
    type: "INT64",
    converted_type: "DECIMAL",
    logical_type: { type: "DECIMAL", precision: 18, scale: DECIMALS },
    precision: 18,
    scale: DECIMALS,
  },
  store: (text) => tenThousandths(String(text)),
};

/** Members with decimal text. Codes may look like numbers but stay text. */
const AMOUNT_NAME = /(revenue|adr|revpar|occupancy)$/i;
const AMOUNT_TEXT = /^-?\d{1,14}(\.\d{1,4})?$/;
const DATE_TEXT = /^\d{4}-\d\d-\d\d$/;
const INSTANT_TEXT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;
const INT32_MAX = 2 ** 31 - 1;

/** Converts rows with a header to a Parquet file, with the types of `bellhop export`, derived from names and values. */
export function toParquet([names = [], ...rows]: readonly (readonly Cell[])[]): ArrayBuffer {
  const columns = names.map((name, place) => {
    const cells = rows.map((row) => row[place] ?? null);
    const kind = kindOf(String(name), cells);
    return {
      element: { name: String(name), repetition_type: "OPTIONAL" as const, ...kind.element },
      data: cells.map((cell) => (cell === null ? null : kind.store(cell))),
    };
  });
  return parquetWriteBuffer({
    schema: [{ name: "root", num_children: columns.length }, ...columns.map(({ element }) => element)],
    columnData: columns.map(({ element, data }) => ({ name: element.name, data })),
    createdBy: "bellhop",
  });
}

function kindOf(name: string, cells: readonly Cell[]): ColumnKind {
  const known = cells.filter((cell) => cell !== null);
  if (known.length === 0) return TEXT;
  const isEach = (form: RegExp) => known.every((cell) => typeof cell === "string" && form.test(cell));
  if (known.every((cell) => typeof cell === "number"))
    return known.every((cell) => Number.isInteger(cell) && Math.abs(Number(cell)) <= INT32_MAX)
      ? INTEGER
      : NUMBER;
  if (AMOUNT_NAME.test(name) && isEach(AMOUNT_TEXT)) return AMOUNT;
  if (isEach(DATE_TEXT)) return DATE;
  return isEach(INSTANT_TEXT) ? INSTANT : TEXT;
}

function microseconds(instant: string): bigint {
  const [seconds = "", fraction = ""] = instant.slice(0, -1).split(".");
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000n + BigInt(fraction.padEnd(6, "0"));
}

function tenThousandths(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}
