import { Link } from "wouter";
import { Chart } from "../../charts/chart.tsx";
import type { Series } from "../../charts/plot.tsx";
import type { OnTheBooksAnswer, OnTheBooksItem, PropertyCodes } from "../../contract.ts";
import { addressOf, useAnswer } from "../../data/queries.ts";
import {
  addDays,
  datesBetween,
  isWeekend,
  propertyPath,
  today,
  weekdayOf,
  writeCount,
  writeDate,
  writeDay,
  writeMany,
  writeMoney,
  writeShare,
} from "../../field/format.ts";
import { AddressSelect } from "../../parts/field.tsx";
import { type Column, Pager, Table } from "../../parts/list.tsx";
import { Empty } from "../../parts/page.tsx";
import { orDash } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  InsightPage,
  type Measure,
  MeasureFilters,
  measuredSeries,
  ofProperty,
  PointInTimeFilters,
  type Range,
  ROWS_MAX,
  sumByNight,
  unitOf,
  useInsight,
  useMeasure,
  usePointInTime,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 35;
const GROUPINGS = {
  "": "whole nights",
  roomType: "room type",
  bookedRoomType: "booked room type",
  marketSegment: "market segment",
  rateCode: "rate code",
  channel: "channel",
  group: "group",
} as const;
type Grouping = Exclude<keyof typeof GROUPINGS, "">;

export const OnTheBooksPage = ofProperty(function OnTheBooks({ codes }) {
  const { filters } = useFilters();
  const nights = { from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) };
  const insight = useInsight<OnTheBooksAnswer>("on-the-books", codes, nights, {
    by: filters.get("by") ?? undefined,
  });
  const { range } = insight;
  const lastYear = useLastYear(codes, range);
  const by = groupingOf(filters);
  const items = insight.asked.data?.items ?? [];
  const rows = withoutBareRows(items, by);
  const { measure } = useMeasure(items);
  return (
    <InsightPage
      codes={codes}
      title="On the books"
      lead="Rooms, revenue and occupancy by stay date, now or as of an earlier time."
      insight={insight}
      filters={
        <>
          <AddressSelect name="by" label="By" options={GROUPINGS} />
          <PointInTimeFilters />
          <MeasureFilters items={items} />
        </>
      }
      lines={14}
    >
      {({ nextCursor }) =>
        items.every(isNothing) ? (
          <Empty title="Nothing is on the books for these nights">
            No reservation counts on these nights, and no inventory was sent for them. Try another range, or
            another “as of”.
          </Empty>
        ) : (
          <>
            <NightsChart
              rows={nightRows(items, { isFirst: !filters.has("cursor"), isLast: nextCursor === null })}
              lastYear={lastYear}
              range={range}
              measure={measure}
            />
            <Table
              caption="On the books by night"
              narrow="scroll"
              columns={columnsOf(by, codes)}
              rows={rows}
              keyOf={(item) => nameOf(item, by, item.currency)}
              rowClass={({ stayDate }) => (isWeekend(stayDate) ? "weekend" : undefined)}
            />
            <Pager nextCursor={nextCursor} shown={writeMany(rows.length, "row")} />
          </>
        )
      }
    </InsightPage>
  );
});

/** The same weekdays a year before, as known at the same time. */
function useLastYear(codes: PropertyCodes, range: Range): NightRows | undefined {
  const { asOf, clock } = usePointInTime();
  // To the hour, so that the query is cached.
  const instant = asOf ?? `${new Date().toISOString().slice(0, 13)}:00:00Z`;
  const address = addressOf("insight/on-the-books", {
    ...codes,
    from: addDays(range.from, -YEAR_DAYS),
    to: addDays(range.to, -YEAR_DAYS),
    asOf: `${addDays(instant.slice(0, 10), -YEAR_DAYS)}${instant.slice(10)}`,
    clock,
    limit: ROWS_MAX,
  });
  const { data } = useAnswer<OnTheBooksAnswer>(address);
  return data && nightRows(data.items, { isFirst: true, isLast: data.nextCursor === null });
}

function isNothing({ rooms, capacity }: OnTheBooksItem): boolean {
  return rooms === 0 && capacity === null;
}

function groupingOf(filters: URLSearchParams): Grouping | undefined {
  const by = filters.get("by") ?? "";
  return by !== "" && Object.hasOwn(GROUPINGS, by) ? (by as Grouping) : undefined;
}

/** Keeps the weekday. */
const YEAR_DAYS = 364;

/** A page of rows; `isWhole` marks nights whose rows are all on it. */
interface NightRows {
  readonly items: readonly OnTheBooksItem[];
  readonly isWhole: (night: string) => boolean;
}

/** A night at the edge of a page may continue on the next. */
function nightRows(
  items: readonly OnTheBooksItem[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): NightRows {
  const [first, last] = [items[0]?.stayDate ?? "", items.at(-1)?.stayDate ?? ""];
  return { items, isWhole: (night) => (isFirst || night > first) && (isLast || night < last) };
}

interface NightsChartProps {
  readonly rows: NightRows;
  /** Undefined: not known yet. */
  readonly lastYear: NightRows | undefined;
  readonly range: Range;
  readonly measure: Measure;
}

function NightsChart({ rows, lastYear, range, measure }: NightsChartProps) {
  const nights = datesBetween(range.from, range.to);
  const night = (place: number) => nights[place] ?? range.from;
  const capacity = capacityOf(rows);
  const yearBefore = nights.map((date) => addDays(date, -YEAR_DAYS));
  const series: (Series | undefined)[] = [
    measuredSeries({ name: "On the books", kind: "bars" }, sumsOf(rows, nights, measure), measure),
    lastYear &&
      measuredSeries(
        { name: "Same time last year", kind: "past-bars" },
        sumsOf(lastYear, yearBefore, measure),
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
    <Chart
      label={`${measure.of === "rooms" ? "Rooms" : "Room revenue"} on the books by night, ${range.from} to ${range.to}`}
      unit={unitOf(measure)}
      begin="oldest"
      x={nights.map((_, place) => place)}
      writeX={(place) => writeDate(night(place))}
      writeTick={(place) => writeDay(night(place))}
      ticks={nights.flatMap((date, place) => (nights.length < 14 || weekdayOf(date) === 0 ? [place] : []))}
      series={series.filter((each) => each !== undefined)}
    />
  );
}

/** Null where rows of the night are on another page. */
function sumsOf({ items, isWhole }: NightRows, nights: readonly string[], measure: Measure) {
  const sums = sumByNight(items, measure);
  return nights.map((date) => (isWhole(date) ? (sums.get(date) ?? "0") : null));
}

function capacityOf({ items, isWhole }: NightRows): ReadonlyMap<string, number> {
  const capacity = new Map<string, number>();
  // By room type capacities add up; otherwise each row has the whole night's.
  for (const item of items)
    if (item.capacity !== null && isWhole(item.stayDate))
      capacity.set(
        item.stayDate,
        (item.roomType === undefined ? 0 : (capacity.get(item.stayDate) ?? 0)) + item.capacity,
      );
  return capacity;
}

const nameOf = (item: OnTheBooksItem, by: Grouping | undefined, currency: string | null = null) =>
  JSON.stringify([item.stayDate, by === undefined ? "" : (item[by] ?? null), currency]);

/** Blocks and unmapped rooms have no price and come as rows without currency: they are added to the night's priced row. */
function withoutBareRows(items: readonly OnTheBooksItem[], by: Grouping | undefined) {
  const isBare = ({ rooms, currency, roomRevenue }: OnTheBooksItem) =>
    rooms === 0 && currency === null && roomRevenue === null;
  const whole = new Map<string, OnTheBooksItem>();
  for (const item of items)
    if (!isBare(item) && !whole.has(nameOf(item, by))) whole.set(nameOf(item, by), item);
  const added = new Map<OnTheBooksItem, OnTheBooksItem>();
  for (const bare of items) {
    const target = isBare(bare) ? whole.get(nameOf(bare, by)) : undefined;
    if (target === undefined) continue;
    const { blocksRemaining, unmappedRooms, adults, children } = added.get(target) ?? target;
    added.set(target, {
      ...target,
      blocksRemaining: blocksRemaining + bare.blocksRemaining,
      unmappedRooms: unmappedRooms + bare.unmappedRooms,
      adults: adults + bare.adults,
      children: children + bare.children,
    });
  }
  return items
    .filter((item) => !isBare(item) || !whole.has(nameOf(item, by)))
    .map((item) => added.get(item) ?? item);
}

function columnsOf(by: Grouping | undefined, codes: PropertyCodes): readonly Column<OnTheBooksItem>[] {
  const text = GROUPINGS[by ?? ""];
  const grouping = {
    head: text.charAt(0).toUpperCase() + text.slice(1),
    cell: (item: OnTheBooksItem) => (by && item[by]) ?? <span className="muted">none</span>,
  };
  return [
    {
      head: "Night",
      lead: true,
      cell: ({ stayDate }) => (
        <Link className="nowrap" to={propertyPath("/property/pace", codes, { from: stayDate, to: stayDate })}>
          {writeDate(stayDate)}
        </Link>
      ),
    },
    ...(by === undefined ? [] : [grouping]),
    { head: "Rooms", end: true, cell: ({ rooms }) => writeCount(rooms) },
    { head: "Capacity", end: true, cell: ({ capacity }) => orDash(capacity, writeCount) },
    { head: "Occupancy", end: true, cell: ({ occupancy }) => <Occupancy share={occupancy} /> },
    { head: "Room revenue", end: true, cell: ({ roomRevenue }) => orDash(roomRevenue, writeMoney) },
    { head: "ADR", end: true, cell: ({ adr }) => orDash(adr, writeMoney) },
    { head: "RevPAR", end: true, cell: ({ revpar }) => orDash(revpar, writeMoney) },
    { head: "Currency", cell: ({ currency }) => orDash(currency) },
    { head: "Blocks remaining", end: true, cell: ({ blocksRemaining }) => writeCount(blocksRemaining) },
    { head: "Unmapped", end: true, cell: ({ unmappedRooms }) => writeCount(unmappedRooms) },
    { head: "Guests", end: true, cell: ({ adults, children }) => writeCount(adults + children) },
  ];
}

function Occupancy({ share }: { share: string | null }) {
  // Keeps the figures aligned.
  if (share === null)
    return (
      <span className="muted">
        –<span className="share-bar none" />
      </span>
    );
  const width = `${Math.min(Math.max(Number(share), 0), 1) * 100}%`;
  return (
    <>
      {writeShare(share)}
      <span className="share-bar" aria-hidden="true">
        <i style={{ width }} />
      </span>
    </>
  );
}
