import type { Property } from "../read/property.ts";

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

/** The bound of an instant in a statement. */
export function boundOf(instant: string | null): string {
  return instant ?? "infinity";
}
