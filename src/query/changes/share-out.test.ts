import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { distribute } from "./share-out.ts";

test("small requests are met in full, and the others share the rest equally", () => {
  assert.deepEqual(distribute([100, 2, 100], 50), [24, 2, 24]);
  assert.deepEqual(distribute([1, 1, 1], 100), [1, 1, 1]);
  assert.deepEqual(distribute([9, 1, 9, 2], 2), [0, 1, 0, 1]);
  assert.deepEqual(distribute([], 5), []);
  assert.deepEqual(distribute([500, 3, 500, 500], 103, 50), [50, 3, 50, 0]);
  assert.deepEqual(distribute([500, 500], 300, 50), [150, 150]);
});

test("everything is distributed, unless all demands are met", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { maxLength: 64 }),
      fc.nat(5000),
      fc.nat(200),
      (wanted, total, least) => {
        const shares = distribute(wanted, total, least);
        const sum = (numbers: readonly number[]) => numbers.reduce((left, right) => left + right, 0);
        assert.equal(sum(shares), Math.min(total, sum(wanted)));
        for (const [at, share] of shares.entries()) assert.ok(share >= 0 && share <= (wanted[at] ?? 0));
      },
    ),
  );
});
