import { dayOfText } from "./day-number.ts";
import { DecimalSum, decimalText } from "./decimal.ts";
import { RESERVATION_NIGHTS_MAX, STAY_NIGHTS_MAX } from "./insight-bounds.ts";
import type { DailyRevenue, Reservation, RoomStay } from "./schema/reservation.ts";
import { warnOfNegative } from "./warn-of-negative.ts";
import type { WarningList } from "./warning.ts";

/**
 * The dates of all stays of a reservation, days of departure included. Overlapping stays are merged once, so that a
 * hostile record of many stays and many days costs n log n to check and not n squared.
 */
export class StayDates {
  readonly #arrivals: string[] = [];
  readonly #departures: string[] = [];

  constructor(stays: readonly { readonly arrivalDate: string; readonly departureDate: string }[]) {
    const byArrival =
      stays.length < 2 ? stays : [...stays].sort((a, b) => (a.arrivalDate < b.arrivalDate ? -1 : 1));
    for (const { arrivalDate, departureDate } of byArrival) {
      const last = this.#departures.length - 1;
      const reached = this.#departures[last];
      if (reached === undefined || arrivalDate > reached) {
        this.#arrivals.push(arrivalDate);
        this.#departures.push(departureDate);
      } else if (departureDate > reached) {
        this.#departures[last] = departureDate;
      }
    }
  }

  /** Whether a date (`YYYY-MM-DD`) lies within any stay. */
  has(date: string): boolean {
    let low = 0;
    let high = this.#arrivals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#arrivals[middle] as string) <= date) low = middle + 1;
      else high = middle;
    }
    const departure = this.#departures[low - 1];
    return departure !== undefined && date <= departure;
  }
}

const NET_PARTS = ["netRoomRevenue", "netFoodRevenue", "netBeverageRevenue", "netOtherRevenue"] as const;
const STAY_COUNTS = ["numberOfAdults", "numberOfChildren", "numberOfInfants"] as const;

/** Warns of what is doubtful in a reservation: revenue that does not add up, dates outside the stay, negative counts. */
export function warnOfReservation(record: Reservation, warnings: WarningList): void {
  warnOfNights(record, warnings);
  warnOfNegative(record, ["numberOfRooms"], [], warnings);
  for (let at = 0; at < record.roomStays.length; at += 1) {
    warnOfStay(record.roomStays[at] as RoomStay, ["roomStays", at], warnings);
  }
  const days = record.stayRevenue?.daily ?? [];
  const dates = new StayDates(record.roomStays);
  for (let at = 0; at < days.length; at += 1) {
    warnOfDay(days[at] as DailyRevenue, dates, ["stayRevenue", "daily", at], warnings);
  }
  warnOfSummary(record, "netTotalTicketRevenue", "netTicketPrice", warnings);
  warnOfSummary(record, "totalTicketRevenue", "ticketPrice", warnings);
}

/** Nights of a room stay; day use has none. */
function nightsOf({ arrivalDate, departureDate }: RoomStay): number {
  return Math.max(0, dayOfText(departureDate) - dayOfText(arrivalDate));
}

function warnOfNights({ roomStays }: Reservation, warnings: WarningList): void {
  const nights = roomStays.map(nightsOf);
  const all = nights.reduce((sum, ofStay) => sum + ofStay, 0);
  const longest = nights.findIndex((ofStay) => ofStay > STAY_NIGHTS_MAX);
  if (longest !== -1) {
    const message = `the stay has ${nights[longest]} nights, and insight counts stays of up to ${STAY_NIGHTS_MAX}: it leaves the reservation out`;
    warnings.add("reservation.too-many-nights", ["roomStays", longest, "departureDate"], message);
  } else if (all > RESERVATION_NIGHTS_MAX) {
    const message = `the room stays have ${all} nights together, and insight counts up to ${RESERVATION_NIGHTS_MAX}: it leaves the reservation out`;
    warnings.add("reservation.too-many-nights", ["roomStays"], message);
  }
}

/** Rates and services belong to their own stay; its day of departure counts as within it (a service may be taken then). */
function warnOfStay(stay: RoomStay, path: readonly (string | number)[], warnings: WarningList): void {
  warnOfNegative(stay, STAY_COUNTS, path, warnings);
  const buckets = stay.childAgeBuckets ?? [];
  for (const [at, bucket] of buckets.entries()) {
    warnOfNegative(bucket, ["numberOfChildren"], [...path, "childAgeBuckets", at], warnings);
  }
  for (const field of ["rates", "services"] as const) {
    const periods = stay[field] ?? [];
    for (let at = 0; at < periods.length; at += 1) {
      const { startDate, endDate } = periods[at] as { startDate?: string; endDate?: string };
      for (const [name, date] of [["startDate", startDate] as const, ["endDate", endDate] as const]) {
        if (date === undefined || isWithin(date, stay)) continue;
        const message = `${date} is outside ${stay.arrivalDate} to ${stay.departureDate}`;
        warnings.add("reservation.outside-stay", [...path, field, at, name], message);
      }
    }
  }
}

function isWithin(date: string, stay: RoomStay): boolean {
  return date >= stay.arrivalDate && date <= stay.departureDate;
}

function warnOfDay(
  day: DailyRevenue,
  dates: StayDates,
  path: readonly (string | number)[],
  warnings: WarningList,
): void {
  if (!dates.has(day.occupancyDate)) {
    const message = `${day.occupancyDate} is outside every room stay`;
    warnings.add("reservation.outside-stay", [...path, "occupancyDate"], message);
  }
  if (day.netTotalRevenue === undefined) return;
  const sum = new DecimalSum();
  let parts = 0;
  for (const name of NET_PARTS) {
    const part = day[name];
    if (part === undefined) continue;
    sum.add(decimalText(part));
    parts += 1;
  }
  if (parts > 0 && !sum.equals(decimalText(day.netTotalRevenue))) {
    const message = "netTotalRevenue is not the sum of the day's net room, food, beverage and other revenue";
    warnings.add("reservation.revenue-total", [...path, "netTotalRevenue"], message);
  }
}

/** A total of the summary can be compared only when every day names the price that it sums up. */
function warnOfSummary(
  record: Reservation,
  total: "netTotalTicketRevenue" | "totalTicketRevenue",
  price: "netTicketPrice" | "ticketPrice",
  warnings: WarningList,
): void {
  const claimed = record.stayRevenue?.summary?.[total];
  const days = record.stayRevenue?.daily ?? [];
  if (claimed === undefined || days.length === 0) return;
  const sum = new DecimalSum();
  for (const day of days) {
    const value = day[price];
    if (value === undefined) return;
    sum.add(decimalText(value));
  }
  if (sum.equals(decimalText(claimed))) return;
  const message = `${total} is not the sum of the days' ${price}`;
  warnings.add("reservation.revenue-summary", ["stayRevenue", "summary", total], message);
}
