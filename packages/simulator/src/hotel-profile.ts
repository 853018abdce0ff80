import calibrated from "./calibration.json" with { type: "json" };
import { SeededRandom } from "./random.ts";

export type StayState = "reserved" | "waitlisted" | "cancelled" | "no-show" | "checked-in" | "checked-out";
export type GroupState = "tentative" | "definite" | "lost" | "cancelled";

/** A hotel's statuses, all with a default mapping (docs/records.md). */
interface Vocabulary {
  readonly stays: Readonly<Record<StayState, string>>;
  readonly groups: Readonly<Record<GroupState, string>>;
}

export interface RoomType {
  readonly code: string;
  readonly rooms: number;
  /** Relative to the hotel's rate, in thousandths; the mean over all rooms is 1,000. */
  readonly ratePart: number;
}

/** A simulated hotel. Invented, except for the demand. */
export interface HotelProfile {
  readonly number: number;
  readonly kind: HotelKind;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly roomTypes: readonly RoomType[];
  readonly rooms: number;
  /** Rooms of the first type that may be overbooked until three days before arrival. */
  readonly overbooks: number;
  /** Relative to the calibrated rates, in thousandths. */
  readonly priceLevel: number;
  /** Bookings per booking in the real hotel's sample. */
  readonly demand: number;
  readonly vocabulary: Vocabulary;
  /** Sends quantities as strings. */
  readonly usesTextNumbers: boolean;
  /** Has a virtual room type for the whole hotel. */
  readonly hasRunOfHouse: boolean;
}

const ROOM_TYPES: Readonly<
  Record<HotelKind, readonly (readonly [code: string, share: number, rate: number])[]>
> = {
  city: [
    ["STD", 46, 880],
    ["SUP", 27, 1_000],
    ["DLX", 17, 1_180],
    ["FAM", 6, 1_250],
    ["STE", 4, 1_900],
  ],
  resort: [
    ["GDN", 40, 860],
    ["SEA", 28, 1_060],
    ["FAM", 20, 1_120],
    ["JST", 8, 1_450],
    ["VIL", 4, 2_200],
  ],
};
const ROOMS: Readonly<Record<HotelKind, readonly [least: number, most: number]>> = {
  city: [110, 240],
  resort: [90, 190],
};
/** The mean of every three hotels of a kind is the calibrated rate. */
const PRICE_LEVELS = [1_000, 850, 1_150];
/** Occupancy of an average night in the busiest month. */
const BUSIEST_MONTH = 0.86;
/** Additional rooms from linked reservations and reservations of several rooms. */
const ROOMS_PER_BOOKING = 1.06;

const GROUP_WORDS = { tentative: "TENTATIVE", definite: "DEFINITE", lost: "LOST", cancelled: "CANCELLED" };
const STAY_WORDS = {
  reserved: "CONFIRMED",
  waitlisted: "WAITLISTED",
  cancelled: "CANCELLED",
  "no-show": "NO_SHOW",
  "checked-in": "CHECKED_IN",
  "checked-out": "CHECKED_OUT",
};
const VOCABULARIES: readonly Vocabulary[] = [
  { stays: STAY_WORDS, groups: GROUP_WORDS },
  { stays: { ...STAY_WORDS, reserved: "RESERVED", "checked-in": "IN_HOUSE" }, groups: GROUP_WORDS },
  {
    stays: {
      reserved: "RES",
      waitlisted: "WAIT LIST",
      cancelled: "CXL",
      "no-show": "NO SHOW",
      "checked-in": "ARRIVED",
      "checked-out": "DEPARTED",
    },
    groups: { tentative: "TEN", definite: "DEF", lost: "LOS", cancelled: "CAN" },
  },
];

function cancelledOf({ leadDays, cancelled }: SegmentCalibration): number {
  let sum = 0;
  for (const lead of leadDays) {
    const of = LEAD_CLASSES.findLastIndex((from) => from <= lead);
    sum += cancelled[of] ?? 0;
  }
  return sum / leadDays.length / 1_000;
}

function meanNights({ nights }: SegmentCalibration): number {
  let bookings = 0;
  let all = 0;
  nights.forEach((count, length) => {
    bookings += count;
    all += count * length;
  });
  return all / bookings;
}

/** Rooms on an average night of the calibrated hotel's busiest month. */
function busiestMonth(kind: HotelKind): number {
  const segments = Object.values(CALIBRATION[kind].segments);
  const months = Array.from({ length: 12 }, (_, month) =>
    segments.reduce(
      (sum, segment) =>
        sum + ((segment.arrivals[month] ?? 0) / 1_000) * meanNights(segment) * (1 - cancelledOf(segment)),
      0,
    ),
  );
  return Math.max(...months) * ROOMS_PER_BOOKING;
}

/** The nth hotel, from 0: independent of the number of hotels. Every second one is a resort. */
export function hotelProfile(seed: number, number: number, clientCode: string): HotelProfile {
  const random = SeededRandom.stream(seed, 2 * number);
  const kind: HotelKind = number % 2 === 0 ? "city" : "resort";
  const wanted = random.between(...ROOMS[kind]);
  const rooms = ROOM_TYPES[kind].map(([code, share, rate]) => {
    return { code, rooms: Math.max(2, Math.round((wanted * share) / 100)), rate };
  });
  const all = rooms.reduce((sum, type) => sum + type.rooms, 0);
  const mean = rooms.reduce((sum, type) => sum + type.rooms * type.rate, 0) / all;
  return {
    number,
    kind,
    clientCode,
    propertyCode: `${kind.toUpperCase()}${String(number + 1).padStart(3, "0")}`,
    roomTypes: rooms.map(({ code, rooms: count, rate }) => {
      return { code, rooms: count, ratePart: Math.round((rate * 1_000) / mean) };
    }),
    rooms: all,
    overbooks: number % 4 === 2 ? 3 : 0,
    priceLevel: PRICE_LEVELS[(number >> 1) % PRICE_LEVELS.length] as number,
    demand: (BUSIEST_MONTH * all) / busiestMonth(kind),
    vocabulary: VOCABULARIES[number % VOCABULARIES.length] as Vocabulary,
    usesTextNumbers: number % 3 === 1,
    hasRunOfHouse: number % 5 === 4,
  };
}

/** The kinds of hotels in the real bookings, one hotel each. */
export const HOTEL_KINDS = ["resort", "city"] as const;
export type HotelKind = (typeof HOTEL_KINDS)[number];

/** Segments of the real bookings; a hotel kind has those with at least 30 bookings. */
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

/** Lower bounds of lead time in days; cancellations are counted per class. */
export const LEAD_CLASSES = [0, 7, 30, 90, 180] as const;

/** Counts of one segment. Values are listed with their frequency. */
export interface SegmentCalibration {
  /** Arrivals per day by month, January first, in thousandths. */
  readonly arrivals: readonly number[];
  /** Arrivals by weekday, Monday first, in thousandths of the mean. */
  readonly weekdays: readonly number[];
  /** Days from booking to arrival: quantiles at equal steps from the least to the greatest. */
  readonly leadDays: readonly number[];
  /** Bookings by number of nights, from 0; the last includes longer stays. */
  readonly nights: readonly number[];
  /** Bookings that were cancelled or not taken up, in thousandths, by LEAD_CLASSES. */
  readonly cancelled: readonly number[];
  /** Average daily rate in thousandths of the hotel's mean of the month: quantiles at equal steps from 0.5 to 99.5 %. */
  readonly rates: readonly number[];
  readonly channels: readonly (readonly [channel: string, count: number])[];
  readonly boards: readonly (readonly [board: string, count: number])[];
  readonly parties: readonly (readonly [adults: number, children: number, infants: number, count: number])[];
}

export interface HotelCalibration {
  readonly segments: Readonly<Partial<Record<SegmentCode, SegmentCalibration>>>;
  /** Mean of the average daily rates by month of arrival, January first, in cents of a euro, net. */
  readonly rateCents: readonly number[];
  readonly nationalities: readonly (readonly [country: string, count: number])[];
  /** Bookings by number of changes, from 0; the last includes more. */
  readonly changes: readonly number[];
  /** Of the bookings that were not cancelled: given another room type than was reserved, in thousandths. */
  readonly reassigned: number;
}

/** Derived from 25,000 real bookings by `scripts/calibrate-simulator.ts`; docs/simulator.md names the source. */
export const CALIBRATION = calibrated as unknown as Readonly<Record<HotelKind, HotelCalibration>>;
