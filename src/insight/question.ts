import type { Property } from "../query/property.ts";

/** What nights can be grouped by, as named in answers. */
export const GROUPINGS = [
  "roomType",
  "bookedRoomType",
  "marketSegment",
  "rateCode",
  "channel",
  "group",
] as const;
/** `none`: one group for all. */
export const BY = ["none", ...GROUPINGS] as const;
export type Grouping = (typeof BY)[number];

/** The clock of an instant: the source system's, or Bellhop's time of receipt. */
export const CLOCKS = ["source", "receipt"] as const;
export type Clock = (typeof CLOCKS)[number];

/** Maximum nights of a query: three years, to compare with the last two. */
export const NIGHTS_MAX = 1_100;

/** Parameters of every query about nights. */
export interface StayQuestion {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly property: Property;
  /** Stay dates `YYYY-MM-DD`, both included. */
  readonly from: string;
  readonly to: string;
  readonly by: Grouping;
  readonly clock: Clock;
  /** ISO 8601 UTC in microseconds, inclusive; null means now. */
  readonly asOf: string | null;
}

/** Stay dates, both included. */
export interface NightWindow {
  readonly first: string;
  readonly last: string;
}

/** A query needs more rows than one answer may read. */
export class QuestionTooLarge extends Error {
  constructor(of: NightWindow | string) {
    if (typeof of === "string") {
      super(of);
      return;
    }
    const { first, last } = of;
    const nights = first === last ? `The night ${first} needs` : `The nights from ${first} to ${last} need`;
    super(
      `${nights} more rows than one response may read: ask for fewer nights (from, to), or send by=none.`,
    );
  }
}

/** Maximum rows of one statement, at some hundred bytes of a thread's memory each. Throws QuestionTooLarge beyond. */
export const ROWS_MAX = 250_000;

/** Returns the rows; throws QuestionTooLarge for more than ROWS_MAX (a statement reads at most one more). */
export function requireFewRows<Row>(rows: Row[], window: NightWindow): Row[] {
  if (rows.length > ROWS_MAX) throw new QuestionTooLarge(window);
  return rows;
}

/** An instant as the upper bound in a statement. */
export function boundOf(instant: string | null): string {
  return instant ?? "infinity";
}

/** Upper bounds of source time and receipt for the data in an answer; `infinity` for none. */
export interface PointInTime {
  readonly sourceUpTo: string;
  readonly receivedUpTo: string;
}

/** The bounds of a query's instant, by its clock. */
export function pointInTimeOf({ clock, asOf }: Pick<StayQuestion, "clock" | "asOf">): PointInTime {
  const bound = boundOf(asOf);
  return clock === "source"
    ? { sourceUpTo: bound, receivedUpTo: "infinity" }
    : { sourceUpTo: "infinity", receivedUpTo: bound };
}
