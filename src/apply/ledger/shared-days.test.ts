import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type CoveringStay, SharedDays } from "./shared-days.ts";

const stay = fc.record({ arrival: fc.integer({ min: -10, max: 30 }), days: fc.integer({ min: 1, max: 12 }) });
const apart = fc.array(fc.integer({ min: -15, max: 45 }), { maxLength: 6 });
const has = ({ arrival, days }: CoveringStay, day: number) => day >= arrival && day < arrival + days;

test("each day of a stay has its place among the stays of the day, as found day by day", () => {
  fc.assert(
    fc.property(fc.array(stay, { maxLength: 8 }), apart, (stays, alone) => {
      const shared = new SharedDays(stays, alone);
      for (const [at, one] of stays.entries()) {
        const found: [day: number, place: number, covering: number][] = [];
        shared.eachOf(one, (from, to, place, covering) => {
          assert.ok(to > from);
          if (alone.includes(from)) assert.equal(to, from + 1);
          for (let day = from; day < to; day += 1) found.push([day, place, covering]);
        });
        const days = Array.from({ length: one.days }, (_, after) => one.arrival + after);
        const places = days.map((day) => [
          day,
          stays.slice(0, at).filter((other) => has(other, day)).length,
          stays.filter((other) => has(other, day)).length,
        ]);
        assert.deepEqual(found, places);
      }
      for (let day = -20; day < 50; day += 1)
        assert.equal(
          shared.covers(day),
          stays.some((one) => has(one, day)),
        );
    }),
    { numRuns: 1000 },
  );
});
