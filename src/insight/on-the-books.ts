import type pg from "pg";
import type { Position } from "../platform/http/position.ts";
import { digitsOf, dividedBy, withDigits } from "./exact-amount.ts";
import { readStock, type Stock } from "./inventory.ts";
import { type BooksRow, readPackedBooks } from "./packed-books.ts";
import {
  afterPlace,
  BEFORE_ALL,
  type BooksPlace,
  compareCodes,
  firstNightAfter,
  type InsightPage,
  type NightWindow,
  NightWindows,
  placeOf,
  positionOf,
  WINDOWS_MAX,
} from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import { boundOf, type Grouping, type StayQuestion } from "./question.ts";
import { readVariants } from "./statement-variants.ts";
import { sumEntries } from "./sum-entries.ts";

const readOnTheBooksOf = readVariants(new URL("./sql/read-on-the-books.sql", import.meta.url));

/** Nothing is packed where rows are read. */
const ALL_RECEIPTS = "-infinity";

/** Digits after the point of an occupancy: hundredths of a per cent. */
const OCCUPANCY_DIGITS = 4;

/** What is on the books of a night, of one group of the grouping and one currency. Money is decimal text. */
interface OnTheBooksItem {
  readonly stayDate: string;
  /** Under the grouping's own name; not there where nothing is grouped by. */
  readonly [grouping: string]: string | number | null;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly capacity: number | null;
  readonly outOfOrder: number | null;
  readonly occupancy: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly currency: string | null;
  readonly blocksRemaining: number;
  readonly unmappedRooms: number;
  readonly soldReported: number | null;
}

interface Cell extends BooksPlace {
  readonly books: BooksRow | undefined;
  readonly stock: Stock | undefined;
}

function ratio(of: string | null, by: bigint | null, digits: number): string | null {
  return of === null || by === null || by <= 0n ? null : dividedBy(of, by, digits);
}

function itemOf(
  { night, unit, currency, books, stock }: Cell,
  by: Grouping,
  queryContext: QueryContext,
): OnTheBooksItem {
  const digits = digitsOf(currency);
  const money = (text: string | null | undefined) => (text == null ? null : withDigits(text, digits));
  const rooms = books?.rooms ?? "0";
  const roomRevenue = books?.room_revenue ?? null;
  const isOfAvailable = queryContext.settings.occupancyBase === "available";
  const base = stock === undefined ? null : BigInt(stock.capacity - (isOfAvailable ? stock.off : 0));
  return {
    stayDate: night,
    ...(by === "none" ? {} : { [by]: unit }),
    rooms: Number(rooms),
    roomRevenue: money(roomRevenue),
    grossRoomRevenue: money(books?.gross_room_revenue),
    adults: Number(books?.adults ?? 0),
    children: Number(books?.children ?? 0),
    capacity: stock?.capacity ?? null,
    outOfOrder: stock?.off ?? null,
    occupancy: ratio(rooms, base, OCCUPANCY_DIGITS),
    adr: ratio(roomRevenue, BigInt(rooms), digits),
    revpar: ratio(roomRevenue, base, digits),
    currency,
    blocksRemaining: Number(books?.blocks ?? 0),
    unmappedRooms: Number(books?.unmapped_rooms ?? 0),
    soldReported: stock?.sold ?? null,
  };
}

function compareUnits(left: Stock | BooksRow, right: Stock | BooksRow): number {
  if (left.night !== right.night) return left.night < right.night ? -1 : 1;
  return compareCodes(left.unit, right.unit);
}

/**
 * Rows of the books beside what inventory tells of the same night and group; what has nothing on the books is there too. Both
 * come in the order of nights and groups, and so does the answer.
 */
function joined(
  books: readonly BooksRow[],
  stock: readonly Stock[],
  after: BooksPlace,
  currency: string | null,
): Cell[] {
  const cells: Cell[] = [];
  const addStock = (one: Stock) => {
    // The group that the page before ended in has been told.
    if (one.night === after.night && one.unit === after.unit) return;
    cells.push({ night: one.night, unit: one.unit, currency, books: undefined, stock: one });
  };
  let next = 0;
  let row: BooksRow | undefined;
  for (row of books) {
    for (; next < stock.length && compareUnits(stock[next] as Stock, row) < 0; next += 1)
      if (!isOf(stock[next] as Stock, cells.at(-1))) addStock(stock[next] as Stock);
    const one = stock[next];
    const { night, unit } = row;
    cells.push({ night, unit, currency: row.currency, books: row, stock: isOf(one, row) ? one : undefined });
  }
  for (const one of stock.slice(next)) if (!isOf(one, cells.at(-1))) addStock(one);
  return cells;
}

/** Whether stock is that of a row's night and group. */
function isOf(stock: Stock | undefined, row: BooksPlace | undefined): boolean {
  return stock !== undefined && row !== undefined && stock.night === row.night && stock.unit === row.unit;
}

/** Inventory knows room types, and nothing else that nights are grouped by. */
const hasStock = ({ by }: StayQuestion) => by === "none" || by === "roomType";

async function readRows(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  window: NightWindow,
  after: BooksPlace,
  limit: number,
): Promise<readonly BooksRow[]> {
  const packed = await readPackedBooks(client, question, queryContext, window, after, limit);
  if (packed !== undefined) return packed;
  const { property, by, clock, asOf } = question;
  const { reservations, groups } = queryContext.labels;
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
    ...afterPlace(after),
  ]);
}

async function readWindow(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  window: NightWindow,
  after: BooksPlace,
  limit: number,
): Promise<Cell[]> {
  const rows = await readRows(client, question, queryContext, window, after, limit);
  const stock = hasStock(question) ? await readStock(client, question, window, after, limit + 1) : [];
  return joined(rows, stock, after, queryContext.settings.currency).slice(0, limit);
}

/**
 * What is on the books of each night of a range, in the order of nights, groups and currencies: at most `limit` rows after a
 * position. A page ends early where it has looked at very many nights without any.
 */
export async function onTheBooks(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<OnTheBooksItem>> {
  let after = start === null ? BEFORE_ALL : placeOf(start);
  const from = firstNightAfter(after, question);
  if (from === undefined) return { items: [], next: null };
  const cells: Cell[] = [];
  const windows = new NightWindows(from, question.to, question.by !== "none", limit + 1);
  for (let count = 0; count < WINDOWS_MAX; count += 1) {
    const window = await windows.nextOfFew(client, question.property, false);
    if (window === undefined || cells.length > limit) break;
    const wanted = limit + 1 - cells.length;
    const found = await readWindow(client, question, queryContext, window, after, wanted);
    cells.push(...found);
    windows.passed(window, found.length, wanted - found.length);
    if (found.length === 0) await windows.skip(client, question.property, hasStock(question));
    after = { night: window.last, unit: null, currency: null };
  }
  const items = cells.slice(0, limit).map((cell) => itemOf(cell, question.by, queryContext));
  if (cells.length > limit) return { items, next: positionOf(cells[limit - 1] as Cell) };
  return { items, next: windows.next() === undefined ? null : positionOf(after) };
}
