import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BodyBudget } from "./body-budget.ts";
import { BodyBuffers, freeBuffer, sizeFor } from "./body-buffers.ts";

const MIB = 1_048_576;

describe("buffers for bodies", () => {
  test("no more than 8 MiB are kept, and nothing larger than 4 MiB", () => {
    const buffers = new BodyBuffers();
    assert.equal(buffers.giveBack(Buffer.allocUnsafeSlow(5 * MIB)), false);
    const kept = Array.from({ length: 20 }, () => buffers.giveBack(Buffer.allocUnsafeSlow(MIB)));
    assert.equal(kept.filter((one) => one).length, 8);
    assert.equal(buffers.clear(), 8 * MIB);
    assert.equal(buffers.takeKept(MIB), undefined);
  });

  test("what is not kept is freed at once, but never memory that is shared", () => {
    const buffer = Buffer.allocUnsafeSlow(5 * MIB);
    new BodyBuffers().giveBack(buffer);
    assert.equal(buffer.length, 0);
    freeBuffer(buffer);
    const whole = Buffer.alloc(100_000, "a");
    freeBuffer(whole.subarray(1));
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

  test("a buffer that was given back is used again, by one body at a time, and kept ones count", () => {
    const budget = new BodyBudget(3 * SIZE, 3 * SIZE);
    const first = budget.takeBuffer("a", SIZE) as Buffer;
    budget.giveBackBuffer("a", first);
    assert.equal(budget.bytesInUse, 0);
    assert.equal(budget.takeBuffer("b", SIZE), first);
    assert.notEqual(budget.takeBuffer("b", SIZE), first);
    assert.equal(budget.bytesInUse, 2 * SIZE);
    assert.equal(budget.take("b", SIZE + 1), false);
    assert.equal(budget.take("b", SIZE), true);
  });

  test("what is kept makes way for a body", () => {
    const budget = new BodyBudget(3 * SIZE, 3 * SIZE);
    const buffers = [1, 2].map(() => budget.takeBuffer("a", SIZE) as Buffer);
    for (const buffer of buffers) budget.giveBackBuffer("a", buffer);
    assert.equal(budget.take("a", 3 * SIZE), true);
    assert.equal(budget.bytesInUse, 3 * SIZE);
    budget.release("a", 3 * SIZE);
    assert.equal(budget.bytesInUse, 0);
  });

  test("one client gets half, in bytes and in buffers alike", () => {
    const budget = new BodyBudget(4 * SIZE, SIZE);
    assert.equal(budget.take("a", 2 * SIZE), true);
    assert.equal(budget.take("a", 1), false);
    assert.equal(budget.takeBuffer("a", SIZE), undefined);
    const lent = budget.takeBuffer("b", SIZE) as Buffer;
    budget.giveBackBuffer("b", lent);
    assert.equal(budget.takeBuffer("a", SIZE), undefined);
    assert.equal(budget.takeBuffer("b", SIZE), lent);
  });
});
