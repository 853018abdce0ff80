import { writeFile } from "node:fs/promises";
import { type RealBooking, readRealBookings } from "../data/real-bookings/real-bookings.ts";

const DAY_MS = 86_400_000;

/** `2016-07-02T12:00:00Z`: the data set states days only. */
const noonOf = (date: string, daysLater: number): string =>
  `${new Date(Date.parse(date) + daysLater * DAY_MS).toISOString().slice(0, 10)}T12:00:00Z`;

const dayAfter = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);

/** One booking as its row states it, as it stood when the guest came, left out or cancelled: one reservation. */
function reservationOf(booking: RealBooking, clientCode: string): object {
  const { row, arrivalDate, nights, isCanceled, leadDays, averageRate } = booking;
  const departureDate = dayAfter(arrivalDate, nights);
  const lastRateDate = dayAfter(arrivalDate, Math.max(0, nights - 1));
  return {
    clientCode,
    propertyCode: booking.hotel === "City Hotel" ? "CITY" : "RESORT",
    lastModifiedDateTime: noonOf(arrivalDate, 0),
    reservationId: `B${row}`,
    status: isCanceled ? "CANCELLED" : "CHECKED_OUT",
    bookingDateTime: noonOf(arrivalDate, -leadDays),
    numberOfRooms: 1,
    channel: booking.channel,
    nationality: booking.country,
    roomStays: [
      {
        arrivalDate,
        departureDate,
        roomTypeCode: booking.assignedRoomType,
        bookedRoomTypeCode: booking.reservedRoomType,
        marketSegmentCode: booking.marketSegment,
        numberOfAdults: booking.adults,
        numberOfChildren: booking.children,
        currencyCode: "EUR",
        rates: [{ startDate: arrivalDate, endDate: lastRateDate, rateValue: averageRate }],
      },
    ],
  };
}

/** Writes the first `count` of the 25,000 real bookings as NDJSON, and answers how many there are. */
export async function writeRealBookings(path: string, clientCode: string, count = 25_000): Promise<number> {
  const bookings = readRealBookings().slice(0, count);
  const lines = bookings.map((booking) => `${JSON.stringify(reservationOf(booking, clientCode))}\n`);
  await writeFile(path, lines.join(""));
  return bookings.length;
}
