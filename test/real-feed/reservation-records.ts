import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import { dateOfDay, dayOf, timestampOf } from "../workload/calendar-day.ts";
import { type LifeEvent, type LifeStep, lifeOf, type RealReservation } from "./booking-life.ts";

/** Where each hotel's records say they come from. */
export const PROPERTIES = {
  "Resort Hotel": { clientCode: "ALGARVE", propertyCode: "RESORT" },
  "City Hotel": { clientCode: "LISBOA", propertyCode: "CITY" },
} as const satisfies Record<RealBooking["hotel"], { clientCode: string; propertyCode: string }>;

/** The two hotels' own words for a status, all of the default mapping. */
const STATUS_WORDS: Record<RealBooking["hotel"], Record<LifeEvent, string>> = {
  "Resort Hotel": {
    booked: "RES",
    changed: "RES",
    cancelled: "CXL",
    "no-show": "NO SHOW",
    "checked-in": "ARRIVED",
    "checked-out": "DEPARTED",
  },
  "City Hotel": {
    booked: "CONFIRMED",
    changed: "CONFIRMED",
    cancelled: "Cancelled",
    "no-show": "NO_SHOW",
    "checked-in": "CHECKED_IN",
    "checked-out": "CHECKED_OUT",
  },
};

/** A record of the feed: what is pushed, and when the hotel's system made it. */
export interface FeedRecord {
  readonly resource: "reservations" | "inventories";
  readonly clientCode: string;
  readonly propertyCode: string;
  /** Its source time, in milliseconds since 1970. */
  readonly atMs: number;
  /** reservationId or occupancyDate. */
  readonly key: string;
  readonly json: string;
}

/** `12.3400` of 123,400 units of a scale of 4. */
function decimalText(units: number, scale: number): string {
  const digits = String(Math.abs(units)).padStart(scale + 1, "0");
  return `${units < 0 ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const MORE_A_CHANGE_CENTS = 750;
const FIRST_NIGHT_MORE_CENTS = 125;
const LISTED_MORE_CENTS = 5_000;
/** Of the rate, in per cent: the first of two sharers pays more. */
const PARTS_OF_RATE = { whole: 100, first: 60, second: 40 } as const;
/** With Portugal's tax on accommodation. */
const GROSS_PERCENT = 106;

/** What a reservation says at a step of its life. */
interface Said {
  readonly arrivalDay: number;
  readonly nights: number;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  /** Of each night and room, in hundredths of a cent. */
  readonly nightly: readonly number[];
}

function saidAt({ booking, part }: RealReservation, { changesLeft }: LifeStep): Said {
  const { row } = booking;
  const isOdd = changesLeft % 2 === 1;
  const later = changesLeft > 0 && row % 3 === 0 ? 1 : 0;
  const longer = isOdd && row % 2 === 0 ? 1 : 0;
  const shorter = part === "second" && booking.nights >= 3 ? 1 : 0;
  const nights = booking.nights + longer - shorter;
  const averageCents = Math.round(Number(booking.averageRate) * 100) + changesLeft * MORE_A_CHANGE_CENTS;
  const nightly = Array.from({ length: nights }, (_, night) => {
    let cents = averageCents;
    if (nights > 1 && night === 0) cents += FIRST_NIGHT_MORE_CENTS;
    if (nights > 1 && night === nights - 1) cents -= FIRST_NIGHT_MORE_CENTS;
    return cents * PARTS_OF_RATE[part];
  });
  const fewer = isOdd && booking.adults > 1 ? 1 : 0;
  return {
    arrivalDay: dayOf(booking.arrivalDate) + later,
    nights,
    rooms: row % 389 === 0 ? 3 : row % 97 === 0 ? 2 : 1,
    adults: part === "whole" ? booking.adults - fewer : 1,
    children: part === "second" ? 0 : booking.children,
    nightly,
  };
}

/** The rates over runs of nights that cost the same. Where daily revenue is reported, the rate is the listed one. */
function ratesOf({ arrivalDay, nightly }: Said, hasDaily: boolean): object[] {
  const starts = nightly.flatMap((rate, night) =>
    night === 0 || rate !== nightly[night - 1] ? [night] : [],
  );
  return starts.map((start, at) => {
    const rate = nightly[start] as number;
    return {
      startDate: dateOfDay(arrivalDay + start),
      endDate: dateOfDay(arrivalDay + (starts[at + 1] ?? nightly.length) - 1),
      rateValue: decimalText(rate + (hasDaily ? LISTED_MORE_CENTS * 100 : 0), 4),
      grossRateValue: decimalText(rate * GROSS_PERCENT, 6),
    };
  });
}

function roomStayOf({ booking, part }: RealReservation, { event }: LifeStep, said: Said): object {
  const inRoom = event === "checked-in" || event === "checked-out";
  const isGroup = part !== "second" && booking.marketSegment === "Groups";
  return {
    arrivalDate: dateOfDay(said.arrivalDay),
    departureDate: dateOfDay(said.arrivalDay + said.nights),
    roomTypeCode: inRoom ? booking.assignedRoomType : booking.reservedRoomType,
    bookedRoomTypeCode: booking.reservedRoomType,
    marketSegmentCode: part === "second" ? "Direct" : booking.marketSegment,
    ...(isGroup ? { groupBlockCode: `G${booking.arrivalWeek}` } : {}),
    // The specification has seen both spellings of a quantity.
    numberOfAdults: said.adults % 2 === 0 ? said.adults : String(said.adults),
    numberOfChildren: said.children,
    numberOfInfants: booking.babies,
    currencyCode: "EUR",
    rateCode: `${booking.customerType}-${booking.meal}`,
    rates: ratesOf(said, booking.row % 2 === 1),
  };
}

/** The record that states a step of a reservation's life. */
function recordOf(reservation: RealReservation, step: LifeStep, bookedAtMs: number): FeedRecord {
  const { booking, part, reservationId } = reservation;
  const said = saidAt(reservation, step);
  const { clientCode, propertyCode } = PROPERTIES[booking.hotel];
  const daily = said.nightly.map((rate, night) => ({
    occupancyDate: dateOfDay(said.arrivalDay + night),
    netRoomRevenue: decimalText(rate * said.rooms, 4),
  }));
  const record = {
    clientCode,
    propertyCode,
    lastModifiedDateTime: timestampOf(step.atMs),
    reservationId,
    status: STATUS_WORDS[booking.hotel][step.event],
    bookingDateTime: timestampOf(bookedAtMs),
    // Rooms that are not reported are one.
    ...(said.rooms === 1 && booking.row % 4 === 3 ? {} : { numberOfRooms: said.rooms }),
    ...(part === "whole" ? {} : { shareId: `S${booking.row}` }),
    cancellationDateTime: step.event === "cancelled" ? timestampOf(step.atMs) : null,
    channel: part === "second" ? "Direct" : booking.channel,
    ...(booking.country === "" ? {} : { nationality: booking.country }),
    roomStays: [roomStayOf(reservation, step, said)],
    ...(booking.row % 2 === 1 ? { stayRevenue: { daily } } : {}),
  };
  const json = JSON.stringify(record);
  return { resource: "reservations", clientCode, propertyCode, atMs: step.atMs, key: reservationId, json };
}

/** All records of a reservation, in the order of its life. */
export function reservationRecords(reservation: RealReservation): FeedRecord[] {
  const steps = lifeOf(reservation);
  const bookedAtMs = steps[0]?.atMs ?? 0;
  return steps.map((step) => recordOf(reservation, step, bookedAtMs));
}
