import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Money, textOfMoney } from "#contract/money.ts";
import { spansOfFacts } from "#contract/parsed-spans.ts";
import { readRecord } from "#contract/read-record.ts";
import type { Reservation } from "#contract/schema/record-schemas.ts";
import { parsedFacts } from "../../../test/contract/facts.ts";
import { assertComparable } from "../../../test/support/growth.ts";
import {
  datesOf,
  type NaivePart,
  type NaiveReservation,
  naiveDate,
  unitsOf,
} from "../../../test/support/naive-figures.ts";
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
    room: fc.constantFrom("DLX", "DLX", "STE"),
    adults: optional(fc.integer({ min: -1, max: 3 })),
    rates: fc.array(fc.tuple(optional(date), optional(date), optional(money), optional(money)), {
      maxLength: 3,
    }),
  })
  .map(({ dates: [arrivalDate, departureDate], room, adults, rates }) => ({
    arrivalDate,
    departureDate,
    roomTypeCode: room,
    numberOfAdults: adults,
    rates: rates.map(([startDate, endDate, rateValue, grossRateValue]) => ({
      startDate,
      endDate,
      rateValue,
      grossRateValue,
    })),
  }));
/** Stays in any order; some follow each other, some are listed twice. */
const stays = fc
  .tuple(fc.array(stay, { minLength: 1, maxLength: 4 }), fc.constantFrom("any", "sorted", "repeated"))
  .map(([some, order]) => {
    if (order === "repeated") return [...some, { ...(some[0] as (typeof some)[number]) }];
    return order === "sorted"
      ? some.toSorted((one, other) => one.arrivalDate.localeCompare(other.arrivalDate))
      : some;
  });
const reservation = fc
  .record({
    numberOfRooms: optional(fc.integer({ min: -1, max: 3 })),
    shareId: fc.constantFrom(undefined, "", "S-1"),
    status: fc.constantFrom("CONFIRMED", "NO SHOW", "ON HOLD"),
    roomStays: stays,
    isPriced: fc.boolean(),
    daily: fc.array(fc.tuple(date, optional(money)), { maxLength: 5 }),
  })
  .map(
    ({ isPriced, daily, ...rest }): NaiveReservation => ({
      ...rest,
      reservationId: "R1",
      stayRevenue: {
        daily: (isPriced ? daily : []).map(([occupancyDate, netRoomRevenue]) => ({
          occupancyDate,
          netRoomRevenue,
        })),
      },
    }),
  );

/** Of the facts of a record as they are stored. */
function storedSpans(resource: "reservations" | "groups", record: object) {
  return spansOfFacts(resource, parsedFacts(resource, record));
}

/** What a stay has of a date, as text: date, cause, room type, rooms, adults, net and gross amount. */
type Line = readonly [string, string, string, number, number, string, string];

/** Sums of the lines of one date, cause and room type. */
function summed(lines: readonly Line[]): readonly unknown[] {
  const sums = new Map<string, [number, number, bigint | null, bigint | null]>();
  const plus = (one: bigint | null, text: string) => (text === "" ? one : (one ?? 0n) + BigInt(text));
  for (const [day, cause, room, rooms, adults, net, gross] of lines) {
    const known = sums.get(`${day} ${cause} ${room}`) ?? [0, 0, null, null];
    const sum = [
      known[0] + rooms,
      known[1] + adults,
      plus(known[2], net),
      plus(known[3], gross),
    ] as typeof known;
    sums.set(`${day} ${cause} ${room}`, sum);
  }
  return (
    [...sums]
      .filter(([, [rooms, , net, gross]]) => rooms !== 0 || net || gross)
      // Without a room, 0 is not distinguished from no amount.
      .map(([name, [rooms, adults, net, gross]]) =>
        [name, rooms, adults, ...[net, gross].map((amount) => (rooms === 0 ? amount || null : amount))].join(
          " ",
        ),
      )
      .sort()
  );
}

function laidOut(runs: readonly NightRun[]): readonly unknown[] {
  const units = (amount: Money | null) => (amount === null ? "" : String(unitsOf(textOfMoney(amount))));
  return summed(
    runs.flatMap(({ firstNight, nights, rooms, adults, roomRevenue, grossRoomRevenue, codes }) =>
      Array.from({ length: nights }, (_, after): Line => {
        const day = dateOf(firstNight + after);
        const amounts = [units(roomRevenue), units(grossRoomRevenue)] as const;
        return [day, codes.cause ?? "night", codes.roomTypeCode ?? "", rooms, adults, ...amounts];
      }),
    ),
  );
}

/** Each date of a reservation one by one, from the definitions. */
function dateByDate(reservation: NaiveReservation): readonly unknown[] {
  const isBooked = reservation.status === "CONFIRMED";
  const text = (amount: bigint | null) => (amount === null ? "" : String(amount));
  return summed(
    datesOf(reservation).flatMap((day) => {
      const { nights, dayUses, outside } = naiveDate(reservation, day);
      const lineOf = (part: NaivePart, cause: string, guests: number): Line => {
        const { stay, rooms, net, gross } = part;
        const adults = Math.max(stay.numberOfAdults ?? 0, 0) * rooms * guests;
        return [day, cause, stay.roomTypeCode, rooms, adults, text(net), text(gross)];
      };
      const first = reservation.roomStays[0]?.roomTypeCode ?? "";
      return [
        ...nights.map((part) => lineOf(part, part.isDaily && !isBooked ? "posted" : "night", 1)),
        ...dayUses.map((part) => lineOf(part, part.isDaily && !isBooked ? "dayUsePosted" : "dayUse", 0)),
        ...(outside === null ? [] : [[day, "outsideStay", first, 0, 0, text(outside), ""] as Line]),
      ];
    }),
  );
}

test("the runs of a reservation are its dates one by one, from its bytes and from the text of its facts", () => {
  const property = fc.property(reservation, (record) => {
    const head = { clientCode: "ACME", propertyCode: "LON01", channel: "WEB" };
    const whole = { ...record, ...head, lastModifiedDateTime: "2026-01-01T00:00:00Z" };
    const { facts, status } = readRecord("reservations", Buffer.from(JSON.stringify(whole))).content();
    for (const spans of [facts.spans, storedSpans("reservations", whole)]) {
      const { runs, shareId } = reservationNights(spans, status);
      for (const { codes } of runs) assert.deepEqual([codes.channel, codes.status], ["WEB", record.status]);
      assert.equal(shareId, record.shareId === "S-1" ? "S-1" : null);
      assert.deepEqual(laidOut(runs), dateByDate(record));
    }
  });
  fc.assert(property, { numRuns: 3_000 });
});

const TWO = { arrivalDate: "2026-12-01", departureDate: "2026-12-02", numberOfAdults: 2 };
const rate = (rateValue: string) => ({ rates: [{ rateValue }] });
const dailyOf = (occupancyDate: string, netRoomRevenue: string) => ({
  stayRevenue: { daily: [{ occupancyDate, netRoomRevenue }] },
});

/** What the record says, and what it has of each date: date, cause, room type, rooms, adults, net, gross. */
const EXAMPLES: readonly (readonly [
  string,
  Omit<NaiveReservation, "reservationId" | "status">,
  readonly string[],
])[] = [
  [
    "two rooms as two stays are one room each",
    { numberOfRooms: 2, roomStays: ["DLX", "STE"].map((roomTypeCode) => ({ ...TWO, roomTypeCode })) },
    ["2026-12-01 night DLX 1 2  ", "2026-12-01 night STE 1 2  "],
  ],
  [
    "three rooms as two stays: the first has two",
    {
      numberOfRooms: 3,
      roomStays: ["DLX", "STE"].map((roomTypeCode) => ({ ...TWO, roomTypeCode, ...rate("10") })),
    },
    ["2026-12-01 night DLX 2 4 200000 ", "2026-12-01 night STE 1 2 100000 "],
  ],
  [
    "a stay listed twice is one room",
    {
      numberOfRooms: 1,
      roomStays: [TWO, TWO].map((stay) => ({ ...stay, roomTypeCode: "DLX", ...rate("100") })),
    },
    ["2026-12-01 night DLX 1 2 1000000 "],
  ],
  [
    "of a move with overlapping dates, the later stay has the night of both",
    {
      numberOfRooms: 1,
      roomStays: [
        { ...TWO, departureDate: "2026-12-03", roomTypeCode: "DLX", ...rate("100") },
        {
          ...TWO,
          arrivalDate: "2026-12-02",
          departureDate: "2026-12-04",
          roomTypeCode: "STE",
          ...rate("200"),
        },
      ],
    },
    [
      "2026-12-01 night DLX 1 2 1000000 ",
      "2026-12-02 night STE 1 2 2000000 ",
      "2026-12-03 night STE 1 2 2000000 ",
    ],
  ],
  [
    "a stay that is repeated comes after one that is not",
    {
      numberOfRooms: 2,
      roomStays: ["DLX", "DLX", "STE"].map((roomTypeCode) => ({ ...TWO, roomTypeCode })),
    },
    ["2026-12-01 night DLX 1 2  ", "2026-12-01 night STE 1 2  "],
  ],
  [
    "daily revenue replaces the rates of all stays",
    {
      numberOfRooms: 2,
      roomStays: [TWO, TWO].map((stay) => ({ ...stay, roomTypeCode: "DLX", ...rate("100") })),
      ...dailyOf("2026-12-01", "200"),
    },
    ["2026-12-01 night DLX 2 4 2000000 "],
  ],
  [
    "a negative number of rooms is 0",
    { numberOfRooms: -1, roomStays: [{ ...TWO, roomTypeCode: "DLX", ...rate("100") }] },
    [],
  ],
  [
    "negative guests are 0",
    { numberOfRooms: 2, roomStays: [{ ...TWO, numberOfAdults: -3, roomTypeCode: "DLX" }] },
    ["2026-12-01 night DLX 2 0  "],
  ],
  [
    "a sharer without a room of its own has one room, its rate and its guests",
    { numberOfRooms: 0, shareId: "S", roomStays: [{ ...TWO, roomTypeCode: "DLX", ...rate("60") }] },
    ["2026-12-01 night DLX 1 2 600000 "],
  ],
  [
    "revenue of the day of departure is outside the stay",
    { numberOfRooms: 1, roomStays: [{ ...TWO, roomTypeCode: "DLX" }], ...dailyOf("2026-12-02", "40") },
    ["2026-12-01 night DLX 1 2  ", "2026-12-02 outsideStay DLX 0 0 400000 "],
  ],
  [
    "revenue before a stay with a move is outside the stay, and 0 is none",
    {
      numberOfRooms: 1,
      roomStays: [
        { ...TWO, roomTypeCode: "DLX" },
        { ...TWO, arrivalDate: "2026-12-02", departureDate: "2026-12-03", roomTypeCode: "STE" },
      ],
      stayRevenue: {
        daily: [
          { occupancyDate: "2026-11-01", netRoomRevenue: "-5" },
          { occupancyDate: "2026-12-03", netRoomRevenue: "0.00" },
        ],
      },
    },
    ["2026-11-01 outsideStay DLX 0 0 -50000 ", "2026-12-01 night DLX 1 2  ", "2026-12-02 night STE 1 2  "],
  ],
  [
    "day use has its rate, and no night",
    {
      numberOfRooms: 2,
      roomStays: [{ ...TWO, departureDate: "2026-12-01", roomTypeCode: "DLX", ...rate("70.50") }],
    },
    ["2026-12-01 dayUse DLX 2 0 1410000 "],
  ],
  [
    "daily revenue of a date with a night and day use is the night's",
    {
      numberOfRooms: 1,
      roomStays: [
        { ...TWO, roomTypeCode: "DLX" },
        { ...TWO, departureDate: "2026-12-01", roomTypeCode: "STE", ...rate("70") },
      ],
      ...dailyOf("2026-12-01", "90"),
    },
    ["2026-12-01 dayUse STE 1 0  ", "2026-12-01 night DLX 1 2 900000 "],
  ],
];

for (const [what, record, expected] of EXAMPLES)
  test(what, () => {
    const { runs } = reservationNights(storedSpans("reservations", record), "CONFIRMED");
    assert.deepEqual(laidOut(runs), expected);
    assert.deepEqual(dateByDate({ ...record, reservationId: "R1", status: "CONFIRMED" }), expected);
  });

test("daily revenue of a status that is not on the books may be a fee, its rates are none", () => {
  const roomStays = [{ ...TWO, departureDate: "2026-12-03", roomTypeCode: "DLX", ...rate("100") }];
  const record = { numberOfRooms: 1, roomStays, ...dailyOf("2026-12-02", "80") };
  const { runs } = reservationNights(storedSpans("reservations", record), "CXL");
  assert.deepEqual(laidOut(runs), ["2026-12-01 night DLX 1 2 1000000 ", "2026-12-02 posted DLX 1 2 800000 "]);
});

test("a reservation with more nights than insight counts has none, however they are distributed over its stays", () => {
  const nightsOf = (...stays: readonly number[]) => {
    let arrival = FIRST;
    const roomStays = stays.map((nights) => {
      const arrivalDate = dateOf(arrival);
      arrival += nights;
      return { arrivalDate, departureDate: dateOf(arrival), roomTypeCode: "DLX" };
    });
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

/** Stays on the same nights, each with a rate and a room type of its own. */
function roomsSharing(stays: number, nights: number) {
  const [arrivalDate, departureDate] = [dateOf(FIRST), dateOf(FIRST + nights)];
  return Array.from({ length: stays }, (_, at) => {
    return { arrivalDate, departureDate, roomTypeCode: `T${at}`, rates: [{ rateValue: "80" }] };
  });
}

test("stays that share nights count without their rates if daily revenue changes too often, and make few runs", () => {
  const everySecond = Array.from({ length: 107 }, (_, at) => ({
    occupancyDate: dateOf(FIRST + 2 * at),
    netRoomRevenue: "100",
  }));
  const runsOf = (stays: number, daily: readonly object[]) => {
    const record = { numberOfRooms: 51, roomStays: roomsSharing(stays, 214), stayRevenue: { daily } };
    return reservationNights(storedSpans("reservations", record), "CONFIRMED").runs;
  };
  const runs = runsOf(51, everySecond);
  assert.equal(runs.length, 214 + 50);
  const sum = (of: (run: NightRun) => number) => runs.reduce((all, run) => all + run.nights * of(run), 0);
  assert.equal(
    sum(({ rooms }) => rooms),
    51 * 214,
  );
  assert.equal(
    sum(({ roomRevenue }) => Number(roomRevenue)),
    107 * 1_000_000,
  );
  // Revenue of the first nights only, as it is posted while guests stay, changes once.
  assert.equal(runsOf(51, everySecond.slice(0, 1)).length, 2 * 51);
});

test("stays of hundreds of nights that share them cost about as much as the bytes that they are of", () => {
  const spansOfAll = (roomStays: readonly object[]) => {
    const record = storedSpans("reservations", { numberOfRooms: 5, roomStays });
    return Array(Math.ceil(2_000 / roomStays.length)).fill(record);
  };
  assertComparable(
    "the nights of 2,000 stays",
    { usual: spansOfAll(roomsSharing(10, 3)), worst: spansOfAll(roomsSharing(10, 1_100)), ratioMax: 20 },
    (all) => all.map((spans) => reservationNights(spans, "CONFIRMED").runs.length),
  );
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
