import type { Money } from "./money.ts";

/** What entries are grouped by, in the order in which a dimension's number is made of them. Null: not told. */
export interface DimensionCodes {
  readonly status: string | null;
  readonly roomTypeCode: string | null;
  readonly bookedRoomTypeCode: string | null;
  readonly marketSegmentCode: string | null;
  readonly groupBlockCode: string | null;
  readonly rateCode: string | null;
  readonly channel: string | null;
  readonly currencyCode: string | null;
}

/** Nights that follow each other and are alike: of one stay, with the same revenue. All numbers are of one night. */
export interface NightRun {
  /** Days since 1970-01-01. */
  readonly firstNight: number;
  readonly nights: number;
  readonly rooms: number;
  /** Guests of all rooms. */
  readonly adults: number;
  readonly children: number;
  /** For all rooms; null where the record tells neither revenue nor rate. */
  readonly roomRevenue: Money | null;
  readonly grossRoomRevenue: Money | null;
  /** One object for all runs of a stay. */
  readonly codes: DimensionCodes;
}

/** What a version of a reservation says of nights. */
export interface ReservationNights {
  /** Null where it is not shared: an empty id is none. */
  readonly shareId: string | null;
  readonly runs: readonly NightRun[];
}

/** Nights of one room type that follow each other and of which a group block master says the same. */
export interface BlockRun {
  readonly firstNight: number;
  readonly nights: number;
  readonly blocks: number | null;
  readonly pickedUp: number | null;
  readonly originalBlocks: number | null;
  readonly codes: DimensionCodes;
}

/** The greatest count that a column holds. */
export const COUNT_MAX = 2_147_483_647;

/**
 * A count as it is entered. Counts are of 32 bits and so are the columns: a product beyond that (no hotel has two billion
 * guests), and the one number whose negative does not fit, are entered as the bound, alike when they are taken off again.
 */
export function boundedCount(count: number): number {
  return Math.max(-COUNT_MAX, Math.min(COUNT_MAX, count)) + 0;
}
