import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  addDays,
  addMoney,
  datesBetween,
  daysBetween,
  divideMoney,
  instantOf,
  isAskedDate,
  isStayDate,
  localTime,
  pickedInstant,
  readGrants,
  readHotels,
  subtractMoney,
  weekdayOf,
  writeChange,
  writeCount,
  writeDate,
  writeExactInstant,
  writeHotels,
  writeInstant,
  writeMany,
  writeMarks,
  writeMoney,
  writeMonth,
  writeNumbersIn,
  writePoints,
  writeShare,
  writeShort,
  writeSigned,
  writeSignedMoney,
  zoneName,
} from "./format.ts";

describe("instants in a zone", () => {
  const ZONE = "Europe/Paris";
  test("are what its clocks show, with their digits and its name then", () => {
    assert.equal(writeInstant("2026-03-14T23:26:53.123456Z", ZONE), "15 Mar 2026 00:26:53");
    assert.equal(writeExactInstant("2026-07-14T09:26:53.123456Z", ZONE), "14 Jul 2026 11:26:53.123456 CEST");
    assert.equal(zoneName("2026-03-14T09:26:53Z", "Asia/Kolkata"), "GMT+5:30");
  });
  test("survive the conversion to a picked time and back, also when clocks change", () => {
    for (const instant of [
      "2026-03-28T23:30",
      "2026-03-29T00:59",
      "2026-03-29T01:00",
      "2026-10-25T00:30",
      "2026-10-25T02:00",
    ])
      assert.equal(instantOf(localTime(`${instant}:00Z`, ZONE), ZONE), `${instant}:00.000Z`);
    // The repeated hour and the skipped hour.
    assert.equal(instantOf("2026-10-25T02:30", ZONE), "2026-10-25T00:30:00.000Z");
    assert.equal(instantOf("2026-03-29T02:30", ZONE), "2026-03-29T01:30:00.000Z");
  });
});

describe("figures in the console", () => {
  test("money stays the decimal text that it was, however large", () => {
    assert.equal(writeMoney("12345678901234567890.1"), "12,345,678,901,234,567,890.10");
    assert.equal(writeMoney("0.125"), "0.125");
    assert.equal(writeMoney("-1234.5"), "−1,234.50");
    assert.equal(writeMoney("210.0000"), "210.00");
    assert.equal(writeSignedMoney("7"), "+7.00");
    assert.equal(writeSignedMoney("0.00"), "0.00");
    assert.equal(writeMoney("n/a"), "n/a");
  });

  test("money is divided to its number of digits, rounded half away from zero", () => {
    assert.equal(divideMoney("5481.00", 120), "45.68");
    assert.equal(divideMoney("-5481.00", 120), "-45.68");
    assert.equal(divideMoney("5481", 120), "46");
    assert.equal(divideMoney("0.01", 3), "0.00");
    assert.equal(divideMoney("1.00", 0), null);
  });

  test("money is added and subtracted exactly, with the places of the longer text", () => {
    assert.equal(addMoney(["0.1", "0.2"]), "0.3");
    assert.equal(addMoney(["90071992547409.93", "0.005"]), "90071992547409.935");
    assert.equal(addMoney(["12", "-12.50"]), "-0.50");
    assert.equal(addMoney([]), "0");
    assert.equal(subtractMoney("3", "5.25"), "-2.25");
    assert.equal(subtractMoney("-0.5", "-0.75"), "0.25");
  });

  test("money is shortened to what fits a cell", () => {
    assert.equal(writeShort("845.50"), "+846");
    assert.equal(writeShort("4.50"), "+5");
    assert.equal(writeShort("0.00"), "0");
    assert.equal(writeShort("-1234.5"), "−1.2k");
    assert.equal(writeShort("999.50"), "+1k");
    assert.equal(writeShort("12345678901.23"), "+12,345.7M");
  });

  test("the marks of an axis are in one unit", () => {
    assert.deepEqual(writeMarks([0, 20_000, 100_000]), ["0", "20k", "100k"]);
    assert.deepEqual(writeMarks([0, 2_500, 5_000]), ["0", "2,500", "5,000"]);
    assert.deepEqual(writeMarks([-500_000, 0, 1_000_000]), ["−0.5M", "0", "1M"]);
  });

  test("separators follow the locale, digits and words do not", () => {
    try {
      writeNumbersIn("de-DE");
      assert.equal(writeMoney("12345678901234567890.1"), "12.345.678.901.234.567.890,10");
      assert.equal(writeCount(-12345), "−12.345");
      assert.equal(writeShare("0.8533"), "85,3 %");
      assert.equal(writeShort("-1234.5"), "−1,2k");
      assert.equal(writeInstant("2026-03-14T09:26:53.123456Z"), "14 Mar 2026 09:26:53");
      writeNumbersIn("ar-EG");
      assert.match(writeCount(12345), /^12.345$/);
    } finally {
      writeNumbersIn("en-GB");
    }
  });

  test("changes are written to a tenth, with their sign", () => {
    assert.equal(writeChange(104, 100), "+4.0 %");
    assert.equal(writeChange(1, 3), "−66.7 %");
    assert.equal(writeChange(3, 0), "");
    assert.equal(writePoints(0.25, 0.235), "+1.5 pt");
    assert.equal(writePoints(0.5, 0.5), "0.0 pt");
  });

  test("counts, signs, shares and words of number", () => {
    assert.equal(writeCount(-12345), "−12,345");
    assert.equal(writeSigned(3), "+3");
    assert.equal(writeSigned(0), "0");
    assert.equal(writeShare("0.8533"), "85.3 %");
    assert.equal(writeShare(0.0004), "< 0.1 %");
    assert.equal(writeShare(0), "0.0 %");
    assert.equal(writeMany(1, "property", "properties"), "1 property");
    assert.equal(writeMany(1200, "night"), "1,200 nights");
  });
});

describe("instants in the console", () => {
  test("formats the address's instant for a picker, to the second", () => {
    assert.equal(pickedInstant("2026-03-14 09:26"), "2026-03-14T09:26");
    assert.equal(pickedInstant("2026-03-14T09:26:53.123456Z"), "2026-03-14T09:26:53");
    assert.equal(pickedInstant("2026-03-14", "end"), "2026-03-14T23:59:59");
    assert.equal(pickedInstant("yesterday"), "");
    assert.equal(writeExactInstant("2026-03-14T09:26:53.123456Z"), "14 Mar 2026 09:26:53.123456 UTC");
  });
});

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

  test("are not queried while their year is being typed", () => {
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

test("hotels are written in an address, whatever their codes have", () => {
  const hotels = [
    { clientCode: "ACME", propertyCode: "LON01" },
    { clientCode: "A,B", propertyCode: "100%/+ é" },
  ];
  assert.equal(writeHotels(hotels), "ACME/LON01,A%2CB/100%25/+ é");
  assert.deepEqual(readHotels(writeHotels(hotels)), hotels);
  assert.deepEqual(readHotels("ACME,/LON01,ACME/,ACME/%,ACME/ROM01"), [
    { clientCode: "ACME", propertyCode: "ROM01" },
  ]);
});

test("grants are typed one per line, and an invalid line is reported", () => {
  assert.deepEqual(readGrants(" ACME/LON01 \n\nCHAIN/*\nACME/LON01\nLON\n*/X\n/Y\nA/B/C"), {
    grants: [
      { clientCode: "ACME", propertyCode: "LON01" },
      { clientCode: "CHAIN", propertyCode: "*" },
      { clientCode: "A", propertyCode: "B/C" },
    ],
    wrong: ["LON", "*/X", "/Y"],
  });
});
