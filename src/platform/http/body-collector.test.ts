import assert from "node:assert/strict";
import test from "node:test";
import { BodyBudget } from "./body-budget.ts";
import { BodyCollector } from "./body-collector.ts";

const KIB = 1_024;
const MIB = 1_048_576;
const promised = (bytes: number) => ({ bytes, windowBytes: 0 });
const LIMITS = { bodyBytesMax: 16_777_216, inflatedBytesMax: 67_108_864 };

test("what was taken for a body that is refused is given back, and what grew is what was sent", () => {
  const budget = new BodyBudget(MIB, MIB);
  const refused = new BodyCollector("c", { bodyBytesMax: 100, inflatedBytesMax: 100 }, budget);
  refused.add(Buffer.alloc(100));
  assert.throws(() => refused.add(Buffer.alloc(1)), { code: "bellhop.http.PayloadTooLarge" });
  refused.release();
  assert.equal(budget.bytesInUse, 0);
  const roomy = new BodyBudget(MIB, MIB);
  const collector = new BodyCollector("c", LIMITS, roomy);
  const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, at) => at % 251));
  for (let at = 0; at < 1_000; at += 7) collector.add(bytes.subarray(at, Math.min(at + 7, 1_000)));
  assert.deepEqual(collector.whole(), bytes);
  assert.equal(roomy.bytesInUse, 128 * KIB);
  collector.release();
  collector.release();
  assert.equal(roomy.bytesInUse, 0);
});

test("a body whose length is known has its room when it begins, or is refused then", () => {
  const budget = new BodyBudget(24 * MIB, 16 * MIB);
  const first = new BodyCollector("a", LIMITS, budget, promised(16 * MIB));
  first.add(Buffer.alloc(1));
  assert.equal(budget.bytesInUse, 16 * MIB);
  const second = new BodyCollector("b", LIMITS, budget, promised(9 * MIB));
  assert.throws(() => second.add(Buffer.alloc(1)), { code: "bellhop.accept.Unavailable" });
  second.release();
  assert.equal(budget.bytesInUse, 16 * MIB);
  first.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a body of unknown length is counted as it grows, with what it is copied from and the decompressor's window", () => {
  const budget = new BodyBudget(96 * MIB, 96 * MIB);
  const collector = new BodyCollector("c", LIMITS, budget, { bytes: 0, windowBytes: MIB });
  const seen: number[] = [];
  for (let mib = 1; mib <= 12; mib += 1) {
    collector.add(Buffer.alloc(MIB, mib));
    seen.push(budget.bytesInUse);
  }
  seen.forEach((bytes, at) => {
    const length = (at + 1) * MIB;
    assert.ok(
      bytes >= length + MIB && bytes <= Math.max(2 * length, length + 2 * MIB),
      `${bytes} of ${length}`,
    );
  });
  const whole = collector.whole();
  assert.deepEqual([whole.length, whole[0], whole[5 * MIB], whole.at(-1)], [12 * MIB, 1, 6, 12]);
  collector.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a growing body without room for the copy is refused, and gives back what it had", () => {
  const budget = new BodyBudget(MIB, MIB);
  const collector = new BodyCollector("c", LIMITS, budget);
  const grow = () => {
    for (;;) collector.add(Buffer.alloc(100_000));
  };
  assert.throws(grow, { code: "bellhop.accept.Unavailable" });
  assert.ok(budget.bytesInUse <= MIB);
  collector.release();
  assert.equal(budget.bytesInUse, 0);
});

test("what was made of a body takes its place in the budget", () => {
  const budget = new BodyBudget(MIB, MIB);
  const collector = new BodyCollector("c", LIMITS, budget, promised(500_000));
  for (let chunk = 0; chunk < 5; chunk += 1) collector.add(Buffer.alloc(100_000));
  assert.equal(budget.bytesInUse, 512 * KIB);
  collector.keepOnly(30_000);
  assert.equal(budget.bytesInUse, 30_000);
  collector.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a body of many large chunks is what was sent, and the next one has nothing of it", () => {
  const budget = new BodyBudget(10_000_000, 10_000_000);
  for (const letter of ["a", "b"]) {
    const collector = new BodyCollector("c", LIMITS, budget, promised(300_000));
    for (let chunk = 0; chunk < 6; chunk += 1)
      collector.add(Buffer.from(new ArrayBuffer(50_000)).fill(letter));
    assert.deepEqual(collector.whole(), Buffer.alloc(300_000, letter));
    collector.release();
  }
  const shorter = new BodyCollector("c", LIMITS, budget, promised(200_000));
  for (let chunk = 0; chunk < 2; chunk += 1) shorter.add(Buffer.alloc(100_000, "c"));
  assert.deepEqual(shorter.whole(), Buffer.alloc(200_000, "c"));
  shorter.release();
  assert.equal(budget.bytesInUse, 0);
});
