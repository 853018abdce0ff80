import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, judge, type SeenRecord } from "../step.ts";
import { nullAndNumbers } from "./null-and-numbers.ts";

function evidenceOf(fields: SeenRecord["fields"]): Evidence {
  const record: SeenRecord = {
    ...{ requestId: "r", receivedAt: "2026-06-01T08:30:00Z", index: 3, resource: "reservations" },
    ...{ clientCode: "ACME", propertyCode: "LON01", key: "R1", sourceTime: "2026-06-01T08:30:00Z" },
    ...{ outcome: "applied", warnings: [], digest: "", fields },
  };
  const none = { requests: [], events: [], backfills: [], isWhole: true };
  return { ...none, certification: {} as Evidence["certification"], from: "", records: [record] };
}

test("an amount with the rounding error of binary fractions is shown with its place, however long it is", () => {
  const rates = [{ rateValue: "1.10" }, { rateValue: "129.90000000000001" }];
  const { result, reason } = judge(nullAndNumbers, evidenceOf({ roomStays: [{ rates }] }));
  assert.equal(result, "fail");
  assert.match(reason, /^R1 has 129\.90000000000001 at \/3\/roomStays\/0\/rates\/1\/rateValue: /);
  const long = judge(nullAndNumbers, evidenceOf({ rateValue: `1.${"1".repeat(100_000)}` }));
  assert.match(long.reason, /^R1 has 1\.1{38} at \/3\/rateValue: /);
});

test("a long name above many members takes no longer than its text", () => {
  const members = Object.fromEntries(Array.from({ length: 15_000 }, (_, at) => [`m${at}`, 1]));
  const startedAt = performance.now();
  judge(nullAndNumbers, evidenceOf({ ["n".repeat(100_000)]: members }));
  const ms = performance.now() - startedAt;
  assert.ok(ms < 500, `${ms} ms`);
});
