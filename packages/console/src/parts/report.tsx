import { Link } from "wouter";
import type { ExcelTable } from "../../../contract/src/excel.ts";
import { type FigureName, REPORT_FIGURES, type ReportFigure } from "../../../contract/src/report-figures.ts";
import type { DailyReportItem, PropertyCodes } from "../contract.ts";
import {
  addDays,
  propertyPath,
  writeCount,
  writeDate,
  writeDay,
  writeMany,
  writeMoney,
  writeMonth,
  writeShare,
  writeSigned,
  YEAR_DAYS,
} from "../field/format.ts";
import type { ReportRow } from "../field/side-by-side.ts";
import { useFilters } from "../routing/filters.ts";
import { AddressSelect } from "./field.tsx";
import { type Column, Table } from "./list.tsx";
import { Empty } from "./page.tsx";
import { orDash, Share } from "./values.tsx";

/** How the rows of a daily report are added up. */
const SUMS = {
  "": "night",
  dayOfWeek: "day of the week",
  week: "week",
  month: "month",
  quarter: "quarter",
} as const;
/** Of several hotels. */
export const SUMS_OF_HOTELS = { ...SUMS, property: "hotel" } as const;
export type Sum = keyof typeof SUMS_OF_HOTELS;

export function useSum(ofHotels = false): Sum {
  const given = useFilters().filters.get("sum") ?? "";
  return Object.hasOwn(ofHotels ? SUMS_OF_HOTELS : SUMS, given) ? (given as Sum) : "";
}

const FULL = 0.9;
const EMPTY = 0.4;
const MOVES_SHOWN = 10;

const SHOWN = {
  "": "all",
  full: "over 90 %",
  empty: "under 40 %",
  moves: `${MOVES_SHOWN} biggest moves of 7 days`,
} as const;

interface ReportFiltersProps {
  readonly ofHotels?: boolean;
  /** Two sides are shown, with all rows. */
  readonly isBeside?: boolean;
}

export function ReportFilters({ ofHotels = false, isBeside = false }: ReportFiltersProps) {
  return (
    <>
      <AddressSelect name="sum" label="Totals by" options={ofHotels ? SUMS_OF_HOTELS : SUMS} />
      {!isBeside && <AddressSelect name="only" label="Show" options={SHOWN} />}
    </>
  );
}

export const WRITE: Readonly<Record<ReportFigure["kind"], (value: number | string) => string>> = {
  count: (value) => writeCount(Number(value)),
  change: (value) => writeSigned(Number(value)),
  money: (value) => writeMoney(String(value)),
  share: (value) => writeShare(value),
};

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

interface Hotel extends PropertyCodes {
  readonly name: string | null;
}

export const nameOfHotel = ({ name, clientCode, propertyCode }: Hotel): string =>
  name ?? `${clientCode}/${propertyCode}`;

/** `Sat 14 Mar 2026`, `Saturday`, `9 to 15 Mar`, `March 2026`, `Q1 2026` */
export function nameOfRow(row: ReportRow, sum: Sum): string {
  const { stayDate, dayOfWeek, dates = 1 } = row;
  if (sum === "property") return row.name ?? row.propertyCode ?? "";
  if (sum === "dayOfWeek") return WEEKDAYS[(dayOfWeek ?? 1) - 1] ?? "";
  if (sum === "week")
    return dates === 1
      ? writeDate(stayDate)
      : `${writeDay(stayDate)} – ${writeDay(addDays(stayDate, dates - 1))}`;
  if (sum === "month") return writeMonth(stayDate);
  if (sum === "quarter") return `Q${Math.ceil(Number(stayDate.slice(5, 7)) / 3)} ${stayDate.slice(0, 4)}`;
  return writeDate(stayDate);
}

/** Rows whose occupancies add up: a hotel's currencies have the same capacity, those of several hotels do not. */
const shareKey = ({ stayDate, clientCode, propertyCode, properties, currency }: ReportRow): string =>
  JSON.stringify(
    properties === undefined || propertyCode !== undefined
      ? [stayDate, clientCode, propertyCode]
      : [stayDate, currency],
  );

/** A night's occupancy is that of all its currencies. */
function occupancies(items: readonly ReportRow[]): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const item of items)
    if (item.occupancy !== null)
      shares.set(shareKey(item), (shares.get(shareKey(item)) ?? 0) + Number(item.occupancy));
  return shares;
}

/** The rows of the address's filter, in its order; the rows of one night stay together unless they are sorted. */
function useShownRows(items: readonly ReportRow[]): readonly ReportRow[] {
  return shownRows(items, shownBy(useFilters().filters));
}

const shownBy = (filters: URLSearchParams): Shown => ({
  only: filters.get("only") ?? "",
  sort: filters.get("sort") ?? "",
  isDown: filters.get("order") === "down",
});

interface Shown {
  readonly only: string;
  readonly sort: string;
  readonly isDown: boolean;
}

function shownRows(items: readonly ReportRow[], { only, sort, isDown }: Shown) {
  const shares = occupancies(items);
  const share = (item: ReportRow) => shares.get(shareKey(item));
  const moved = ({ pickup7Rooms }: DailyReportItem) => Math.abs(pickup7Rooms ?? 0);
  const byMoves = () =>
    new Set(
      items
        .filter((item) => moved(item) > 0)
        .toSorted((one, other) => moved(other) - moved(one))
        .slice(0, MOVES_SHOWN),
    );
  const moves = only === "moves" ? byMoves() : undefined;
  const rows = items.filter((item) => {
    if (only === "full") return (share(item) ?? 0) > FULL;
    if (only === "empty") return (share(item) ?? 1) < EMPTY;
    return moves?.has(item) ?? true;
  });
  const figure = REPORT_FIGURES.find(({ name }) => name === sort);
  if (figure === undefined) return sort === "night" && isDown ? rows.toReversed() : rows;
  const sign = isDown ? -1 : 1;
  // What is not known comes last either way.
  return rows.toSorted((one, other) => {
    const [left, right] = [figure.of(one), figure.of(other)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * (Number(left) - Number(right));
  });
}

interface Answered {
  readonly items: readonly ReportRow[];
  readonly totals: readonly ReportRow[];
}

/** The table on the screen: its columns, rows and order. `codes`: of the one hotel. */
export function useExcelOfReport(codes?: PropertyCodes) {
  const sum = useSum(codes === undefined);
  const { filters } = useFilters();
  const isNamed = codes !== undefined || sum === "property";
  return ({ items, totals }: Answered): Omit<ExcelTable, "about"> => {
    const shown = shownRows(items, shownBy(filters));
    const row = (item: ReportRow, name: string) => [
      ...(isNamed
        ? [codes?.clientCode ?? item.clientCode ?? "", codes?.propertyCode ?? item.propertyCode ?? ""]
        : []),
      ...[name, ...(sum === "" ? [] : [item.dates ?? null])],
      ...[...(codes === undefined ? [item.properties ?? null] : []), item.currency],
      ...REPORT_FIGURES.map((figure) => figure.of(item)),
    ];
    const text = (head: string) => ({ head, kind: "text" }) as const;
    const count = (head: string) => ({ head, kind: "count" }) as const;
    return {
      columns: [
        ...(isNamed ? [text("Client code"), text("Property")] : []),
        { head: headOf(sum), kind: sum === "" ? "date" : "text" },
        ...(sum === "" ? [] : [count("Nights")]),
        ...(codes === undefined ? [count("Hotels")] : []),
        text("Currency"),
        ...REPORT_FIGURES.map(({ head, kind }) => ({ head, kind })),
      ],
      rows: [
        ...totals.map((item) => row(item, "Total")),
        ...shown.map((item) => row(item, sum === "" ? item.stayDate : nameOfRow(item, sum))),
      ],
      totals: totals.length,
    };
  };
}

export const headOf = (sum: Sum): string =>
  `${SUMS_OF_HOTELS[sum].charAt(0).toUpperCase()}${SUMS_OF_HOTELS[sum].slice(1)}`;

/** The address of what is behind a figure. */
export type Behind = (figure: FigureName | "night", item: ReportRow) => string | undefined;

/** What is behind a figure of one night. `time`: the `asOf` and `clock` of the page. */
export function behindNight(
  codes: PropertyCodes,
  figure: FigureName | "night",
  stayDate: string,
  time: Readonly<Record<string, string>> = {},
  lastYearAsOf: string | null = null,
): string {
  const clock: Record<string, string> = time["clock"] === undefined ? {} : { clock: time["clock"] };
  const nights = { from: stayDate, to: stayDate };
  const before = addDays(stayDate, -YEAR_DAYS);
  const night = (date: string, more: Readonly<Record<string, string>>) =>
    propertyPath("/property/on-the-books", codes, { from: date, to: date, night: date, ...more });
  if (figure === "lastYear")
    return lastYearAsOf === null
      ? propertyPath("/property/report", codes, nights)
      : night(before, { ...clock, asOf: lastYearAsOf });
  if (figure === "lastYearFinal") return night(before, time);
  if (figure.startsWith("pickup"))
    return propertyPath("/property/pickup", codes, {
      ...clock,
      ...nights,
      days: figure.slice("pickup".length),
    });
  if (figure === "cancelled" || figure === "noShows")
    return propertyPath("/property/reconciliation", codes, { ...time, ...nights, night: stayDate });
  return night(stayDate, time);
}

interface ReportTableProps {
  readonly items: readonly ReportRow[];
  readonly totals: readonly ReportRow[];
  readonly behind: Behind;
  readonly isWeekend?: (date: string) => boolean;
  readonly ofHotels?: boolean;
}

interface Row {
  readonly item: ReportRow;
  readonly isTotal: boolean;
}

export function ReportTable({ items, totals, behind, isWeekend, ofHotels = false }: ReportTableProps) {
  const sum = useSum(ofHotels);
  const shown = useShownRows(items);
  const currencies = new Set([...items, ...totals].map(({ currency }) => currency));
  const linked = (name: FigureName | "night", { item, isTotal }: Row, text: string) => {
    const to = isTotal ? undefined : behind(name, item);
    return to === undefined ? (
      text
    ) : (
      <Link className={name === "night" ? "nowrap" : "quiet"} to={to}>
        {text}
      </Link>
    );
  };
  const columns: readonly Column<Row>[] = [
    {
      head: headOf(sum),
      lead: true,
      sort: "night",
      cell: (row) => (row.isTotal ? "Total" : linked("night", row, nameOfRow(row.item, sum))),
    },
    ...(sum === "" || sum === "property"
      ? []
      : [{ head: "Nights", end: true, cell: ({ item }: Row) => orDash(item.dates, writeCount) }]),
    ...(ofHotels && sum !== "property"
      ? [{ head: "Hotels", end: true, cell: ({ item }: Row) => orDash(item.properties, writeCount) }]
      : []),
    ...(currencies.size > 1 ? [{ head: "Currency", cell: ({ item }: Row) => orDash(item.currency) }] : []),
    ...REPORT_FIGURES.map(
      (figure): Column<Row> => ({
        head: figure.head,
        end: true,
        sort: figure.name,
        cell: (row) => {
          const value = figure.of(row.item);
          if (figure.name === "occupancy") return <Occupancy share={value} />;
          return orDash(value, (is) => linked(figure.name, row, WRITE[figure.kind](is)));
        },
      }),
    ),
  ];
  return (
    <>
      <Table<Row>
        caption={`Daily report by ${SUMS_OF_HOTELS[sum]}, the total first`}
        narrow="scroll"
        look="report"
        columns={columns}
        rows={[
          ...totals.map((item) => ({ item, isTotal: true })),
          ...shown.map((item) => ({ item, isTotal: false })),
        ]}
        keyOf={({ item, isTotal }) =>
          JSON.stringify([isTotal, item.stayDate, item.currency, item.clientCode, item.propertyCode])
        }
        rowClass={({ item, isTotal }) => {
          if (isTotal) return "total";
          return sum === "" && isWeekend?.(item.stayDate) ? "weekend" : undefined;
        }}
      />
      {shown.length === 0 && items.length > 0 && (
        <Empty title={sum === "" ? "No night matches" : "No row matches"}>
          Show all, or choose other nights.
        </Empty>
      )}
      <p className="small muted">
        {shown.length === items.length
          ? writeMany(items.length, "row")
          : `${writeCount(shown.length)} of ${writeMany(items.length, "row")}; the total is of all nights`}
      </p>
    </>
  );
}

/** Keeps the figures aligned where it is unknown. */
function Occupancy({ share }: { share: number | string | null }) {
  return share === null ? (
    <span className="muted">
      –<span className="share-bar none" />
    </span>
  ) : (
    <Share of={Number(share)} />
  );
}
