import writeXlsxFile, { type SheetData } from "write-excel-file/universal";
import { type Cell, cellKindOf, DATE_TEXT } from "./cell-kind.ts";

/** How a column is written: `change` has a sign, `share` is of 1. */
export type ExcelKind = "text" | "count" | "number" | "change" | "money" | "share" | "date" | "instant";

export interface ExcelColumn {
  readonly head: string;
  readonly kind: ExcelKind;
}

export interface ExcelTable {
  readonly columns: readonly ExcelColumn[];
  readonly rows: readonly (readonly Cell[])[];
  /** The first rows are sums. */
  readonly totals?: number;
  /** What the file is about, on a sheet of its own. */
  readonly about: readonly (readonly [name: string, value: string])[];
}

const DATE_FORMAT = "yyyy-mm-dd";
const INSTANT_FORMAT = "yyyy-mm-dd hh:mm:ss";
const [WIDTH_MIN, WIDTH_MAX] = [8, 40];
/** Excel's limit of a cell. */
const TEXT_MAX = 32_767;

/** Characters that XML cannot have. */
const NOT_IN_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const textOf = (value: string | number): string =>
  String(value).toWellFormed().replace(NOT_IN_XML, "").slice(0, TEXT_MAX);

/** With as many decimal places as the amounts: yen have none. */
function formatOf(kind: ExcelKind, cells: readonly Cell[]): string {
  if (kind === "count") return "#,##0";
  if (kind === "change") return "+#,##0;-#,##0;0";
  if (kind === "share") return "0.0%";
  if (kind === "number") return "General";
  const digits = cells.reduce<number>(
    (most, cell) => Math.max(most, String(cell ?? "").split(".")[1]?.length ?? 0),
    0,
  );
  return digits === 0 ? "#,##0" : `#,##0.${"0".repeat(digits)}`;
}

/** An XLSX file: numbers, dates and times have types and formats, the header is frozen, text is never a formula. */
export async function toExcel({ columns, rows, totals = 0, about }: ExcelTable): Promise<Blob> {
  const formats = columns.map(({ kind }, place) =>
    formatOf(
      kind,
      rows.map((row) => row[place] ?? null),
    ),
  );
  const cellOf = (value: Cell, { kind }: ExcelColumn, place: number, isTotal: boolean) => {
    const weight = isTotal ? { fontWeight: "bold" as const } : {};
    if (value === null) return null;
    if (kind === "text" || !isOfKind(value, kind)) return { value: textOf(value), type: String, ...weight };
    if (kind === "date")
      return { value: new Date(`${value}T00:00:00Z`), type: Date, format: DATE_FORMAT, ...weight };
    if (kind === "instant")
      return { value: new Date(String(value)), type: Date, format: INSTANT_FORMAT, ...weight };
    return { value: Number(value), type: Number, format: formats[place] ?? "General", ...weight };
  };
  const data: SheetData = [
    columns.map(({ head, kind }) => ({
      value: textOf(head),
      type: String,
      fontWeight: "bold" as const,
      align:
        kind === "text" || kind === "date" || kind === "instant" ? ("left" as const) : ("right" as const),
    })),
    ...rows.map((row, at) =>
      columns.map((column, place) => cellOf(row[place] ?? null, column, place, at < totals)),
    ),
  ];
  const widthOf = (place: number) =>
    Math.min(Math.max(...data.slice(0, 200).map((row) => lengthOf(row[place])), WIDTH_MIN), WIDTH_MAX);
  return await writeXlsxFile([
    {
      data,
      sheet: "Data",
      stickyRowsCount: 1,
      columns: columns.map((_, place) => ({ width: widthOf(place) + 2 })),
    },
    {
      data: about.map(([name, value]) => [
        { value: textOf(name), type: String, fontWeight: "bold" as const },
        { value: textOf(value), type: String },
      ]),
      sheet: "About",
      columns: [{ width: 22 }, { width: 60 }],
    },
  ]).toBlob();
}

/** A total has words where nights have a date. */
function isOfKind(value: string | number, kind: ExcelKind): boolean {
  if (kind === "date") return DATE_TEXT.test(String(value));
  if (kind === "instant") return Number.isFinite(Date.parse(String(value)));
  return Number.isFinite(Number(value));
}

function lengthOf(cell: SheetData[number][number]): number {
  if (typeof cell !== "object" || cell === null || !("value" in cell)) return 0;
  return cell.value instanceof Date ? DATE_FORMAT.length : String(cell.value ?? "").length;
}

/** The columns of rows with a header, as their names and values tell. */
export function excelColumnsOf([names = [], ...rows]: readonly (readonly Cell[])[]): ExcelColumn[] {
  return names.map((name, place) => {
    const head = String(name);
    const kind = cellKindOf(
      head,
      rows.map((row) => row[place] ?? null),
    );
    if (kind === "amount") return { head, kind: /occupancy$/i.test(head) ? "share" : "money" };
    return { head, kind: kind === "integer" ? "count" : kind };
  });
}
