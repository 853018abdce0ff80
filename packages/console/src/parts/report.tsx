import { Link } from "wouter";
import type { ExcelTable } from "../../../contract/src/excel.ts";
import type { DailyReportAnswer, DailyReportItem, PropertyCodes } from "../contract.ts";
import {
  addDays,
  writeCount,
  writeDate,
  writeDay,
  writeMany,
  writeMoney,
  writeMonth,
  writeShare,
  writeSigned,
} from "../field/format.ts";
import { useFilters } from "../routing/filters.ts";
import { AddressSelect } from "./field.tsx";
import { type Column, Table } from "./list.tsx";
import { Empty } from "./page.tsx";
import { orDash, Share } from "./values.tsx";

/** How the rows of a daily report are added up. */
export const SUMS = {
  "": "night",
  dayOfWeek: "day of the week",
  week: "week",
  month: "month",
  quarter: "quarter",
} as const;
export type Sum = keyof typeof SUMS;

export function useSum(): Sum {
  const given = useFilters().filters.get("sum") ?? "";
  return Object.hasOwn(SUMS, given) ? (given as Sum) : "";
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

export function ReportFilters() {
  return (
    <>
      <AddressSelect name="sum" label="Totals by" options={SUMS} />
      <AddressSelect name="only" label="Show" options={SHOWN} />
    </>
  );
}

export type Kind = "count" | "change" | "money" | "share";
type Value = number | string | null;

/** A column of figures, on the screen and in files. */
export interface ReportFigure {
  readonly head: string;
  readonly kind: Kind;
  readonly of: (item: DailyReportItem) => Value;
  /** What is behind the figure; it is also the name to sort by. */
  readonly name: Figure;
}

export type Figure =
  | "occupancy"
  | "rooms"
  | "lastYear"
  | "change"
  | "lastYearFinal"
  | `pickup${1 | 3 | 7 | 30}`
  | "revenue"
  | "adr"
  | "revpar"
  | "cancelled"
  | "noShows";

const known = <Of,>(value: Of | null | undefined): Of | null => value ?? null;

const FIGURES: readonly ReportFigure[] = [
  { name: "occupancy", head: "Occupancy", kind: "share", of: ({ occupancy }) => occupancy },
  { name: "rooms", head: "Rooms", kind: "count", of: ({ rooms }) => rooms },
  {
    name: "lastYear",
    head: "Last year",
    kind: "count",
    of: ({ lastYearRooms }) => known(lastYearRooms),
  },
  {
    name: "change",
    head: "Change",
    kind: "change",
    of: ({ rooms, lastYearRooms }) => (known(lastYearRooms) === null ? null : rooms - Number(lastYearRooms)),
  },
  {
    name: "lastYearFinal",
    head: "Last year final",
    kind: "count",
    of: ({ lastYearFinalRooms }) => known(lastYearFinalRooms),
  },
  { name: "pickup1", head: "Pickup 1", kind: "change", of: ({ pickup1Rooms }) => known(pickup1Rooms) },
  { name: "pickup3", head: "Pickup 3", kind: "change", of: ({ pickup3Rooms }) => known(pickup3Rooms) },
  { name: "pickup7", head: "Pickup 7", kind: "change", of: ({ pickup7Rooms }) => known(pickup7Rooms) },
  { name: "pickup30", head: "Pickup 30", kind: "change", of: ({ pickup30Rooms }) => known(pickup30Rooms) },
  { name: "revenue", head: "Room revenue", kind: "money", of: ({ roomRevenue }) => roomRevenue },
  { name: "adr", head: "ADR", kind: "money", of: ({ adr }) => adr },
  { name: "revpar", head: "RevPAR", kind: "money", of: ({ revpar }) => revpar },
  { name: "cancelled", head: "Cancelled", kind: "count", of: ({ cancelledRooms }) => cancelledRooms },
  { name: "noShows", head: "No-shows", kind: "count", of: ({ noShowRooms }) => noShowRooms },
];

const WRITE: Readonly<Record<Kind, (value: number | string) => string>> = {
  count: (value) => writeCount(Number(value)),
  change: (value) => writeSigned(Number(value)),
  money: (value) => writeMoney(String(value)),
  share: (value) => writeShare(value),
};

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** `Sat 14 Mar 2026`, `Saturday`, `9 to 15 Mar`, `March 2026`, `Q1 2026` */
function nameOfRow({ stayDate, dayOfWeek, dates = 1 }: DailyReportItem, sum: Sum): string {
  if (sum === "dayOfWeek") return WEEKDAYS[(dayOfWeek ?? 1) - 1] ?? "";
  if (sum === "week")
    return dates === 1
      ? writeDate(stayDate)
      : `${writeDay(stayDate)} – ${writeDay(addDays(stayDate, dates - 1))}`;
  if (sum === "month") return writeMonth(stayDate);
  if (sum === "quarter") return `Q${Math.ceil(Number(stayDate.slice(5, 7)) / 3)} ${stayDate.slice(0, 4)}`;
  return writeDate(stayDate);
}

/** A night's occupancy is that of all its currencies. */
function occupancies(items: readonly DailyReportItem[]): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { stayDate, occupancy } of items)
    if (occupancy !== null) shares.set(stayDate, (shares.get(stayDate) ?? 0) + Number(occupancy));
  return shares;
}

/** The rows of the address's filter, in its order; the rows of one night stay together unless they are sorted. */
function useShownRows(items: readonly DailyReportItem[]): readonly DailyReportItem[] {
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

function shownRows(items: readonly DailyReportItem[], { only, sort, isDown }: Shown) {
  const shares = occupancies(items);
  const share = ({ stayDate }: DailyReportItem) => shares.get(stayDate);
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
  const figure = FIGURES.find(({ name }) => name === sort);
  if (figure === undefined) return sort === "night" && isDown ? rows.toReversed() : rows;
  const sign = isDown ? -1 : 1;
  // What is not known comes last either way.
  return rows.toSorted((one, other) => {
    const [left, right] = [figure.of(one), figure.of(other)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * (Number(left) - Number(right));
  });
}

/** The table on the screen: its columns, rows and order. */
export function useExcelOfReport({ clientCode, propertyCode }: PropertyCodes) {
  const sum = useSum();
  const { filters } = useFilters();
  return ({ items, totals }: Pick<DailyReportAnswer, "items" | "totals">): Omit<ExcelTable, "about"> => {
    const shown = shownRows(items, shownBy(filters));
    const row = (item: DailyReportItem, name: string) => [
      ...[clientCode, propertyCode, name, ...(sum === "" ? [] : [item.dates ?? null]), item.currency],
      ...FIGURES.map((figure) => figure.of(item)),
    ];
    return {
      columns: [
        { head: "Client code", kind: "text" },
        { head: "Property", kind: "text" },
        { head: headOf(sum), kind: sum === "" ? "date" : "text" },
        ...(sum === "" ? [] : [{ head: "Nights", kind: "count" } as const]),
        { head: "Currency", kind: "text" },
        ...FIGURES.map(({ head, kind }) => ({ head, kind })),
      ],
      rows: [
        ...totals.map((item) => row(item, "Total")),
        ...shown.map((item) => row(item, sum === "" ? item.stayDate : nameOfRow(item, sum))),
      ],
      totals: totals.length,
    };
  };
}

const headOf = (sum: Sum): string =>
  sum === "" ? "Night" : `${SUMS[sum].charAt(0).toUpperCase()}${SUMS[sum].slice(1)}`;

/** The address of what is behind a figure. */
export type Behind = (figure: Figure | "night", item: DailyReportItem) => string | undefined;

interface ReportTableProps {
  readonly items: readonly DailyReportItem[];
  readonly totals: readonly DailyReportItem[];
  readonly behind: Behind;
  readonly isWeekend?: (date: string) => boolean;
}

interface Row {
  readonly item: DailyReportItem;
  readonly isTotal: boolean;
}

export function ReportTable({ items, totals, behind, isWeekend }: ReportTableProps) {
  const sum = useSum();
  const shown = useShownRows(items);
  const currencies = new Set([...items, ...totals].map(({ currency }) => currency));
  const linked = (name: Figure | "night", { item, isTotal }: Row, text: string) => {
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
    ...(sum === ""
      ? []
      : [{ head: "Nights", end: true, cell: ({ item }: Row) => orDash(item.dates, writeCount) }]),
    ...(currencies.size > 1 ? [{ head: "Currency", cell: ({ item }: Row) => orDash(item.currency) }] : []),
    ...FIGURES.map(
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
        caption={`Daily report by ${SUMS[sum]}, the total first`}
        narrow="scroll"
        look="report"
        columns={columns}
        rows={[
          ...totals.map((item) => ({ item, isTotal: true })),
          ...shown.map((item) => ({ item, isTotal: false })),
        ]}
        keyOf={({ item, isTotal }) => JSON.stringify([isTotal, item.stayDate, item.currency])}
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
function Occupancy({ share }: { share: Value }) {
  return share === null ? (
    <span className="muted">
      –<span className="share-bar none" />
    </span>
  ) : (
    <Share of={Number(share)} />
  );
}
