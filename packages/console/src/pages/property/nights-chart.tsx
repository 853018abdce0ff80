import { Chart } from "../../charts/chart.tsx";
import type { Series } from "../../charts/chart-props.ts";
import type { OnTheBooksItem } from "../../contract.ts";
import { addMoney, writeMany } from "../../field/amounts.ts";
import { addDays, datesBetween, weekdayOf, writeDate, writeDay } from "../../field/stay-date.ts";
import type { Range } from "./insight-filters.tsx";
import { type Measure, measuredSeries, unitOf } from "./measure.tsx";

/** The same weekday a year before lies so many days back. */
export const YEAR_DAYS = 364;

interface NightsChartProps {
  readonly items: readonly OnTheBooksItem[];
  /** Of the same nights a year before, as they were known at the same time; undefined: not known (yet). */
  readonly lastYear: readonly OnTheBooksItem[] | undefined;
  readonly range: Range;
  readonly measure: Measure;
}

/** Rooms of each night below its capacity, or revenue, beside the same time last year. */
export function NightsChart({ items, lastYear, range, measure }: NightsChartProps) {
  const nights = datesBetween(range.from, range.to);
  const night = (place: number) => nights[place] ?? range.from;
  const series: Series[] = [
    measuredSeries({ name: "On the books", kind: "bars" }, sumsOf(items, nights, measure), measure),
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
  const capacity = capacityOf(items);
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

/** Of each night its rooms or its money, as decimal text. */
function sumsOf(
  items: readonly OnTheBooksItem[],
  nights: readonly string[],
  measure: Measure,
): readonly string[] {
  const sums = new Map<string, string>();
  for (const item of items) {
    if (measure.of === "revenue" && item.currency !== measure.currency) continue;
    const own = measure.of === "rooms" ? String(item.rooms) : (item.roomRevenue ?? "0");
    sums.set(item.stayDate, addMoney([sums.get(item.stayDate) ?? "0", own]));
  }
  return nights.map((date) => sums.get(date) ?? "0");
}

function capacityOf(items: readonly OnTheBooksItem[]): ReadonlyMap<string, number> {
  const capacity = new Map<string, number>();
  // By room type each has its own; otherwise every row of a night names the whole one.
  for (const item of items)
    if (item.capacity !== null)
      capacity.set(
        item.stayDate,
        (item.roomType === undefined ? 0 : (capacity.get(item.stayDate) ?? 0)) + item.capacity,
      );
  return capacity;
}
