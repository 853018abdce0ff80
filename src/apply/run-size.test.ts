import assert from "node:assert/strict";
import { test } from "node:test";
import { RunSize } from "./run-size.ts";

test("runs grow from few records to many with each transaction that is committed soon", () => {
  const size = new RunSize();
  const sizes = [size.records];
  for (let times = 0; times < 4; times += 1) {
    size.committed(20);
    sizes.push(size.records);
  }
  assert.deepEqual(sizes, [64, 256, 1_024, 2_000, 2_000]);
});

test("a run that takes long is not followed by a larger one", () => {
  const size = new RunSize();
  size.committed(1_500);
  assert.equal(size.records, 64);
  size.committed(900);
  assert.equal(size.records, 256);
});
