import { isCalendarDate } from "#contract/calendar.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { addDays } from "./stay-date.ts";

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
