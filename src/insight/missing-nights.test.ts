import assert from "node:assert/strict";
import { test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { type InventoryNight, missingNights } from "./missing-nights.ts";

const TODAY = "2026-07-14";
const HOUR = 3_600_000;
const PUSHED = Date.UTC(2026, 6, 14, 2);

/** Nights from today on, of a request that came so many hours before the last push. */
const nights = (days: readonly number[], hoursBefore = 0): InventoryNight[] =>
  days.map((day) => ({
    night: addDays(TODAY, day),
    request_id: hoursBefore === 0 ? "b" : "a",
    received_ms: PUSHED - hoursBefore * HOUR,
  }));
const upTo = (count: number) => Array.from({ length: count }, (_, day) => day);

test("a night without a record within the horizon is absent, one beyond it is not expected", () => {
  const found = missingNights(TODAY, nights(upTo(90).filter((day) => day !== 40)), "b", 24);
  assert.deepEqual(found, { horizon: "2026-10-11", absent: ["2026-08-23"], stale: [] });
});

test("a night that was sent far ahead does not move the horizon, and the first weeks of a feed have one", () => {
  assert.equal(missingNights(TODAY, nights([...upTo(60), 700]), "b", 24).horizon, "2026-09-11");
  assert.deepEqual(missingNights(TODAY, nights([0, 1, 3]), "b", 24), {
    horizon: "2026-07-17",
    absent: ["2026-07-16"],
    stale: [],
  });
  assert.equal(missingNights(TODAY, nights([700]), "b", 24).horizon, null);
  assert.equal(missingNights(TODAY, [], null, 24).horizon, null);
});

test("a night omitted by the last push is stale", () => {
  const some = [...nights(upTo(30)), ...nights([30, 31], 24)];
  assert.deepEqual(missingNights(TODAY, some, "b", 24).stale, ["2026-08-13", "2026-08-14"]);
});

test("without a push that is known, a night is stale that is more than a cadence and a half older than the newest", () => {
  const some = [...nights([0, 1, 2]), ...nights([3], 30), ...nights([4], 48)];
  assert.deepEqual(missingNights(TODAY, some, null, 24).stale, ["2026-07-18"]);
  assert.deepEqual(missingNights(TODAY, some, null, null).stale, []);
});
