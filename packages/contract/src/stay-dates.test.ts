import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { StayDates } from "./stay-dates.ts";

const date = fc.integer({ min: 1, max: 28 });
const stay = fc.tuple(date, date).map(([a, b]): [number, number] => (a < b ? [a, b] : [b, a]));

test("a date lies within the stays exactly when it lies within one of them", () => {
  fc.assert(
    fc.property(fc.array(stay, { maxLength: 6 }), date, (stays, day) => {
      const within = stays.some(([arrival, departure]) => day >= arrival && day <= departure);
      assert.equal(new StayDates(stays).has(day), within);
    }),
    { numRuns: 2000 },
  );
});
