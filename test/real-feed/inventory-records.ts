import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import { dateOfDay, dayOf, instantOf, timestampOf } from "../workload/calendar-day.ts";
import type { ExpectedBooks } from "./expected-books.ts";
import { type FeedRecord, PROPERTIES } from "./reservation-records.ts";

/**
 * Days before a night at which the hotel counts it; the last look is the morning after, when nothing changes any more but that
 * guests leave.
 */
const LOOKS_AHEAD_DAYS = [28, 7, -1];
const LOOK_SECOND = 4 * 3_600;
/** Rooms of a type, by the fullest night of it: a tenth more than were ever sold. */
const CAPACITY_OF_FULLEST = 1.1;

interface Counts {
  /** The first and the last night of any stay, in days since 1970. */
  readonly first: number;
  readonly last: number;
  /** By room type. */
  readonly capacity: ReadonlyMap<string, number>;
}

function countsOf(bookings: readonly RealBooking[], books: ExpectedBooks): Counts {
  const arrivals = bookings.map(({ arrivalDate }) => dayOf(arrivalDate));
  const first = Math.min(...arrivals);
  const last = Math.max(...bookings.map(({ nights }, at) => (arrivals[at] as number) + nights));
  const roomTypes = bookings.flatMap(({ reservedRoomType, assignedRoomType }) => [
    reservedRoomType,
    assignedRoomType,
  ]);
  const fullest = new Map(roomTypes.sort().map((roomType) => [roomType, 1]));
  for (const groups of books.onTheBooks({ from: first, to: last, by: "roomType" }).values())
    for (const [roomType, { rooms }] of groups)
      if (roomType !== null) fullest.set(roomType, Math.max(fullest.get(roomType) ?? 1, rooms));
  const capacity = [...fullest].map(
    ([roomType, rooms]) => [roomType, Math.ceil(rooms * CAPACITY_OF_FULLEST)] as const,
  );
  return { first, last, capacity: new Map(capacity) };
}

/**
 * The nightly inventory of one hotel, counted from the same bookings: rooms sold by room type as they stand in the morning of
 * each look. Capacity is made up: the bookings do not tell it.
 */
export function inventoryRecords(
  bookings: readonly RealBooking[],
  hotel: RealBooking["hotel"],
  books: ExpectedBooks,
): FeedRecord[] {
  const own = bookings.filter((booking) => booking.hotel === hotel);
  if (own.length === 0) return [];
  const { clientCode, propertyCode } = PROPERTIES[hotel];
  const { first, last, capacity } = countsOf(own, books);
  const records: FeedRecord[] = [];
  for (let day = first; day <= last; day += 1) {
    for (const ahead of LOOKS_AHEAD_DAYS) {
      const atMs = instantOf(day - ahead, LOOK_SECOND);
      const sold = books.onTheBooks({ from: day, to: day, by: "roomType", atMs }).get(day);
      const roomTypeInventories = [...capacity].map(([roomTypeCode, roomTypeCapacity]) => ({
        roomTypeCode,
        roomTypeCapacity,
        roomsNotAvailableMaintenance: 0,
        roomsNotAvailableOther: 0,
        roomsSold: sold?.get(roomTypeCode)?.rooms ?? 0,
      }));
      const occupancyDate = dateOfDay(day);
      const createDateTime = timestampOf(atMs);
      const record = { clientCode, propertyCode, createDateTime, occupancyDate, roomTypeInventories };
      const json = JSON.stringify(record);
      records.push({ resource: "inventories", clientCode, propertyCode, atMs, key: occupancyDate, json });
    }
  }
  return records;
}
