import {
  GROUP_BLOCKS_MAX,
  RESERVATION_NIGHTS_MAX,
  ROOM_TYPES_MAX,
  STAY_NIGHTS_MAX,
} from "./insight-bounds.ts";
import { type NotedKind, PERIOD_SLOTS, SLOT, SLOTS } from "./noted-fields.ts";

// Compiled code knows what a module's own constants are, and has to look at those of others each time.
const {
  first,
  last,
  days,
  stayNights,
  dayFirst,
  dayLast,
  netTickets,
  tickets,
  netTotalTicketRevenue,
  totalTicketRevenue,
  arrivalDate,
  departureDate,
  periodFirst,
  periodLast,
  startDate,
  endDate,
  blocks,
  pickup,
  occupancyDate,
  netRoomRevenue,
  netOtherRevenue,
  netTicketPrice,
  ticketPrice,
  netTotalRevenue,
  roomTypeCapacity,
  roomsNotAvailableMaintenance,
  roomsNotAvailableOther,
  roomsSold,
  transientSold,
  groupSold,
} = SLOT;

/** What was noted of the record that is walked, and of the object of each kind that is; NaN where nothing was. */
export const noted = new Float64Array(SLOTS + PERIOD_SLOTS);

/** A decimal that is too long to be added up here: as no sum is infinite, it equals none. */
export const TOO_LONG = Number.POSITIVE_INFINITY;
/** Money below this, in ten-thousandths, of as many days as this, adds up to what a double holds exactly. */
export const UNITS_MAX = 1e12;
const DAYS_MAX = 9_000;

/** Empties the slots from one to another, both included. */
export function forgetSlots(first: number, last: number): void {
  for (let slot = first; slot <= last; slot += 1) noted[slot] = Number.NaN;
}

/** Empties what was noted of the last record. */
export function forgetRecord(): void {
  forgetSlots(first, totalTicketRevenue);
  noted[days] = 0;
  noted[stayNights] = 0;
  noted[netTickets] = 0;
  noted[tickets] = 0;
}

function at(slot: number): number {
  return noted[slot] as number;
}

/** What an absent count counts as. */
function countAt(slot: number): number {
  const count = at(slot);
  return Number.isNaN(count) ? 0 : count;
}

/** Makes a range of dates hold one more; NaN is none. */
function widen(first: number, last: number, date: number): void {
  if (date < at(first) || Number.isNaN(at(first))) noted[first] = date;
  if (date > at(last) || Number.isNaN(at(last))) noted[last] = date;
}

/**
 * Whether there is surely nothing to warn of in an object that has been walked over, of what `warn-of-…` look at. What there
 * is is said by those. Also takes up into the noted of the object around it what that is judged by.
 */
export function isWarningFree(kind: NotedKind): boolean {
  switch (kind) {
    case "room":
      return isRoomWarningFree();
    case "period":
      widen(periodFirst, periodLast, at(startDate));
      widen(periodFirst, periodLast, at(endDate));
      return true;
    case "stay":
      widen(first, last, at(arrivalDate));
      widen(first, last, at(departureDate));
      return isStayWarningFree();
    case "day":
      return isDayWarningFree();
    case "reservation":
      return isReservationWarningFree();
    case "block":
      noted[days] = at(days) + 1;
      widen(dayFirst, dayLast, at(occupancyDate));
      return !(at(pickup) > countAt(blocks));
    case "group":
      return !(at(dayFirst) < at(startDate) || at(dayLast) > at(endDate) || at(days) > GROUP_BLOCKS_MAX);
    case "inventory":
      return at(days) <= ROOM_TYPES_MAX;
    case "other":
      return true;
  }
}

/** The place of a date, as YYYYMMDD, in a calendar whose months all have 31 days: two are never less apart than in days. */
function placeOf(date: number): number {
  return Math.floor(date / 10_000) * 372 + (Math.floor(date / 100) % 100) * 31 + (date % 100);
}

function isStayWarningFree(): boolean {
  const nights = placeOf(at(departureDate)) - placeOf(at(arrivalDate));
  noted[stayNights] = at(stayNights) + Math.max(0, nights);
  // Days of several stays are looked at again when all are known.
  return (
    nights <= STAY_NIGHTS_MAX && !(at(periodFirst) < at(arrivalDate) || at(periodLast) > at(departureDate))
  );
}

function isRoomWarningFree(): boolean {
  noted[days] = at(days) + 1;
  const sold = countAt(roomsSold);
  const unavailable = countAt(roomsNotAvailableMaintenance) + countAt(roomsNotAvailableOther);
  if (sold > countAt(roomTypeCapacity) - unavailable) return false;
  const split = at(transientSold) + at(groupSold);
  return Number.isNaN(split) || split === sold;
}

function isDayWarningFree(): boolean {
  widen(dayFirst, dayLast, at(occupancyDate));
  noted[days] = at(days) + 1;
  // A day without a price makes the sum NaN: then nothing is compared with it.
  noted[netTickets] = at(netTickets) + at(netTicketPrice);
  noted[tickets] = at(tickets) + at(ticketPrice);
  const total = at(netTotalRevenue);
  if (Number.isNaN(total)) return true;
  let sum = 0;
  let parts = 0;
  for (let slot: number = netRoomRevenue; slot <= netOtherRevenue; slot += 1) {
    const part = at(slot);
    if (Number.isNaN(part)) continue;
    sum += part;
    parts += 1;
  }
  return parts === 0 || isSum(sum, total);
}

function isReservationWarningFree(): boolean {
  if (at(stayNights) > RESERVATION_NIGHTS_MAX) return false;
  if (at(dayFirst) < at(first) || at(dayLast) > at(last)) return false;
  const dayCount = at(days);
  if (dayCount === 0) return true;
  return (
    dayCount <= DAYS_MAX &&
    isSummary(at(netTickets), at(netTotalTicketRevenue)) &&
    isSummary(at(tickets), at(totalTicketRevenue))
  );
}

function isSummary(sum: number, claimed: number): boolean {
  return Number.isNaN(claimed) || Number.isNaN(sum) || isSum(sum, claimed);
}

function isSum(sum: number, total: number): boolean {
  return total !== TOO_LONG && sum === total;
}
