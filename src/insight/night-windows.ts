import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import type { Property } from "../read/property.ts";
import { addDays, daysBetween } from "./stay-date.ts";

const findNextNight = readStatement(new URL("./sql/find-next-night.sql", import.meta.url));

/** A window is no longer than this however empty the nights before were: what one statement reads is bounded by it. */
const WINDOW_DAYS_MAX = 1_100;
/** So many windows a page looks at; then it ends as it is, and the next page goes on. */
export const WINDOWS_MAX = 40;

/** Nights that one statement is asked for. */
export interface NightWindow {
  readonly first: string;
  readonly last: string;
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
  readonly #to: string;
  #first: string;
  #days: number;
  #isDone = false;

  constructor(from: string, to: string, isGrouped: boolean, rowsWanted: number) {
    this.#first = from;
    this.#to = to;
    this.#days = firstDays(isGrouped, rowsWanted);
  }

  /** The window that is next; undefined at the end of the range. */
  next(): NightWindow | undefined {
    if (this.#isDone) return undefined;
    const left = daysBetween(this.#first, this.#to);
    return { first: this.#first, last: left < this.#days ? this.#to : addDays(this.#first, this.#days - 1) };
  }

  /** Moves on behind a window that had so many rows. */
  passed(window: NightWindow, rowsFound: number, rowsWanted: number): void {
    const days = daysBetween(window.first, window.last) + 1;
    const wanted = rowsFound === 0 ? days * 4 : Math.ceil((days * rowsWanted * 1.1) / rowsFound);
    this.#days = Math.min(Math.max(wanted, 14), WINDOW_DAYS_MAX);
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
