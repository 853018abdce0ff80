import type pg from "pg";
import type { Position } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { daysOf, lastYearAsOf, lastYearOf, sinceOf, yearAfter } from "./days-of-answer.ts";
import { amountIn, minus, plus } from "./exact-amount.ts";
import * as field from "./fields.ts";
import { isKnownAt, type KnownNights, readKnown } from "./known-nights.ts";
import { comparePositions } from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import { type NightWindow, QuestionTooLarge, type StayQuestion } from "./question.ts";

/** What the books can be compared with. */
export const COMPARISONS = ["none", "lastYear", "pickup", "all"] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Business days of the pickups beside the books. */
export const PICKUPS = [1, 3, 7, 30] as const;

const LAST_YEAR_FIELDS = {
  lastYearRooms: field.countOrNull(
    "With `compare=lastYear`: rooms of the same weekday 364 days earlier, as of `lastYearAsOf`. Null: not known.",
    27,
  ),
  lastYearRoomRevenue: field.decimalOrNull("Net room revenue of these rooms.", "4590.00"),
  lastYearGrossRoomRevenue: field.decimalOrNull("Gross room revenue of these rooms.", "5049.00"),
  lastYearAdr: field.decimalOrNull("`adr` of these rooms.", "170.00"),
  lastYearCapacity: field.countOrNull("`capacity` of that night, as of the same instant.", 40),
  lastYearOutOfOrder: field.countOrNull("`outOfOrder` of that night.", 0),
  lastYearOccupancy: field.decimalOrNull("`occupancy` of that night.", "0.6750"),
  lastYearRevpar: field.decimalOrNull("`revpar` of that night.", "114.75"),
  lastYearFinalRooms: field.countOrNull(
    "Rooms of that night as known at the answer's instant, once the night is over. Null: not over, or not known.",
    33,
  ),
  lastYearFinalRoomRevenue: field.decimalOrNull("Net room revenue of these rooms.", "5610.00"),
  lastYearFinalAdr: field.decimalOrNull("`adr` of these rooms.", "170.00"),
};

const pickupFieldsOf = (days: number) => ({
  [`pickup${days}Rooms`]: field.countOrNull(
    `With \`compare=pickup\`: net pickup in rooms of the last ${days === 1 ? "business day: since the end of yesterday's" : `${days} business days, today's included`}. Null: the books then are not known.`,
    days,
  ),
  [`pickup${days}RoomRevenue`]: field.decimalOrNull("The same in net room revenue.", `${days * 180}.00`),
});
const PICKUP_FIELDS: field.Fields = Object.assign({}, ...PICKUPS.map(pickupFieldsOf));

export const COMPARISON_FIELDS = { ...LAST_YEAR_FIELDS, ...PICKUP_FIELDS };
export const COMPARISON_NAMES = Object.keys(COMPARISON_FIELDS) as (keyof typeof COMPARISON_FIELDS)[];

/** Fields that an answer with this comparison does not have. */
export function notCompared(comparison: Comparison): readonly string[] {
  return [
    ...(comparison === "lastYear" || comparison === "all" ? [] : Object.keys(LAST_YEAR_FIELDS)),
    ...(comparison === "pickup" || comparison === "all" ? [] : Object.keys(PICKUP_FIELDS)),
  ];
}

/** An item of the books, by the grouping's name. */
interface Item {
  readonly stayDate: string;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly capacity: number | null;
  readonly outOfOrder: number | null;
  readonly occupancy: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly currency: string | null;
}

/** Reads the first `wanted` items of a window's books after a position. */
type ReadItems<Of> = (
  question: StayQuestion,
  window: NightWindow,
  start: Position | null,
  wanted: number,
  hasStock: boolean,
) => Promise<Of[]>;

export interface BooksSource<Of extends Item> {
  readonly client: pg.ClientBase;
  readonly question: StayQuestion;
  readonly queryContext: QueryContext;
  readonly start: Position | null;
  readonly hasStock: boolean;
  readonly read: ReadItems<Of>;
  readonly positionOf: (item: Of) => Position;
  /** The item of a group without rooms, in the place of another of its night and group, or of none. */
  readonly without: (item: Of, alike: Of | undefined) => Of;
  /** Items of a window that are listed though nothing is booked. */
  readonly listed: (window: NightWindow) => readonly Of[];
}

/** What all windows of an answer have in common. */
export interface ComparisonContext {
  readonly comparison: Comparison;
  readonly known: KnownNights;
  readonly lastYearAsOf: string;
  readonly businessDay: string;
  /** Where each pickup begins. */
  readonly since: readonly string[];
}

export async function comparisonOf(
  client: pg.ClientBase,
  question: StayQuestion,
  { settings, now }: QueryContext,
  comparison: Comparison,
): Promise<ComparisonContext> {
  const { businessDay } = daysOf(settings, question.asOf, now);
  return {
    comparison,
    known: await readKnown(client, question),
    lastYearAsOf: lastYearAsOf(question.asOf, now),
    businessDay,
    since: PICKUPS.map((days) => sinceOf(businessDay, days, settings)),
  };
}

/** Items by place, all of the first `wanted` places. */
type Series<Of> = ReadonlyMap<string, Of>;

/** Currencies that one night and group may have before a page: its items before the start are read again, and more would take the place of the page's. */
const CURRENCIES_MAX = 200;

/** Before all items of a position's night and group: rows without a currency may have joined one that the page before answered. */
const groupOf = (position: Position | null, by: (date: string) => string): Position | null =>
  position === null ? null : [by(String(position[0])), position[1] ?? 1, position[2] ?? "", 0, ""];

/** A window's books beside what they are compared with: the first `wanted` items of all, in order. Throws QuestionTooLarge. */
export async function compareBooks<Of extends Item>(
  source: BooksSource<Of>,
  context: ComparisonContext,
  window: NightWindow,
  wanted: number,
): Promise<Of[]> {
  const { question, start } = source;
  const first = groupOf(start, (date) => date);
  const count = wanted + (start === null ? 0 : CURRENCIES_MAX);
  const { comparison, since } = context;
  const keyOf = (item: Of) => JSON.stringify(source.positionOf(item));
  const seriesOf = (items: readonly Of[]): Series<Of> => new Map(items.map((item) => [keyOf(item), item]));
  const readAt = async (asOf: string | null, hasStock: boolean) =>
    seriesOf(await source.read({ ...question, asOf }, window, first, count, hasStock));
  const readLastYear = async (asOf: string | null, hasStock: boolean) => {
    const range = { first: lastYearOf(window.first), last: lastYearOf(window.last) };
    const items = await source.read(
      { ...question, asOf },
      range,
      groupOf(start, lastYearOf),
      count,
      hasStock,
    );
    const shiftedItems = items.map((item) => ({ ...item, stayDate: yearAfter(item.stayDate) }));
    // Nights before the first date are clamped to it.
    return seriesOf(shiftedItems.filter(({ stayDate }) => stayDate <= window.last));
  };
  const now = await readAt(question.asOf, source.hasStock);
  const isOfYear = comparison !== "pickup";
  const lastYear = isOfYear
    ? await readLastYear(context.lastYearAsOf, source.hasStock)
    : new Map<string, Of>();
  const final = isOfYear ? await readLastYear(question.asOf, false) : new Map<string, Of>();
  const pauses = new WorkPauses();
  const before: Series<Of>[] = [];
  if (comparison !== "lastYear") for (const instant of since) before.push(await readAt(instant, false));
  const alike = new Map([...now.values()].map((item) => [nightKeyOf(source.positionOf(item)), item]));
  const stockThen = new Map(
    [...lastYear.values()]
      .filter(({ capacity }) => capacity !== null)
      .map((item) => [nightKeyOf(source.positionOf(item)), item]),
  );
  const places = new Map(now);
  // Also without rooms: a series is cut at `wanted` items, whatever they have.
  const listed = seriesOf(source.listed(window));
  const others = [lastYear, final, ...before, listed].flatMap((series) => [...series]);
  for await (const some of pauses.inParts(others))
    for (const [key, item] of some)
      if (!places.has(key))
        places.set(key, source.without(item, alike.get(nightKeyOf(source.positionOf(item)))));
  const sorted = await pauses.sorted([...places], ([, one], [, other]) =>
    comparePositions(source.positionOf(one), source.positionOf(other)),
  );
  const [, behind] = sorted[CURRENCIES_MAX] ?? [];
  const hasManyBehind =
    start !== null && behind !== undefined && comparePositions(source.positionOf(behind), start) <= 0;
  if (hasManyBehind && sorted.length >= count) throw new QuestionTooLarge(window);
  const compared: Of[] = [];
  for (const [key, item] of sorted.slice(0, count)) {
    if (pauses.isDue) await pauses.pause();
    compared.push({
      ...item,
      ...(isOfYear
        ? yearFieldsOf(
            item,
            lastYear.get(key),
            final.get(key),
            stockThen.get(nightKeyOf(source.positionOf(item))),
            context,
          )
        : {}),
      ...(before.length === 0
        ? {}
        : pickupFields(
            item,
            before.map((series) => series.get(key)),
            context,
          )),
    });
  }
  return compared;
}

/** Night and group, without the currency. */
const nightKeyOf = (position: Position) => JSON.stringify(position.slice(0, 3));

/** The revenue of an item that is known: none is 0. */
const revenueOf = (
  item: Item | undefined,
  name: "roomRevenue" | "grossRoomRevenue",
  currency: string | null,
) => (item === undefined || item.rooms === 0 ? amountIn(currency, item?.[name] ?? "0") : item[name]);

/** Whether last year's figures of all these nights are known: of the same time, and final. */
export function knownOf(
  { first, last }: NightWindow,
  { known, lastYearAsOf, businessDay }: ComparisonContext,
) {
  const begun = lastYearOf(first);
  return {
    isKnown: isKnownAt(known, begun, lastYearAsOf),
    isOver: lastYearOf(last) < businessDay && known.night !== null && begun >= known.night,
  };
}

function yearFieldsOf(
  { stayDate, currency }: Item,
  then: Item | undefined,
  final: Item | undefined,
  stock: Item | undefined,
  context: ComparisonContext,
) {
  const { isKnown, isOver } = knownOf({ first: stayDate, last: stayDate }, context);
  return {
    lastYearRooms: isKnown ? (then?.rooms ?? 0) : null,
    lastYearRoomRevenue: isKnown ? revenueOf(then, "roomRevenue", currency) : null,
    lastYearGrossRoomRevenue: isKnown ? revenueOf(then, "grossRoomRevenue", currency) : null,
    lastYearAdr: isKnown ? (then?.adr ?? null) : null,
    lastYearCapacity: isKnown ? (stock?.capacity ?? null) : null,
    lastYearOutOfOrder: isKnown ? (stock?.outOfOrder ?? null) : null,
    lastYearOccupancy: isKnown ? (then?.occupancy ?? (stock?.occupancy == null ? null : "0.0000")) : null,
    lastYearRevpar: isKnown
      ? (then?.revpar ?? (then === undefined && stock?.revpar != null ? amountIn(currency, "0") : null))
      : null,
    lastYearFinalRooms: isOver ? (final?.rooms ?? 0) : null,
    lastYearFinalRoomRevenue: isOver ? revenueOf(final, "roomRevenue", currency) : null,
    lastYearFinalAdr: isOver ? (final?.adr ?? null) : null,
  };
}

function pickupFields(now: Item, before: readonly (Item | undefined)[], { known, since }: ComparisonContext) {
  const fields = PICKUPS.map((days, at) => {
    const [then, instant] = [before[at], since[at] as string];
    const isKnown = known.since !== null && Date.parse(instant) >= Date.parse(known.since);
    const revenue =
      now.roomRevenue === null && (then?.roomRevenue ?? null) === null
        ? null
        : plus(now.roomRevenue, minus(then?.roomRevenue ?? "0"));
    return {
      [`pickup${days}Rooms`]: isKnown ? now.rooms - (then?.rooms ?? 0) : null,
      [`pickup${days}RoomRevenue`]: isKnown ? amountIn(now.currency, revenue) : null,
    };
  });
  return Object.assign({}, ...fields) as Readonly<Record<string, unknown>>;
}
