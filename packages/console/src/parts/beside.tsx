import { Link } from "wouter";
import type { Cell } from "../../../contract/src/cell-kind.ts";
import type { ExcelColumn, ExcelTable } from "../../../contract/src/excel.ts";
import { type FigureName, REPORT_FIGURES, type ReportFigure } from "../../../contract/src/report-figures.ts";
import {
  daysBetween,
  writeCount,
  writeDay,
  writeMany,
  writePoints,
  writeSigned,
  writeSignedMoney,
  writeWeekday,
  writeWhole,
  YEAR_DAYS,
} from "../field/format.ts";
import {
  differenceOf,
  ofYear,
  type Pair,
  pairsOf,
  type ReportRow,
  type Value,
  type Year,
} from "../field/side-by-side.ts";
import { useFilters } from "../routing/filters.ts";
import { AddressSelect } from "./field.tsx";
import { type Column, Table } from "./list.tsx";
import { type Behind, headOf, nameOfRow, SUMS_OF_HOTELS, type Sum, WRITE } from "./report.tsx";
import { orDash } from "./values.tsx";

const YEARS: Readonly<Record<Year, string>> = { lastYear: "last year", lastYearFinal: "last year final" };
export const YEAR_OPTIONS = Object.entries(YEARS) as readonly (readonly [Year, string])[];

export const isYear = (text: string): text is Year => Object.hasOwn(YEARS, text);

/** The columns of one of the two. */
export interface Side {
  /** The head of its columns. */
  readonly name: string;
  /** Of a hotel, if it has one besides its code. */
  readonly about?: string | undefined;
  readonly behind: Behind;
}

/** What is compared. */
export interface Beside {
  readonly sides: readonly [Side, Side];
  readonly difference: string;
  readonly figures: readonly ReportFigure[];
  readonly totals: readonly Pair[];
  readonly pairs: readonly Pair[];
}

const FIGURES = {
  "": "key figures",
  pickup: "pickup",
  lastYear: "last year",
  lost: "cancellations and no-shows",
} as const;
const FIGURES_OF: Readonly<Record<keyof typeof FIGURES, readonly FigureName[]>> = {
  "": ["rooms", "occupancy", "adr", "revpar", "revenue"],
  pickup: ["rooms", "pickup1", "pickup3", "pickup7", "pickup30"],
  lastYear: ["rooms", "lastYear", "change", "lastYearFinal"],
  lost: ["rooms", "cancelled", "noShows"],
};
/** What is known of a year when it is over: inventory is not read again. */
const FINAL_FIGURES: readonly FigureName[] = ["rooms", "adr", "revenue"];

const figuresNamed = (names: readonly FigureName[]) =>
  names.flatMap((name) => REPORT_FIGURES.filter((figure) => figure.name === name));

/** Chooses which figures of two hotels are beside each other. */
export function FiguresFilter() {
  return <AddressSelect name="figures" label="Figures" options={FIGURES} />;
}

export function useFiguresOfHotels(): readonly ReportFigure[] {
  const given = useFilters().filters.get("figures") ?? "";
  return figuresNamed(FIGURES_OF[Object.hasOwn(FIGURES_OF, given) ? (given as keyof typeof FIGURES) : ""]);
}

interface Rows {
  readonly items: readonly ReportRow[];
  readonly totals: readonly ReportRow[];
}

/** This year and last year, of the same rows. */
export function besideYear({ items, totals }: Rows, year: Year, behind: Behind): Beside {
  const pairOf = (row: ReportRow): Pair => ({ row, sides: [row, ofYear(row, year)] });
  const pairs = items.map(pairOf);
  return {
    sides: [
      { name: "This year", behind },
      { name: year === "lastYear" ? "Last year" : "Last year final", behind: (_, row) => behind(year, row) },
    ],
    difference: "Change",
    figures: figuresNamed(year === "lastYear" ? FIGURES_OF[""] : FINAL_FIGURES).filter(({ of }) =>
      pairs.some(({ sides: [, then] }) => then !== null && of(then) !== null),
    ),
    totals: totals.map(pairOf),
    pairs,
  };
}

/** Two hotels, on the same nights. */
export function besideHotel(one: Rows & Side, other: Rows & Side, figures: readonly ReportFigure[]): Beside {
  return {
    sides: [one, other],
    difference: "Diff.",
    figures,
    totals: pairsOf(one.totals, other.totals),
    pairs: pairsOf(one.items, other.items),
  };
}

const WRITE_DIFFERENCE: Readonly<Record<ReportFigure["kind"], (value: number | string) => string>> = {
  count: (value) => writeSigned(Number(value)),
  change: (value) => writeSigned(Number(value)),
  money: (value) => writeSignedMoney(String(value)),
  share: (value) => writePoints(Number(value), 0),
};

/** A column of one side, or of the difference. */
interface SideColumn {
  readonly figure: ReportFigure;
  readonly head: string;
  /** In addresses and files. */
  readonly name: string;
  readonly at: 0 | 1 | "difference";
  readonly of: (pair: Pair) => Value;
}

const columnsOf = ({ sides, difference, figures }: Beside): readonly SideColumn[] =>
  figures.flatMap((figure): SideColumn[] => [
    ...([0, 1] as const).map((at) => ({
      figure,
      at,
      head: sides[at].name,
      name: at === 0 ? figure.name : `${figure.name}-beside`,
      of: ({ sides: own }: Pair) => (own[at] === null ? null : figure.of(own[at])),
    })),
    {
      figure,
      at: "difference",
      head: difference,
      name: `${figure.name}-difference`,
      of: (pair: Pair) => differenceOf(pair, figure),
    },
  ]);

/** What is not known comes last either way. */
function sorted(beside: Beside, filters: URLSearchParams): readonly Pair[] {
  const [sort, isDown] = [filters.get("sort") ?? "", filters.get("order") === "down"];
  const column = columnsOf(beside).find(({ name }) => name === sort);
  if (column === undefined) return sort === "night" && isDown ? beside.pairs.toReversed() : beside.pairs;
  return beside.pairs.toSorted((one, other) => {
    const [left, right] = [column.of(one), column.of(other)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return (isDown ? -1 : 1) * (Number(left) - Number(right));
  });
}

const currencyOf = ({ sides }: Pair): string =>
  [...new Set(sides.flatMap((side) => side?.currency ?? []))].join(" / ");

interface BesideTableProps {
  readonly of: Beside;
  readonly sum: Sum;
  /** The address of one period. */
  readonly behindRow: Behind;
  readonly isWeekend?: (date: string) => boolean;
}

interface Line {
  readonly pair: Pair;
  readonly isTotal: boolean;
}

export function BesideTable({ of, sum, behindRow, isWeekend }: BesideTableProps) {
  const { filters } = useFilters();
  const pairs = sorted(of, filters);
  const currencies = new Set([...of.pairs, ...of.totals].map(currencyOf).filter((text) => text !== ""));
  const [currency] = currencies;
  const dates = of.pairs.map(({ row }) => row.stayDate).sort();
  const isShort = sum === "" && daysBetween(dates[0] ?? "", dates.at(-1) ?? "") < YEAR_DAYS;
  const nameOf = (row: ReportRow) =>
    isShort ? `${writeWeekday(row.stayDate)} ${writeDay(row.stayDate)}` : nameOfRow(row, sum);
  const isMixed = of.pairs.some(({ sides: [one, other] }) => one && other && one.currency !== other.currency);
  const columns: readonly Column<Line>[] = [
    {
      head: headOf(sum),
      lead: true,
      sort: "night",
      cell: ({ pair: { row }, isTotal }) => {
        const to = isTotal ? undefined : behindRow("night", row);
        const text = isTotal ? "Total" : nameOf(row);
        return to === undefined ? (
          text
        ) : (
          <Link className="nowrap" to={to}>
            {text}
          </Link>
        );
      },
    },
    ...(sum === "" || sum === "property"
      ? []
      : [{ head: "Nights", end: true, cell: ({ pair: { row } }: Line) => orDash(row.dates, writeCount) }]),
    ...(currencies.size > 1 ? [{ head: "Currency", cell: ({ pair }: Line) => currencyOf(pair) }] : []),
    ...columnsOf(of).map(
      (column): Column<Line> => ({
        group:
          column.figure.name === "revenue" && currencies.size === 1
            ? `${column.figure.head}, ${currency}`
            : column.figure.head,
        head: column.head,
        end: true,
        look: column.at === 0 ? "begins" : column.at === "difference" ? "difference" : undefined,
        sort: column.name,
        cell: ({ pair, isTotal }) =>
          orDash(column.of(pair), (value) => <SideValue {...{ of, column, pair, isTotal, value }} />),
      }),
    ),
  ];
  const hasNames = of.sides.some(({ about }) => about !== undefined);
  return (
    <>
      {hasNames && (
        <p className="legend">
          {of.sides.map(({ name, about = "" }) => (
            <span key={name}>
              <strong>{name}</strong> {about}
            </span>
          ))}
        </p>
      )}
      <Table<Line>
        caption={`${of.sides[0].name} and ${of.sides[1].name} by ${SUMS_OF_HOTELS[sum]}, the total first`}
        narrow="scroll"
        look="beside"
        columns={columns}
        rows={[
          ...of.totals.map((pair) => ({ pair, isTotal: true })),
          ...pairs.map((pair) => ({ pair, isTotal: false })),
        ]}
        keyOf={({ pair: { row }, isTotal }) =>
          JSON.stringify([isTotal, row.stayDate, row.currency, row.clientCode, row.propertyCode])
        }
        rowClass={({ pair: { row }, isTotal }) => {
          if (isTotal) return "total";
          return sum === "" && isWeekend?.(row.stayDate) ? "weekend" : undefined;
        }}
      />
      <p className="small muted">
        {writeMany(pairs.length, "row")}. {of.difference === "Change" ? "Change" : "Difference"}:{" "}
        {of.sides[0].name} less {of.sides[1].name}
        {isMixed && "; amounts of two currencies have none"}.
        {of.figures.some(({ name }) => name === "revenue") &&
          " Revenue is in whole units; files have its cents."}
      </p>
    </>
  );
}

interface SideValueProps {
  readonly of: Beside;
  readonly column: SideColumn;
  readonly pair: Pair;
  readonly isTotal: boolean;
  readonly value: number | string;
}

/** Revenue without its cents, which the title has. */
function SideValue({ of, column: { figure, at }, pair, isTotal, value }: SideValueProps) {
  const isDifference = at === "difference";
  const exact = (isDifference ? WRITE_DIFFERENCE : WRITE)[figure.kind](value);
  const text = figure.name === "revenue" ? writeWhole(String(value), isDifference) : exact;
  const title = text === exact ? undefined : exact;
  const side = isDifference ? null : pair.sides[at];
  const to = isTotal || isDifference || side === null ? undefined : of.sides[at].behind(figure.name, side);
  return to === undefined ? (
    <span title={title}>{text}</span>
  ) : (
    <Link className="quiet" to={to} title={title}>
      {text}
    </Link>
  );
}

const excelKind = ({ at, figure: { kind } }: SideColumn): ExcelColumn["kind"] =>
  at === "difference" && kind === "count" ? "change" : kind;

/** The table on the screen. */
export function useExcelOfBeside() {
  const { filters } = useFilters();
  return (of: Beside, sum: Sum): Omit<ExcelTable, "about"> => {
    const columns = columnsOf(of);
    const isNamed = sum === "property";
    const row = (pair: Pair, name: string): Cell[] => [
      ...(isNamed ? [pair.row.clientCode ?? "", pair.row.propertyCode ?? ""] : []),
      name,
      ...(sum === "" ? [] : [pair.row.dates ?? null]),
      currencyOf(pair),
      ...columns.map((column) => column.of(pair)),
    ];
    return {
      columns: [
        ...(isNamed ? ["Client code", "Property"] : []).map((head) => ({ head, kind: "text" }) as const),
        { head: headOf(sum), kind: sum === "" ? "date" : "text" },
        ...(sum === "" ? [] : [{ head: "Nights", kind: "count" } as const]),
        { head: "Currency", kind: "text" },
        ...columns.map((column) => ({
          head: `${column.figure.head}, ${column.head}`,
          kind: excelKind(column),
        })),
      ],
      rows: [
        ...of.totals.map((pair) => row(pair, "Total")),
        ...sorted(of, filters).map((pair) =>
          row(pair, sum === "" ? pair.row.stayDate : nameOfRow(pair.row, sum)),
        ),
      ],
      totals: of.totals.length,
    };
  };
}

/** The rows of other files, by names that say which side a figure is of. */
export function besideItems(of: Beside | undefined): readonly Readonly<Record<string, Cell>>[] {
  if (of === undefined) return [];
  const columns = columnsOf(of);
  const camel = ({ figure: { name }, at }: SideColumn) => {
    if (at === 0) return name;
    const upper = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    return at === 1 ? `beside${upper}` : `difference${upper}`;
  };
  return of.pairs.map((pair) => {
    const { clientCode, propertyCode, stayDate, dates } = pair.row;
    return {
      ...(clientCode === undefined || propertyCode === undefined ? {} : { clientCode, propertyCode }),
      stayDate,
      ...(dates === undefined ? {} : { dates }),
      currency: currencyOf(pair),
      ...Object.fromEntries(columns.map((column) => [camel(column), column.of(pair)])),
    };
  });
}
