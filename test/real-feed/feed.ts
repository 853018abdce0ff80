import { type RealBooking, readRealBookings } from "../data/real-bookings/real-bookings.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { reservationsOf } from "./booking-life.ts";
import { ExpectedBooks } from "./expected-books.ts";
import { inventoryRecords } from "./inventory-records.ts";
import { type FeedRecord, reservationRecords } from "./reservation-records.ts";

/** Records of one resource that are pushed as one request. */
export interface FeedBatch {
  readonly resource: FeedRecord["resource"];
  readonly records: readonly FeedRecord[];
}

export const HOTELS: readonly RealBooking["hotel"][] = ["Resort Hotel", "City Hotel"];

/** Has no divisor in common with the number of rows: its multiples meet each row once, whatever a rule counts rows by. */
const STRIDE = 7_919;

/** So many of the bookings, spread over the rows (and so over hotels, seasons and rules); all of them by default. */
export function chooseBookings(count?: number): RealBooking[] {
  const all = readRealBookings();
  return all.filter(({ row }) => (row * STRIDE) % all.length < (count ?? all.length));
}

/** All records of the bookings, and of the nightly inventory of both hotels, in the order of their source times. */
export function feedOf(bookings: readonly RealBooking[]): FeedRecord[] {
  const records = bookings.flatMap(reservationsOf).flatMap(reservationRecords);
  for (const hotel of HOTELS) {
    for (const record of inventoryRecords(bookings, hotel, new ExpectedBooks(bookings, hotel)))
      records.push(record);
  }
  return records.sort((left, right) => left.atMs - right.atMs || (left.key < right.key ? -1 : 1));
}

/** Cuts records, in their order, into batches of one resource each, of `sizeOf()` records. */
function cut(records: readonly FeedRecord[], sizeOf: () => number): FeedBatch[] {
  const batches: FeedBatch[] = [];
  const open = new Map<FeedRecord["resource"], { records: FeedRecord[]; size: number }>();
  for (const record of records) {
    const { resource } = record;
    const current = open.get(resource) ?? { records: [], size: sizeOf() };
    open.set(resource, current);
    current.records.push(record);
    if (current.records.length < current.size) continue;
    batches.push({ resource, records: current.records });
    open.delete(resource);
  }
  return [...batches, ...[...open].map(([resource, { records: left }]) => ({ resource, records: left }))];
}

/** As the hotels' systems send it: day after day. */
export function batchesInTime(records: readonly FeedRecord[], size: number): FeedBatch[] {
  return cut(records, () => size);
}

/** The same records in any other order, cut into batches of 1 to twice the size: the same ones for the same seed. */
export function batchesInAnyOrder(records: readonly FeedRecord[], size: number, seed: number): FeedBatch[] {
  const random = SeededRandom.stream(seed, 0);
  return cut(random.shuffle([...records]), () => random.between(1, 2 * size));
}
