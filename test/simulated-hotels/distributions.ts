import { type HotelKind, hotelProfile, LEAD_CLASSES, SEGMENTS } from "#simulator/hotel-profile.ts";
import { simulate } from "#simulator/simulation.ts";
import { readRealBookings } from "../data/real-bookings/real-bookings.ts";
import { dayOf } from "../workload/calendar-day.ts";

/** One booking, real or simulated, as it was in the end. */
export interface ComparedBooking {
  readonly leadDays: number;
  readonly nights: number;
  readonly segment: string;
  /** Cancelled or not taken up. */
  readonly fails: boolean;
  /** Of arrival; January is 0. */
  readonly month: number;
  readonly year: string;
  /** Average daily rate in EUR, net. */
  readonly rate: number;
}

/** What both are compared by. */
export interface Distributions {
  readonly bookings: number;
  /** Sorted. */
  readonly leadDays: readonly number[];
  readonly nights: readonly number[];
  /** Shares by segment code. */
  readonly segments: Readonly<Record<string, number>>;
  /** Shares that fail by LEAD_CLASSES, and of all. */
  readonly failing: readonly number[];
  readonly failingOfAll: number;
  /** Mean rate by month of arrival. */
  readonly rates: readonly number[];
  /** Shares of a year's arrivals by month. */
  readonly arrivals: readonly number[];
}

const CODE_OF = new Map<string, string>(Object.entries(SEGMENTS).map(([code, name]) => [name, code]));

/** The real bookings of a hotel. */
export function realBookingsOf(kind: HotelKind): ComparedBooking[] {
  const hotel = kind === "resort" ? "Resort Hotel" : "City Hotel";
  return readRealBookings()
    .filter((booking) => booking.hotel === hotel)
    .map(({ leadDays, nights, marketSegment, isCanceled, arrivalDate, averageRate }) => ({
      leadDays,
      nights,
      fails: isCanceled,
      rate: Number(averageRate),
      segment: CODE_OF.get(marketSegment) ?? marketSegment,
      month: Number(arrivalDate.slice(5, 7)) - 1,
      year: arrivalDate.slice(0, 4),
    }));
}

interface ReservationRecord {
  readonly status: string;
  readonly bookingDateTime: string;
  readonly roomStays: readonly [
    {
      readonly arrivalDate: string;
      readonly departureDate: string;
      readonly marketSegmentCode: string;
      readonly rates: readonly {
        readonly startDate: string;
        readonly endDate: string;
        readonly rateValue: string;
      }[];
    },
  ];
}

function comparedOf(json: string): ComparedBooking {
  const { status, bookingDateTime, roomStays } = JSON.parse(json) as ReservationRecord;
  const [{ arrivalDate, departureDate, marketSegmentCode, rates }] = roomStays;
  let days = 0;
  let sum = 0;
  for (const { startDate, endDate, rateValue } of rates) {
    const nights = dayOf(endDate) - dayOf(startDate) + 1;
    days += nights;
    sum += nights * Number(rateValue);
  }
  return {
    leadDays: dayOf(arrivalDate) - dayOf(bookingDateTime.slice(0, 10)),
    nights: dayOf(departureDate) - dayOf(arrivalDate),
    segment: marketSegmentCode,
    fails: /^(CANCELLED|NO_SHOW|CXL|NO SHOW)$/.test(status),
    month: Number(arrivalDate.slice(5, 7)) - 1,
    year: arrivalDate.slice(0, 4),
    rate: sum / days,
  };
}

/** Long enough that what arrives in the last year was booked, and cancelled, before everybody's eyes. */
const DAYS = 730;
const START = "2024-01-01";
const COMPARED_FROM = "2025-01-01";
const COMPARED_TO = "2025-12-31";
const WAITLISTED = /"status":"WAIT/;

/**
 * The bookings of simulated hotels, by kind, from their records alone: the last version of each reservation that arrives in
 * the second of two years. Who was put on a waiting list is left out: the real bookings have none.
 */
export function simulatedBookings(hotels: number, seed: number): Record<HotelKind, ComparedBooking[]> {
  const last = new Map<string, string>();
  const kinds = new Map(
    Array.from({ length: hotels }, (_, number) => hotelProfile(seed, number, "DEMO")).map(
      ({ propertyCode, kind }) => [propertyCode, kind],
    ),
  );
  const options = { seed, properties: hotels, days: DAYS, start: START, clientCode: "DEMO", horizonDays: 0 };
  const waited = new Set<string>();
  for (const { waves } of simulate({ ...options, faults: new Set() })) {
    for (const { resource, propertyCode, key, json: bytes } of waves.flat()) {
      if (resource !== "reservations") continue;
      const json = bytes.toString();
      const id = `${propertyCode} ${key}`;
      if (WAITLISTED.test(json)) waited.add(id);
      last.set(id, json);
    }
  }
  const bookings: Record<HotelKind, ComparedBooking[]> = { resort: [], city: [] };
  for (const [id, json] of last) {
    const arrival = /"arrivalDate":"([\d-]+)"/.exec(json)?.[1] ?? "";
    if (waited.has(id) || arrival < COMPARED_FROM || arrival > COMPARED_TO) continue;
    bookings[kinds.get(id.split(" ")[0] ?? "") ?? "city"].push(comparedOf(json));
  }
  return bookings;
}

const sorted = (values: readonly number[]): number[] => [...values].sort((one, other) => one - other);
const shareOf = (some: readonly unknown[], all: readonly unknown[]): number =>
  some.length / Math.max(all.length, 1);

export function distributionsOf(bookings: readonly ComparedBooking[]): Distributions {
  const months = Array.from({ length: 12 }, (_, month) =>
    bookings.filter((booking) => booking.month === month),
  );
  // The real bookings begin and end in a summer: July and August are there three times, the others twice.
  const aYear = months.map((own) => own.length / Math.max(new Set(own.map(({ year }) => year)).size, 1));
  const bySegment = Map.groupBy(bookings, ({ segment }) => segment);
  const failed = bookings.filter(({ fails }) => fails);
  return {
    bookings: bookings.length,
    leadDays: sorted(bookings.map(({ leadDays }) => leadDays)),
    nights: sorted(bookings.map(({ nights }) => nights)),
    segments: Object.fromEntries([...bySegment].map(([segment, own]) => [segment, shareOf(own, bookings)])),
    failing: LEAD_CLASSES.map((from, at) => {
      const to = LEAD_CLASSES[at + 1] ?? Number.POSITIVE_INFINITY;
      const own = bookings.filter(({ leadDays }) => from <= leadDays && leadDays < to);
      return shareOf(
        own.filter(({ fails }) => fails),
        own,
      );
    }),
    failingOfAll: shareOf(failed, bookings),
    rates: months.map((own) => own.reduce((sum, { rate }) => sum + rate, 0) / Math.max(own.length, 1)),
    arrivals: aYear.map((count) => count / aYear.reduce((sum, one) => sum + one, 0)),
  };
}

/** How far two hotels are apart: 0 is the same. */
export interface Distances {
  /** Greatest differences of the cumulative shares (Kolmogorov and Smirnov). */
  readonly leadDays: number;
  readonly nights: number;
  /** Half the sums of the differences of shares (total variation). */
  readonly segments: number;
  readonly arrivals: number;
  /** The greatest difference of a class, and that of all, as shares. */
  readonly failing: number;
  readonly failingOfAll: number;
  /** The greatest difference of a month, as a part of the first one's rate. */
  readonly rates: number;
}

export function distancesBetween(one: Distributions, other: Distributions): Distances {
  const byMonth = (shares: readonly number[]) => Object.fromEntries(shares.entries());
  const apart = (shares: readonly number[], others: readonly number[]) =>
    shares.map((share, at) => Math.abs(share - (others[at] ?? 0)));
  return {
    leadDays: greatestDifference(one.leadDays, other.leadDays),
    nights: greatestDifference(one.nights, other.nights),
    segments: shareDifference(one.segments, other.segments),
    arrivals: shareDifference(byMonth(one.arrivals), byMonth(other.arrivals)),
    failing: Math.max(...apart(one.failing, other.failing)),
    failingOfAll: Math.abs(one.failingOfAll - other.failingOfAll),
    rates: Math.max(...one.rates.map((rate, month) => Math.abs((other.rates[month] ?? 0) / rate - 1))),
  };
}

/** The greatest difference of two distributions' cumulative shares (Kolmogorov and Smirnov), 0 to 1. */
function greatestDifference(one: readonly number[], other: readonly number[]): number {
  let [at, otherAt, greatest] = [0, 0, 0];
  while (at < one.length && otherAt < other.length) {
    const value = Math.min(one[at] as number, other[otherAt] as number);
    while (at < one.length && one[at] === value) at += 1;
    while (otherAt < other.length && other[otherAt] === value) otherAt += 1;
    greatest = Math.max(greatest, Math.abs(at / one.length - otherAt / other.length));
  }
  return greatest;
}

/** Half the sum of the differences of shares (total variation), 0 to 1. */
function shareDifference(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): number {
  const words = new Set([...Object.keys(one), ...Object.keys(other)]);
  let sum = 0;
  for (const word of words) sum += Math.abs((one[word] ?? 0) - (other[word] ?? 0));
  return sum / 2;
}
