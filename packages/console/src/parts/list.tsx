// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the roles of rows that phones have as sheets
import { type MouseEvent, type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Cell } from "../../../contract/src/cell-kind.ts";
import type { ExcelTable } from "../../../contract/src/excel.ts";
import {
  type Asked,
  addressOf,
  askPages,
  CallError,
  type Parameters,
  type Renewal,
  useAnswer,
  useCovers,
} from "../data/queries.ts";
import { readStored } from "../data/stored.ts";
import { BYTE_ORDER_MARK, toCsv } from "../field/csv.ts";
import { writeMany } from "../field/format.ts";
import { entryOf, type Turn, turnsOf, useFilters, useListPage, withChanges } from "../routing/filters.ts";
import { Button } from "./button.tsx";
import { useSay } from "./dialog.tsx";
import { Filters } from "./filters.tsx";
import { Answered, Page, type PageProps } from "./page.tsx";
import { SavedViews } from "./saved-views.tsx";
import { orDash } from "./values.tsx";
import { useWork } from "./work.tsx";

export interface Column<Row> {
  readonly head: string;
  /** A head above those of neighbouring columns. */
  readonly group?: string;
  readonly cell: (row: Row) => ReactNode;
  /** Aligns figures at the end. */
  readonly end?: boolean;
  /** The row header; at phone width the heading of the row. */
  readonly lead?: boolean;
  /** At phone width, shows the value below its header. */
  readonly prose?: boolean;
  /** A button; its header is only for screen readers. */
  readonly action?: boolean;
  /** A style for this column. */
  readonly look?: string | undefined;
  /** The value of the address parameter that sorts by this column. */
  readonly sort?: string;
}

/** A column of figures; a dash if unknown. */
export function figure<Row, Value extends string | number>(
  head: string,
  of: (row: Row) => Value | null | undefined,
  write: (value: Value) => ReactNode,
): Column<Row> {
  return { head, end: true, cell: (row) => orDash(of(row), write) };
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Shown in place of a table without rows. */
  readonly empty?: ReactNode;
  readonly keyOf: (row: Row) => string;
  readonly rowClass?: (row: Row) => string | undefined;
  /** At phone width: one sheet per row (default), or columns that scroll. */
  readonly narrow?: "sheets" | "scroll";
  /** A style for this table. */
  readonly look?: string;
  /** The content that opens below a row from its lead cell. */
  readonly detail?: RowDetail<Row>;
}

interface RowDetail<Row> {
  readonly of: (row: Row) => ReactNode;
  readonly startsOpen?: (row: Row) => boolean;
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, empty, keyOf, rowClass, narrow = "sheets", look = "", detail } = props;
  if (rows.length === 0 && empty !== undefined) return empty;
  const table = (
    <table className={`${narrow} ${look}`.trimEnd()} role="table">
      <caption className="unseen">{caption}</caption>
      <thead role="rowgroup">
        {columns.some(({ group }) => group !== undefined) && <GroupHeads columns={columns} />}
        <tr role="row">
          {columns.map((column) => (
            <TableHead key={nameOf(column)} column={column} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <TableRow
            key={keyOf(row)}
            row={row}
            columns={columns}
            className={rowClass?.(row)}
            detail={detail}
          />
        ))}
      </tbody>
    </table>
  );
  return narrow === "scroll" ? (
    <Scroll label={caption}>{table}</Scroll>
  ) : (
    <div ref={watchScroll} className="table-frame">
      {table}
    </div>
  );
}

/** Unique in the table. */
function nameOf<Row>({ group, head }: Column<Row>): string {
  return group === undefined ? head : `${group}, ${head}`;
}

function GroupHeads<Row>({ columns }: { columns: readonly Column<Row>[] }) {
  const groups: { readonly group: string | undefined; readonly first: string; size: number }[] = [];
  for (const column of columns) {
    const last = groups.at(-1);
    if (last !== undefined && last.group === column.group) last.size += 1;
    else groups.push({ group: column.group, first: nameOf(column), size: 1 });
  }
  return (
    <tr role="row" className="groups">
      {groups.map(({ group, first, size }) =>
        group === undefined ? (
          <td key={first} role="cell" colSpan={size} />
        ) : (
          <th key={first} scope="colgroup" colSpan={size}>
            {group}
          </th>
        ),
      )}
    </tr>
  );
}

function TableHead<Row>({ column }: { column: Column<Row> }) {
  const { head, end, action, look, sort } = column;
  const { filters } = useFilters();
  const [path] = useLocation();
  const isDown = filters.get("order") === "down";
  const isSorted = sort !== undefined && filters.get("sort") === sort;
  // Figures sort in descending order first.
  const order = (isSorted ? !isDown : end === true) ? "down" : undefined;
  return (
    <th
      scope="col"
      role="columnheader"
      className={[end && "end", look].filter(Boolean).join(" ") || undefined}
      aria-sort={isSorted ? (isDown ? "descending" : "ascending") : undefined}
    >
      {sort === undefined ? (
        <span className={action ? "unseen" : undefined}>{head}</span>
      ) : (
        <Link className="sort" to={withChanges(path, filters.toString(), { sort, order })}>
          {head}
        </Link>
      )}
    </th>
  );
}

interface TableRowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly className: string | undefined;
  readonly detail: RowDetail<Row> | undefined;
}

function TableRow<Row>({ row, columns, className, detail }: TableRowProps<Row>) {
  const [isOpen, setOpen] = useState(detail?.startsOpen?.(row) ?? false);
  const opener = (content: ReactNode) => (
    <button type="button" className="opener" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {content}
    </button>
  );
  return (
    <>
      <tr role="row" className={className}>
        {columns.map((column) => (
          <TableCell
            key={nameOf(column)}
            column={column}
            content={column.lead && detail !== undefined ? opener(column.cell(row)) : column.cell(row)}
          />
        ))}
      </tr>
      {isOpen && (
        <tr role="row" className="opened-row">
          <td role="cell" colSpan={columns.length}>
            {detail?.of(row)}
          </td>
        </tr>
      )}
    </>
  );
}

function TableCell<Row>({ column, content }: { column: Column<Row>; content: ReactNode }) {
  const isVoid = content === null || content === "" || content === undefined || content === false;
  const names = [
    ...[column.end && "end", column.lead && "lead-cell", column.prose && "prose", isVoid && "void"],
    column.look,
  ];
  const className = names.filter(Boolean).join(" ") || undefined;
  return column.lead ? (
    <th scope="row" role="rowheader" className={className} data-head={nameOf(column)}>
      {content}
    </th>
  ) : (
    <td role="cell" className={className} data-head={column.action ? "" : nameOf(column)}>
      {content}
    </td>
  );
}

/** Marks whether the table fits (for a sticky header), or overflows (for a fade at its end). */
function watchScroll(frame: HTMLElement | null): (() => void) | undefined {
  if (frame === null) return undefined;
  const look = () => {
    const beyond = frame.scrollWidth - frame.clientWidth;
    frame.toggleAttribute("data-fits", beyond <= 0);
    frame.toggleAttribute("data-more-after", beyond - frame.scrollLeft > 1);
  };
  const sizes = new ResizeObserver(look);
  sizes.observe(frame);
  for (const child of frame.children) sizes.observe(child);
  frame.addEventListener("scroll", look, { passive: true });
  return () => {
    sizes.disconnect();
    frame.removeEventListener("scroll", look);
  };
}

export function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard (WCAG 2.1.1)
    <section ref={watchScroll} className="table-frame" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

interface Listed<Item> {
  readonly items: readonly Item[];
  /** Absent: one page. */
  readonly nextCursor?: string | null;
}

export function useList<Answer>(
  path: string,
  parameters: Parameters = {},
  { limit = 50, ...renewal }: { readonly limit?: number } & Renewal<Answer> = {},
): Asked<Answer> & { readonly whole: string } {
  const { filters } = useFilters();
  const address = addressOf(path, { ...parameters, cursor: filters.get("cursor") ?? "", limit });
  return {
    ...useAnswer<Answer>(address, { keeps: true, ...renewal }),
    whole: addressOf(path, { ...parameters, limit: EXPORTED_ROWS }),
  };
}

interface ListProps<Item> extends Omit<TableProps<Item>, "rows" | "empty"> {
  readonly asked: Asked<Listed<Item>>;
  readonly empty: ReactNode | ((answer: Listed<Item>) => ReactNode);
  readonly noun: readonly [one: string, many?: string];
  readonly lines?: number;
}

export function List<Item>({ asked, empty, noun: [one, many], lines = 8, ...table }: ListProps<Item>) {
  return (
    <Answered asked={asked} lines={lines}>
      {(answer) => (
        <>
          <Table {...table} rows={answer.items} empty={typeof empty === "function" ? empty(answer) : empty} />
          <Pager nextCursor={answer.nextCursor ?? null} shown={writeMany(answer.items.length, one, many)} />
        </>
      )}
    </Answered>
  );
}

interface ListPageProps<Item> extends ListProps<Item>, Omit<PageProps, "children"> {
  /** `whole`: the address of all its pages. */
  readonly asked: Asked<Listed<Item>> & { readonly whole: string };
  readonly filters: ReactNode;
  readonly csv: string;
  readonly csvRow?: (item: Item) => object;
  readonly children?: ReactNode;
}

export function ListPage<Item extends object>(props: ListPageProps<Item>) {
  const { title, lead, filters, actions, csv, csvRow = (item) => item, children, ...list } = props;
  return (
    <Page
      title={title}
      lead={lead}
      actions={
        <>
          <ExportButtons name={title.toLowerCase()} of={list.asked.whole} csv={csv} csvRow={csvRow} />
          {actions}
        </>
      }
    >
      <Filters>{filters}</Filters>
      <SavedViews />
      <List {...list} />
      {children}
    </Page>
  );
}

/** The members of the items, below a header with their names. */
function csvRows(columns: string, items: readonly object[]): Cell[][] {
  const names = columns.split(" ");
  return [
    names,
    ...items.map((item) => names.map((name) => cellOf((item as Record<string, unknown>)[name]))),
  ];
}

function cellOf(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(" ") : JSON.stringify(value);
}

export function Pager({ nextCursor, shown }: { nextCursor: string | null; shown: string }) {
  const { filters } = useFilters();
  const [path] = useLocation();
  const { cursor, trail, number } = useListPage();
  const { first, previous, next } = turnsOf(cursor, nextCursor, trail);
  if (cursor === "" && next === undefined) return <p className="pager muted">{shown}</p>;
  const turn = (to: Turn | undefined, text: string, rel?: "prev" | "next") =>
    to === undefined ? null : (
      <Link
        className="button"
        rel={rel}
        to={withChanges(path, filters.toString(), { cursor: to.cursor })}
        state={entryOf(to.trail)}
        onClick={toHead}
      >
        {text}
      </Link>
    );
  return (
    <nav className="pager" aria-label="Pages">
      <span className="muted">{number === undefined ? shown : `Page ${number}: ${shown}`}</span>
      <div className="turns">
        {turn(first, "First page")}
        {turn(previous, "Previous page", "prev")}
        {turn(next, "Next page", "next")}
      </div>
    </nav>
  );
}

/** A new page starts at the heading of its list. */
function toHead({ currentTarget }: MouseEvent<HTMLElement>): void {
  const head = currentTarget.closest(".section, main")?.querySelector<HTMLElement>("h1, h2");
  head?.focus({ preventScroll: true });
  if (head?.tagName === "H1") window.scrollTo(0, 0);
  else head?.scrollIntoView();
}

interface ExportProps<Item> {
  /** The file name without extension. */
  readonly name: string;
  /** The items, or the address of a list without its page. */
  readonly of: readonly Item[] | string;
  /** The member of the response that has the items. */
  readonly member?: string;
  /** Column names; by default the members of the items. */
  readonly csv?: string;
  /** The row or rows of an item, by these names. */
  readonly csvRow?: (item: Item) => object | readonly object[];
  /** What an Excel file says about itself: property, range … */
  readonly about?: ExcelTable["about"];
  /** The table on the screen, which an Excel file has in place of the items. */
  readonly shown?: (() => Omit<ExcelTable, "about">) | undefined;
}

/** Saves all rows, even if the page is left meanwhile. */
export function ExportButtons<Item extends object>(props: ExportProps<Item>) {
  const { name, of, member = "items", csv, csvRow = (item) => item, about = [], shown } = props;
  const [busy, setBusy] = useState<FileKind>();
  const say = useSay();
  const start = useWork();
  const save = async (kind: FileKind) => {
    const file = `${name.replace(NOT_IN_NAMES, "_")}.${kind}`;
    setBusy(kind);
    await start(`Rows of ${file}`, async (report, signal) => {
      try {
        if (kind === "xlsx" && shown !== undefined) {
          download(file, await excelOf({ ...shown(), about: aboutFile(about) }));
          return;
        }
        const items: Item[] = typeof of === "string" ? [] : [...of];
        let isCut = false;
        if (typeof of === "string")
          for await (const page of askPages<Paged>(of, EXPORTED_PAGES, signal)) {
            items.push(...(page[member] as readonly Item[]));
            report({ done: items.length });
            isCut = typeof page.nextCursor === "string";
          }
        if (isCut) say(`The file has the first ${writeMany(items.length, "row")}. Filters make them fewer.`);
        const columns = csv ?? Object.keys(items[0] ?? {}).join(" ");
        if (kind === "xlsx" && items.length > EXCEL_ROWS_MAX)
          say(`The Excel file has the first ${writeMany(EXCEL_ROWS_MAX, "row")}. CSV and Parquet have more.`);
        if (columns === "") say("There are no rows to download.");
        else download(file, await FILES[kind](csvRows(columns, items.flatMap(csvRow)), aboutFile(about)));
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof CallError)) throw error;
        say(`The export failed: ${error.message}`);
      }
    }).finally(() => setBusy(undefined));
  };
  return (
    <span className="joined">
      <Button busy={busy === "csv"} onClick={() => void save("csv")}>
        Download CSV
      </Button>
      <Button busy={busy === "xlsx"} aria-label="Download Excel" onClick={() => void save("xlsx")}>
        Excel
      </Button>
      <Button busy={busy === "parquet"} aria-label="Download Parquet" onClick={() => void save("parquet")}>
        Parquet
      </Button>
    </span>
  );
}

type FileKind = "csv" | "xlsx" | "parquet";

/** Codes may have any character, names of files may not. */
const NOT_IN_NAMES = /[^\p{L}\p{N}._-]+/gu;

/** The address shows again what the file has. */
const aboutFile = (about: ExcelTable["about"]): ExcelTable["about"] => [
  ...about,
  ["Saved", new Date().toISOString()],
  ["Address", location.href],
];

/** The form of CSV files that the operator has chosen, in this browser. */
export const CSV_FORM_STORED_AS = "bellhop.csv";

type Rows = readonly (readonly Cell[])[];

const FILES: Readonly<Record<FileKind, (rows: Rows, about: ExcelTable["about"]) => Blob | Promise<Blob>>> = {
  csv: (rows) => {
    const form = readStored(CSV_FORM_STORED_AS) === "semicolon" ? "semicolon" : "comma";
    return new Blob([BYTE_ORDER_MARK, toCsv(rows, form)], { type: "text/csv;charset=utf-8" });
  },
  xlsx: async (rows, about) => {
    const { excelColumnsOf } = await loadExcel();
    const some = rows.slice(0, EXCEL_ROWS_MAX + 1);
    return await excelOf({ columns: excelColumnsOf(some), rows: some.slice(1), about });
  },
  /** Loads the writer with the first such file. */
  parquet: async (rows) => {
    const { toParquet } = await import("../field/parquet.ts").catch(refuseOtherVersion);
    return new Blob([toParquet(rows)], { type: "application/vnd.apache.parquet" });
  },
};

function refuseOtherVersion(cause: unknown): never {
  const message = "The console is from another version of the service. Load the page again.";
  throw new CallError({ status: 0, exception: "", message }, undefined, { cause });
}

/** The writer holds the whole file. */
const EXCEL_ROWS_MAX = 20_000;

/** Loads the writer with the first such file. */
const loadExcel = () => import("../../../contract/src/excel.ts").catch(refuseOtherVersion);
const excelOf = async (table: ExcelTable): Promise<Blob> => (await loadExcel()).toExcel(table);

/** Rows per request; the maximum number of pages is what a spreadsheet opens in reasonable time. */
const EXPORTED_ROWS = 1_000;
const EXPORTED_PAGES = 100;

interface Paged {
  readonly [member: string]: unknown;
  readonly nextCursor?: string | null;
}

/** Explains to operators with shell access how to export all properties as Parquet. */
export function ParquetNote({ table }: { table: "nights" | "outcomes" }) {
  if (!useCovers()("*")) return null;
  return (
    <p className="small muted">
      All properties as Parquet: <code>bellhop export DIRECTORY --table {table}</code> (
      <a href="/docs/export">export</a>).
    </p>
  );
}

function download(name: string, file: Blob): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Safari reads the address later.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
