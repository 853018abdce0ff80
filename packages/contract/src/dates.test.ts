import assert from "node:assert/strict";
import { test } from "node:test";
import { addDays, datesFrom, daysBetween } from "./dates.ts";

test("days are counted over the ends of months and years, and end with the calendar", () => {
  assert.equal(addDays("2028-02-28", 1), "2028-02-29");
  assert.equal(addDays("2026-12-31", 1), "2027-01-01");
  assert.equal(addDays("0001-01-05", -31), "0001-01-01");
  assert.equal(addDays("9999-12-30", 5), "9999-12-31");
  assert.deepEqual(datesFrom("2026-12-30", 3), ["2026-12-30", "2026-12-31", "2027-01-01"]);
  assert.equal(daysBetween("2026-03-28", "2026-03-30"), 2);
});
