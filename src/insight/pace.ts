import { digitsOf } from "#contract/currencies.ts";
import { daysBetween } from "#contract/dates.ts";
import { whole } from "../platform/http/parameters.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { businessDayOf, minutesAfterMidnight } from "../settings/business-day.ts";
import { instantOf, lastYearOf, YEAR_DAYS } from "./days-of-answer.ts";
import { amountIn, plus } from "./exact-amount.ts";
import * as field from "./fields.ts";
import { type Asked, insight } from "./insight.ts";
import { KNOWN_FIELDS, type KnownNights, readKnown } from "./known-nights.ts";
import { ratio } from "./occupancy.ts";
import { BOOKS_POSITION, compareCodes, laidOutOf } from "./paging.ts";
import { STAY_PARAMETERS } from "./parameters.ts";
import { boundOf, GROUPINGS, QuestionTooLarge, type StayQuestion } from "./question.ts";
import { composeVariants, readUnnamed, whileSumming } from "./statements.ts";

/** Changes of one cell at one number of days before the night. Numbers are decimal text. */
interface CurveChange {
  readonly days: number;
  readonly slope_rooms: string;
  readonly slope_revenue: string | null;
  readonly slope_gross: string | null;
  readonly slope_priced: string;
  readonly slope_gross_priced: string;
  readonly level_rooms: string;
  readonly level_revenue: string | null;
  readonly level_gross: string | null;
  readonly level_priced: string;
  readonly level_gross_priced: string;
}

/** Rooms and revenue on the books at the end of a business day. */
interface CurvePoint {
  readonly rooms: bigint;
  /** Exact decimal text; null if no change reports it. */
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  /** Rooms that report these amounts. */
  readonly priced: bigint;
  readonly grossPriced: bigint;
}

const NOTHING: CurvePoint = {
  rooms: 0n,
  roomRevenue: null,
  grossRoomRevenue: null,
  priced: 0n,
  grossPriced: 0n,
};

function added(left: CurvePoint, right: CurvePoint): CurvePoint {
  return {
    rooms: left.rooms + right.rooms,
    roomRevenue: plus(left.roomRevenue, right.roomRevenue),
    grossRoomRevenue: plus(left.grossRoomRevenue, right.grossRoomRevenue),
    priced: left.priced + right.priced,
    grossPriced: left.grossPriced + right.grossPriced,
  };
}

/**
 * A booking curve: rooms and revenue on the books at each number of days before the night, from 0 to `daysMax`. A change's slope applies at
 * its days and every higher number until reversed; an amount entered at a day is on the books at that day and all lower numbers, nearer to
 * the night.
 */
function bookingCurve(changes: readonly CurveChange[], daysMax: number): CurvePoint[] {
  const at = new Map(changes.map((change) => [change.days, change]));
  const entered: CurvePoint[] = [];
  let slope = NOTHING;
  for (let days = 0; days <= daysMax; days += 1) {
    const change = at.get(days);
    if (change === undefined) {
      entered.push(slope);
      continue;
    }
    slope = added(slope, {
      rooms: BigInt(change.slope_rooms),
      roomRevenue: change.slope_revenue,
      grossRoomRevenue: change.slope_gross,
      priced: BigInt(change.slope_priced),
      grossPriced: BigInt(change.slope_gross_priced),
    });
    const level = {
      rooms: BigInt(change.level_rooms),
      roomRevenue: change.level_revenue,
      grossRoomRevenue: change.level_gross,
      priced: BigInt(change.level_priced),
      grossPriced: BigInt(change.level_gross_priced),
    };
    entered.push(added(slope, level));
  }
  const curve: CurvePoint[] = [];
  let sum = NOTHING;
  for (let days = daysMax; days >= 0; days -= 1) {
    sum = added(sum, entered[days] ?? NOTHING);
    curve[days] = sum;
  }
  return curve;
}

const readPace = composeVariants(new URL("./sql/read-pace.sql", import.meta.url), {
  moment: "night, days, next_days",
});

const DAYS_BEFORE_MAX = 1_100;

/** Rows of shared rooms that one statement settles. Three years of a 500-room hotel have about 800,000. */
const LAID_OUT_MAX = 1_000_000;

const FIELDS = {
  daysBefore: field.count("Days before the night, at the end of that business day.", 30),
  ...field.GROUPING_FIELDS,
  rooms: field.countOrNull(
    "Rooms of all nights together, on the books this many days before each. Null: this point is still in the future for the last night, or the books then are not known.",
    22,
  ),
  roomRevenue: field.roomRevenue,
  grossRoomRevenue: field.grossRoomRevenue,
  adr: field.adr,
  lastYearRooms: field.countOrNull(
    "The same for the nights 364 days earlier, which are the same weekdays. Null also if the books of one of them, or of that day, are not known.",
    19,
  ),
  lastYearRoomRevenue: field.decimalOrNull("Net room revenue of those nights.", "3230.00"),
  lastYearGrossRoomRevenue: field.decimalOrNull("Gross room revenue of those nights.", "3553.00"),
  lastYearAdr: field.decimalOrNull("Net room revenue per room of those nights.", "170.00"),
  currency: field.currency,
};
type PaceItem = field.ItemBy<typeof FIELDS>;

interface PaceRow extends CurveChange {
  /** The business day of the first change of any cell. */
  readonly first_day: string;
  readonly unit: string | null;
  readonly currency: string | null;
}

interface PaceCell {
  readonly unit: string | null;
  readonly currency: string | null;
  readonly thisYear: PaceRow[];
  readonly lastYear: PaceRow[];
}

/** Position: group, currency and days of the last point. */
const PACE_POSITION: PositionShape = [
  ...BOOKS_POSITION.slice(1),
  (part) => typeof part === "number" && Number.isInteger(part) && part >= 0,
];

const FIRST_DAY_MS = Date.parse("0001-01-01T00:00:00Z");
const DAY_MS = 86_400_000;

/** The night this many days earlier as PostgreSQL text; `-infinity` before the first date. */
function daysEarlier(night: string, days: number): string {
  const ms = Date.parse(night) - days * DAY_MS;
  return ms < FIRST_DAY_MS ? "-infinity" : new Date(ms).toISOString().slice(0, 10);
}

type CellName = Pick<PaceCell, "unit" | "currency">;

function compareCells(left: CellName, right: CellName): number {
  return compareCodes(left.unit, right.unit) || compareCodes(left.currency, right.currency);
}

const PARAMETERS = {
  ...STAY_PARAMETERS,
  daysBefore: whole(
    "Days before the night at which the curve starts. Its first point includes earlier bookings.",
    0,
    DAYS_BEFORE_MAX,
    365,
  ),
};

async function readYear(
  { client, question, queryContext, parameters }: Asked<typeof PARAMETERS>,
  shiftDays: number,
  after: readonly (string | number | boolean)[],
  cells: number,
): Promise<PaceRow[]> {
  const { property, by, clock, asOf } = question;
  const { settings, statuses } = queryContext;
  const [from, to] = [daysEarlier(question.from, shiftDays), daysEarlier(question.to, shiftDays)];
  // A range that ends before the first date has no entries.
  if (to === "-infinity") return [];
  const first = from === "-infinity" ? "0001-01-01" : from;
  const window = { first, last: to };
  if ((await laidOutOf(client, property, window, { withBlocks: false })) > LAID_OUT_MAX)
    throw new QuestionTooLarge(window);
  const statement = await readPace(client, by, clock);
  return await readUnnamed<PaceRow>(client, statement, [
    property.bucket,
    property.propertyId,
    first,
    to,
    boundOf(asOf),
    statuses.reservations.deducting,
    settings.currency,
    settings.timeZone,
    minutesAfterMidnight(settings),
    parameters.daysBefore,
    ...after,
    cells,
  ]);
}

/** The cells of both years in order. Each year was read up to `count` cells, so only the first `count` of the union are complete. */
async function cellsOf(
  thisYear: readonly PaceRow[],
  lastYear: readonly PaceRow[],
  count: number,
  pauses: WorkPauses,
): Promise<readonly PaceCell[]> {
  const cells = new Map<string, PaceCell>();
  const cellOf = ({ unit, currency }: PaceRow): PaceCell => {
    const key = JSON.stringify([unit, currency]);
    const known = cells.get(key) ?? { unit, currency, thisYear: [], lastYear: [] };
    cells.set(key, known);
    return known;
  };
  for await (const some of pauses.inParts(thisYear)) for (const row of some) cellOf(row).thisYear.push(row);
  for await (const some of pauses.inParts(lastYear)) for (const row of some) cellOf(row).lastYear.push(row);
  return (await pauses.sorted([...cells.values()], compareCells)).slice(0, count);
}

/** An amount; null if no room on the books reports one. */
const reported = (amount: string | null = null, priced = 0n): string | null =>
  priced === 0n && /^-?[0.]*$/.test(amount ?? "") ? null : amount;

function moneyOf(point: CurvePoint | undefined, currency: string | null) {
  const rooms = point === undefined ? null : Number(point.rooms);
  const roomRevenue = reported(point?.roomRevenue, point?.priced);
  return {
    rooms,
    roomRevenue: amountIn(currency, roomRevenue),
    grossRoomRevenue: amountIn(currency, reported(point?.grossRoomRevenue, point?.grossPriced)),
    adr: ratio(roomRevenue, rooms, digitsOf(currency)),
  };
}

function itemOf(
  daysBefore: number,
  { unit, currency }: PaceCell,
  by: StayQuestion["by"],
  thisYear: CurvePoint | undefined,
  lastYear: CurvePoint | undefined,
): PaceItem {
  const last = moneyOf(lastYear, currency);
  return {
    daysBefore,
    ...(by === "none" ? {} : { [by]: unit }),
    ...moneyOf(thisYear, currency),
    lastYearRooms: last.rooms,
    lastYearRoomRevenue: last.roomRevenue,
    lastYearGrossRoomRevenue: last.grossRoomRevenue,
    lastYearAdr: last.adr,
    currency,
  };
}

function startOf(start: Position | null): CellName {
  const [noUnit, unit, noCurrency, currency] = start ?? [];
  return {
    unit: noUnit === 1 ? null : String(unit),
    currency: noCurrency === 1 ? null : String(currency),
  };
}

function positionAfter({ unit, currency }: PaceCell, items: readonly PaceItem[]): Position {
  const days = items.at(-1)?.daysBefore ?? 0;
  return [unit === null ? 1 : 0, unit ?? "", currency === null ? 1 : 0, currency ?? "", days];
}

/** Whether the books of a range are known so many days before each night, and these days have come. */
type IsKnown = (days: number) => boolean;

/** The points of each year that are known and not in the future. Books are also known from the first change of the range's own on. */
function knownDays(
  { question: { from, to, asOf }, queryContext: { settings, now } }: Asked,
  { night, since }: KnownNights,
  thisYear: readonly PaceRow[],
  lastYear: readonly PaceRow[],
): { readonly now: IsKnown; readonly lastYear: IsKnown } {
  const today = businessDayOf(instantOf(asOf, now), settings);
  const firstDay = since === null ? [] : [businessDayOf(new Date(since), settings)];
  const isKnown = (first: string, last: string, rows: readonly PaceRow[]) => {
    const [known] = [...firstDay, ...rows.slice(0, 1).map(({ first_day }) => first_day)].sort();
    return (days: number) =>
      known !== undefined && daysBetween(today, last) <= days && daysBetween(known, first) >= days;
  };
  const [first, last] = [lastYearOf(from), lastYearOf(to)];
  return {
    now: isKnown(from, to, thisYear),
    lastYear: night !== null && first >= night ? isKnown(first, last, lastYear) : () => false,
  };
}

/**
 * The booking curve of all nights of a range together, beside that of the same weekdays a year before (364 days). A point is what was on
 * the books at the end of the business day that many days before each night, as known at `asOf`; points that the last night has not reached
 * are omitted. Ordered by group and currency, then by descending days.
 */
async function answer(asked: Asked<typeof PARAMETERS>) {
  const { question, start, limit } = asked;
  const daysBefore = asked.parameters.daysBefore;
  const [noUnit = 0, unit = "", noCurrency = 0, currency = "", lastDays = null] = start ?? [];
  const from = [noUnit === 1, unit, noCurrency === 1, currency];
  // One cell for where the previous page ended, and one to detect a next page.
  const count = Math.ceil(limit / (daysBefore + 1)) + 2;
  const [thisYear, lastYear] = await whileSumming(asked.client, async () => [
    await readYear(asked, 0, from, count),
    await readYear(asked, YEAR_DAYS, from, count),
  ]);
  const nights = await readKnown(asked.client, question);
  const known = knownDays(asked, nights, thisYear, lastYear);
  const beside = { lastYearKnownFrom: nights.night };
  const items: PaceItem[] = [];
  const isStarted = (cell: PaceCell) => lastDays !== null && compareCells(cell, startOf(start)) === 0;
  let last: PaceCell | undefined;
  const pauses = new WorkPauses();
  for (const cell of await cellsOf(thisYear, lastYear, count, pauses)) {
    if (pauses.isDue) await pauses.pause();
    const curve = bookingCurve(cell.thisYear, daysBefore);
    const former = bookingCurve(cell.lastYear, daysBefore);
    for (let days = isStarted(cell) ? Number(lastDays) - 1 : daysBefore; days >= 0; days -= 1) {
      if (items.length === limit) return { items, next: positionAfter(last ?? cell, items), beside };
      last = cell;
      const now = known.now(days) ? curve[days] : undefined;
      const then = known.lastYear(days) ? former[days] : undefined;
      items.push(itemOf(days, cell, question.by, now, then));
    }
  }
  return { items, next: null, beside };
}

export const pace = insight({
  name: "pace",
  operationId: "getPace",
  summary: "Get booking pace",
  description:
    "The booking curve of all nights from `from` to `to` together: rooms on the books this many days before each night, at the end of that business day, and for the nights 364 days earlier. From `daysBefore` down to 0, by group and currency.",
  parameters: PARAMETERS,
  item: {
    name: "PaceItem",
    description: "One point of the booking curve of one group and currency.",
    fields: FIELDS,
    optional: GROUPINGS,
  },
  page: { name: "PacePage", description: "A page of booking curves.", fields: KNOWN_FIELDS },
  nothing: () => ({ items: [], next: null, beside: { lastYearKnownFrom: null } }),
  position: PACE_POSITION,
  looksBack: true,
  answer,
});
