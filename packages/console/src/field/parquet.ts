import { parquetWriteBuffer } from "hyparquet-writer";
import { type Cell, type CellKind, cellKindOf } from "../../../contract/src/cell-kind.ts";

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

const KINDS: Readonly<Record<CellKind, ColumnKind>> = {
  text: TEXT,
  integer: INTEGER,
  number: NUMBER,
  amount: AMOUNT,
  date: DATE,
  instant: INSTANT,
};

/** Converts rows with a header to a Parquet file, with the types of `bellhop export`, derived from names and values. */
export function toParquet([names = [], ...rows]: readonly (readonly Cell[])[]): ArrayBuffer {
  const columns = names.map((name, place) => {
    const cells = rows.map((row) => row[place] ?? null);
    const kind = KINDS[cellKindOf(String(name), cells)];
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

function microseconds(instant: string): bigint {
  const [seconds = "", fraction = ""] = instant.slice(0, -1).split(".");
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000n + BigInt(fraction.padEnd(6, "0"));
}

function tenThousandths(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}
