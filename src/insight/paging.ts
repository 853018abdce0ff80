import type pg from "pg";
import { isCalendarDate } from "#contract/calendar.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import type { Property } from "../query/property.ts";
import { addDays, daysBetween, type InsightProperty, QuestionTooLarge } from "./question.ts";

/** A row of nights in the order of answers: by stay date, group and currency; what is not told comes last. */
export interface BooksPlace {
  /** `YYYY-MM-DD`. */
  readonly night: string;
  readonly unit: string | null;
  readonly currency: string | null;
}

const CHARACTERS_MAX = 128;
/** Parts of positions: a flag, a code that may be empty, a night. */
export const isFlag = (part: string | number) => part === 0 || part === 1;

export function isCode(part: string | number): boolean {
  return (
    typeof part === "string" &&
    part.length <= 2 * CHARACTERS_MAX &&
    part.isWellFormed() &&
    !part.includes("\0")
  );
}

export const isNight = (part: string | number) => typeof part === "string" && isCalendarDate(part);

/** What a position of rows of nights looks like. */
export const BOOKS_POSITION: PositionShape = [isNight, isFlag, isCode, isFlag, isCode];

/** The position of a row, as a cursor holds it. */
export function positionOf({ night, unit, currency }: BooksPlace): Position {
  return [night, unit === null ? 1 : 0, unit ?? "", currency === null ? 1 : 0, currency ?? ""];
}

/** The row that a position is of. */
export function placeOf(position: Position): BooksPlace {
  const [night, noUnit, unit, noCurrency, currency] = position;
  return {
    night: String(night),
    unit: noUnit === 1 ? null : String(unit),
    currency: noCurrency === 1 ? null : String(currency),
  };
}

/** The parameters of a statement that goes on after a row. */
export function afterPlace({ night, unit, currency }: BooksPlace): (string | boolean)[] {
  return [night, unit === null, unit ?? "", currency === null, currency ?? ""];
}

/** From surrogates on, the order of UTF-16 is not that of UTF-8. */
const FROM_SURROGATES = /[\ud800-\uffff]/;

/** Compares as PostgreSQL's collation "C" does, which is by bytes of UTF-8; what is not told is last. */
export function compareCodes(left: string | null, right: string | null): number {
  if (left === right) return 0;
  if (left === null || right === null) return (left === null ? 1 : 0) - (right === null ? 1 : 0);
  if (!FROM_SURROGATES.test(left) && !FROM_SURROGATES.test(right)) return left < right ? -1 : 1;
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

/** The place before every row. */
export const BEFORE_ALL: BooksPlace = { night: "-infinity", unit: null, currency: null };

/** The first night of a range that can have a row after a place; undefined where there is none. */
export function firstNightAfter(
  { night, unit, currency }: BooksPlace,
  { from, to }: { readonly from: string; readonly to: string },
): string | undefined {
  if (night < from) return from;
  if (night > to) return undefined;
  // Nothing of a night comes after what has neither group nor currency.
  if (unit !== null || currency !== null) return night;
  return night === to ? undefined : addDays(night, 1);
}

const findNextNight = readStatement(new URL("./sql/find-next-night.sql", import.meta.url));

const weighNights = readStatement(new URL("./sql/weigh-nights.sql", import.meta.url));

/** A page that has taken so long ends as it is, and the next page goes on. */
const PAGE_MS = 1_000;
/** Rows that a window lays out night by night: some tenths of a second of the database. */
const LAID_OUT_MAX = 200_000;
/** How much shorter a window is tried that was too large. */
const SHRINK = 4;

/** A window is no longer than this however empty the nights before were: what one statement reads is bounded by it. */
const WINDOW_DAYS_MAX = 1_100;
/** So many windows a page looks at; then it ends as it is, and the next page goes on. */
export const WINDOWS_MAX = 40;

/** Nights that one statement is asked for. */
export interface NightWindow {
  readonly first: string;
  readonly last: string;
}

/** How many rows of some nights are laid out before they are added up. Blocks are laid out by some questions only. */
export async function laidOutOf(
  client: Queryable,
  { bucket, propertyId }: InsightProperty,
  { first, last }: NightWindow,
  withBlocks: boolean,
): Promise<number> {
  const values = [bucket, propertyId, first, last];
  const { rows } = await client.query<{ shared: number; blocks: number }>({ ...weighNights, values });
  const { shared = 0, blocks = 0 } = rows[0] ?? {};
  return shared + (withBlocks ? blocks : 0);
}

/** The days of a page's first window: about as many as fill it when each has a row, or a few of them. */
function firstDays(isGrouped: boolean, rowsWanted: number): number {
  const days = isGrouped ? Math.ceil(rowsWanted / 4) : rowsWanted;
  return Math.min(Math.max(days, 14), WINDOW_DAYS_MAX);
}

/**
 * The windows in which a range of stay dates is read, as long as rows are wanted: `rowsFound` is told after each. A day too
 * many costs what its entries cost, one too few a statement; so the next window goes by how many rows the last one had.
 */
export class NightWindows {
  readonly #begunAt = performance.now();
  readonly #daysMax: number;
  readonly #to: string;
  #first: string;
  #days: number;
  #isDone = false;
  #hasPassed = false;

  constructor(from: string, to: string, isGrouped: boolean, rowsWanted: number, daysMax = WINDOW_DAYS_MAX) {
    this.#daysMax = daysMax;
    this.#first = from;
    this.#to = to;
    this.#days = Math.min(firstDays(isGrouped, rowsWanted), daysMax);
  }

  /** The window that is next; undefined at the end of the range. */
  next(): NightWindow | undefined {
    if (this.#isDone) return undefined;
    const left = daysBetween(this.#first, this.#to);
    return { first: this.#first, last: left < this.#days ? this.#to : addDays(this.#first, this.#days - 1) };
  }

  /**
   * The next window, as short as it has to be for what is laid out of it; undefined also where the page has taken long enough. Throws
   * QuestionTooLarge where one night has too much.
   */
  async nextOfFew(
    client: Queryable,
    property: InsightProperty,
    withBlocks: boolean,
  ): Promise<NightWindow | undefined> {
    for (let window = this.next(); window !== undefined; window = this.next()) {
      if (this.#hasPassed && performance.now() - this.#begunAt > PAGE_MS) return undefined;
      if ((await laidOutOf(client, property, window, withBlocks)) <= LAID_OUT_MAX) return window;
      this.shorten(window);
    }
    return undefined;
  }

  /** Has the next window begin where one began that was too large, and be shorter. Throws QuestionTooLarge where that was one night. */
  shorten({ first, last }: NightWindow): void {
    if (first === last) throw new QuestionTooLarge(first, last);
    this.#days = Math.ceil((daysBetween(first, last) + 1) / SHRINK);
  }

  /** Moves on behind a window that had so many rows. */
  passed(window: NightWindow, rowsFound: number, rowsWanted: number): void {
    const days = daysBetween(window.first, window.last) + 1;
    const wanted = rowsFound === 0 ? days * 4 : Math.ceil((days * rowsWanted * 1.1) / rowsFound);
    this.#hasPassed = true;
    this.#days = Math.min(Math.max(wanted, 14), this.#daysMax);
    // The day after the last of the calendar would be none.
    if (window.last === this.#to) this.#isDone = true;
    else this.#first = addDays(window.last, 1);
  }

  /** Moves on over nights without anything, after a window without rows: years of them cost one look. */
  async skip(client: pg.ClientBase, { bucket, propertyId }: Property, hasStock: boolean): Promise<void> {
    if (this.#isDone) return;
    const { rows } = await client.query<{ night: string | null }>({
      ...findNextNight,
      values: [bucket, propertyId, this.#first, hasStock],
    });
    const night = rows[0]?.night ?? null;
    if (night === null || night > this.#to) this.#isDone = true;
    else this.#first = night;
  }
}

/** What is paged: items of nights, in the order of their positions, of which the first part is the night. */
export interface NightItems<Item> {
  readonly client: Queryable;
  readonly property: InsightProperty;
  readonly from: string;
  readonly to: string;
  /** Whether a night has more than one item as a rule. */
  readonly isGrouped: boolean;
  /** Throws QuestionTooLarge where that is too much for one window. */
  read(window: NightWindow): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** A position before every item of a night and after those of the nights before. */
  beginOf(night: string): Position;
}

/** Nights of a window: what each is made of (a thousand room types, say) all comes to this thread. */
const GROUPED_NIGHTS_MAX = 100;

async function readShortened<Item>(
  nights: NightItems<Item>,
  windows: NightWindows,
  window: NightWindow,
): Promise<readonly Item[] | undefined> {
  try {
    return await nights.read(window);
  } catch (error) {
    if (!(error instanceof QuestionTooLarge)) throw error;
    windows.shorten(window);
    return undefined;
  }
}

function comparePositions(one: Position, other: Position): number {
  for (const [at, part] of one.entries()) {
    const against = other[at];
    const order =
      typeof part === "string" && typeof against === "string"
        ? compareCodes(part, against)
        : Number(part) - Number(against);
    if (order !== 0) return order;
  }
  return 0;
}

/** At most `limit` items after a position, window by window. A page ends early where it has looked at very many nights without any. */
export async function pageOfNights<Item>(
  nights: NightItems<Item>,
  start: Position | null,
  limit: number,
): Promise<InsightPage<Item>> {
  const { from, to, isGrouped } = nights;
  const begun = start === null ? from : String(start[0]);
  const first = begun < from ? from : begun;
  if (first > to) return { items: [], next: null };
  const items: Item[] = [];
  const windows = new NightWindows(first, to, isGrouped, limit + 1, GROUPED_NIGHTS_MAX);
  let passed: NightWindow | undefined;
  for (let count = 0; count < WINDOWS_MAX && items.length <= limit; count += 1) {
    const window = await windows.nextOfFew(nights.client, nights.property, true);
    if (window === undefined) break;
    const wanted = limit + 1 - items.length;
    const read = await readShortened(nights, windows, window);
    if (read === undefined) continue;
    const found = read.filter(
      (item) => start === null || comparePositions(nights.positionOf(item), start) > 0,
    );
    items.push(...found.slice(0, wanted));
    windows.passed(window, found.length, wanted);
    passed = window;
  }
  if (items.length > limit) {
    const page = items.slice(0, limit);
    return { items: page, next: nights.positionOf(page.at(-1) as Item) };
  }
  const isEnd = passed === undefined || windows.next() === undefined;
  return { items, next: isEnd ? null : nights.beginOf(addDays(passed?.last ?? to, 1)) };
}

/** Some items, and where the next go on: null at the end. */
export interface InsightPage<Item> {
  readonly items: readonly Item[];
  readonly next: Position | null;
}
