import { Chart } from "../../charts/chart.tsx";
import type { Series } from "../../charts/chart-props.ts";
import type { OnTheBooksItem } from "../../contract.ts";
import { writeDate, writeDay, writeMany } from "../../field/format.ts";
import { addMoney } from "../../field/money.ts";
import { addDays, datesBetween, weekdayOf } from "../../field/stay-date.ts";
import type { Range } from "./insight-filters.tsx";
import { type Measure, measuredSeries, unitOf } from "./measure.tsx";

/** The same weekday a year before lies so many days back. */
export const YEAR_DAYS = 364;

/** A page of rows, and of which nights it has all. */
export interface NightRows {
  readonly items: readonly OnTheBooksItem[];
  readonly isWhole: (night: string) => boolean;
}

/** Rows come by night: where pages are before or behind them, those at the end are of a night that may go on there. */
export function nightRows(
  items: readonly OnTheBooksItem[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): NightRows {
  const [first, last] = [items[0]?.stayDate ?? "", items.at(-1)?.stayDate ?? ""];
  return { items, isWhole: (night) => (isFirst || night > first) && (isLast || night < last) };
}

interface NightsChartProps {
  readonly rows: NightRows;
  /** Of the same nights a year before, as they were known at the same time; undefined: not known (yet). */
  readonly lastYear: NightRows | undefined;
  readonly range: Range;
  readonly measure: Measure;
}

/** Rooms of each night below its capacity, or revenue, beside the same time last year. */
export function NightsChart({ rows, lastYear, range, measure }: NightsChartProps) {
  const nights = datesBetween(range.from, range.to);
  const night = (place: number) => nights[place] ?? range.from;
  const series: Series[] = [
    measuredSeries({ name: "On the books", kind: "bars" }, sumsOf(rows, nights, measure), measure),
  ];
  if (lastYear !== undefined)
    series.push(
      measuredSeries(
        { name: "Same time last year", kind: "past-bars" },
        sumsOf(
          lastYear,
          nights.map((date) => addDays(date, -YEAR_DAYS)),
          measure,
        ),
        measure,
      ),
    );
  const capacity = capacityOf(rows);
  if (measure.of === "rooms" && capacity.size > 0)
    series.push({
      name: "Capacity",
      kind: "ceiling",
      values: nights.map((date) => capacity.get(date) ?? null),
      write: (value) => writeMany(value, "room"),
    });
  return (
    <Chart
      label={`${measure.of === "rooms" ? "Rooms" : "Room revenue"} on the books by night, ${range.from} to ${range.to}`}
      unit={unitOf(measure)}
      begin="oldest"
      x={nights.map((_, place) => place)}
      writeX={(place) => writeDate(night(place))}
      writeTick={(place) => writeDay(night(place))}
      ticks={nights.flatMap((date, place) => (nights.length < 14 || weekdayOf(date) === 0 ? [place] : []))}
      series={series}
    />
  );
}

/** Of each night its rooms or its money, as decimal text; null of those of which rows are elsewhere. */
function sumsOf(
  { items, isWhole }: NightRows,
  nights: readonly string[],
  measure: Measure,
): readonly (string | null)[] {
  const sums = new Map<string, string>();
  for (const item of items) {
    if (measure.of === "revenue" && item.currency !== measure.currency) continue;
    const own = measure.of === "rooms" ? String(item.rooms) : (item.roomRevenue ?? "0");
    sums.set(item.stayDate, addMoney([sums.get(item.stayDate) ?? "0", own]));
  }
  return nights.map((date) => (isWhole(date) ? (sums.get(date) ?? "0") : null));
}

function capacityOf({ items, isWhole }: NightRows): ReadonlyMap<string, number> {
  const capacity = new Map<string, number>();
  // By room type each has its own; otherwise every row of a night names the whole one.
  for (const item of items)
    if (item.capacity !== null && isWhole(item.stayDate))
      capacity.set(
        item.stayDate,
        (item.roomType === undefined ? 0 : (capacity.get(item.stayDate) ?? 0)) + item.capacity,
      );
  return capacity;
}
