import assert from "node:assert/strict";
import { test } from "node:test";
import { BucketTurns } from "./bucket-turns.ts";

const OWNED = [1, 2, 3];

test("all buckets are read at first and when a poll is due, else those with a hint", () => {
  const turns = new BucketTurns();
  assert.deepEqual(turns.next(OWNED, 0), { buckets: OWNED, polled: true });
  assert.equal(turns.waiting, false);
  turns.hint([2, 9]);
  assert.equal(turns.waiting, true);
  assert.deepEqual(turns.next(OWNED, 0), { buckets: [2], polled: false });
  assert.deepEqual(turns.next(OWNED, 0), { buckets: [], polled: false });
  turns.poll();
  assert.deepEqual(turns.next(OWNED, 0), { buckets: OWNED, polled: true });
});

test("buckets that failed together are tried one by one, and the one that fails again waits alone, ever longer", () => {
  const turns = new BucketTurns();
  turns.next(OWNED, 0);
  turns.failed([1, 2], 0);
  assert.deepEqual(turns.next(OWNED, 0).buckets, [1]);
  turns.failed([1], 0);
  assert.deepEqual(turns.next(OWNED, 0).buckets, [2]);
  turns.succeeded([2]);
  turns.poll();
  assert.deepEqual(turns.next(OWNED, 0).buckets, [2, 3]);
  assert.deepEqual(turns.next(OWNED, 199).buckets, []);
  assert.deepEqual(turns.next(OWNED, 200).buckets, [1]);
  turns.failed([1], 200);
  assert.deepEqual(turns.next(OWNED, 599).buckets, []);
  assert.deepEqual(turns.next(OWNED, 600).buckets, [1]);
  turns.succeeded([1]);
  turns.poll();
  assert.deepEqual(turns.next(OWNED, 600).buckets, OWNED);
});

test("a bucket that failed waits five seconds at most, and one that is no longer owned is not read", () => {
  const turns = new BucketTurns();
  for (let n = 0; n < 100; n += 1) turns.failed([3], 0);
  turns.next([1, 2], 0);
  assert.deepEqual(turns.next([1, 2], 5_000).buckets, []);
  assert.deepEqual(turns.next(OWNED, 5_000).buckets, [3]);
});
