import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { freeMemory } from "../runtime/free-memory.ts";
import { BodyBudget, BodyBuffers, BodyCollector, sizeFor } from "./receive-body.ts";

const MIB = 1_048_576;

describe("buffers for bodies", () => {
  test("no more than 8 MiB are pooled, and nothing larger than 4 MiB", () => {
    const buffers = new BodyBuffers();
    assert.equal(buffers.put(Buffer.allocUnsafeSlow(5 * MIB)), false);
    const pooled = Array.from({ length: 20 }, () => buffers.put(Buffer.allocUnsafeSlow(MIB)));
    assert.equal(pooled.filter((one) => one).length, 8);
    assert.equal(buffers.clear(), 8 * MIB);
    assert.equal(buffers.take(MIB), undefined);
  });

  test("memory that is not pooled is freed at once, unless it is shared", () => {
    const buffer = Buffer.allocUnsafeSlow(5 * MIB);
    new BodyBuffers().put(buffer);
    assert.equal(buffer.length, 0);
    freeMemory(buffer);
    const whole = Buffer.alloc(100_000, "a");
    freeMemory(whole.subarray(1));
    assert.equal(whole.length, 100_000);
  });

  test("sizes are powers of two from 128 KiB on, up to 4 MiB", () => {
    assert.deepEqual([1, 131_073, 4 * MIB, 4 * MIB + 1].map(sizeFor), [
      131_072,
      262_144,
      4 * MIB,
      4 * MIB + 1,
    ]);
  });
});

describe("the budget of bodies", () => {
  const SIZE = 131_072;

  test("a returned buffer is reused by one body at a time, and retained buffers count", () => {
    const budget = new BodyBudget(3 * SIZE, 3 * SIZE);
    const first = budget.takeBuffer("a", SIZE) as Buffer;
    budget.releaseBuffer("a", first);
    assert.equal(budget.bytesInUse, 0);
    assert.equal(budget.takeBuffer("b", SIZE), first);
    assert.notEqual(budget.takeBuffer("b", SIZE), first);
    assert.equal(budget.bytesInUse, 2 * SIZE);
    assert.equal(budget.take("b", SIZE + 1), false);
    assert.equal(budget.take("b", SIZE), true);
  });

  test("pooled buffers are freed when a body needs room", () => {
    const budget = new BodyBudget(3 * SIZE, 3 * SIZE);
    const buffers = [1, 2].map(() => budget.takeBuffer("a", SIZE) as Buffer);
    for (const buffer of buffers) budget.releaseBuffer("a", buffer);
    assert.equal(budget.take("a", 3 * SIZE), true);
    assert.equal(budget.bytesInUse, 3 * SIZE);
    budget.release("a", 3 * SIZE);
    assert.equal(budget.bytesInUse, 0);
  });

  test("one client gets at most half, in bytes and in buffers", () => {
    const budget = new BodyBudget(4 * SIZE, SIZE);
    assert.equal(budget.take("a", 2 * SIZE), true);
    assert.equal(budget.take("a", 1), false);
    assert.equal(budget.takeBuffer("a", SIZE), undefined);
    const lent = budget.takeBuffer("b", SIZE) as Buffer;
    budget.releaseBuffer("b", lent);
    assert.equal(budget.takeBuffer("a", SIZE), undefined);
    assert.equal(budget.takeBuffer("b", SIZE), lent);
  });
});

const KIB = 1_024;
const announced = (bytes: number) => ({ bytes, windowBytes: 0 });
const LIMITS = { bodyBytesMax: 16_777_216, inflatedBytesMax: 67_108_864 };

test("a refused body returns its budget, and a body that grew has the bytes that were sent", () => {
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
  assert.deepEqual(collector.bytes, bytes);
  assert.equal(roomy.bytesInUse, 128 * KIB);
  collector.release();
  collector.release();
  assert.equal(roomy.bytesInUse, 0);
});

test("a body of known length reserves its room at once or is refused", () => {
  const budget = new BodyBudget(24 * MIB, 16 * MIB);
  const first = new BodyCollector("a", LIMITS, budget, announced(16 * MIB));
  first.add(Buffer.alloc(1));
  assert.equal(budget.bytesInUse, 16 * MIB);
  const second = new BodyCollector("b", LIMITS, budget, announced(9 * MIB));
  assert.throws(() => second.add(Buffer.alloc(1)), { code: "bellhop.accept.Unavailable" });
  second.release();
  assert.equal(budget.bytesInUse, 16 * MIB);
  first.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a body of unknown length is counted as it grows, including the buffer that it is copied from and the decompressor's window", () => {
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
  const whole = collector.bytes;
  assert.deepEqual([whole.length, whole[0], whole[5 * MIB], whole.at(-1)], [12 * MIB, 1, 6, 12]);
  collector.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a growing body without room for the copy is refused, and releases its memory", () => {
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

test("data derived from a body replaces it in the budget", () => {
  const budget = new BodyBudget(MIB, MIB);
  const collector = new BodyCollector("c", LIMITS, budget, announced(500_000));
  for (let chunk = 0; chunk < 5; chunk += 1) collector.add(Buffer.alloc(100_000));
  assert.equal(budget.bytesInUse, 512 * KIB);
  collector.keepOnly(30_000);
  assert.equal(budget.bytesInUse, 30_000);
  collector.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a body of many large chunks is received exactly, and does not leak into the next one", () => {
  const budget = new BodyBudget(10_000_000, 10_000_000);
  for (const letter of ["a", "b"]) {
    const collector = new BodyCollector("c", LIMITS, budget, announced(300_000));
    for (let chunk = 0; chunk < 6; chunk += 1)
      collector.add(Buffer.from(new ArrayBuffer(50_000)).fill(letter));
    assert.deepEqual(collector.bytes, Buffer.alloc(300_000, letter));
    collector.release();
  }
  const shorter = new BodyCollector("c", LIMITS, budget, announced(200_000));
  for (let chunk = 0; chunk < 2; chunk += 1) shorter.add(Buffer.alloc(100_000, "c"));
  assert.deepEqual(shorter.bytes, Buffer.alloc(200_000, "c"));
  shorter.release();
  assert.equal(budget.bytesInUse, 0);
});
