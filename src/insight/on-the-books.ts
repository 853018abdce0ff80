import type pg from "pg";
import { digitsOf } from "#contract/currencies.ts";
import { word } from "../platform/http/parameters.ts";
import type { Position } from "../platform/http/position.ts";
import { type BookedPlace, bookedPlaces, rowsFor } from "./booked-places.ts";
import {
  type BooksSource,
  COMPARISON_FIELDS,
  COMPARISON_NAMES,
  COMPARISONS,
  type ComparisonContext,
  compareBooks,
  comparisonOf,
  notCompared,
} from "./compared-books.ts";
import { amountIn, plus, withDigits } from "./exact-amount.ts";
import * as field from "./fields.ts";
import { readGroupHierarchy } from "./group-hierarchy.ts";
import { type Asked, insight } from "./insight.ts";
import { type InventoryNight, readInventory } from "./inventory.ts";
import { KNOWN_FIELDS } from "./known-nights.ts";
import { baseOf, OCCUPANCY_DIGITS, ratio } from "./occupancy.ts";
import {
  type BookedSums,
  type BooksCause,
  type BooksRow,
  CHANGES_TEXTS,
  readPackedBooks,
} from "./packed-books.ts";
import {
  afterPlace,
  BOOKS_PAGES,
  BOOKS_POSITION,
  type BooksPlace,
  compareCodes,
  type InsightPage,
  pageOfNights,
  placeOf,
  requireLaidOut,
} from "./paging.ts";
import { STAY_PARAMETERS } from "./parameters.ts";
import { notSummed, pageOfSums, SUM_FIELDS, SUM_NAMES, SUM_PARAMETER, sumOf } from "./periods.ts";
import type { QueryContext } from "./query-context.ts";
import {
  boundOf,
  GROUPINGS,
  type Grouping,
  type NightWindow,
  pointInTimeOf,
  type StayQuestion,
} from "./question.ts";
import { composeVariants, sumEntries } from "./statements.ts";
import { sumBooks } from "./sum-books.ts";

const readOnTheBooksOf = composeVariants(new URL("./sql/read-on-the-books.sql", import.meta.url), {
  ...CHANGES_TEXTS,
  links: "unnest($17::text[], $18::text[])",
});

/** No receipts are packed if rows are read. */
const ALL_RECEIPTS = "-infinity";

export const BOOKS_FIELDS = {
  rooms: field.count("Rooms under statuses that count on the books; a shared room counts once.", 31),
  roomRevenue: field.roomRevenue,
  grossRoomRevenue: field.grossRoomRevenue,
  adults: field.count("Adults of all rooms.", 52),
  children: field.count("Children of all rooms.", 7),
  capacity: field.countOrNull(
    "Rooms according to inventory, of this room type or of all. Null with any other grouping, and on a night's items after the first, so that it can be added up.",
    40,
  ),
  outOfOrder: field.countOrNull(
    "Rooms of these that are out of order, according to inventory; on the same items as `capacity`.",
    1,
  ),
  occupancy: field.decimalOrNull(
    "`rooms` divided by the occupancy base of the settings: `capacity`, or `capacity` minus `outOfOrder`. 1 is full; four digits.",
    "0.7750",
  ),
  adr: field.adr,
  revpar: field.decimalOrNull(
    "Net room revenue divided by the same base; rounded like `adr`. 0 where nothing is booked.",
    "139.50",
  ),
  currency: field.currency,
  blocksRemaining: field.count(
    "Rooms blocked for groups whose status counts on the books, not picked up yet. They are not in `rooms`.",
    5,
  ),
  unmappedRooms: field.count("Rooms under unmapped statuses. They are not in `rooms`.", 0),
  soldReported: field.countOrNull("Rooms sold according to inventory; on the same items as `capacity`.", 33),
  ...field.WITHOUT_NIGHT_FIELDS,
};
const FIELDS = {
  stayDate: field.stayDate,
  ...SUM_FIELDS,
  ...field.GROUPING_FIELDS,
  ...BOOKS_FIELDS,
};
const ITEM_FIELDS = { ...FIELDS, ...COMPARISON_FIELDS };

export type OnTheBooksItem = field.ItemBy<typeof FIELDS, Grouping | keyof typeof SUM_FIELDS>;

const STOCK = ["capacity", "maintenance", "other", "sold"] as const;
type StockColumn = (typeof STOCK)[number];
type Stock = Readonly<Record<StockColumn, number | null>>;

const NOTHING_WITHOUT_NIGHT = {
  dayUseRooms: 0,
  dayUseRevenue: null,
  feeRevenue: null,
  outsideStayRevenue: null,
};

/** Revenue without a room night of the rows of one item, by cause. */
export function withoutNightOf(
  rows: readonly { readonly cause: BooksCause | null; readonly room_revenue: string | null }[],
  currency: string | null,
  dayUseRooms: number,
): field.ValuesOf<typeof field.WITHOUT_NIGHT_FIELDS> {
  // As nearly always: a page has thousands of items.
  if (rows.every(({ cause }) => cause === null)) return NOTHING_WITHOUT_NIGHT;
  const revenueOf = (cause: BooksCause) =>
    amountIn(
      currency,
      rows.reduce<string | null>(
        (sum, row) => (row.cause === cause ? plus(sum, row.room_revenue) : sum),
        null,
      ),
    );
  return {
    dayUseRooms,
    dayUseRevenue: revenueOf("dayUse"),
    feeRevenue: revenueOf("fee"),
    outsideStayRevenue: revenueOf("outsideStay"),
  };
}

const hasAmount = ({ room_revenue, gross_room_revenue }: BooksRow): boolean =>
  room_revenue !== null || gross_room_revenue !== null;

const NOT_BOOKED: BookedSums = {
  rooms: 0,
  unmapped_rooms: 0,
  adults: 0,
  children: 0,
  room_revenue: null,
  gross_room_revenue: null,
  blocks: 0,
};

const summed = (one: BookedSums, other: BookedSums): BookedSums => ({
  rooms: one.rooms + other.rooms,
  unmapped_rooms: one.unmapped_rooms + other.unmapped_rooms,
  adults: one.adults + other.adults,
  children: one.children + other.children,
  room_revenue: plus(one.room_revenue, other.room_revenue),
  gross_room_revenue: plus(one.gross_room_revenue, other.gross_room_revenue),
  blocks: one.blocks + other.blocks,
});

/** What an item's rows have of room nights: usually there is one row of them. */
function nightsOf(rows: readonly BooksRow[]): BookedSums {
  let sums: BookedSums | undefined;
  for (const row of rows) if (row.cause === null) sums = sums === undefined ? row : summed(sums, row);
  return sums ?? NOT_BOOKED;
}

/** An item, the base of its occupancy, and where the next page continues after it. */
interface BookedItem {
  readonly item: OnTheBooksItem;
  readonly base: number | null;
  readonly end: BooksPlace;
}

/** `isFirst`: of the night and group; only this item has their inventory. */
function itemOf(
  { place, end, rows }: BookedPlace<BooksRow>,
  stock: Stock | undefined,
  isFirst: boolean,
  by: Grouping,
  queryContext: QueryContext,
): BookedItem {
  const { night, unit, currency } = place;
  const booked = nightsOf(rows);
  const { rooms, room_revenue: roomRevenue } = booked;
  const capacity = stock === undefined ? null : (stock.capacity ?? 0);
  const outOfOrder = stock === undefined ? null : (stock.maintenance ?? 0) + (stock.other ?? 0);
  const base = baseOf({ capacity, outOfOrder }, queryContext.settings);
  const digits = digitsOf(currency);
  const withoutNight = withoutNightOf(
    rows,
    currency,
    rows.reduce((sum, row) => (row.cause === "dayUse" ? sum + row.rooms : sum), 0),
  );
  const group = by === "none" ? { stayDate: night } : { stayDate: night, [by]: unit };
  // One spread, and first: one more, or one in between, doubles the time of all other fields.
  const item = {
    ...group,
    rooms,
    roomRevenue: amountIn(currency, roomRevenue),
    grossRoomRevenue: amountIn(currency, booked.gross_room_revenue),
    adults: booked.adults,
    children: booked.children,
    capacity: isFirst ? capacity : null,
    outOfOrder: isFirst ? outOfOrder : null,
    occupancy: ratio(String(rooms), base, OCCUPANCY_DIGITS),
    adr: ratio(roomRevenue, rooms, digits),
    revpar: ratio(roomRevenue ?? (rooms === 0 ? "0" : null), base, digits),
    currency,
    blocksRemaining: booked.blocks,
    unmappedRooms: booked.unmapped_rooms,
    soldReported: stock === undefined || !isFirst ? null : (stock.sold ?? 0),
    dayUseRooms: withoutNight.dayUseRooms,
    dayUseRevenue: withoutNight.dayUseRevenue,
    feeRevenue: withoutNight.feeRevenue,
    outsideStayRevenue: withoutNight.outsideStayRevenue,
  };
  return { item, base, end };
}

/**
 * Items of the places of the books and of the inventory of the same night and group; inventory without rooms on the books is included. Inputs
 * and output are ordered by night and group. Some items at a time, which must be taken before the next.
 */
async function* joined(
  books: readonly BookedPlace<BooksRow>[],
  nights: AsyncIterable<InventoryNight<StockColumn>> | readonly InventoryNight<StockColumn>[],
  start: Position | null,
  by: Grouping,
  queryContext: QueryContext,
): AsyncGenerator<Iterable<BookedItem>, void, undefined> {
  const { currency } = queryContext.settings;
  // The previous page has answered the group that it ended in.
  let last: BooksPlace | undefined = start === null ? undefined : placeOf(start);
  let next = 0;
  const unreported = (place: BookedPlace<BooksRow>) => itemOf(place, undefined, false, by, queryContext);
  function* ofNight({ night, rooms }: InventoryNight<StockColumn>) {
    const isLast = (unit: string | null) => last?.night === night && last.unit === unit;
    for (const { unit, counts: stock } of rooms) {
      for (let one = books[next]; one !== undefined && isBefore(one.place, night, unit); one = books[++next])
        yield unreported(one);
      const isOfUnit = ({ place }: BookedPlace<BooksRow>) => place.night === night && place.unit === unit;
      for (let one = books[next]; one !== undefined && isOfUnit(one); one = books[++next]) {
        const isFirst = !isLast(unit);
        last = one.place;
        yield itemOf(one, stock, isFirst, by, queryContext);
      }
      if (isLast(unit)) continue;
      const place = { night, unit, currency };
      yield itemOf({ place, end: place, rows: [] }, stock, true, by, queryContext);
    }
  }
  for await (const night of nights) yield ofNight(night);
  yield books.slice(next).values().map(unreported);
}

function isBefore(row: BooksPlace, night: string, unit: string | null): boolean {
  return row.night === night ? compareCodes(row.unit, unit) < 0 : row.night < night;
}

/** The item of a group without rooms, on a night whose inventory another item of the group has. */
function withoutRooms(item: OnTheBooksItem, alike: OnTheBooksItem | undefined): OnTheBooksItem {
  const nothing = alike?.occupancy == null ? null : "0";
  return {
    ...item,
    ...{ rooms: 0, roomRevenue: null, grossRoomRevenue: null, adults: 0, children: 0, adr: null },
    ...{ capacity: null, outOfOrder: null, soldReported: null, blocksRemaining: 0, unmappedRooms: 0 },
    occupancy: nothing && withDigits(nothing, OCCUPANCY_DIGITS),
    revpar: amountIn(item.currency, nothing),
    ...withoutNightOf([], item.currency, 0),
  };
}

/** Nothing of a night in a currency. */
const nothingOf = (stayDate: string, currency: string | null): OnTheBooksItem =>
  withoutRooms({ stayDate, currency } as OnTheBooksItem, undefined);

async function readRows(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  window: NightWindow,
  start: Position | null,
  limit: number,
): Promise<readonly BooksRow[]> {
  const packed = await readPackedBooks(client, question, queryContext, window, start, limit);
  if (packed !== undefined) return packed;
  const { property, by, clock, asOf } = question;
  const { reservations, groups } = queryContext.statuses;
  const { settings } = queryContext;
  const masters = await readGroupHierarchy(client, property, window, pointInTimeOf(question), settings);
  const statement = await readOnTheBooksOf(client, by, clock);
  return await sumEntries<BooksRow>(client, statement, [
    property.bucket,
    property.propertyId,
    window.first,
    window.last,
    boundOf(asOf),
    reservations.deducting,
    reservations.off,
    groups.deducting,
    settings.currency,
    ALL_RECEIPTS,
    limit,
    ...afterPlace(start),
    [...masters.keys()],
    [...masters.values()],
  ]);
}

/** A page of the books, with inventory if `hasStock`. */
export async function pageOfBooks(
  { client, question, queryContext, start, limit }: Omit<Asked, "parameters">,
  hasStock: boolean,
): Promise<InsightPage<BookedItem>> {
  const { by } = question;
  async function* read(window: NightWindow, wanted: number) {
    const rows = await readRows(client, question, queryContext, window, start, rowsFor(wanted));
    const places = bookedPlaces(rows, start, hasAmount);
    const nights = hasStock ? readInventory(client, question, window, STOCK, by === "roomType") : [];
    yield* joined(places, nights, start, by, queryContext);
  }
  return pageOfNights({ client, question, ...BOOKS_PAGES, hasStock, read }, start, limit);
}

/** The night, group and currency of an item. */
const endOf = (item: OnTheBooksItem, by: Grouping): BooksPlace => ({
  night: item.stayDate,
  unit: by === "none" ? null : (item[by] ?? null),
  currency: item.currency,
});

/** A page of the books beside last year's and their pickup. `places` are listed in any case. */
export async function pageOfComparison(
  { client, question, queryContext, start, limit }: Omit<Asked, "parameters">,
  hasStock: boolean,
  context: ComparisonContext,
  places: readonly BooksPlace[] = [],
): Promise<InsightPage<{ readonly item: OnTheBooksItem }>> {
  const source = {
    ...{ client, question, queryContext, start, hasStock },
    positionOf: (item: OnTheBooksItem) => BOOKS_PAGES.positionOf({ end: endOf(item, question.by) }),
    without: withoutRooms,
    listed: ({ first, last }: NightWindow) =>
      places
        .filter(({ night }) => night >= first && night <= last)
        .map(({ night, currency }) => nothingOf(night, currency)),
    read: async (
      ...[of, window, from, wanted, withStock]: Parameters<BooksSource<OnTheBooksItem>["read"]>
    ) => {
      await requireLaidOut(client, of.property, window);
      const rows = await readRows(client, of, queryContext, window, from, rowsFor(wanted));
      const places = bookedPlaces(rows, null, hasAmount);
      const nights = withStock ? readInventory(client, of, window, STOCK, of.by === "roomType") : [];
      const items: OnTheBooksItem[] = [];
      for await (const some of joined(places, nights, null, of.by, queryContext))
        for (const { item } of some) if (items.length < wanted) items.push(item);
      return items;
    },
  };
  async function* read(window: NightWindow, wanted: number) {
    const items = await compareBooks(source, context, window, wanted);
    yield items.map((item) => ({ item, end: endOf(item, question.by) }));
  }
  const pages = { client, question, ...BOOKS_PAGES, hasStock, hasLastYear: true, read };
  return await pageOfNights(pages, start, limit);
}

function besideOf({
  comparison,
  lastYearAsOf,
  known,
}: Pick<ComparisonContext, "comparison" | "lastYearAsOf" | "known">) {
  return comparison === "pickup" ? NOT_COMPARED : { lastYearAsOf, lastYearKnownFrom: known.night };
}
const NOT_COMPARED = { lastYearAsOf: null, lastYearKnownFrom: null };

const PARAMETERS = {
  ...STAY_PARAMETERS,
  compare: word(
    "What to compare with: `lastYear` (the same weekdays 364 days earlier, at the same time then and final), `pickup` (of 1, 3, 7 and 30 business days), or `all`.",
    COMPARISONS,
    "lastYear",
    "none",
  ),
  ...SUM_PARAMETER,
};

async function answer(asked: Asked<typeof PARAMETERS>) {
  const { client, question, queryContext, start, limit, parameters } = asked;
  const { by } = question;
  const { compare: comparison } = parameters;
  // Inventory can only be grouped by room type.
  const hasStock = by === "none" || by === "roomType";
  const context =
    comparison === "none" ? null : await comparisonOf(client, question, queryContext, comparison);
  const read = async (from: Position | null, wanted: number): Promise<InsightPage<OnTheBooksItem>> => {
    const part = { client, question, queryContext, start: from, limit: wanted };
    const { items, next } = await (context === null
      ? pageOfBooks(part, hasStock)
      : pageOfComparison(part, hasStock, context));
    return { items: items.map(({ item }) => item), next };
  };
  const sum = sumOf(parameters);
  const { items, next } =
    sum === undefined
      ? await read(start, limit)
      : await pageOfSums(
          question,
          sum,
          start,
          limit,
          read,
          (item) => endOf(item, by),
          (period, pauses) => sumBooks(period, queryContext.settings, context, pauses),
        );
  return { items, next, beside: context === null ? NOT_COMPARED : besideOf(context) };
}

export const LAST_YEAR_AS_OF_FIELD = field.orNull(
  field.time(
    "The instant that last year's figures are as of: 364 days before `asOf`, or without it before the start of the current hour. Null: not compared with last year.",
    "2025-06-16T12:00:00.000000Z",
  ),
);

export const onTheBooks = insight({
  name: "on-the-books",
  operationId: "getOnTheBooks",
  summary: "Get rooms on the books",
  description:
    "Rooms, revenue and guests by stay date, with the capacity and the rooms sold that inventory reports, as of any instant. Nights without rooms are listed only if inventory reports them.",
  parameters: PARAMETERS,
  item: {
    name: "OnTheBooksItem",
    description: "Rooms and revenue on the books of one night, group and currency.",
    fields: ITEM_FIELDS,
    optional: [...GROUPINGS, ...SUM_NAMES, ...COMPARISON_NAMES],
  },
  page: {
    name: "OnTheBooksPage",
    description: "A page of nights.",
    fields: {
      lastYearAsOf: LAST_YEAR_AS_OF_FIELD,
      ...KNOWN_FIELDS,
    },
  },
  position: BOOKS_POSITION,
  notAsked: (parameters) => [...notCompared(parameters.compare), ...notSummed(sumOf(parameters))],
  nothing: () => ({ items: [], next: null, beside: NOT_COMPARED }),
  answer,
});
