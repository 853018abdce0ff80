import assert from "node:assert/strict";
import { test } from "node:test";
import { datesFrom } from "#contract/dates.ts";
import { instantOfLocalTime, isLocalTime, lastDue, nextDue } from "./schedule.ts";

const at = (instant: string) => new Date(instant);

test("a local time is due once on each date of its zone, also where the date differs from UTC's", () => {
  const due = (now: string, zone: string, time = "07:00") => {
    const last = lastDue(at(now), time, zone);
    return [last.date, last.at.toISOString()];
  };
  assert.deepEqual(due("2026-11-30T05:59:59Z", "Europe/Zurich"), ["2026-11-29", "2026-11-29T06:00:00.000Z"]);
  assert.deepEqual(due("2026-11-30T06:00:00Z", "Europe/Zurich"), ["2026-11-30", "2026-11-30T06:00:00.000Z"]);
  assert.deepEqual(due("2026-11-29T22:00:00Z", "Asia/Tokyo"), ["2026-11-30", "2026-11-29T22:00:00.000Z"]);
  assert.deepEqual(due("2026-11-30T18:59:00Z", "America/Los_Angeles", "11:00"), [
    "2026-11-29",
    "2026-11-29T19:00:00.000Z",
  ]);
  assert.deepEqual(due("2026-11-30T23:30:00Z", "UTC", "23:30"), ["2026-11-30", "2026-11-30T23:30:00.000Z"]);
});

test("a day of 23 or 25 hours has each local time once", () => {
  const zurich = (date: string, time: string) =>
    instantOfLocalTime(date, time, "Europe/Zurich").toISOString();
  assert.equal(zurich("2026-03-28", "07:00"), "2026-03-28T06:00:00.000Z");
  assert.equal(zurich("2026-03-29", "07:00"), "2026-03-29T05:00:00.000Z");
  assert.equal(zurich("2026-10-25", "07:00"), "2026-10-25T06:00:00.000Z");
  // Skipped: as if the clocks had not been set forward yet. Shown twice: the second time.
  assert.equal(zurich("2026-03-29", "02:30"), "2026-03-29T01:30:00.000Z");
  assert.equal(zurich("2026-10-25", "02:30"), "2026-10-25T01:30:00.000Z");
});

test("around each change of the clocks every date is due exactly once, in order", () => {
  const changes = {
    "Europe/Zurich": ["2026-03-27", "2026-10-23"],
    "Australia/Lord_Howe": ["2026-04-03", "2026-10-02"],
  };
  for (const [zone, starts] of Object.entries(changes))
    for (const start of starts)
      for (const time of ["02:15", "07:00"]) {
        const begun = Date.parse(start);
        const dates: string[] = [];
        for (let quarter = 0; quarter < 4 * 24 * 4; quarter++) {
          const now = new Date(begun + quarter * 900_000);
          const { date, at: due } = lastDue(now, time, zone);
          assert.ok(due <= now, `${zone} ${time} ${now.toISOString()}`);
          if (dates.at(-1) !== date) dates.push(date);
        }
        assert.deepEqual(dates, datesFrom(dates[0] ?? "", dates.length), `${zone} ${time}`);
        assert.ok(dates.length >= 4);
      }
});

test("the next due time follows the last", () => {
  assert.deepEqual(nextDue(at("2026-03-28T12:00:00Z"), "07:00", "Europe/Zurich"), {
    date: "2026-03-29",
    at: at("2026-03-29T05:00:00Z"),
  });
});

test("a local time has two digits each", () => {
  for (const good of ["00:00", "07:05", "23:59"]) assert.ok(isLocalTime(good));
  for (const bad of ["7:00", "24:00", "07:60", "07:00:00", " 07:00", ""]) assert.ok(!isLocalTime(bad));
});
