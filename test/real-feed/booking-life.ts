import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import { dayOf, instantOf } from "../workload/calendar-day.ts";

/**
 * The rules of who books, and on which days what happens to a booking (README.md). The only rules that the feed and the
 * independent computation share: what a reservation says on these days, each of them works out for itself.
 */

/** What happens to a reservation. */
export type LifeEvent = "booked" | "changed" | "cancelled" | "no-show" | "checked-in" | "checked-out";

/** One step of a reservation's life. */
export interface LifeStep {
  readonly event: LifeEvent;
  /** When it happens, in milliseconds since 1970; every step of one life has another instant. */
  readonly atMs: number;
  /** How many changes are still to come: the row says what the last one left. */
  readonly changesLeft: number;
}

/** A reservation that a row stands for: of the whole room, or of the first or the second of two who share it. */
export interface RealReservation {
  readonly booking: RealBooking;
  readonly part: "whole" | "first" | "second";
  readonly reservationId: string;
}

const CHANGES_MAX = 3;
const HOUR_SECONDS = 3_600;
/** Hours of the day (UTC) at which things happen, each spread over the two hours that follow. */
const HOUR_OF = { booked: 6, changed: 9, cancelled: 12, "checked-in": 15, "no-show": 21 } as const;
const CHECK_OUT_HOUR = 8;
/** A guest of the day leaves after arriving. */
const DAY_USE_CHECK_OUT_HOUR = 18;
const CHANGE_APART_SECONDS = 600;

/** Every 25th booking of two adults for two nights or more that was not cancelled is shared by two reservations. */
function isShared({ row, isCanceled, adults, nights }: RealBooking): boolean {
  return row % 25 === 0 && !isCanceled && adults === 2 && nights >= 2;
}

/** The reservations of a booking: one, or the two who share its room. */
export function reservationsOf(booking: RealBooking): RealReservation[] {
  const reservationId = `R${String(booking.row).padStart(5, "0")}`;
  if (!isShared(booking)) return [{ booking, part: "whole", reservationId }];
  return [
    { booking, part: "first", reservationId },
    { booking, part: "second", reservationId: `${reservationId}-S` },
  ];
}

/** How it ends, and on which day. */
function endOf({ booking, part }: RealReservation): { event: LifeEvent; day: number } {
  const { row, isCanceled, leadDays } = booking;
  const arrival = dayOf(booking.arrivalDate);
  // Of every second pair of sharers the first one cancels the day before, and the room is the second one's.
  if (part === "first" && row % 50 === 0) return { event: "cancelled", day: arrival - Math.min(1, leadDays) };
  if (!isCanceled) return { event: "checked-in", day: arrival };
  if (row % 30 === 0) return { event: "no-show", day: arrival };
  return { event: "cancelled", day: arrival - leadDays + Math.floor((leadDays * ((row * 7) % 11)) / 10) };
}

/**
 * The steps of a reservation's life, in their order: booked `leadDays` before arrival; changed as often as the row says (three
 * times at most), evenly between booking and end; cancelled, or not come, or checked in at arrival and out at departure.
 */
export function lifeOf(reservation: RealReservation): LifeStep[] {
  const { booking, part } = reservation;
  const arrival = dayOf(booking.arrivalDate);
  const bookedDay = arrival - booking.leadDays;
  const second = booking.row % (2 * HOUR_SECONDS);
  const at = (day: number, hour: number, later = 0) => instantOf(day, hour * HOUR_SECONDS + second + later);
  const end = endOf(reservation);
  const changes = part === "whole" ? Math.min(CHANGES_MAX, booking.changes) : 0;
  const steps: LifeStep[] = [{ event: "booked", atMs: at(bookedDay, HOUR_OF.booked), changesLeft: changes }];
  for (let change = 1; change <= changes; change += 1) {
    const day = bookedDay + Math.floor(((end.day - bookedDay) * change) / (changes + 1));
    const atMs = at(day, HOUR_OF.changed, change * CHANGE_APART_SECONDS - 2 * CHANGE_APART_SECONDS);
    steps.push({ event: "changed", atMs, changesLeft: changes - change });
  }
  const hour = HOUR_OF[end.event as "cancelled" | "no-show" | "checked-in"];
  steps.push({ event: end.event, atMs: at(end.day, hour), changesLeft: 0 });
  if (end.event === "checked-in") {
    const leaves = booking.nights === 0 ? DAY_USE_CHECK_OUT_HOUR : CHECK_OUT_HOUR;
    steps.push({ event: "checked-out", atMs: at(arrival + booking.nights, leaves), changesLeft: 0 });
  }
  return steps;
}
