import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { changesTooOften } from "./revenue-changes.ts";

const day = fc.integer({ min: 1, max: 60 });
const stay = fc.tuple(day, day).map(([a, b]): [number, number] => (a < b ? [a, b] : [b, a]));

/** The changes between nights with revenue and nights without, night by night. */
function countOf(stays: readonly (readonly [number, number])[], days: readonly number[]): number {
  let count = 0;
  for (const [arrival, departure] of stays)
    for (let night = arrival + 1; night < departure; night += 1)
      if (days.includes(night) !== days.includes(night - 1)) count += 1;
  return count;
}

test("revenue changes too often above 50 changes and two for each stay and date, counted night by night", () => {
  const found = [0, 0];
  fc.assert(
    fc.property(
      fc.array(stay, { maxLength: 60, size: "max" }),
      fc.array(day, { maxLength: 20, size: "max" }),
      (stays, days) => {
        const isTooMany = countOf(stays, days) > 50 + 2 * (stays.length + new Set(days).size);
        found[Number(isTooMany)] = (found[Number(isTooMany)] as number) + 1;
        assert.equal(changesTooOften(stays, days), isTooMany);
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(Math.min(...found) > 50, String(found));
});

test("stays that share no night never change too often", () => {
  const days = Array.from({ length: 5_000 }, (_, at) => 2 * at);
  assert.equal(changesTooOften([[0, 10_000]], days), false);
  const single = Array.from({ length: 100 }, (_, at): [number, number] => [100 * at, 100 * at + 100]);
  assert.equal(changesTooOften(single, days), false);
});

test("rooms whose revenue is posted until a date, or with a gap, do not change too often", () => {
  const rooms = Array.from({ length: 200 }, (): [number, number] => [0, 14]);
  assert.equal(changesTooOften(rooms, [0, 1, 2]), false);
  assert.equal(changesTooOften(rooms, [0, 1, 2, 6, 7]), true);
  assert.equal(changesTooOften(rooms, [3, 4, 5]), false);
});
