import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { NightReconciliation } from "../../src/insight/one-night.ts";
import {
  addProperty,
  below,
  DAYS,
  FIRST_NIGHT,
  insightItems,
  insightPage,
  randomBlocks,
  randomVersions,
} from "../support/insight-fixture.ts";
import { writeBlocks, writeNights } from "../support/insight-model.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dateOfDay } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

const SEED = Number(process.env["SEED"] ?? 20_261_122);
const RANGE = { from: dateOfDay(FIRST_NIGHT - 10), to: dateOfDay(FIRST_NIGHT + DAYS + 40) };

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** A number of each night and room type, where it is one. */
function byType(items: readonly Record<string, unknown>[], name: string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const item of items) {
    const key = JSON.stringify([item["stayDate"], item["roomType"]]);
    sums.set(key, (sums.get(key) ?? 0) + Number(item[name]));
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0).sort());
}

test("reconciliation agrees with on-the-books at any instant of either clock", async () => {
  const random = SeededRandom.stream(SEED, 100);
  const propertyCode = "AGREE";
  const place = await addProperty(service, propertyCode);
  await writeNights(service.pool, place, randomVersions(random, 60));
  await writeBlocks(service.pool, place, randomBlocks(random, 5));
  for (let at = 0; at < 5; at += 1) {
    const asOf = new Date(Date.UTC(2026, 2, 1) + below(random, 4_400) * 3_600_000).toISOString();
    const question = {
      clientCode: "ACME",
      propertyCode,
      ...RANGE,
      by: "roomType",
      ...(at === 0 ? {} : { asOf, clock: random.pick(["source", "receipt"]) }),
    };
    const books = await insightItems(service, "on-the-books", question);
    const nights = await insightItems(service, "reconciliation", { ...question, limit: "60" });
    assert.deepEqual(byType(nights, "rebuilt"), byType(books, "rooms"));
    assert.deepEqual(byType(nights, "unpickedBlocks"), byType(books, "blocksRemaining"));
  }
});

test("the rooms that count of a night's reservations are the rooms on its books", async () => {
  const random = SeededRandom.stream(SEED, 200);
  const records = Array.from({ length: 60 }, (_, at) => {
    const stays = Array.from({ length: 1 + below(random, 2) }, () => {
      const first = FIRST_NIGHT + below(random, 6);
      return {
        arrivalDate: dateOfDay(first),
        departureDate: dateOfDay(first + below(random, 5)),
        roomTypeCode: random.pick(["DLX", "STD", "STE"]),
      };
    });
    return reservation(`n${at}`, "2026-03-01T00:00:00Z", {
      propertyCode: "NIGHTLY",
      roomStays: stays,
      numberOfRooms: below(random, 3),
      status: random.pick(["CONFIRMED", "CONFIRMED", "IN HOUSE", "CANCELLED", "ON HOLD"]),
      ...(below(random, 2) === 0 ? { shareId: `S${below(random, 5)}` } : {}),
    });
  });
  await apply(service, "reservations", records);
  const codes = { clientCode: "ACME", propertyCode: "NIGHTLY" };
  let counted = 0;
  for (let day = FIRST_NIGHT; day < FIRST_NIGHT + 11; day += 1) {
    const stayDate = dateOfDay(day);
    const apart = await insightPage(service, "reconciliation/night", { ...codes, stayDate });
    const { reservations, roomTypes } = apart as unknown as NightReconciliation;
    const ofReservations = byType(
      reservations.map((one) => ({ ...one, stayDate })),
      "counted",
    );
    assert.deepEqual(ofReservations, byType(roomTypes as unknown as Record<string, unknown>[], "rebuilt"));
    const range = { from: stayDate, to: stayDate, by: "roomType" };
    const books = await insightItems(service, "on-the-books", { ...codes, ...range });
    assert.deepEqual(ofReservations, byType(books, "rooms"));
    counted += ofReservations.size;
  }
  assert.ok(counted > 10, `only ${counted} nights and room types`);
});
