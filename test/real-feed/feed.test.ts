import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import type { Reservation } from "#contract/schema/record-schemas.ts";
import { knownStatus } from "#contract/statuses.ts";
import { dayOf } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { lifeOf, reservationsOf } from "./booking-life.ts";
import { GROUPINGS, type Grouping } from "./counted-nights.ts";
import { type Books, type BooksByNight, ExpectedBooks } from "./expected-books.ts";
import { batchesInAnyOrder, batchesInTime, chooseBookings, feedOf, HOTELS } from "./feed.ts";
import { type FeedRecord, PROPERTIES } from "./reservation-records.ts";

const bookings = chooseBookings(1_500);
const feed = feedOf(bookings);
const reservations = feed.filter(({ resource }) => resource === "reservations");

test("every record of the feed is one that the contract accepts", () => {
  for (const resource of ["reservations", "inventories"] as const) {
    const texts = feed.filter((record) => record.resource === resource).map(({ json }) => json);
    const body = Buffer.from(`[${texts.join(",")}]`);
    const batch = readBatch(body, { recordsMax: 10_000, depthMax: 16 });
    assert.ok(batch.ok);
    for (const record of batch.records)
      assert.deepEqual(checkRecord(resource, record, 10).violations, [], texts[record.index]);
  }
});

test("the feed is the same each time, and holds the same records in any order", () => {
  assert.deepEqual(feedOf(bookings), feed);
  const texts = (batches: ReturnType<typeof batchesInTime>) =>
    batches.flatMap(({ records }) => records.map(({ json }) => json));
  const inTime = texts(batchesInTime(feed, 100));
  const shuffled = texts(batchesInAnyOrder(feed, 100, 7));
  assert.notDeepEqual(shuffled, inTime);
  assert.deepEqual(shuffled.toSorted(), inTime.toSorted());
  assert.deepEqual(texts(batchesInAnyOrder(feed, 100, 7)), shuffled);
  assert.notDeepEqual(texts(batchesInAnyOrder(feed, 100, 8)), shuffled);
});

test("no two steps of a life have the same instant, and each is later than the one before", () => {
  for (const reservation of chooseBookings().flatMap(reservationsOf)) {
    const instants = lifeOf(reservation).map(({ atMs }) => atMs);
    for (const [at, instant] of instants.entries())
      assert.ok(at === 0 || instant > (instants[at - 1] as number), reservation.reservationId);
  }
});

test("the feed has everything that happens to a booking", () => {
  const events = bookings
    .flatMap(reservationsOf)
    .flatMap(lifeOf)
    .map(({ event }) => event);
  for (const event of ["booked", "changed", "cancelled", "no-show", "checked-in", "checked-out"] as const)
    assert.ok(events.filter((one) => one === event).length >= 10, event);
  assert.ok(reservations.filter(({ json }) => json.includes('"shareId"')).length >= 50);
  assert.ok(reservations.filter(({ json }) => json.includes('"numberOfRooms":2')).length >= 10);
  assert.ok(reservations.filter(({ json }) => json.includes('"groupBlockCode"')).length >= 100);
});

/** Millionths of a plain decimal text. */
function millionths(text: string): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(`${whole}${fraction.padEnd(6, "0")}`);
}

/** What the records say, read one by one as the contract says: the newest of each key, the sharers of a night as one room. */
function booksByRecords(records: readonly FeedRecord[], atMs: number, by: Grouping): BooksByNight {
  const newest = new Map<string, FeedRecord>();
  for (const record of records) {
    const before = newest.get(record.key);
    if (record.atMs <= atMs && (before === undefined || record.atMs >= before.atMs))
      newest.set(record.key, record);
  }
  const nights = new Map<number, Map<string | null, Books>>();
  const taken = new Set<string>();
  for (const [key, { json }] of [...newest].sort(([left], [right]) => (left < right ? -1 : 1))) {
    const reservation = JSON.parse(json) as Reservation;
    if (knownStatus("reservations", reservation.status)?.deducts !== true) continue;
    const [stay] = reservation.roomStays;
    assert.ok(stay !== undefined);
    const rooms = Number(reservation.numberOfRooms ?? 1);
    const group = {
      none: null,
      roomType: stay.roomTypeCode,
      marketSegment: stay.marketSegmentCode ?? null,
      rateCode: stay.rateCode ?? null,
      channel: reservation.channel ?? null,
      group: stay.groupBlockCode ?? null,
    }[by];
    for (let day = dayOf(stay.arrivalDate); day < dayOf(stay.departureDate); day += 1) {
      const rate = stay.rates?.find(
        ({ startDate, endDate }) => dayOf(startDate ?? "") <= day && day <= dayOf(endDate ?? ""),
      );
      const reported = reservation.stayRevenue?.daily?.find(
        ({ occupancyDate }) => dayOf(occupancyDate) === day,
      );
      const share = reservation.shareId === undefined ? key : `${reservation.shareId}`;
      const holds = !taken.has(`${share} ${day}`);
      taken.add(`${share} ${day}`);
      const groups = nights.get(day) ?? new Map<string | null, Books>();
      nights.set(day, groups);
      const had = groups.get(group) ?? { rooms: 0, adults: 0, children: 0, net: 0n, gross: 0n };
      const net =
        reported === undefined
          ? millionths(String(rate?.rateValue)) * BigInt(rooms)
          : millionths(String(reported.netRoomRevenue));
      groups.set(group, {
        rooms: had.rooms + (holds ? rooms : 0),
        adults: had.adults + Number(stay.numberOfAdults) * rooms,
        children: had.children + Number(stay.numberOfChildren) * rooms,
        net: had.net + net,
        gross: had.gross + millionths(String(rate?.grossRateValue)) * BigInt(rooms),
      });
    }
  }
  return nights;
}

test("what the records say at an instant is what the rows say", () => {
  const random = new SeededRandom(11);
  for (const hotel of HOTELS) {
    const books = new ExpectedBooks(bookings, hotel);
    const { propertyCode } = PROPERTIES[hotel];
    const own = reservations.filter((record) => record.propertyCode === propertyCode);
    for (let round = 0; round < 12; round += 1) {
      const atMs = (own[random.between(0, own.length - 1)] as FeedRecord).atMs;
      const by = GROUPINGS[round % GROUPINGS.length] as Grouping;
      const expected = booksByRecords(own, atMs, by);
      assert.ok(expected.size > 0);
      const counted = books.onTheBooks({ from: 0, to: 100_000, by, atMs });
      assert.deepEqual(
        new Map([...counted].sort(([left], [right]) => left - right)),
        new Map([...expected].sort(([left], [right]) => left - right)),
        `${hotel} by ${by} at ${new Date(atMs).toISOString()}`,
      );
    }
  }
});
