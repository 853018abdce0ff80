import { NightlyChart } from "../../charts/chart.tsx";
import type { Series } from "../../charts/plot.tsx";
import type { OnTheBooksAnswer, OnTheBooksItem } from "../../contract.ts";
import {
  addDays,
  datesBetween,
  isStayDate,
  subtractMoney,
  writeCount,
  writeDate,
  writeMany,
  writeMoney,
  writeMonth,
  writeSigned,
  writeSignedMoney,
  YEAR_DAYS,
} from "../../field/format.ts";
import { AddressSelect } from "../../parts/field.tsx";
import { type Column, figure, Pager, ParquetNote, Table } from "../../parts/list.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import { Presets, type Range } from "../../parts/range.tsx";
import { orDash, Share } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import { NightOnTheBooks } from "./night.tsx";
import {
  addUp,
  GROUPINGS,
  type Grouping,
  isNothing,
  KeyFigures,
  LastYearNote,
  type LastYearRows,
  lastYearRows,
  type NightRows,
  nightRows,
  type Totals,
} from "./nights.tsx";
import { Pivot } from "./pivot.tsx";
import {
  currenciesOf,
  InsightPage,
  type Measure,
  MeasureFilters,
  measuredSeries,
  NightLink,
  NothingOfProperty,
  ofProperty,
  PointInTimeFilters,
  ROWS_MAX,
  sumBy,
  unitOf,
  useInsight,
  useMeasure,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 30;
/** Maximum rows of a grouped response: 30 nights with about 330 rate codes. */
const GROUPED_ROWS_MAX = 10_000;

export const OnTheBooksPage = ofProperty(function OnTheBooks({ codes }) {
  const { filters } = useFilters();
  const { today } = usePropertyView();
  const nights = { from: today, to: addDays(today, NIGHTS_SHOWN - 1) };
  const by = groupingOf(filters);
  const limit = by === undefined ? ROWS_MAX : GROUPED_ROWS_MAX;
  const insight = useInsight<OnTheBooksAnswer>("on-the-books", codes, nights, {
    limit: String(limit),
    by,
    compare: "lastYear",
  });
  const { range } = insight;
  const items = insight.asked.data?.items ?? [];
  const { measure } = useMeasure(items);
  const night = filters.get("night");
  return (
    <InsightPage
      codes={codes}
      title="On the books"
      lead="Rooms, revenue and occupancy by stay date, compared with the same weekdays last year."
      insight={insight}
      filters={
        <>
          <Presets range={range} />
          <AddressSelect name="by" label="By" options={GROUPINGS} />
          <PointInTimeFilters />
          <MeasureFilters items={items} />
        </>
      }
      intro={
        night !== null && isStayDate(night) ? (
          <NightOnTheBooks codes={codes} night={night} by={by ?? "marketSegment"} />
        ) : (
          <KeyFigures codes={codes} range={range} isDated />
        )
      }
      lines={14}
      isDated={false}
    >
      {({ nextCursor, lastYearKnownFrom }) => {
        if (items.every(isNothing))
          return (
            <NothingOfProperty codes={codes} title="Nothing is on the books for these nights">
              No reservation counts on these nights. Try another range, or another “as of”.
            </NothingOfProperty>
          );
        const rows = nightRows(items, { isFirst: !filters.has("cursor"), isLast: nextCursor === null });
        const lastYear = lastYearRows(rows, lastYearKnownFrom);
        return (
          <>
            {by === undefined ? (
              <ByNight rows={rows} lastYear={lastYear} range={range} measure={measure} />
            ) : (
              <Pivot rows={rows} lastYear={lastYear} by={by} range={range} measure={measure} />
            )}
            <Pager
              nextCursor={nextCursor}
              shown={writeMany(new Set(items.map(({ stayDate }) => stayDate)).size, "night")}
            />
            <ParquetNote table="nights" />
          </>
        );
      }}
    </InsightPage>
  );
});

function groupingOf(filters: URLSearchParams): Grouping | undefined {
  const by = filters.get("by") ?? "";
  return by !== "" && Object.hasOwn(GROUPINGS, by) ? (by as Grouping) : undefined;
}

interface ByNightProps {
  readonly rows: NightRows;
  readonly lastYear: LastYearRows;
  readonly range: Range;
  readonly measure: Measure;
}

/** Shows last year's figures only if some are known. */
function ByNight({ rows, lastYear, range, measure }: ByNightProps) {
  const { isWeekend } = usePropertyView();
  const known = lastYear.isAny ? lastYear : undefined;
  const lines = linesOf(
    rows,
    known,
    measure.of === "revenue" ? measure.currency : currenciesOf(rows.items)[0],
  );
  return (
    <>
      <NightsChart rows={rows} lastYear={known} range={range} measure={measure} />
      <Table
        caption="On the books by night"
        narrow="scroll"
        columns={COLUMNS.filter(({ isShown }) => isShown(lines))}
        rows={lines}
        keyOf={({ key }) => key}
        rowClass={({ night }) => (night === undefined ? "total" : isWeekend(night) ? "weekend" : undefined)}
      />
      <LastYearNote of={lastYear} range={range} />
    </>
  );
}

interface NightsChartProps extends Omit<ByNightProps, "lastYear"> {
  readonly lastYear: LastYearRows | undefined;
}

function NightsChart({ rows, lastYear, range, measure }: NightsChartProps) {
  const nights = datesBetween(range.from, range.to);
  const capacity = capacityOf(rows);
  const yearBefore = nights.map((date) => addDays(date, -YEAR_DAYS));
  const series: (Series | undefined)[] = [
    measuredSeries({ name: "On the books", kind: "bars" }, sumsOf(rows, nights, measure), measure),
    lastYear &&
      measuredSeries(
        { name: "Same time last year", kind: "past-bars" },
        sumsOf({ ...lastYear, isWhole: lastYear.isKnown }, yearBefore, measure),
        measure,
      ),
    measure.of === "rooms" && capacity.size > 0
      ? {
          name: "Capacity",
          kind: "ceiling",
          values: nights.map((date) => capacity.get(date) ?? null),
          write: (value) => writeMany(value, "room"),
        }
      : undefined,
  ];
  return (
    <NightlyChart
      nights={nights}
      label={`${measure.of === "rooms" ? "Rooms" : "Room revenue"} on the books by night, ${writeDate(range.from)} to ${writeDate(range.to)}`}
      unit={unitOf(measure)}
      series={series.filter((each) => each !== undefined)}
    />
  );
}

/** Null if rows of the night are on another page. */
function sumsOf({ items, isWhole }: NightRows, nights: readonly string[], measure: Measure) {
  const sums = sumBy(items, measure, ({ stayDate }) => stayDate);
  return nights.map((date) => (isWhole(date) ? (sums.get(date) ?? "0") : null));
}

/** The whole night's capacity, which each of its rows repeats. */
function capacityOf({ items, isWhole }: NightRows): ReadonlyMap<string, number> {
  return new Map(
    items.flatMap(({ stayDate, capacity }) =>
      capacity !== null && isWhole(stayDate) ? [[stayDate, capacity]] : [],
    ),
  );
}

const isBare = (item: OnTheBooksItem) =>
  item.rooms === 0 &&
  [item.roomRevenue, item.dayUseRevenue, item.feeRevenue, item.outsideStayRevenue].every(
    (amount) => amount === null,
  );

/** Adds blocks and unmapped rooms, which have no price, to the night's priced row. */
function withoutBareRows(items: readonly OnTheBooksItem[]): readonly OnTheBooksItem[] {
  const whole = new Map<string, OnTheBooksItem>();
  for (const item of items) if (!isBare(item) && !whole.has(item.stayDate)) whole.set(item.stayDate, item);
  const added = new Map<OnTheBooksItem, OnTheBooksItem>();
  for (const bare of items) {
    const target = isBare(bare) ? whole.get(bare.stayDate) : undefined;
    if (target === undefined) continue;
    const { blocksRemaining, unmappedRooms, adults, children, ...known } = added.get(target) ?? target;
    added.set(target, {
      ...target,
      // Only the first row of a night has inventory.
      capacity: known.capacity ?? bare.capacity,
      outOfOrder: known.outOfOrder ?? bare.outOfOrder,
      soldReported: known.soldReported ?? bare.soldReported,
      blocksRemaining: blocksRemaining + bare.blocksRemaining,
      unmappedRooms: unmappedRooms + bare.unmappedRooms,
      adults: adults + bare.adults,
      children: children + bare.children,
    });
  }
  return items
    .filter((item) => !isBare(item) || !whole.has(item.stayDate))
    .map((item) => added.get(item) ?? item);
}

/** Adds a line for nights that sold only last year, so that months and nights add up to the total. */
function withLastYears(
  shown: readonly OnTheBooksItem[],
  before: readonly (readonly [night: string, rows: readonly OnTheBooksItem[]])[],
): readonly OnTheBooksItem[] {
  const byNight = Map.groupBy(shown, ({ stayDate }) => stayDate);
  for (const [night, then] of before) {
    const own = byNight.get(night) ?? [];
    const missing = then.filter(
      ({ rooms, currency }) => rooms !== 0 && !own.some((item) => item.currency === currency),
    );
    const first = own.length === 1 && own[0] !== undefined && isBare(own[0]) ? own[0] : undefined;
    const added = missing.map(({ currency }, place) => ({
      ...(place === 0 && first !== undefined ? first : NOTHING),
      stayDate: night,
      currency,
    }));
    const kept = first !== undefined && added.length > 0 ? [] : own;
    if (added.length > 0) byNight.set(night, [...kept, ...added]);
  }
  return [...byNight].toSorted(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, items]) => items);
}

const NOTHING: Omit<OnTheBooksItem, "stayDate" | "currency"> = {
  rooms: 0,
  roomRevenue: null,
  grossRoomRevenue: null,
  adults: 0,
  children: 0,
  capacity: null,
  outOfOrder: null,
  occupancy: null,
  adr: null,
  revpar: null,
  blocksRemaining: 0,
  unmappedRooms: 0,
  soldReported: null,
  dayUseRooms: 0,
  dayUseRevenue: null,
  feeRevenue: null,
  outsideStayRevenue: null,
};

/** A night in one currency, or a sum of nights. */
interface Line extends Totals {
  readonly key: string;
  readonly head: string;
  /** Undefined: a sum. */
  readonly night?: string;
  readonly capacity: number | null;
  readonly currency: string | null;
  readonly blocks: number;
  readonly unmapped: number;
  readonly guests: number;
  readonly dayUseRooms: number;
  /** Revenue without a room night; not of a sum. */
  readonly dayUse?: string | null;
  readonly fees?: string | null;
  readonly outsideStay?: string | null;
  /** Null: unknown. */
  readonly lastYear: Totals | null;
  /** The part of a sum whose nights are known of both years. */
  readonly comparable: Pick<Totals, "rooms" | "revenue">;
}

/** The total, then for each month its total (if there are several) and its nights. */
function linesOf(
  { items, isWhole, isAll }: NightRows,
  lastYear: LastYearRows | undefined,
  currency: string | undefined,
): Line[] {
  const before = Map.groupBy(lastYear?.items ?? [], ({ stayDate }) => addDays(stayDate, YEAR_DAYS));
  const shown = withLastYears(
    withoutBareRows(items),
    [...before].filter(([night]) => isWhole(night)),
  );
  /** Nights of a month, or all. */
  const sumOf = (head: string, month = ""): Line => {
    const some = items.filter(({ stayDate }) => stayDate.startsWith(month));
    const then = [...before].flatMap(([night, rows]) => (night.startsWith(month) ? rows : []));
    const compared = some.filter(({ stayDate }) => lastYear?.isKnown(addDays(stayDate, -YEAR_DAYS)) === true);
    return {
      ...addUp(some, currency),
      ...countsOf(some),
      comparable: addUp(compared, currency),
      key: head,
      head,
      capacity: null,
      currency: currency ?? null,
      lastYear: lastYear?.isAll === true && compared.length > 0 ? addUp(then, currency) : null,
    };
  };
  const nightOf = (item: OnTheBooksItem): Line => {
    const then = before.get(item.stayDate) ?? [];
    const isKnown = lastYear?.isKnown(addDays(item.stayDate, -YEAR_DAYS)) === true;
    return {
      ...countsOf([item]),
      key: JSON.stringify([item.stayDate, item.currency]),
      head: writeDate(item.stayDate),
      night: item.stayDate,
      rooms: item.rooms,
      revenue: item.roomRevenue,
      comparable: { rooms: item.rooms, revenue: item.roomRevenue },
      occupancy: item.occupancy === null ? null : Number(item.occupancy),
      adr: item.adr,
      revpar: item.revpar,
      capacity: item.capacity,
      currency: item.currency,
      dayUse: item.dayUseRevenue,
      fees: item.feeRevenue,
      outsideStay: item.outsideStayRevenue,
      lastYear: isKnown
        ? addUp(
            then.filter((each) => each.currency === item.currency),
            item.currency ?? "",
          )
        : null,
    };
  };
  const months = [...Map.groupBy(shown, ({ stayDate }) => stayDate.slice(0, 7))];
  return [
    ...(isAll ? [sumOf("Total")] : []),
    ...months.flatMap(([month, some]) => [
      ...(isAll && months.length > 1 ? [sumOf(writeMonth(`${month}-01`), month)] : []),
      ...some.map(nightOf),
    ]),
  ];
}

function countsOf(items: readonly OnTheBooksItem[]) {
  const sum = (of: (item: OnTheBooksItem) => number) => items.reduce((total, item) => total + of(item), 0);
  return {
    blocks: sum(({ blocksRemaining }) => blocksRemaining),
    unmapped: sum(({ unmappedRooms }) => unmappedRooms),
    guests: sum(({ adults, children }) => adults + children),
    dayUseRooms: sum(({ dayUseRooms }) => dayUseRooms),
  };
}

/** A column is hidden if no line has a value for it. */
type LineColumn = Column<Line> & { readonly isShown: (lines: readonly Line[]) => boolean };

const always = () => true;
const ifAny = (of: (line: Line) => unknown) => (lines: readonly Line[]) =>
  lines.some((line) => Boolean(of(line)));
const ifLastYear = ifAny(({ lastYear }) => lastYear);

const lineFigure = <Value extends number | string>(
  head: string,
  of: (line: Line) => Value | null | undefined,
  write: (value: Value) => string,
  isShown = ifAny(of),
): LineColumn => ({ ...figure(head, of, write), isShown });

const COLUMNS: readonly LineColumn[] = [
  {
    head: "Night",
    lead: true,
    isShown: always,
    cell: ({ head, night }) => (night === undefined ? head : <NightLink night={night}>{head}</NightLink>),
  },
  lineFigure("Rooms", ({ rooms }) => rooms, writeCount, always),
  lineFigure("Last year", ({ lastYear }) => lastYear?.rooms, writeCount, ifLastYear),
  lineFigure(
    "Change",
    ({ comparable, lastYear }) => lastYear && comparable.rooms - lastYear.rooms,
    writeSigned,
    ifLastYear,
  ),
  {
    head: "Capacity",
    end: true,
    isShown: ifAny(({ capacity }) => capacity),
    cell: ({ capacity, night }) => (night === undefined ? "" : orDash(capacity, writeCount)),
  },
  {
    head: "Occupancy",
    end: true,
    isShown: ifAny(({ occupancy }) => occupancy),
    cell: ({ occupancy }) => <Occupancy share={occupancy} />,
  },
  lineFigure("Room revenue", ({ revenue }) => revenue, writeMoney),
  lineFigure("Change of revenue", changeOfRevenue, writeSignedMoney, ifLastYear),
  lineFigure("ADR", ({ adr }) => adr, writeMoney),
  lineFigure("RevPAR", ({ revpar }) => revpar, writeMoney),
  {
    head: "Currency",
    isShown: (lines) => new Set(lines.map(({ currency }) => currency)).size > 1,
    cell: ({ currency }) => orDash(currency),
  },
  lineFigure("Blocks remaining", ({ blocks }) => blocks, writeCount),
  lineFigure("Unmapped", ({ unmapped }) => unmapped, writeCount),
  lineFigure("Guests", ({ guests }) => guests, writeCount),
  lineFigure("Day-use rooms", ({ dayUseRooms }) => dayUseRooms, writeCount),
  lineFigure("Day-use revenue", ({ dayUse }) => dayUse, writeMoney),
  lineFigure("Fees", ({ fees }) => fees, writeMoney),
  lineFigure("Outside the stay", ({ outsideStay }) => outsideStay, writeMoney),
];

function changeOfRevenue({ comparable: { revenue }, lastYear }: Line): string | null {
  const then = lastYear?.revenue ?? null;
  return revenue === null || then === null ? null : subtractMoney(revenue, then);
}

function Occupancy({ share }: { share: number | null }) {
  // Keeps the figures aligned.
  if (share === null)
    return (
      <span className="muted">
        –<span className="share-bar none" />
      </span>
    );
  return <Share of={share} />;
}
