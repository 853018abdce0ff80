import assert from "node:assert/strict";
import test from "node:test";
import { BodyBudget } from "./body-budget.ts";
import { BodyCollector } from "./body-collector.ts";

const LIMITS = { bodyBytesMax: 16_777_216, inflatedBytesMax: 67_108_864 };

test("a million chunks are counted and one more is too large, however small they are", () => {
  const collector = new BodyCollector("c", LIMITS, new BodyBudget(1_000, 1_000));
  for (let n = 0; n < 1_000_000; n += 1) collector.countWire(1);
  assert.throws(() => collector.countWire(1), { code: "bellhop.http.PayloadTooLarge" });
});

test("what was taken for a body that is refused is given back, and what grew is what was sent", () => {
  const budget = new BodyBudget(1_000, 100);
  const collector = new BodyCollector("c", { bodyBytesMax: 100, inflatedBytesMax: 100 }, budget);
  const bytes = Buffer.from(Array.from({ length: 100 }, (_, at) => at));
  for (let at = 0; at < 100; at += 7) collector.add(bytes.subarray(at, Math.min(at + 7, 100)));
  assert.deepEqual(collector.whole(), bytes);
  assert.equal(budget.bytesInUse, 100);
  assert.throws(() => collector.add(Buffer.alloc(1)), { code: "bellhop.http.PayloadTooLarge" });
  collector.release();
  assert.equal(budget.bytesInUse, 0);
});
