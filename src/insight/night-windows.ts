import type pg from "pg";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Property } from "../query/property.ts";
import type { InsightProperty } from "./point-in-time.ts";
import { QuestionTooLarge } from "./question.ts";
import { addDays, daysBetween } from "./stay-date.ts";

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
