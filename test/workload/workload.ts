import { type Booking, readBookings } from "./bookings.ts";
import { groupCodeOf, groupMessages } from "./group-feed.ts";
import { inventoryMessages } from "./inventory-feed.ts";
import type { Message } from "./message.ts";
import { type PlacedBooking, reservationMessages } from "./reservation-feed.ts";
import { SeededRandom } from "./seeded-random.ts";

export interface WorkloadSize {
  readonly seed: number;
  /** Exactly this many messages. */
  readonly records: number;
  /** Properties that the two hotels' bookings are dealt out to. */
  readonly properties: number;
}

/** About so many messages come of one booking with its share of inventory and groups. */
const MESSAGES_A_BOOKING = 4;
const INVENTORY_SHARE = 0.22;
const MESSAGES_A_DATE = 3.5;

function propertiesOf(
  count: number,
): { hotel: Booking["hotel"]; clientCode: string; propertyCode: string }[] {
  return Array.from({ length: count }, (_, at) =>
    at % 2 === 0
      ? {
          hotel: "Resort Hotel",
          clientCode: "ALGARVE",
          propertyCode: `RESORT${String(at + 1).padStart(2, "0")}`,
        }
      : { hotel: "City Hotel", clientCode: "LISBOA", propertyCode: `CITY${String(at + 1).padStart(2, "0")}` },
  );
}

/** Deals bookings out to properties. A cycle through all of them starts over under new ids, as another year would. */
function placeBookings(size: WorkloadSize, random: SeededRandom): PlacedBooking[] {
  const bookings = random.shuffle(readBookings());
  const properties = propertiesOf(size.properties);
  const wanted = Math.ceil(size.records / MESSAGES_A_BOOKING) + size.properties * 4;
  return Array.from({ length: wanted }, (_, at) => {
    const booking = bookings[at % bookings.length] as Booking;
    const own = properties.filter(({ hotel }) => hotel === booking.hotel);
    const { clientCode, propertyCode } = random.pick(own.length === 0 ? properties : own);
    const groupCode = groupCodeOf(booking.marketSegment, booking.arrivalDate);
    return {
      booking,
      clientCode,
      propertyCode,
      reservationId: `R${String(at + 1).padStart(7, "0")}`,
      groupCode,
    };
  });
}

/**
 * The workload of a seed: exactly `records` messages of all three resources, in the order in which they are first
 * received. The same seed and size give the same bytes.
 */
export function generateWorkload(size: WorkloadSize): Message[] {
  const placed = placeBookings(size, SeededRandom.stream(size.seed, 0));
  const random = SeededRandom.stream(size.seed, 1);
  const messages = placed.flatMap((booking) => reservationMessages(booking, random));
  const datesMax = Math.ceil((size.records * INVENTORY_SHARE) / MESSAGES_A_DATE / size.properties);
  for (const { clientCode, propertyCode } of propertiesOf(size.properties)) {
    const own = placed.filter((booking) => booking.propertyCode === propertyCode);
    messages.push(...inventoryMessages(clientCode, propertyCode, own, datesMax, random));
    messages.push(...groupMessages(clientCode, propertyCode, own, random));
  }
  if (messages.length < size.records) throw new Error(`The workload made only ${messages.length} messages.`);
  // Which are left out is spread over the whole, so that no kind of message is missing from a small workload.
  const kept = SeededRandom.stream(size.seed, 2).shuffle(messages).slice(0, size.records);
  return kept.sort((left, right) => left.sentAtMs - right.sentAtMs);
}
