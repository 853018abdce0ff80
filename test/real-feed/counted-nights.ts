import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import type { LifeStep, RealReservation } from "./booking-life.ts";

/** What on the books can be grouped by. */
export const GROUPINGS = ["none", "roomType", "marketSegment", "rateCode", "channel", "group"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/**
 * A night that a reservation counts for at a step of its life. Money is whole millionths of a euro: the rate has two decimals
 * at most, a sharer's part of it two more, and tax another two.
 */
export interface CountedNight {
  /** Days since 1970. */
  readonly day: number;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly net: bigint;
  readonly gross: bigint;
}

/** What a reservation counts for at a step of its life, straight from its row. */
export interface CountedStay {
  readonly reservationId: string;
  /** Null: it has its room to itself. */
  readonly share: number | null;
  readonly groups: Readonly<Record<Grouping, string | null>>;
  readonly nights: readonly CountedNight[];
}

const DAY_MS = 86_400_000;
const MILLIONTHS_A_CENT = 10_000n;

/** `-6.38` as millionths of a euro. */
function millionths(euros: string): bigint {
  const [whole = "", fraction = ""] = euros.replace("-", "").split(".");
  const value = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
  return euros.startsWith("-") ? -value : value;
}

function groupsOf({ booking, part }: RealReservation, step: LifeStep): CountedStay["groups"] {
  const arrived = step.event === "checked-in" || step.event === "checked-out";
  const joins = part === "second";
  return {
    none: null,
    roomType: arrived ? booking.assignedRoomType : booking.reservedRoomType,
    marketSegment: joins ? "Direct" : booking.marketSegment,
    rateCode: `${booking.customerType}-${booking.meal}`,
    channel: joins ? "Direct" : booking.channel,
    group: booking.marketSegment === "Groups" && !joins ? `G${booking.arrivalWeek}` : null,
  };
}

function roomsOf({ row }: RealBooking): number {
  if (row % 389 === 0) return 3;
  return row % 97 === 0 ? 2 : 1;
}

/**
 * What counts of a reservation at a step of its life (README.md has the rules in words): null where it is cancelled or has not
 * come. Written a second time on purpose, with other means than the feed's records.
 */
export function countedStay(reservation: RealReservation, step: LifeStep): CountedStay | null {
  if (step.event === "cancelled" || step.event === "no-show") return null;
  const { booking, part, reservationId } = reservation;
  const { row, nights } = booking;
  const left = step.changesLeft;
  const odd = left === 1 || left === 3;
  let first = Date.parse(booking.arrivalDate) / DAY_MS;
  let end = first + nights;
  if (left > 0 && row % 3 === 0) [first, end] = [first + 1, end + 1];
  if (odd && row % 2 === 0) end += 1;
  if (part === "second" && nights > 2) end -= 1;

  const rooms = roomsOf(booking);
  let adults = booking.adults;
  if (odd && adults >= 2) adults -= 1;
  if (part !== "whole") adults = 1;
  const children = part === "second" ? 0 : booking.children;
  const average = millionths(booking.averageRate) + BigInt(left) * 750n * MILLIONTHS_A_CENT;
  const counted: CountedNight[] = [];
  for (let day = first; day < end; day += 1) {
    let rate = average;
    if (end - first > 1 && day === first) rate += 125n * MILLIONTHS_A_CENT;
    if (end - first > 1 && day === end - 1) rate -= 125n * MILLIONTHS_A_CENT;
    if (part === "first") rate = (rate * 3n) / 5n;
    if (part === "second") rate = (rate * 2n) / 5n;
    const net = rate * BigInt(rooms);
    counted.push({
      day,
      rooms,
      adults: adults * rooms,
      children: children * rooms,
      net,
      gross: net + (net * 6n) / 100n,
    });
  }
  return {
    reservationId,
    share: part === "whole" ? null : row,
    groups: groupsOf(reservation, step),
    nights: counted,
  };
}
