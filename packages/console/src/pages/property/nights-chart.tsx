import { Chart } from "../../charts/chart.tsx";
import type { Series } from "../../charts/chart-props.ts";
import type { OnTheBooksItem } from "../../contract.ts";
import { writeMany } from "../../field/amounts.ts";
import { datesBetween, weekdayOf, writeDate, writeDay } from "../../field/stay-date.ts";
import type { Range } from "./insight-filters.tsx";

/** Rooms of each night, below its capacity. */
export function NightsChart({
  items,
  range,
}: {
  readonly items: readonly OnTheBooksItem[];
  readonly range: Range;
}) {
  const nights = datesBetween(range.from, range.to);
  const rooms = new Map<string, number>();
  const capacity = new Map<string, number>();
  for (const item of items) {
    rooms.set(item.stayDate, (rooms.get(item.stayDate) ?? 0) + item.rooms);
    // By room type each has its own; otherwise every row of a night names the whole one.
    if (item.capacity !== null)
      capacity.set(
        item.stayDate,
        (item.roomType === undefined ? 0 : (capacity.get(item.stayDate) ?? 0)) + item.capacity,
      );
  }
  const night = (place: number) => nights[place] ?? range.from;
  const series: Series[] = [
    {
      name: "On the books",
      kind: "bars",
      values: nights.map((date) => rooms.get(date) ?? 0),
      write: (value) => writeMany(value, "room"),
    },
  ];
  if (capacity.size > 0)
    series.push({
      name: "Capacity",
      kind: "ceiling",
      values: nights.map((date) => capacity.get(date) ?? null),
      write: (value) => writeMany(value, "room"),
    });
  return (
    <Chart
      label={`Rooms on the books by night, ${range.from} to ${range.to}`}
      x={nights.map((_, place) => place)}
      writeX={(place) => writeDate(night(place))}
      writeTick={(place) => writeDay(night(place))}
      ticks={nights.flatMap((date, place) => (nights.length < 14 || weekdayOf(date) === 0 ? [place] : []))}
      series={series}
    />
  );
}
