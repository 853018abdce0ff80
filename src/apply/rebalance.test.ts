import assert from "node:assert/strict";
import { test } from "node:test";
import { fairShare } from "./rebalance.ts";

test("all buckets are shared out, evenly to within one, however many appliers there are", () => {
  for (let count = 1; count <= 100; count += 1) {
    const present = Array.from({ length: count }, (_, at) => `applier ${at}`);
    const shares = present.map((me) => fairShare(present, me));
    assert.equal(
      shares.reduce((sum, share) => sum + share, 0),
      64,
    );
    assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
  }
});

test("an applier that is not listed counts as one more", () => {
  assert.equal(fairShare([], "me"), 64);
  assert.equal(fairShare(["a"], "me"), 32);
  assert.equal(fairShare(["a", "b"], "me"), 21);
});
