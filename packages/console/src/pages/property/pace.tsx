import { Chart } from "../../charts/chart.tsx";
import type { PaceAnswer, PaceItem } from "../../contract.ts";
import {
  addDays,
  addMoney,
  subtractMoney,
  today,
  writeCount,
  writeDate,
  writeMany,
  writeMoney,
  writeSigned,
} from "../../field/format.ts";
import { Table } from "../../parts/list.tsx";
import { Empty, Figures } from "../../parts/page.tsx";
import { Disclosure, orDash } from "../../parts/values.tsx";
import {
  InsightPage,
  type Measure,
  MeasureFilters,
  measuredSeries,
  ofProperty,
  PointInTimeFilters,
  type Range,
  unitOf,
  useInsight,
  useMeasure,
} from "./property-page.tsx";

const DAYS_AHEAD = 28;
/** Days without bookings shown before the first booking. */
const DAYS_BEFORE_THE_FIRST = 14;
const TICKS = [0, 7, 14, 30, 60, 90, 120, 150, 180, 240, 300, 365, 450, 540, 730];

export const PacePage = ofProperty(function Pace({ codes }) {
  const first = addDays(today(), DAYS_AHEAD);
  const insight = useInsight<PaceAnswer>("pace", codes, { from: first, to: first });
  const items = insight.asked.data?.items ?? [];
  const { measure } = useMeasure(items);
  return (
    <InsightPage
      codes={codes}
      title="Pace"
      lead="Booking curve against the same weekdays last year."
      insight={insight}
      filters={
        <>
          <PointInTimeFilters />
          <MeasureFilters items={items} />
        </>
      }
      lines={10}
    >
      {() =>
        items.length === 0 ? (
          <Empty title="No reservation for these nights yet">
            Last year has none for the same weekdays, either.
          </Empty>
        ) : (
          <Curve items={items} range={insight.range} measure={measure} />
        )
      }
    </InsightPage>
  );
});

interface Point {
  readonly daysBefore: number;
  /** Rooms, or money, as decimal text. */
  readonly now: string | null;
  readonly lastYear: string | null;
}

/** Rooms of all currencies, or the money of one. */
function pointsOf(items: readonly PaceItem[], measure: Measure): readonly Point[] {
  const points = new Map<number, { now: string | null; lastYear: string | null }>();
  const add = (sum: string | null, own: number | string | null) =>
    own === null ? sum : addMoney([sum ?? "0", String(own)]);
  for (const item of items) {
    if (measure.of === "revenue" && item.currency !== measure.currency) continue;
    const isRooms = measure.of === "rooms";
    const point = points.get(item.daysBefore) ?? { now: null, lastYear: null };
    point.now = add(point.now, isRooms ? item.rooms : item.roomRevenue);
    point.lastYear = add(point.lastYear, isRooms ? item.lastYearRooms : item.lastYearRoomRevenue);
    points.set(item.daysBefore, point);
  }
  const rising = [...points]
    .map(([daysBefore, point]) => ({ daysBefore, ...point }))
    .sort((a, b) => a.daysBefore - b.daysBefore);
  // Nothing happens before the first booking.
  const first = rising.findLastIndex(({ now, lastYear }) => Number(now) !== 0 || Number(lastYear) !== 0);
  return rising.slice(0, first + 1 + DAYS_BEFORE_THE_FIRST);
}

function Curve({ items, range, measure }: { items: readonly PaceItem[]; range: Range; measure: Measure }) {
  const points = pointsOf(items, measure);
  const unit = unitOf(measure);
  const write = (text: string | null | undefined) =>
    text === null || text === undefined
      ? "–"
      : measure.of === "rooms"
        ? writeCount(Number(text))
        : writeMoney(text);
  const nights =
    range.from === range.to ? writeDate(range.from) : `${writeDate(range.from)} to ${writeDate(range.to)}`;
  return (
    <>
      <Standing points={points} nights={nights} measure={measure} write={write} />
      <Chart
        label={`${unit} on the books by days before arrival, for ${nights}`}
        unit={unit}
        xUnit="Days before arrival"
        backwards
        height={320}
        x={points.map(({ daysBefore }) => daysBefore)}
        writeX={beforeArrival}
        writeTick={(days) => String(days)}
        ticks={TICKS}
        series={[
          measuredSeries(
            { name: "On the books", kind: "now" },
            points.map(({ now }) => now),
            measure,
          ),
          measuredSeries(
            { name: "Same time last year", kind: "past" },
            points.map(({ lastYear }) => lastYear),
            measure,
          ),
        ]}
      />
      <Disclosure summary="View as table">
        <PaceTable items={items} />
      </Disclosure>
    </>
  );
}

interface StandingProps {
  readonly points: readonly Point[];
  readonly nights: string;
  readonly measure: Measure;
  readonly write: (text: string | null | undefined) => string;
}

function Standing({ points, nights, measure, write }: StandingProps) {
  const now = points.find((point) => point.now !== null);
  const unit = measure.of === "rooms" ? "rooms" : measure.currency;
  const lead =
    now === undefined || now.now === null || now.lastYear === null
      ? undefined
      : subtractMoney(now.now, now.lastYear);
  const signed = (text: string) =>
    measure.of === "rooms" ? writeSigned(Number(text)) : writeMoney(text, true);
  const end = points[0];
  return (
    <Figures
      figures={[
        { name: "On the books", value: write(now?.now), note: nights },
        {
          name: "Same time last year",
          value: write(now?.lastYear),
          note: now === undefined ? "" : beforeArrival(now.daysBefore),
        },
        { name: "vs. last year", value: lead === undefined ? "–" : signed(lead), note: unit },
        {
          name: "Last year final",
          value: write(end?.lastYear),
          note: end === undefined ? "" : beforeArrival(end.daysBefore),
        },
      ]}
    />
  );
}

function beforeArrival(days: number): string {
  if (days === 0) return "on the day of arrival";
  return days < 0 ? `${writeMany(-days, "day")} after arrival` : `${writeMany(days, "day")} before`;
}

function PaceTable({ items }: { items: readonly PaceItem[] }) {
  return (
    <Table
      caption="Pace by days before arrival"
      narrow="scroll"
      rows={items}
      keyOf={({ daysBefore, currency }) => `${daysBefore} ${currency}`}
      columns={[
        { head: "Days before", lead: true, cell: ({ daysBefore }) => daysBefore },
        { head: "Rooms", end: true, cell: ({ rooms }) => orDash(rooms, writeCount) },
        {
          head: "Rooms last year",
          end: true,
          cell: ({ lastYearRooms }) => orDash(lastYearRooms, writeCount),
        },
        { head: "Room revenue", end: true, cell: ({ roomRevenue }) => orDash(roomRevenue, writeMoney) },
        {
          head: "Room revenue last year",
          end: true,
          cell: ({ lastYearRoomRevenue }) => orDash(lastYearRoomRevenue, writeMoney),
        },
        { head: "Currency", cell: ({ currency }) => currency ?? "–" },
      ]}
    />
  );
}
