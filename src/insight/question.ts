import type { Property } from "../query/property.ts";

/** What nights can be grouped by, under the names in which answers tell the group. */
export const GROUPINGS = [
  "roomType",
  "bookedRoomType",
  "marketSegment",
  "rateCode",
  "channel",
  "group",
] as const;
/** `none`: nothing, one group for all. */
export const BY = ["none", ...GROUPINGS] as const;
export type Grouping = (typeof BY)[number];

/** Whose clock an instant is of: the hotel's system's, or the one by which this service received. */
export const CLOCKS = ["source", "receipt"] as const;
export type Clock = (typeof CLOCKS)[number];

/** Nights that one question may ask for: three years, so that the last two stand beside this one. */
export const NIGHTS_MAX = 1_100;

/** What every question about nights asks. */
export interface StayQuestion {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly property: Property;
  /** Stay dates `YYYY-MM-DD`, both included. */
  readonly from: string;
  readonly to: string;
  readonly by: Grouping;
  readonly clock: Clock;
  /** ISO 8601 UTC to the microsecond, included; null: all that there is. */
  readonly asOf: string | null;
}

/** Stay dates, both included. */
export interface NightWindow {
  readonly first: string;
  readonly last: string;
}

/** Some nights need more rows than one answer may read. */
export class QuestionTooLarge extends Error {
  constructor({ first, last }: NightWindow) {
    const nights = first === last ? `The night ${first} needs` : `The nights from ${first} to ${last} need`;
    super(
      `${nights} more rows than one response may read: ask for fewer nights (from, to), or send by=none.`,
    );
  }
}

/** Rows that one statement answers at most. Throws QuestionTooLarge beyond: each is some hundred bytes of a thread's memory. */
export const ROWS_MAX = 250_000;

/** Rows of nights, of which at most one more than ROWS_MAX were asked for. */
export function requireFewRows<Row>(rows: Row[], window: NightWindow): Row[] {
  if (rows.length > ROWS_MAX) throw new QuestionTooLarge(window);
  return rows;
}

/** The bound of an instant in a statement. */
export function boundOf(instant: string | null): string {
  return instant ?? "infinity";
}

/** What an answer is made of: what has a source time, and what was received, up to these instants; `infinity` for no bound. */
export interface PointInTime {
  readonly sourceUpTo: string;
  readonly receivedUpTo: string;
}

/** The instant of a question, by its clock. */
export function pointInTimeOf({ clock, asOf }: Pick<StayQuestion, "clock" | "asOf">): PointInTime {
  const bound = boundOf(asOf);
  return clock === "source"
    ? { sourceUpTo: bound, receivedUpTo: "infinity" }
    : { sourceUpTo: "infinity", receivedUpTo: bound };
}
