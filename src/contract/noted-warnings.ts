import { type NotedKind, SLOT } from "./noted-fields.ts";

/** What was noted of the record that is walked, and of the object of each kind that is; NaN where nothing was. */
export const noted = new Float64Array(Object.keys(SLOT).length);

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
  forgetSlots(SLOT.first, SLOT.totalTicketRevenue);
  noted[SLOT.days] = 0;
  noted[SLOT.netTickets] = 0;
  noted[SLOT.tickets] = 0;
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
export function isQuiet(kind: NotedKind): boolean {
  switch (kind) {
    case "room":
      return isRoomQuiet();
    case "period":
      widen(SLOT.periodFirst, SLOT.periodLast, at(SLOT.startDate));
      widen(SLOT.periodFirst, SLOT.periodLast, at(SLOT.endDate));
      return true;
    case "stay":
      widen(SLOT.first, SLOT.last, at(SLOT.arrivalDate));
      widen(SLOT.first, SLOT.last, at(SLOT.departureDate));
      // Days of several stays are looked at again when all are known.
      return !(at(SLOT.periodFirst) < at(SLOT.arrivalDate) || at(SLOT.periodLast) > at(SLOT.departureDate));
    case "day":
      return isDayQuiet();
    case "reservation":
      return isReservationQuiet();
    case "block":
      widen(SLOT.dayFirst, SLOT.dayLast, at(SLOT.occupancyDate));
      return !(at(SLOT.pickup) > countAt(SLOT.blocks));
    case "group":
      return !(at(SLOT.dayFirst) < at(SLOT.startDate) || at(SLOT.dayLast) > at(SLOT.endDate));
    case "inventory":
    case "other":
      return true;
  }
}

function isRoomQuiet(): boolean {
  const sold = countAt(SLOT.roomsSold);
  const unavailable = countAt(SLOT.roomsNotAvailableMaintenance) + countAt(SLOT.roomsNotAvailableOther);
  if (sold > countAt(SLOT.roomTypeCapacity) - unavailable) return false;
  const split = at(SLOT.transientSold) + at(SLOT.groupSold);
  return Number.isNaN(split) || split === sold;
}

function isDayQuiet(): boolean {
  widen(SLOT.dayFirst, SLOT.dayLast, at(SLOT.occupancyDate));
  noted[SLOT.days] = at(SLOT.days) + 1;
  // A day without a price makes the sum NaN: then nothing is compared with it.
  noted[SLOT.netTickets] = at(SLOT.netTickets) + at(SLOT.netTicketPrice);
  noted[SLOT.tickets] = at(SLOT.tickets) + at(SLOT.ticketPrice);
  const total = at(SLOT.netTotalRevenue);
  if (Number.isNaN(total)) return true;
  let sum = 0;
  let parts = 0;
  for (let slot: number = SLOT.netRoomRevenue; slot <= SLOT.netOtherRevenue; slot += 1) {
    const part = at(slot);
    if (Number.isNaN(part)) continue;
    sum += part;
    parts += 1;
  }
  return parts === 0 || isSum(sum, total);
}

function isReservationQuiet(): boolean {
  if (at(SLOT.dayFirst) < at(SLOT.first) || at(SLOT.dayLast) > at(SLOT.last)) return false;
  const days = at(SLOT.days);
  if (days === 0) return true;
  return (
    days <= DAYS_MAX &&
    isSummary(at(SLOT.netTickets), at(SLOT.netTotalTicketRevenue)) &&
    isSummary(at(SLOT.tickets), at(SLOT.totalTicketRevenue))
  );
}

function isSummary(sum: number, claimed: number): boolean {
  return Number.isNaN(claimed) || Number.isNaN(sum) || isSum(sum, claimed);
}

function isSum(sum: number, total: number): boolean {
  return total !== TOO_LONG && sum === total;
}
