import { Chart } from "../../charts/chart.tsx";
import type { OnTheBooksItem, PaceAnswer, PaceItem, PropertyCodes } from "../../contract.ts";
import { askWhole } from "../../data/queries.ts";
import {
  addDays,
  addMoney,
  subtractMoney,
  writeChange,
  writeCount,
  writeDate,
  writeMany,
  writeMoney,
} from "../../field/format.ts";
import { type Column, figure, Table } from "../../parts/list.tsx";
import { Empty, Figures } from "../../parts/page.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import type { Range } from "../../parts/range.tsx";
import { Disclosure } from "../../parts/values.tsx";
import { useBooks } from "./nights.tsx";
import {
  CutNotice,
  InsightPage,
  type Measure,
  MeasureFilters,
  measuredSeries,
  ofProperty,
  PointInTimeFilters,
  sumBy,
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
  const { today } = usePropertyView();
  const nights = { from: today, to: addDays(today, NIGHTS_SHOWN - 1) };
  const insight = useInsight<PaceAnswer>("pace", codes, nights, {}, askWhole);
  const items = insight.asked.data?.items ?? [];
  const { measure } = useMeasure(items);
  return (
    <InsightPage
      codes={codes}
      title="Pace"
      lead="Rooms on the books so many days before each night, all nights together, compared with the same weekdays last year."
      insight={insight}
      filters={
        <>
          <PointInTimeFilters />
          <MeasureFilters items={items} />
        </>
      }
      lines={10}
    >
      {({ nextCursor, lastYearKnownFrom }) =>
        items.length === 0 ? (
          <Empty title="No reservation for these nights yet">
            Last year has none for the same weekdays, either.
          </Empty>
        ) : (
          <>
            <CutNotice nextCursor={nextCursor} />
            <Curve
              codes={codes}
              items={items}
              range={insight.range}
              measure={measure}
              knownFrom={lastYearKnownFrom}
            />
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

interface CurveProps {
  readonly codes: PropertyCodes;
  readonly items: readonly PaceItem[];
  readonly range: Range;
  readonly measure: Measure;
  readonly knownFrom: string | null;
}

function Curve({ codes, items, range, measure, knownFrom }: CurveProps) {
  const points = pointsOf(items, measure);
  const hasLastYear = points.some(({ lastYear }) => lastYear !== null);
  const books = useBooks(codes, range).data?.items;
  const unit = unitOf(measure);
  const write = (text: string | null | undefined) => (text == null ? "–" : writeAmount(text, measure));
  const nights =
    range.from === range.to ? writeDate(range.from) : `${writeDate(range.from)} to ${writeDate(range.to)}`;
  return (
    <>
      <Standing
        points={points}
        measure={measure}
        write={write}
        knownFrom={hasLastYear ? undefined : knownFrom}
        books={books}
      />
      <Chart
        label={`${unit} on the books by days before each night, for ${nights}`}
        unit={unit}
        xUnit="Days before each night"
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
            points.map(({ lastYear }) => lastYear),
            measure,
          ),
        ]}
      />
      <Disclosure summary="View as table">
        <Table
          caption="Pace by days before each night"
          narrow="scroll"
          rows={items}
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
  /** Since when last year is known, if it is not known of these nights. */
  readonly knownFrom: string | null | undefined;
  /** The current books of the nights. */
  readonly books: readonly OnTheBooksItem[] | undefined;
}

function Standing({ points, measure, write, knownFrom, books }: StandingProps) {
  const now = points.find((point) => point.now !== null);
  const unit = measure.of === "rooms" ? "rooms" : measure.currency;
  const [current, then] = [now?.now ?? null, now?.lastYear ?? null];
  const isComparable = current !== null && then !== null;
  const end = points[0];
  const today = books === undefined ? null : addMoney([...sumBy(books, measure, () => "").values()]);
  const noteOf = (point: Point | undefined) => {
    if (knownFrom === null) return "not known";
    if (knownFrom !== undefined) return `last year is known from ${writeDate(knownFrom)}`;
    return point === undefined ? "" : beforeArrival(point.daysBefore);
  };
  return (
    <Figures
      figures={[
        { name: "On the books", value: write(today), note: "all nights, as of now" },
        {
          name: "Pace",
          value: write(now?.now),
          note: now && beforeArrival(now.daysBefore),
        },
        { name: "Pace last year", value: write(now?.lastYear), note: noteOf(now) },
        {
          name: "Pace vs last year",
          value: isComparable ? writeSignedAmount(subtractMoney(current, then), measure) : "–",
          note: [unit, isComparable && writeChange(Number(current), Number(then))].filter(Boolean).join(", "),
        },
        {
          name: "Last year final",
          value: write(end?.lastYear),
          note: noteOf(end),
        },
      ]}
    />
  );
}

function beforeArrival(days: number): string {
  return days === 0 ? "at the end of each night's day" : `${writeMany(days, "day")} before each night`;
}

const COLUMNS: readonly Column<PaceItem>[] = [
  { head: "Days before", lead: true, cell: ({ daysBefore }) => daysBefore },
  figure("Rooms", ({ rooms }) => rooms, writeCount),
  figure("Rooms last year", ({ lastYearRooms }) => lastYearRooms, writeCount),
  figure("Room revenue", ({ roomRevenue }) => roomRevenue, writeMoney),
  figure("Room revenue last year", ({ lastYearRoomRevenue }) => lastYearRoomRevenue, writeMoney),
  { head: "Currency", cell: ({ currency }) => currency ?? "–" },
];
