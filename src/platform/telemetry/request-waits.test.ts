import assert from "node:assert/strict";
import { test } from "node:test";
import { currentWaits, longestWait, noWaits, runWithWaits, shownWaits } from "./request-waits.ts";

test("what a request waited for most is named, or its work where that took longer", () => {
  const waits = { ...noWaits(), body: 20, flush: 90, database: 60 };
  assert.equal(longestWait(waits, 200), "flush");
  assert.equal(longestWait(waits, 300), "work");
  assert.equal(longestWait({ ...waits, asked: 5_000 }, 5_200), "flush");
  assert.equal(longestWait(noWaits(), 10), "work");
});

test("waits are shown to the tenth of a millisecond, those that were there", () => {
  assert.deepEqual(shownWaits({ ...noWaits(), body: 1.26, flush: 0.01 }), { body: 1.3 });
});

test("the waits of a request are found wherever it is worked on, and nobody else's", async () => {
  const [one, other] = [noWaits(), noWaits()];
  const found: unknown[] = [];
  for (const waits of [one, other])
    runWithWaits(
      waits,
      () => void Promise.resolve().then(() => setImmediate(() => found.push(currentWaits()))),
    );
  await new Promise((resolve) => setTimeout(resolve, 0));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([found[0] === one, found[1] === other, currentWaits()], [true, true, undefined]);
});
