import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { writeDate, writeMonth } from "./format.ts";
import { addDays, datesBetween, daysBetween, isAskedDate, isStayDate, weekdayOf } from "./stay-date.ts";

describe("stay dates in the console", () => {
  test("are days of the calendar, whatever the time zone of the machine", () => {
    const before = process.env["TZ"];
    for (const zone of ["Pacific/Kiritimati", "Pacific/Pago_Pago", "America/Sao_Paulo", "UTC"]) {
      process.env["TZ"] = zone;
      assert.equal(addDays("2026-10-24", 2), "2026-10-26", zone);
      assert.equal(addDays("2026-03-01", -1), "2026-02-28", zone);
      assert.equal(writeDate("2026-03-14"), "Sat 14 Mar 2026", zone);
      assert.equal(weekdayOf("2026-03-16"), 0, zone);
    }
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });

  test("are not asked for while their year is being typed", () => {
    for (const typed of ["0002-03-14", "0202-03-14", "2026-02-30"]) assert.equal(isAskedDate(typed), false);
    assert.equal(isAskedDate("2026-03-14"), true);
  });

  test("span years and leap days, both ends included", () => {
    assert.equal(
      datesBetween("2028-02-27", "2028-03-01").join(" "),
      "2028-02-27 2028-02-28 2028-02-29 2028-03-01",
    );
    assert.equal(daysBetween("2026-12-31", "2027-01-01"), 1);
    assert.deepEqual(datesBetween("2026-01-02", "2026-01-01"), []);
    assert.equal(writeMonth("2026-11-01"), "November 2026");
  });

  test("are real days only", () => {
    for (const text of ["2026-02-29", "2026-13-01", "26-01-01", "2026-1-1", "", "2026-01-01T00:00:00Z"])
      assert.equal(isStayDate(text), false, text);
    assert.equal(isStayDate("2028-02-29"), true);
  });
});
