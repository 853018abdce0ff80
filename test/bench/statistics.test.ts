import assert from "node:assert/strict";
import { test } from "node:test";
import { percentile } from "../../bench/statistics.ts";

test("a percentile is the least value that at least this share of values does not exceed: the p99 of 100 is the second greatest", () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at);
  assert.deepEqual(
    [0, 0.5, 0.99, 0.995, 1].map((share) => percentile(hundred, share)),
    [1, 50, 99, 100, 100],
  );
  assert.equal(percentile([], 0.5), Number.NaN);
});
