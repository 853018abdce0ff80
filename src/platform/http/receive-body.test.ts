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

  test("a client may hold as much as it leaves free, in bytes and in buffers, so that any number of clients leaves some", () => {
    const budget = new BodyBudget(16 * SIZE, SIZE);
    // Large bodies may hold 14 of the 16.
    assert.equal(budget.take("a", 7 * SIZE), true);
    assert.equal(budget.take("a", SIZE), false);
    assert.equal(budget.takeBuffer("a", SIZE), undefined);
    assert.equal(budget.take("b", 3 * SIZE), true);
    assert.equal(budget.take("b", SIZE), false);
    const lent = budget.takeBuffer("c", SIZE) as Buffer;
    budget.releaseBuffer("c", lent);
    assert.equal(budget.takeBuffer("a", SIZE), undefined);
    assert.equal(budget.takeBuffer("d", SIZE), lent);
    budget.release("a", 7 * SIZE);
    assert.equal(budget.take("d", 4 * SIZE), true);
  });

  test("a client gets room for the largest body while others hold little", () => {
    const budget = new BodyBudget(16 * SIZE, 12 * SIZE);
    assert.equal(budget.take("others", 2 * SIZE), true);
    assert.equal(budget.take("a", 12 * SIZE), true);
    const busy = new BodyBudget(16 * SIZE, 12 * SIZE);
    assert.equal(busy.take("others", 3 * SIZE), true);
    assert.equal(busy.take("a", 12 * SIZE), false);
    assert.equal(busy.take("a", 5 * SIZE), true);
  });

  test("large bodies of any clients leave room to small ones", () => {
    const budget = new BodyBudget(64 * MIB, 16 * MIB);
    for (let client = 0; client < 1_000; client += 1)
      for (const bytes of [4 * MIB, MIB, SIZE]) while (budget.take(`large ${client}`, bytes));
    assert.ok(budget.bytesInUse > 55 * MIB);
    for (let client = 0; client < 500; client += 1) {
      const form = new BodyCollector(`small ${client}`, LIMITS, budget);
      form.add(Buffer.alloc(8_192));
    }
    const large = new BodyCollector("another", LIMITS, budget);
    assert.throws(() => large.add(Buffer.alloc(200_000)), { code: "bellhop.accept.Unavailable" });
  });

  test("more clients than rows are limited by the sum alone, and release what they took", () => {
    const budget = new BodyBudget(64 * MIB, MIB);
    const clients = Array.from({ length: 40_000 }, (_, at) => `client ${at}`);
    for (const client of clients) assert.equal(budget.take(client, 1), true);
    for (const client of clients) budget.release(client, 1);
    assert.equal(budget.bytesInUse, 0);
    assert.equal(budget.take("client 1", 28 * MIB), true);
    assert.equal(budget.take("client 1", MIB), false);
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
  assert.equal(roomy.bytesInUse, 16 * KIB);
  collector.release();
  collector.release();
  assert.equal(roomy.bytesInUse, 0);
});

test("a body of known length reserves what has arrived, within a factor, and is refused where there is no more", () => {
  const budget = new BodyBudget(24 * MIB, 16 * MIB);
  const stalled = Array.from({ length: 100 }, () => {
    const collector = new BodyCollector("a", LIMITS, budget, announced(16 * MIB));
    collector.add(Buffer.alloc(1));
    return collector;
  });
  assert.equal(budget.bytesInUse, 100 * 16 * KIB);
  const body = new BodyCollector("b", LIMITS, budget, announced(12 * MIB));
  for (let length = 100_000; length <= 12 * MIB; length += 100_000) {
    body.add(Buffer.alloc(100_000, 1));
    const held = budget.bytesInUse - 100 * 16 * KIB;
    assert.ok(held <= 16 * length && held >= length, `${held} of ${length}`);
  }
  assert.equal(body.bytes.length, 12_500_000);
  body.release();
  const refused = new BodyCollector("b", LIMITS, new BodyBudget(MIB, MIB), announced(16 * MIB));
  const fill = () => {
    for (;;) refused.add(Buffer.alloc(100_000));
  };
  assert.throws(fill, { code: "bellhop.accept.Unavailable" });
  refused.release();
  for (const collector of stalled) collector.release();
  assert.equal(budget.bytesInUse, 0);
});

test("any number of small bodies that stall leaves room to large ones", () => {
  const budget = new BodyBudget(128 * MIB, 64 * MIB);
  const stall = (client: string) => {
    const body = new BodyCollector(client, LIMITS, budget, { bytes: 0, windowBytes: 32 * KIB });
    body.countWire(1);
    return body;
  };
  const stalled: BodyCollector[] = [];
  for (let client = 0; client < 100; client += 1) {
    try {
      for (let body = 0; body < 10_000; body += 1) stalled.push(stall(`site ${client}`));
    } catch {}
  }
  assert.ok(stalled.length > 3_000, String(stalled.length));
  const large = new BodyCollector("partner", LIMITS, budget, announced(16 * MIB));
  for (let length = 0; length < 16 * MIB; length += MIB) large.add(Buffer.alloc(MIB));
  for (const body of [large, ...stalled]) body.release();
  assert.equal(budget.bytesInUse, 0);
});

test("a compressed body counts its first piece from its first byte on, and its decompressor once it is made", () => {
  const budget = new BodyBudget(MIB, MIB);
  const collector = new BodyCollector("c", LIMITS, budget, { bytes: 0, windowBytes: 32 * KIB });
  assert.equal(budget.bytesInUse, 0);
  collector.countWire(1);
  assert.equal(budget.bytesInUse, 16 * KIB);
  collector.countDecompressor();
  assert.equal(budget.bytesInUse, 80 * KIB);
  collector.add(Buffer.alloc(16 * KIB));
  assert.equal(budget.bytesInUse, 80 * KIB);
  collector.release();
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
