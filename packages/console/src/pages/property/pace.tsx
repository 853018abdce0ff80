import { Chart } from "../../charts/chart.tsx";
import type { PaceAnswer, PaceItem } from "../../contract.ts";
import { askWhole } from "../../data/queries.ts";
import {
  addDays,
  addMoney,
  subtractMoney,
  today,
  writeChange,
  writeCount,
  writeDate,
  writeMany,
  writeMoney,
} from "../../field/format.ts";
import { type Column, figure, Table } from "../../parts/list.tsx";
import { Empty, Figures } from "../../parts/page.tsx";
import { Disclosure } from "../../parts/values.tsx";
import {
  CutNotice,
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
  writeAmount,
  writeSignedAmount,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 30;
/** Days shown before the first booking. */
const DAYS_BEFORE_THE_FIRST = 14;
const TICKS = [0, 7, 14, 30, 60, 90, 120, 150, 180, 240, 300, 365, 450, 540, 730];

export const PacePage = ofProperty(function Pace({ codes }) {
  const nights = { from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) };
  const insight = useInsight<PaceAnswer>("pace", codes, nights, {}, askWhole);
  const items = insight.asked.data?.items ?? [];
  const { measure } = useMeasure(items);
  return (
    <InsightPage
      codes={codes}
      title="Pace"
      lead="Booking curve compared with the same weekdays last year."
      insight={insight}
      filters={
        <>
          <PointInTimeFilters />
          <MeasureFilters items={items} />
        </>
      }
      lines={10}
    >
      {({ nextCursor }) =>
        items.length === 0 ? (
          <Empty title="No reservation for these nights yet">
            Last year has none for the same weekdays, either.
          </Empty>
        ) : (
          <>
            <CutNotice nextCursor={nextCursor} />
            <Curve items={items} range={insight.range} measure={measure} />
          </>
        )
      }
    </InsightPage>
  );
});

interface Point {
  readonly daysBefore: number;
  /** Rooms or money as decimal text. */
  readonly now: string | null;
  readonly lastYear: string | null;
}

/** Rooms of all currencies, or the revenue of one. */
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
  // Skips days before the first booking.
  const first = rising.findLastIndex(({ now, lastYear }) => Number(now) !== 0 || Number(lastYear) !== 0);
  return rising.slice(0, first + 1 + DAYS_BEFORE_THE_FIRST);
}

function Curve({ items, range, measure }: { items: readonly PaceItem[]; range: Range; measure: Measure }) {
  const points = pointsOf(items, measure);
  // No reservations last year means unknown, not zero.
  const hasLastYear = points.some(({ lastYear }) => Number(lastYear) !== 0);
  const unit = unitOf(measure);
  const write = (text: string | null | undefined) => (text == null ? "–" : writeAmount(text, measure));
  const nights =
    range.from === range.to ? writeDate(range.from) : `${writeDate(range.from)} to ${writeDate(range.to)}`;
  return (
    <>
      <Standing points={points} measure={measure} write={write} hasLastYear={hasLastYear} />
      <Chart
        label={`${unit} on the books by days before arrival, for ${nights}`}
        unit={unit}
        xUnit="Days before arrival"
        backwards
        height={320}
        x={points.map(({ daysBefore }) => daysBefore)}
        writeX={beforeArrival}
        writeTick={writeCount}
        ticks={TICKS}
        series={[
          measuredSeries(
            { name: "On the books", kind: "now" },
            points.map(({ now }) => now),
            measure,
          ),
          measuredSeries(
            { name: "Same time last year", kind: "past" },
            points.map(({ lastYear }) => (hasLastYear ? lastYear : null)),
            measure,
          ),
        ]}
      />
      <Disclosure summary="View as table">
        <Table
          caption="Pace by days before arrival"
          narrow="scroll"
          rows={hasLastYear ? items : items.map((item) => ({ ...item, lastYearRooms: null }))}
          keyOf={({ daysBefore, currency }) => `${daysBefore} ${currency}`}
          columns={COLUMNS}
        />
      </Disclosure>
    </>
  );
}

interface StandingProps {
  readonly points: readonly Point[];
  readonly measure: Measure;
  readonly write: (text: string | null | undefined) => string;
  readonly hasLastYear: boolean;
}

function Standing({ points, measure, write, hasLastYear }: StandingProps) {
  const now = points.find((point) => point.now !== null);
  const unit = measure.of === "rooms" ? "rooms" : measure.currency;
  const [current, then] = [now?.now ?? null, hasLastYear ? (now?.lastYear ?? null) : null];
  const isComparable = current !== null && then !== null;
  const end = points[0];
  const noteOf = (point: Point | undefined) => {
    if (!hasLastYear) return "not known: no reservation of last year's nights";
    return point === undefined ? "" : beforeArrival(point.daysBefore);
  };
  return (
    <Figures
      figures={[
        {
          name: "On the books",
          value: write(now?.now),
          note: now && beforeArrival(now.daysBefore),
        },
        { name: "Same time last year", value: hasLastYear ? write(now?.lastYear) : "–", note: noteOf(now) },
        {
          name: "vs last year",
          value: isComparable ? writeSignedAmount(subtractMoney(current, then), measure) : "–",
          note: [unit, isComparable && writeChange(Number(current), Number(then))].filter(Boolean).join(", "),
        },
        {
          name: "Last year final",
          value: hasLastYear ? write(end?.lastYear) : "–",
          note: noteOf(end),
        },
      ]}
    />
  );
}

function beforeArrival(days: number): string {
  if (days === 0) return "on the day of arrival";
  return `${writeMany(Math.abs(days), "day")} ${days < 0 ? "after" : "before"} arrival`;
}

const COLUMNS: readonly Column<PaceItem>[] = [
  { head: "Days before", lead: true, cell: ({ daysBefore }) => daysBefore },
  figure("Rooms", ({ rooms }) => rooms, writeCount),
  figure("Rooms last year", ({ lastYearRooms }) => lastYearRooms, writeCount),
  figure("Room revenue", ({ roomRevenue }) => roomRevenue, writeMoney),
  figure("Room revenue last year", ({ lastYearRoomRevenue }) => lastYearRoomRevenue, writeMoney),
  { head: "Currency", cell: ({ currency }) => currency ?? "–" },
];
