import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { isCalendarDate, isUtcTimestamp, microsecondTimestamp } from "./calendar.ts";

const pad = (value: number, width: number) => String(value).padStart(width, "0");

test("a date is accepted exactly when the calendar has it", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9999 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      (year, month, day) => {
        const date = new Date(0);
        date.setUTCFullYear(year, month - 1, day);
        const real =
          year > 0 &&
          date.getUTCFullYear() === year &&
          date.getUTCMonth() === month - 1 &&
          date.getUTCDate() === day;
        assert.equal(isCalendarDate(`${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`), real);
      },
    ),
    { numRuns: 3000 },
  );
});

test("leap days follow the Gregorian rule", () => {
  for (const date of ["2024-02-29", "2000-02-29", "0004-02-29", "9999-12-31", "0001-01-01"])
    assert.ok(isCalendarDate(date), date);
  for (const date of ["2026-02-30", "2023-02-29", "1900-02-29", "2100-02-29", "0000-01-01"])
    assert.ok(!isCalendarDate(date), date);
});

test("a date has no other form", () => {
  for (const date of [
    "",
    "2026-7-14",
    "20260714",
    "2026/07/14",
    "2026-07-14T00:00:00Z",
    " 2026-07-14",
    "2026-07-14 ",
    "+2026-07-14",
    "２026-07-14",
    "12026-07-14",
    "2026-07-1a",
  ]) {
    assert.ok(!isCalendarDate(date), date);
  }
});

test("a timestamp is UTC, to the minute, the second or a fraction of at most nine digits", () => {
  for (const time of [
    "2026-07-14T00:00:00Z",
    "2026-07-14T23:59:59Z",
    "2026-07-14T10:11:12.5Z",
    "2026-07-14T10:11:12.123456Z",
    "2026-07-14T10:11:12.1234567Z",
    "2026-07-14T10:11:12.123456789Z",
    "2026-07-14T10:11Z",
    "0001-01-01T00:00:00Z",
  ]) {
    assert.ok(isUtcTimestamp(time), time);
  }
  for (const time of [
    "2026-07-14T10:11:12",
    "2026-07-14T10:11:12+00:00",
    "2026-07-14T10:11:12.Z",
    "2026-07-14T10:11:12.1234567890Z",
    "2026-07-14T10:11:60Z",
    "2026-07-14T24:00:00Z",
    "2026-07-14T10:60:00Z",
    "2026-02-30T10:11:12Z",
    "2026-07-14 10:11:12Z",
    "2026-07-14t10:11:12Z",
    "2026-07-14T10:11:12z",
    "2026-07-14T10:11",
    "2026-07-14T10Z",
    "2026-07-14T10:11.5Z",
    "2026-07-14T24:00Z",
    "2026-07-14T10:11:Z",
    "2026-07-14",
    "",
    "2026-07-14T10:11:12,5Z",
    "2026-07-14T10:11:12.5",
    "2026-07-14T1a:11:12Z",
  ]) {
    assert.ok(!isUtcTimestamp(time), time);
  }
});

test("a timestamp is cut to six fractional digits, so that text order is time order", () => {
  assert.equal(microsecondTimestamp("2026-07-14T10:11:12Z"), "2026-07-14T10:11:12.000000Z");
  assert.equal(microsecondTimestamp("2026-07-14T10:11:12.5Z"), "2026-07-14T10:11:12.500000Z");
  assert.equal(microsecondTimestamp("2026-07-14T10:11:12.123456Z"), "2026-07-14T10:11:12.123456Z");
  assert.equal(microsecondTimestamp("2026-07-14T10:11:12.9999999Z"), "2026-07-14T10:11:12.999999Z");
  assert.equal(microsecondTimestamp("2026-07-14T10:11:12.123456789Z"), "2026-07-14T10:11:12.123456Z");
  assert.equal(microsecondTimestamp("2026-07-14T10:11Z"), "2026-07-14T10:11:00.000000Z");
});
