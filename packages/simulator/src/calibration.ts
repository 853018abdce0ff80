import calibrated from "./calibration.json" with { type: "json" };

/** Kinds of hotels that the real bookings have one each of. */
export const HOTEL_KINDS = ["resort", "city"] as const;
export type HotelKind = (typeof HOTEL_KINDS)[number];

/** Segments of the real bookings, under codes as a hotel has them; a kind has those of which it had at least 30 bookings. */
export const SEGMENTS = {
  OTA: "Online TA",
  TOP: "Offline TA/TO",
  DIR: "Direct",
  COR: "Corporate",
  GRP: "Groups",
  CMP: "Complementary",
  AVI: "Aviation",
} as const;
export type SegmentCode = keyof typeof SEGMENTS;

/** From this lead time on, in days, to the next: cancellations are counted apart. */
export const LEAD_CLASSES = [0, 7, 30, 90, 180] as const;

/** What was counted of one segment's bookings in a hotel. Words are listed beside how often they occur. */
export interface SegmentCalibration {
  /** Bookings that arrive on a day of each month, January first, in thousandths. */
  readonly arrivals: readonly number[];
  /** Arrivals by weekday, Monday first, in thousandths of the mean of all. */
  readonly weekdays: readonly number[];
  /** Days from booking to arrival: quantiles at equal steps from the least to the greatest. */
  readonly leadDays: readonly number[];
  /** How many bookings have so many nights, from 0 on; the last one has what is longer, too. */
  readonly nights: readonly number[];
  /** Bookings that were cancelled or not taken up, in thousandths, by LEAD_CLASSES. */
  readonly cancelled: readonly number[];
  /** Average daily rate in thousandths of the hotel's mean of the month: quantiles at equal steps from 0.5 to 99.5 %. */
  readonly rates: readonly number[];
  readonly channels: readonly (readonly [channel: string, count: number])[];
  readonly boards: readonly (readonly [board: string, count: number])[];
  readonly parties: readonly (readonly [adults: number, children: number, infants: number, count: number])[];
}

/** What was counted of one hotel. */
export interface HotelCalibration {
  readonly segments: Readonly<Partial<Record<SegmentCode, SegmentCalibration>>>;
  /** Mean of the average daily rates by month of arrival, January first, in cents of a euro, net. */
  readonly rateCents: readonly number[];
  readonly nationalities: readonly (readonly [country: string, count: number])[];
  /** How many bookings were changed so often, from 0 on; the last one has what was changed more often, too. */
  readonly changes: readonly number[];
  /** Of the bookings that were not cancelled: given another room type than was reserved, in thousandths. */
  readonly reassigned: number;
}

// A JSON module's arrays are typed as arrays, its pairs as well.
/** Derived from 25,000 real bookings by `scripts/calibrate-simulator.ts`; docs/simulator.md says whose they are. */
export const CALIBRATION = calibrated as unknown as Readonly<Record<HotelKind, HotelCalibration>>;
