import assert from "node:assert/strict";
import { test } from "node:test";
import { type Arrival, feedPulse } from "./feed-pulse.ts";

const NOW = Date.UTC(2026, 6, 14, 12);
const HOUR = 3_600_000;

/** An arrival so many hours before now. */
function arrival(hoursBefore: number, more: Partial<Arrival> = {}): Arrival {
  const at = NOW - hoursBefore * HOUR;
  return {
    first_request_id: `at-${hoursBefore}`,
    first_ms: at,
    last_ms: at,
    batches: 1,
    applied: 0,
    unchanged: 0,
    stale: 0,
    duplicate: 0,
    quarantined: 0,
    rejected: 0,
    warned: 0,
    ...more,
  };
}

test("a nightly push of many batches has a cadence of a day, a stream one of minutes", () => {
  const push = (hours: number) =>
    Array.from({ length: 8 }, (_, batch) => arrival(hours - (7 - batch) / 60)).reverse();
  const nightly = [10, 34, 58, 82].flatMap((hours) => push(hours)).sort((a, b) => b.last_ms - a.last_ms);
  assert.ok(Math.abs((feedPulse(nightly, NOW).cadenceHours ?? 0) - 24) < 0.2);
  const stream = Array.from({ length: 200 }, (_, at) => arrival(at / 12));
  assert.ok(Math.abs((feedPulse(stream, NOW).cadenceHours ?? 0) - 1 / 12) < 1e-6);
});

test("batches that were applied together count with their mean interval", () => {
  const together = arrival(1, { batches: 5, first_ms: NOW - 3 * HOUR, last_ms: NOW - HOUR });
  assert.equal(feedPulse([together], NOW).cadenceHours, 0.5);
});

test("a feed with at most one batch has no cadence", () => {
  assert.equal(feedPulse([arrival(3)], NOW).cadenceHours, null);
  const never = feedPulse([], NOW);
  assert.deepEqual([never.lastReceivedMs, never.cadenceHours, never.lastPush], [null, null, null]);
});

test("counts cover the last seven days", () => {
  const rows = [
    arrival(1, { applied: 8, rejected: 2, warned: 3 }),
    arrival(167, { stale: 1 }),
    arrival(169, { stale: 5 }),
  ];
  const { counts } = feedPulse(rows, NOW);
  assert.deepEqual(
    [counts.records, counts.applied, counts.rejected, counts.stale, counts.warned],
    [11, 8, 2, 1, 3],
  );
  assert.equal(counts.batches, 2);
});

test("the last push is the last delivery of at least half the records of the largest", () => {
  const evening = arrival(2, { applied: 30 });
  const second = arrival(10, { unchanged: 400 });
  const first = arrival(10.5, { unchanged: 300, first_request_id: "begin" });
  const before = arrival(34, { unchanged: 730 });
  const { lastPush } = feedPulse([evening, second, first, before], NOW);
  assert.deepEqual(lastPush, { firstRequestId: "begin", beganMs: NOW - 10.5 * HOUR });
  assert.equal(feedPulse([evening, arrival(34, { applied: 60 })], NOW).lastPush?.beganMs, NOW - 2 * HOUR);
  assert.equal(feedPulse([arrival(2, { duplicate: 700 })], NOW).lastPush, null);
});
