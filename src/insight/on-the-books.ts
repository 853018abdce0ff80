import type pg from "pg";
import { digitsOf } from "#contract/currencies.ts";
import type { Position } from "../platform/http/position.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import { amountIn, dividedBy } from "./exact-amount.ts";
import * as field from "./fields.ts";
import type { Asked, Insight } from "./insight.ts";
import { type InventoryNight, readInventory } from "./inventory.ts";
import { type BooksRow, CHANGES_TEXTS, readPackedBooks } from "./packed-books.ts";
import {
  afterPlace,
  BOOKS_POSITION,
  type BooksPlace,
  booksPages,
  compareCodes,
  type InsightPage,
  pageOfNights,
  placeOf,
} from "./paging.ts";
import { STAY_PARAMETERS } from "./parameters.ts";
import type { QueryContext } from "./query-context.ts";
import { boundOf, GROUPINGS, type Grouping, type NightWindow, type StayQuestion } from "./question.ts";
import { composeVariants, sumEntries } from "./statements.ts";

const readOnTheBooksOf = composeVariants(
  new URL("./sql/read-on-the-books.sql", import.meta.url),
  CHANGES_TEXTS,
);

/** No receipts are packed if rows are read. */
const ALL_RECEIPTS = "-infinity";

/** Decimal places of an occupancy: hundredths of a per cent. */
export const OCCUPANCY_DIGITS = 4;

const FIELDS = {
  stayDate: field.stayDate,
  ...field.GROUPING_FIELDS,
  rooms: field.count("Rooms under statuses that count on the books; a shared room counts once.", 31),
  roomRevenue: field.roomRevenue,
  grossRoomRevenue: field.grossRoomRevenue,
  adults: field.count("Adults of all rooms.", 52),
  children: field.count("Children of all rooms.", 7),
  capacity: field.countOrNull(
    "Rooms according to inventory, of this room type or of all. Null with any other grouping.",
    40,
  ),
  outOfOrder: field.countOrNull("Rooms of these that are out of order, according to inventory.", 1),
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
  soldReported: field.countOrNull("Rooms sold according to inventory.", 33),
};

export type OnTheBooksItem = field.ItemBy<typeof FIELDS>;

const STOCK = ["capacity", "maintenance", "other", "sold"] as const;
type StockColumn = (typeof STOCK)[number];
type Stock = Readonly<Record<StockColumn, number | null>>;

/** The divisor of occupancy and RevPAR; null if no capacity is reported or none remains. */
export function baseOf(
  { capacity, outOfOrder }: Pick<OnTheBooksItem, "capacity" | "outOfOrder">,
  { occupancyBase }: Pick<PropertySettings, "occupancyBase">,
): number | null {
  if (capacity === null) return null;
  const base = capacity - (occupancyBase === "available" ? (outOfOrder ?? 0) : 0);
  return base > 0 ? base : null;
}

/** Null if the dividend is null or the divisor is not positive. */
export function ratio(of: string | null, by: number | null, digits: number): string | null {
  return of === null || by === null || by <= 0 ? null : dividedBy(of, by, digits);
}

function itemOf(
  { night, unit, currency }: BooksPlace,
  books: BooksRow | undefined,
  stock: Stock | undefined,
  by: Grouping,
  queryContext: QueryContext,
): OnTheBooksItem {
  const digits = digitsOf(currency);
  const rooms = books?.rooms ?? "0";
  const roomRevenue = books?.room_revenue ?? null;
  const capacity = stock === undefined ? null : (stock.capacity ?? 0);
  const outOfOrder = stock === undefined ? null : (stock.maintenance ?? 0) + (stock.other ?? 0);
  const base = baseOf({ capacity, outOfOrder }, queryContext.settings);
  return {
    stayDate: night,
    ...(by === "none" ? {} : { [by]: unit }),
    rooms: Number(rooms),
    roomRevenue: amountIn(currency, roomRevenue),
    grossRoomRevenue: amountIn(currency, books?.gross_room_revenue),
    adults: Number(books?.adults ?? 0),
    children: Number(books?.children ?? 0),
    capacity,
    outOfOrder,
    occupancy: ratio(rooms, base, OCCUPANCY_DIGITS),
    adr: ratio(roomRevenue, Number(rooms), digits),
    revpar: ratio(roomRevenue ?? (Number(rooms) === 0 ? "0" : null), base, digits),
    currency,
    blocksRemaining: Number(books?.blocks ?? 0),
    unmappedRooms: Number(books?.unmapped_rooms ?? 0),
    soldReported: stock === undefined ? null : (stock.sold ?? 0),
  };
}

/**
 * Items of the rows of the books and of the inventory of the same night and group; inventory without rooms on the books is included. Inputs
 * and output are ordered by night and group. Some items at a time, which must be taken before the next.
 */
async function* joined(
  books: readonly BooksRow[],
  nights: AsyncIterable<InventoryNight<StockColumn>> | readonly InventoryNight<StockColumn>[],
  start: Position | null,
  by: Grouping,
  queryContext: QueryContext,
): AsyncGenerator<Iterable<OnTheBooksItem>, void, undefined> {
  const { currency } = queryContext.settings;
  // The previous page has answered the group that it ended in.
  let last: BooksPlace | undefined = start === null ? undefined : placeOf(start);
  let next = 0;
  const unreported = (row: BooksRow) => itemOf(row, row, undefined, by, queryContext);
  function* ofNight({ night, rooms }: InventoryNight<StockColumn>) {
    for (const { unit, counts: stock } of rooms) {
      for (let row = books[next]; row !== undefined && isBefore(row, night, unit); row = books[++next])
        yield unreported(row);
      for (let row = books[next]; row?.night === night && row.unit === unit; row = books[++next]) {
        last = row;
        yield itemOf(row, row, stock, by, queryContext);
      }
      if (last?.night !== night || last.unit !== unit)
        yield itemOf({ night, unit, currency }, undefined, stock, by, queryContext);
    }
  }
  for await (const night of nights) yield ofNight(night);
  yield books.slice(next).values().map(unreported);
}

function isBefore(row: BooksPlace, night: string, unit: string | null): boolean {
  return row.night === night ? compareCodes(row.unit, unit) < 0 : row.night < night;
}

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
    queryContext.settings.currency,
    ALL_RECEIPTS,
    limit,
    ...afterPlace(start),
  ]);
}

/** A page of the books, with inventory if `hasStock`. */
export async function pageOfBooks(
  { client, question, queryContext, start, limit }: Omit<Asked, "parameters">,
  hasStock: boolean,
): Promise<InsightPage<OnTheBooksItem>> {
  const { by } = question;
  async function* read(window: NightWindow, wanted: number) {
    const rows = await readRows(client, question, queryContext, window, start, wanted);
    const nights = hasStock ? readInventory(client, question, window, STOCK, by === "roomType") : [];
    yield* joined(rows, nights, start, by, queryContext);
  }
  return pageOfNights({ client, question, ...booksPages(by), hasStock, read }, start, limit);
}

function answer(asked: Asked): Promise<InsightPage<OnTheBooksItem>> {
  const { by } = asked.question;
  // Inventory can only be grouped by room type.
  return pageOfBooks(asked, by === "none" || by === "roomType");
}

export const onTheBooks: Insight = {
  name: "on-the-books",
  operationId: "readOnTheBooks",
  summary: "Get rooms on the books",
  description:
    "Rooms, revenue and guests by stay date, with the capacity and the rooms sold that inventory reports, as of any instant. Nights without rooms are listed only if inventory reports them.",
  parameters: STAY_PARAMETERS,
  item: {
    name: "OnTheBooksItem",
    description: "Rooms and revenue on the books of one night, group and currency.",
    fields: FIELDS,
    optional: GROUPINGS,
  },
  page: { name: "OnTheBooksPage", description: "A page of nights." },
  position: BOOKS_POSITION,
  answer,
};
