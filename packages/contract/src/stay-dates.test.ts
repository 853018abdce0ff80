import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { StayDates } from "./warn-of-reservation.ts";

const date = fc.integer({ min: 1, max: 28 }).map((day) => `2026-02-${String(day).padStart(2, "0")}`);
const stay = fc
  .tuple(date, date)
  .map(([a, b]) => (a < b ? { arrivalDate: a, departureDate: b } : { arrivalDate: b, departureDate: a }));

test("a date lies within the stays exactly when it lies within one of them", () => {
  fc.assert(
    fc.property(fc.array(stay, { maxLength: 6 }), date, (stays, day) => {
      const within = stays.some(
        ({ arrivalDate, departureDate }) => day >= arrivalDate && day <= departureDate,
      );
      assert.equal(new StayDates(stays).has(day), within);
    }),
    { numRuns: 2000 },
  );
});
