import type pg from "pg";
import { ROOM_TYPES_MAX } from "#contract/insight-bounds.ts";
import { elementsOf, fieldsOfRow } from "../apply/ledger/read-facts.ts";
import { readStatement } from "../platform/db/statement.ts";
import { after, lowestIdFrom, readInstant } from "../platform/http/instant.ts";
import type { Position } from "../platform/http/position.ts";
import {
  afterPlace,
  BEFORE_ALL,
  type BooksPlace,
  compareCodes,
  firstNightAfter,
  placeOf,
  positionOf,
} from "./books-position.ts";
import { digitsOf, dividedBy, withDigits } from "./exact-amount.ts";
import { type NightWindow, NightWindows, WINDOWS_MAX } from "./night-windows.ts";
import { type BooksRow, readPackedBooks } from "./packed-books.ts";
import type { QueryContext } from "./query-context.ts";
import { boundOf, type Grouping, type StayQuestion } from "./question.ts";
import { readVariants } from "./statement-variants.ts";
import { sumEntries } from "./sum-entries.ts";

/** What inventory tells of one night: of one room type, or of all together (`unit` is null). Numbers are of rooms. */
interface Stock {
  readonly night: string;
  readonly unit: string | null;
  readonly capacity: number;
  /** Rooms that cannot be sold: maintenance and other reasons. */
  readonly off: number;
  readonly sold: number;
}

/** Where each column stands in a `bellhop.inventory_facts` (migration 0005). */
const COLUMN = { roomType: 1, isVirtual: 2, capacity: 3, maintenance: 4, other: 5, sold: 6 } as const;

/**
 * What the facts of a night's inventory record tell, in the order of room types, or of all together. Virtual room types are not rooms
 * of their own; a room type that is named twice has the sum. Nothing where there are more than insight counts.
 */
function stockOfFacts(night: string, facts: string, isByRoomType: boolean): Stock[] {
  const fields = fieldsOfRow(facts);
  const column = (name: keyof typeof COLUMN) => elementsOf(fields[COLUMN[name]]);
  const roomTypes = column("roomType");
  if (roomTypes.length > ROOM_TYPES_MAX) return [];
  const [isVirtual, capacity, sold] = [column("isVirtual"), column("capacity"), column("sold")];
  const [maintenance, other] = [column("maintenance"), column("other")];
  const byUnit = new Map<string | null, Stock>();
  for (const [at, roomType] of roomTypes.entries()) {
    if (isVirtual[at] === "t") continue;
    const unit = isByRoomType ? roomType : null;
    const before = byUnit.get(unit);
    byUnit.set(unit, {
      night,
      unit,
      capacity: (before?.capacity ?? 0) + Number(capacity[at] ?? 0),
      off: (before?.off ?? 0) + Number(maintenance[at] ?? 0) + Number(other[at] ?? 0),
      sold: (before?.sold ?? 0) + Number(sold[at] ?? 0),
    });
  }
  return [...byUnit.values()].sort((left, right) => compareCodes(left.unit, right.unit));
}

const findStock = readStatement(new URL("./sql/find-stock.sql", import.meta.url));
const findStockBefore = readStatement(new URL("./sql/find-stock-before.sql", import.meta.url));
const readStockStatement = readStatement(new URL("./sql/read-stock.sql", import.meta.url));

/** A night's inventory record, as the version that holds its content. */
interface StockVersion {
  readonly night: string;
  readonly facts_source_time: string;
  readonly content_hash: string;
}

const ID_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const DAY_MS = 86_400_000;
/** A record whose source time is further ahead of its receipt is held; once released it is current, and found as that. */
const AHEAD_MS_MAX = 3_600_000;
/** The first step back in time: a feed that pushes all nights every day is found within it. */
const FIRST_STEP_DAYS = 2;

/**
 * Where an instant ends: versions of a source time up to it, received before a request. No version that was received by
 * an instant has a source time long after it, so by the clock of receipt the search begins there too.
 */
function boundsOf({ clock, asOf }: StayQuestion): { sourceTime: string; requestId: string; newest: number } {
  const instant = asOf === null ? undefined : readInstant(asOf);
  if (asOf === null || instant === undefined)
    return { sourceTime: "infinity", requestId: ID_LAST, newest: 0 };
  if (clock === "source") return { sourceTime: asOf, requestId: ID_LAST, newest: instant.ms + 1 };
  return {
    sourceTime: "infinity",
    requestId: lowestIdFrom(after(instant)),
    newest: instant.ms + AHEAD_MS_MAX,
  };
}

/** The versions of nights whose current record does not count at an instant, found step by step back in time. */
async function versionsBefore(
  client: pg.ClientBase,
  question: StayQuestion,
  nights: readonly string[],
): Promise<StockVersion[]> {
  const { propertyId, bucket } = question.property;
  const bounds = boundsOf(question);
  const first = await client.query<{ ms: number | null }>({
    name: "find-first-stock",
    text: `select floor(extract(epoch from min(source_time)) * 1000)::float8 as ms
      from bellhop_state.inventory_version where bucket = $1 and property_id = $2`,
    values: [bucket, propertyId],
  });
  const firstMs = first.rows[0]?.ms ?? Number.POSITIVE_INFINITY;
  const found: StockVersion[] = [];
  const left = new Set(nights);
  let newest = bounds.newest;
  let until = question.clock === "source" ? bounds.sourceTime : new Date(newest).toISOString();
  for (let days = FIRST_STEP_DAYS; left.size > 0 && newest >= firstMs; days *= 2) {
    newest -= days * DAY_MS;
    // Before the first version there is nothing to be found, and no need for a date that none can be.
    const since = newest < firstMs ? "-infinity" : new Date(newest).toISOString();
    const { rows } = await client.query<StockVersion>({
      ...findStockBefore,
      values: [bucket, propertyId, [...left], since, until, bounds.requestId],
    });
    for (const row of rows) left.delete(row.night);
    found.push(...rows);
    until = since;
  }
  return found;
}

/**
 * What inventory tells of the nights of a window at the instant of a question, by its clock: in the order of nights and room
 * types, those after a place (that place's own room type included); at most `limit`.
 */
async function readStock(
  client: pg.ClientBase,
  question: StayQuestion,
  { first, last }: NightWindow,
  from: BooksPlace,
  limit: number,
): Promise<Stock[]> {
  const { propertyId, bucket } = question.property;
  const { sourceTime, requestId } = boundsOf(question);
  const { rows: current } = await client.query<StockVersion & { readonly counts: boolean }>({
    ...findStock,
    values: [bucket, propertyId, first, last, sourceTime, requestId],
  });
  const versions: StockVersion[] = current.filter(({ counts }) => counts);
  const others = current.filter(({ counts }) => !counts);
  if (others.length > 0)
    versions.push(
      ...(await versionsBefore(
        client,
        question,
        others.map(({ night }) => night),
      )),
    );
  if (versions.length === 0) return [];
  const { rows } = await client.query<{ night: string; facts: string }>({
    ...readStockStatement,
    values: [
      bucket,
      propertyId,
      versions.map(({ night }) => night),
      versions.map(({ facts_source_time }) => facts_source_time),
      versions.map(({ content_hash }) => content_hash),
    ],
  });
  const stock: Stock[] = [];
  for (const { night, facts } of rows) {
    if (stock.length >= limit) break;
    if (night < from.night) continue;
    for (const one of stockOfFacts(night, facts, question.by === "roomType"))
      if (night > from.night || one.unit === null || compareCodes(one.unit, from.unit ?? "") >= 0)
        stock.push(one);
  }
  return stock.slice(0, limit);
}

const readOnTheBooksOf = readVariants(new URL("./sql/read-on-the-books.sql", import.meta.url));

/** Nothing is packed where rows are read. */
const ALL_RECEIPTS = "-infinity";

/** Digits after the point of an occupancy: hundredths of a per cent. */
const OCCUPANCY_DIGITS = 4;

/** What is on the books of a night, of one group of the grouping and one currency. Money is decimal text. */
export interface OnTheBooksItem {
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

/** Some items, and where the next go on: null at the end. */
export interface InsightPage<Item> {
  readonly items: readonly Item[];
  readonly next: Position | null;
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
