import assert from "node:assert/strict";
import { test } from "node:test";
import { REPORT_FIGURES } from "../../../contract/src/report-figures.ts";
import { differenceOf, ofYear, pairsOf, type ReportRow } from "./side-by-side.ts";

const rowOf = (more: Partial<ReportRow>): ReportRow =>
  ({
    ...{ stayDate: "2026-07-14", currency: "EUR", rooms: 31, roomRevenue: "4100.25", adr: "132.27" },
    ...{ occupancy: "0.7750", revpar: "102.51", lastYearRooms: null, lastYearFinalRooms: null },
    ...more,
  }) as ReportRow;

function difference(name: string, one: Partial<ReportRow>, other: Partial<ReportRow>) {
  const [pair] = pairsOf([rowOf(one)], [rowOf(other)]);
  const figure = REPORT_FIGURES.find((each) => each.name === name) ?? assert.fail(name);
  return differenceOf(pair ?? assert.fail(), figure);
}

test("a difference is the first less the second, exact, and null if one is not known", () => {
  assert.equal(difference("rooms", {}, { rooms: 33 }), -2);
  assert.equal(difference("revenue", { roomRevenue: "0.1" }, { roomRevenue: "0.30" }), "-0.20");
  assert.equal(difference("occupancy", {}, { occupancy: "0.5000" }), "0.2750");
  assert.equal(difference("revenue", {}, { roomRevenue: null }), null);
  assert.equal(difference("lastYear", { lastYearRooms: 0 }, {}), null);
});

test("amounts of different currencies have no difference, rooms have one", () => {
  const francs = { currency: "CHF", rooms: 30 };
  assert.equal(difference("revenue", {}, francs), null);
  assert.equal(difference("adr", {}, francs), null);
  assert.equal(difference("rooms", {}, francs), 1);
});

test("rows are paired by period, and by currency where a hotel has several", () => {
  const later = { stayDate: "2026-07-15" };
  const named = (pairs: ReturnType<typeof pairsOf>) =>
    pairs.map(({ sides }) => sides.map((side) => side && `${side.stayDate.slice(8)} ${side.currency}`));
  assert.deepEqual(named(pairsOf([rowOf(later), rowOf({})], [rowOf({ currency: "CHF" })])), [
    ["14 EUR", "14 CHF"],
    ["15 EUR", null],
  ]);
  assert.deepEqual(
    named(pairsOf([rowOf({}), rowOf({ currency: "USD" })], [rowOf({ currency: "USD" }), rowOf(later)])),
    [
      ["14 EUR", null],
      ["14 USD", "14 USD"],
      [null, "15 EUR"],
    ],
  );
});

test("a year that is not known is no row of zeros", () => {
  assert.equal(ofYear(rowOf({}), "lastYear"), null);
  assert.equal(ofYear(rowOf({ lastYearRooms: 3 }), "lastYearFinal"), null);
  const then = ofYear(
    rowOf({ lastYearRooms: 0, lastYearRoomRevenue: "0.00", lastYearAdr: null }),
    "lastYear",
  );
  assert.deepEqual([then?.rooms, then?.roomRevenue, then?.adr], [0, "0.00", null]);
});
