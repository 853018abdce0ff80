import { type RealBooking, readRealBookings } from "../data/real-bookings/real-bookings.ts";

/** A real booking as the workload uses it (README.md beside this file says what of a record is made up from it). */
export interface Booking extends Omit<RealBooking, "isCanceled" | "averageRate"> {
  readonly canceled: boolean;
  /** Average daily rate, net, in euro cents. */
  readonly rateCents: number;
}

/** Every third or so row: enough for a workload's variety, and read in a third of the time. */
const BOOKINGS = 8_000;

/** 8,000 bookings of two hotels, arrivals July 2015 to August 2017: every k-th row, so nothing is left to chance. */
export function readBookings(): Booking[] {
  const rows = readRealBookings();
  return Array.from({ length: BOOKINGS }, (_, at) => {
    const row = rows[Math.floor((at * rows.length) / BOOKINGS)] as RealBooking;
    return { ...row, canceled: row.isCanceled, rateCents: Math.round(Number(row.averageRate) * 100) };
  });
}
