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

test("a body of many large chunks is what was sent, and the next one has nothing of it", () => {
  const budget = new BodyBudget(10_000_000, 10_000_000);
  for (const letter of ["a", "b"]) {
    const collector = new BodyCollector("c", LIMITS, budget, 300_000);
    for (let chunk = 0; chunk < 6; chunk += 1)
      collector.add(Buffer.from(new ArrayBuffer(50_000)).fill(letter));
    assert.deepEqual(collector.whole(), Buffer.alloc(300_000, letter));
    collector.release();
  }
  const shorter = new BodyCollector("c", LIMITS, budget, 200_000);
  for (let chunk = 0; chunk < 2; chunk += 1) shorter.add(Buffer.alloc(100_000, "c"));
  assert.deepEqual(shorter.whole(), Buffer.alloc(200_000, "c"));
  shorter.release();
  assert.equal(budget.bytesInUse, 0);
});
