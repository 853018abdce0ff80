import assert from "node:assert/strict";
import { test } from "node:test";
import { businessDayOf, endOfBusinessDay } from "./business-day.ts";

const dayOf = (instant: string, timeZone: string, businessDayEnd: string) =>
  businessDayOf(new Date(instant), { timeZone, businessDayEnd });

test("a business day that ends at midnight is the calendar day of the property's zone", () => {
  assert.equal(dayOf("2026-07-01T22:30:00Z", "Europe/Paris", "00:00"), "2026-07-02");
  assert.equal(dayOf("2026-07-01T22:30:00Z", "UTC", "00:00"), "2026-07-01");
  assert.equal(dayOf("2026-01-01T04:30:00Z", "America/New_York", "00:00"), "2025-12-31");
});

test("a business day that ends in the morning continues after midnight", () => {
  assert.equal(dayOf("2026-07-02T00:59:00Z", "Europe/Paris", "03:00"), "2026-07-01");
  assert.equal(dayOf("2026-07-02T01:00:00Z", "Europe/Paris", "03:00"), "2026-07-02");
  // On the night in which the clock is set back, too.
  assert.equal(dayOf("2026-10-25T01:59:00Z", "Europe/Paris", "03:00"), "2026-10-24");
  assert.equal(dayOf("2026-10-25T02:00:00Z", "Europe/Paris", "03:00"), "2026-10-25");
});

test("a business day that ends in the evening leaves the rest of it to the next day", () => {
  assert.equal(dayOf("2026-07-01T21:59:00Z", "UTC", "22:00"), "2026-07-01");
  assert.equal(dayOf("2026-12-31T22:00:00Z", "UTC", "22:00"), "2027-01-01");
});

test("a business day is over at the first instant of the next", () => {
  const cases = [
    ["2026-07-01", "Europe/Paris", "03:00", "2026-07-02T01:00:00.000Z"],
    ["2026-10-24", "Europe/Paris", "04:00", "2026-10-25T03:00:00.000Z"],
    ["2026-03-28", "Europe/Paris", "04:00", "2026-03-29T02:00:00.000Z"],
    ["2026-07-01", "America/New_York", "00:00", "2026-07-02T04:00:00.000Z"],
    ["2026-07-01", "Pacific/Kiritimati", "22:30", "2026-07-01T08:30:00.000Z"],
    // Clocks show the time twice, or never.
    ["2026-10-24", "Europe/Berlin", "02:30", "2026-10-25T01:30:00.000Z"],
    ["2026-10-31", "America/New_York", "01:30", "2026-11-01T06:30:00.000Z"],
    ["2026-03-28", "Europe/Berlin", "02:30", "2026-03-29T01:30:00.000Z"],
    ["2026-03-07", "America/New_York", "02:30", "2026-03-08T07:30:00.000Z"],
    // Clocks are set at midnight.
    ["2026-11-01", "America/Havana", "00:00", "2026-11-02T05:00:00.000Z"],
    ["2026-09-05", "America/Santiago", "00:00", "2026-09-06T04:00:00.000Z"],
  ] as const;
  for (const [day, timeZone, businessDayEnd, end] of cases) {
    const at = endOfBusinessDay(day, { timeZone, businessDayEnd });
    assert.equal(at.toISOString(), end);
    assert.equal(businessDayOf(new Date(at.getTime() - 1), { timeZone, businessDayEnd }), day);
    assert.notEqual(businessDayOf(at, { timeZone, businessDayEnd }), day);
  }
});

test("no instant is of an earlier business day than one before it, in the night in which clocks are set back", () => {
  for (const [timeZone, from] of [
    ["Europe/Berlin", "2026-10-25T00:00:00Z"],
    ["America/New_York", "2026-11-01T05:00:00Z"],
    ["Europe/Berlin", "2026-03-29T00:00:00Z"],
  ] as const)
    for (const businessDayEnd of ["01:30", "02:00", "02:30", "02:59"]) {
      const days = Array.from({ length: 18 }, (_, at) =>
        businessDayOf(new Date(Date.parse(from) + at * 600_000), { timeZone, businessDayEnd }),
      );
      assert.deepEqual(days, days.toSorted(), `${timeZone} ${businessDayEnd}`);
    }
});
