import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Money, textOfMoney } from "#contract/money.ts";
import { spansOfFacts } from "#contract/parsed-spans.ts";
import { readRecord } from "#contract/read-record.ts";
import type { Reservation } from "#contract/schema/record-schemas.ts";
import { parsedFacts } from "../../../test/contract/facts.ts";
import { groupNights } from "./content-nights.ts";
import { type NightRun, reservationNights } from "./reservation-nights.ts";

const DAY_MS = 86_400_000;
const dateOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);
const FIRST = Date.UTC(2026, 1, 25) / DAY_MS;

const date = fc.nat(12).map((after) => dateOf(FIRST + after));
const dates = fc.tuple(date, date).map((two) => two.sort() as [string, string]);
const money = fc.constantFrom("100", "100.00", "120.5", "0", "-3.10", "70000000000000.5");
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const stay = fc
  .record({
    dates,
    adults: optional(fc.nat(3)),
    rates: fc.array(fc.tuple(optional(date), optional(date), optional(money), optional(money)), {
      maxLength: 3,
    }),
  })
  .map(({ dates: [arrivalDate, departureDate], adults, rates }) => ({
    arrivalDate,
    departureDate,
    roomTypeCode: "DLX",
    numberOfAdults: adults,
    rates: rates.map(([startDate, endDate, rateValue, grossRateValue]) => ({
      startDate,
      endDate,
      rateValue,
      grossRateValue,
    })),
  }));
const reservation = fc
  .record({
    numberOfRooms: optional(fc.nat(3)),
    shareId: fc.constantFrom(undefined, "", "S-1"),
    roomStays: fc.array(stay, { minLength: 1, maxLength: 3 }),
    isPriced: fc.boolean(),
    daily: fc.array(fc.tuple(date, optional(money)), { maxLength: 5 }),
  })
  .map(
    ({ isPriced, daily, ...rest }) =>
      ({
        ...rest,
        channel: "WEB",
        stayRevenue: {
          daily: (isPriced ? daily : []).map(([occupancyDate, netRoomRevenue]) => ({
            occupancyDate,
            netRoomRevenue,
          })),
        },
      }) as unknown as Reservation,
  );

/** Each night of each stay, one by one. */
function nightByNight({ roomStays, numberOfRooms, stayRevenue }: Reservation) {
  const rooms = Number(numberOfRooms ?? 1);
  const taken = new Set<string>();
  const cents = (text: unknown) => Math.round(Number(text) * 100);
  return roomStays.flatMap((one) => {
    const nights = [];
    for (
      let day = Date.parse(one.arrivalDate) / DAY_MS;
      day < Date.parse(one.departureDate) / DAY_MS;
      day += 1
    ) {
      const night = dateOf(day);
      const covers = (rate: { startDate?: string; endDate?: string }) =>
        (rate.startDate ?? "0") <= night && night <= (rate.endDate ?? "9");
      const rate = (one.rates ?? []).findLast(covers);
      const reported = (stayRevenue?.daily ?? []).filter(
        ({ occupancyDate, netRoomRevenue }) => occupancyDate === night && netRoomRevenue !== undefined,
      );
      const own = !taken.has(night) && reported.length > 0;
      taken.add(night);
      const byRate = (value: unknown) => (value === undefined ? null : cents(value) * rooms);
      nights.push({
        night,
        rooms,
        adults: Number(one.numberOfAdults ?? 0) * rooms,
        net: own
          ? reported.reduce((sum, { netRoomRevenue }) => sum + cents(netRoomRevenue), 0)
          : byRate(rate?.rateValue),
        gross: byRate(rate?.grossRateValue),
      });
    }
    return nights;
  });
}

/** Of the facts of a record as they are stored. */
function storedSpans(resource: "reservations" | "groups", record: object) {
  return spansOfFacts(resource, parsedFacts(resource, record));
}

function laidOut(runs: readonly NightRun[]) {
  const cents = (money: Money | null) =>
    money === null ? null : Math.round(Number(textOfMoney(money)) * 100);
  return runs.flatMap(({ firstNight, nights, rooms, adults, roomRevenue, grossRoomRevenue }) =>
    Array.from({ length: nights }, (_, after) => ({
      night: dateOf(firstNight + after),
      rooms,
      adults,
      net: cents(roomRevenue),
      gross: cents(grossRoomRevenue),
    })),
  );
}

test("the runs of a reservation, laid out, are its nights one by one, from its bytes and from the text of its facts", () => {
  const property = fc.property(reservation, (record) => {
    const head = { clientCode: "ACME", propertyCode: "LON01", reservationId: "R1", status: "CONFIRMED" };
    const whole = { ...record, ...head, lastModifiedDateTime: "2026-01-01T00:00:00Z" };
    const { facts, status } = readRecord("reservations", Buffer.from(JSON.stringify(whole))).content();
    for (const spans of [facts.spans, storedSpans("reservations", record)]) {
      const { runs, shareId } = reservationNights(spans, status);
      for (const { codes } of runs) assert.deepEqual([codes.channel, codes.status], ["WEB", "CONFIRMED"]);
      assert.equal(shareId, record.shareId === "S-1" ? "S-1" : null);
      // -0 is no amount of its own.
      assert.deepEqual(
        JSON.parse(JSON.stringify(laidOut(runs))),
        JSON.parse(JSON.stringify(nightByNight(record))),
      );
    }
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("a reservation with more nights than insight counts has none, however they are distributed over its stays", () => {
  const nightsOf = (...stays: readonly number[]) => {
    const roomStays = stays.map((nights) => ({
      arrivalDate: dateOf(FIRST),
      departureDate: dateOf(FIRST + nights),
      roomTypeCode: "DLX",
    }));
    const record = { shareId: "S-1", roomStays } as unknown as Reservation;
    const { shareId, runs } = reservationNights(storedSpans("reservations", record), null);
    assert.equal(shareId, "S-1");
    return runs.reduce((sum, { nights }) => sum + nights, 0);
  };
  const ten = Array(10).fill(1_100);
  assert.equal(nightsOf(1_100), 1_100);
  assert.equal(nightsOf(2, 1_101), 0);
  assert.equal(nightsOf(...ten), 11_000);
  assert.equal(nightsOf(...ten, 1), 0);
});

test("a group of more blocks than insight counts has none", () => {
  const blocksOf = (count: number) => {
    const groupBlocks = Array(count).fill({ occupancyDate: dateOf(FIRST), roomTypeCode: "DLX", blocks: 1 });
    return groupNights(storedSpans("groups", { groupBlocks }), "DEFINITE", "G1").length;
  };
  assert.equal(blocksOf(11_000), 11_000);
  assert.equal(blocksOf(11_001), 0);
});

test("nights that are alike make one run, however long", () => {
  const record = {
    roomStays: [
      {
        arrivalDate: "2026-01-01",
        departureDate: "2029-01-05",
        roomTypeCode: "DLX",
        rates: [{ rateValue: "80.0" }, { startDate: "2026-02-01", rateValue: "80.00" }],
      },
    ],
  } as unknown as Reservation;
  const { runs } = reservationNights(storedSpans("reservations", record), null);
  assert.deepEqual(
    runs.map(({ nights, roomRevenue }) => [nights, textOfMoney(roomRevenue ?? 0)]),
    [[1_100, "80"]],
  );
});

test("an empty currency code is none, so the property's currency holds", () => {
  const dates = { arrivalDate: dateOf(FIRST), departureDate: dateOf(FIRST + 1), roomTypeCode: "DLX" };
  const reserved = { roomStays: [{ ...dates, currencyCode: "" }] };
  const [run] = reservationNights(storedSpans("reservations", reserved), null).runs;
  assert.equal(run?.codes.currencyCode, null);
  const groupBlocks = [{ occupancyDate: dateOf(FIRST), roomTypeCode: "DLX", currencyCode: "" }];
  const [block] = groupNights(storedSpans("groups", { groupBlocks }), "DEFINITE", "G1");
  assert.equal(block?.codes.currencyCode, null);
});
