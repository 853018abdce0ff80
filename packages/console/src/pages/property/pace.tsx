import { Chart } from "../../charts/chart.tsx";
import type { PaceAnswer, PaceItem } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswer } from "../../data/use-answer.ts";
import { writeCount, writeMany, writeMoney, writeSigned } from "../../field/amounts.ts";
import { addDays, today, writeDate } from "../../field/stay-date.ts";
import { CsvButton } from "../../parts/export-button.tsx";
import { Figures } from "../../parts/figures.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import {
  InsightFilters,
  PointInTimeFilters,
  type Range,
  usePointInTime,
  useRange,
  Watermark,
} from "./insight-filters.tsx";
import { PropertyPage, useCodes } from "./property-page.tsx";

const LIMIT = 1000;
const DAYS_AHEAD = 28;
const TICKS = [0, 7, 14, 30, 60, 90, 120, 180, 240, 300, 365, 450, 540, 730];

/** How on the books grew as the nights came nearer, against the same time last year. */
export function PacePage() {
  const first = addDays(today(), DAYS_AHEAD);
  const range = useRange({ from: first, to: first });
  const codes = useCodes();
  const point = usePointInTime();
  const address =
    codes === undefined ? null : addressOf("insight/pace", { ...codes, ...range, ...point, limit: LIMIT });
  const asked = useAnswer<PaceAnswer>(address);
  return (
    <PropertyPage
      title="Pace"
      lead="How on the books grew as these nights came nearer, against the same weekdays a year before."
      actions={<CsvButton name={`pace-${range.from}`} address={address} />}
    >
      {() => (
        <>
          <InsightFilters range={range}>
            <PointInTimeFilters />
          </InsightFilters>
          <Answered asked={asked} lines={10}>
            {({ items, watermark }) =>
              items.length === 0 ? (
                <Empty title="Nothing was ever booked for these nights">
                  Nor for the same weekdays a year before.
                </Empty>
              ) : (
                <>
                  <Curve items={items} range={range} />
                  <Watermark watermark={watermark} />
                </>
              )
            }
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

interface Point {
  readonly daysBefore: number;
  readonly rooms: number | null;
  readonly lastYear: number | null;
}

/** Rooms of all currencies together: rooms can be added, money cannot. Days before arrival rise. */
function pointsOf(items: readonly PaceItem[]): readonly Point[] {
  const points = new Map<number, { rooms: number | null; lastYear: number | null }>();
  for (const { daysBefore, rooms, lastYearRooms } of items) {
    const point = points.get(daysBefore) ?? { rooms: null, lastYear: null };
    if (rooms !== null) point.rooms = (point.rooms ?? 0) + rooms;
    if (lastYearRooms !== null) point.lastYear = (point.lastYear ?? 0) + lastYearRooms;
    points.set(daysBefore, point);
  }
  return [...points]
    .map(([daysBefore, point]) => ({ daysBefore, ...point }))
    .sort((a, b) => a.daysBefore - b.daysBefore);
}

function Curve({ items, range }: { readonly items: readonly PaceItem[]; readonly range: Range }) {
  const points = pointsOf(items);
  const nights =
    range.from === range.to ? writeDate(range.from) : `${writeDate(range.from)} to ${writeDate(range.to)}`;
  const now = points.find(({ rooms }) => rooms !== null);
  const lead =
    now?.rooms !== null && now?.lastYear !== null ? (now?.rooms ?? 0) - (now?.lastYear ?? 0) : undefined;
  return (
    <>
      <Figures
        figures={[
          { name: "On the books", value: now?.rooms == null ? "–" : writeCount(now.rooms), note: nights },
          {
            name: "Same time last year",
            value: now?.lastYear == null ? "–" : writeCount(now.lastYear),
            note: now === undefined ? "" : beforeArrival(now.daysBefore),
          },
          { name: "Against last year", value: lead === undefined ? "–" : writeSigned(lead), note: "rooms" },
          {
            name: "Last year in the end",
            value: points[0]?.lastYear == null ? "–" : writeCount(points[0].lastYear),
            note: points[0] === undefined ? "" : beforeArrival(points[0].daysBefore),
          },
        ]}
      />
      <Chart
        label={`Rooms on the books by days before arrival, for ${nights}`}
        backwards
        height={320}
        x={points.map(({ daysBefore }) => daysBefore)}
        writeX={beforeArrival}
        writeTick={(days) => String(days)}
        ticks={TICKS}
        series={[
          {
            name: "On the books",
            kind: "now",
            values: points.map(({ rooms }) => rooms),
            write: (value) => writeMany(value, "room"),
          },
          {
            name: "A year before",
            kind: "past",
            values: points.map(({ lastYear }) => lastYear),
            write: (value) => writeMany(value, "room"),
          },
        ]}
      />
      <details>
        <summary>The figures as a table</summary>
        <PaceTable items={items} />
      </details>
    </>
  );
}

function beforeArrival(days: number): string {
  if (days === 0) return "on the day of arrival";
  return days < 0 ? `${writeMany(-days, "day")} after arrival` : `${writeMany(days, "day")} before`;
}

function PaceTable({ items }: { readonly items: readonly PaceItem[] }) {
  const money = (text: string | null) =>
    text === null ? <span className="muted">–</span> : writeMoney(text);
  const count = (value: number | null) =>
    value === null ? <span className="muted">–</span> : writeCount(value);
  return (
    <Table
      caption="Pace by days before arrival"
      narrow="scroll"
      rows={items}
      keyOf={({ daysBefore, currency }) => `${daysBefore} ${currency}`}
      columns={[
        { head: "Days before", lead: true, cell: ({ daysBefore }) => daysBefore },
        { head: "Rooms", end: true, cell: ({ rooms }) => count(rooms) },
        { head: "A year before", end: true, cell: ({ lastYearRooms }) => count(lastYearRooms) },
        { head: "Room revenue", end: true, cell: ({ roomRevenue }) => money(roomRevenue) },
        {
          head: "A year before it was",
          end: true,
          cell: ({ lastYearRoomRevenue }) => money(lastYearRoomRevenue),
        },
        { head: "Currency", cell: ({ currency }) => currency ?? "–" },
      ]}
    />
  );
}
