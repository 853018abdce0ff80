import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { insightItems } from "../support/insight-fixture.ts";
import { apply, group, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { runFigureSets } from "../workload/figure-sets.ts";
import { ledgerProblems } from "../workload/observed-ledger.ts";

const SEED = Number(process.env["SEED"] ?? 20_261_129);

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test("random sets of shares, overlapping stays, day use and cancellations are what the definitions say, in views too", async () => {
  const problems = await runFigureSets(service, { sets: 120, seed: SEED });
  assert.deepEqual(problems.slice(0, 3), []);
  assert.deepEqual(await ledgerProblems(service.pool), []);
});

test("reservations beyond the limits of insight have no nights in views either, and those that change too often no rates", async () => {
  const stay = (arrivalDate: string, departureDate: string, rateValue = "100") => ({
    arrivalDate,
    departureDate,
    roomTypeCode: "DLX",
    currencyCode: "EUR",
    numberOfAdults: 2_000_000_000,
    rates: [{ rateValue, grossRateValue: "120" }],
  });
  const datesOf = (count: number, every: number) =>
    Array.from({ length: count }, (_, at) => ({
      occupancyDate: addDays("2030-01-01", at * every),
      netRoomRevenue: 10,
    }));
  const year = stay("2030-01-01", "2031-01-01");
  const of = (
    id: string,
    roomStays: readonly object[],
    days: readonly object[] = [],
    more: Record<string, unknown> = {},
  ) => ({
    ...reservation(id, "2026-06-01T10:00:00Z", more),
    propertyCode: "LIMITS",
    roomStays,
    stayRevenue: { daily: days },
  });
  await apply(service, "reservations", [
    of("millennia", [stay("0001-01-01", "9999-12-31")], datesOf(3, 1)),
    of(
      "long",
      [stay("2030-01-01", addDays("2030-01-01", 1_101)), stay("2040-01-01", "2040-01-01")],
      datesOf(3, 1),
    ),
    of("longest", [stay("2030-01-01", addDays("2030-01-01", 1_100)), year], datesOf(3, 1)),
    of(
      "many",
      Array.from({ length: 11 }, () => stay("2030-01-01", addDays("2030-01-01", 1_001))),
    ),
    of("outside", [stay("2029-01-01", "2029-01-03")], datesOf(1_101, 1)),
    of("outside-less", [stay("2029-01-01", "2029-01-03")], datesOf(1_100, 1)),
    of(
      "changing",
      [year, stay("2030-01-01", "2031-01-01", "90"), year, stay("2030-06-01", "2030-06-01")],
      datesOf(120, 3),
    ),
    of("changing-less", [year, stay("2030-01-01", "2031-01-01", "90")], datesOf(29, 3)),
    of("changing-least", [year, stay("2030-01-01", "2031-01-01", "90")], datesOf(28, 3)),
    of("guests", [stay("2030-01-01", "2030-01-02")], [], { numberOfRooms: 3 }),
  ]);
  assert.deepEqual(await ledgerProblems(service.pool), []);
  const { rows } = await service.pool.query<{ id: string; nights: number; rated: number }>(
    `select reservation_id as id, count(*)::integer as nights, count(gross_room_revenue)::integer as rated
    from analytics.stay_night where property_code = 'LIMITS' group by 1 order by 1`,
  );
  assert.deepEqual(
    rows.map(({ id, nights, rated }) => [id, nights, rated > 0]),
    [
      ["changing", 1_095, false],
      ["changing-least", 730, true],
      ["changing-less", 730, false],
      ["guests", 1, true],
      ["longest", 1_465, true],
      ["outside", 2, true],
      ["outside-less", 2, true],
    ],
  );
});

const NIGHT = "2026-12-01";
const T = (day: number) => `2026-06-${String(day).padStart(2, "0")}T10:00:00Z`;

function booked(
  id: string,
  day: number,
  more: Record<string, unknown> = {},
  stay: Record<string, unknown> = {},
) {
  return reservation(id, T(day), {
    numberOfRooms: 1,
    roomStays: [
      {
        arrivalDate: NIGHT,
        departureDate: "2026-12-02",
        roomTypeCode: "DLX",
        numberOfAdults: 2,
        currencyCode: "EUR",
        ...stay,
      },
    ],
    ...more,
  });
}

async function send(propertyCode: string, ...records: Record<string, unknown>[]) {
  await apply(
    service,
    "reservations",
    records.map((record) => ({ ...record, propertyCode })),
  );
}

async function figuresOf(
  propertyCode: string,
  names: string,
  more: Record<string, string> = {},
  what = "on-the-books",
) {
  const asked = { clientCode: "ACME", propertyCode, from: "2026-11-29", to: "2026-12-06", ...more };
  return (await insightItems(service, what, asked)).map((item) => names.split(" ").map((name) => item[name]));
}

describe("a share", () => {
  test("keeps its room while one member is on the books, and one of two sharers has 0 rooms", async () => {
    const later = { arrivalDate: "2026-11-30", departureDate: "2026-12-03" };
    await send("S1", booked("R1", 1, { shareId: "S" }, { departureDate: "2026-12-03" }));
    await send("S1", booked("R2", 1, { shareId: "S", numberOfRooms: 0 }, later));
    const rooms = [
      ["2026-11-30", 1, 2],
      ["2026-12-01", 1, 4],
      ["2026-12-02", 1, 4],
    ];
    assert.deepEqual(await figuresOf("S1", "stayDate rooms adults"), rooms);
    await send("S1", booked("R1", 2, { shareId: "S", status: "NO SHOW" }, { departureDate: "2026-12-03" }));
    assert.deepEqual(
      await figuresOf("S1", "stayDate rooms adults"),
      rooms.map(([night]) => [night, 1, 2]),
    );
  });

  test("adds up revenue and guests of sharers with 1 and 0 rooms, and lists both", async () => {
    const rates = { rates: [{ rateValue: "60" }] };
    await send(
      "S2",
      booked("R1", 1, { shareId: "S" }, rates),
      booked("R2", 1, { shareId: "S", numberOfRooms: 0 }, rates),
    );
    assert.deepEqual(await figuresOf("S2", "rooms roomRevenue adults"), [[1, "120.00", 4]]);
    const night = { clientCode: "ACME", propertyCode: "S2", stayDate: NIGHT };
    const answer = await service.get(`/api/insight/v1/reconciliation/night?${new URLSearchParams(night)}`);
    assert.equal((answer.json() as unknown as { reservations: unknown[] }).reservations.length, 2);
  });

  test("of unmapped statuses counts once", async () => {
    const more = { shareId: "S", status: "ON HOLD" };
    await send(
      "S3",
      booked("R1", 1, more),
      booked("R2", 1, more),
      booked("R3", 1, { ...more, shareId: "T" }),
    );
    assert.deepEqual(await figuresOf("S3", "rooms unmappedRooms"), [[0, 2]]);
  });

  test("whose id changes neither books nor cancels; 3 rooms that become 2 are 1 cancelled", async () => {
    const since = { since: T(10), from: NIGHT };
    await send("S4", booked("R1", 1, { shareId: "x" }), booked("R2", 1, { shareId: "x" }));
    await send("S4", booked("R1", 11, { shareId: "y" }), booked("R2", 11, { shareId: "y" }));
    assert.deepEqual(await figuresOf("S4", "booked cancelled", since, "pickup"), []);
    await send("S5", booked("R1", 1, { shareId: "x", numberOfRooms: 3 }));
    await send("S5", booked("R1", 11, { shareId: "y", numberOfRooms: 2 }));
    assert.deepEqual(await figuresOf("S5", "booked cancelled", since, "pickup"), [[0, 1]]);
    // Three shares in a row, linked by their members, whatever the range.
    const long = { departureDate: "2026-12-03" };
    await send("S6", booked("R1", 1, { shareId: "x" }, long), booked("R2", 1, { shareId: "y" }));
    await send("S6", booked("R1", 11, { shareId: "y" }, long), booked("R2", 11, { shareId: "z" }));
    for (const from of [NIGHT, "2026-11-29"])
      assert.deepEqual(await figuresOf("S6", "booked cancelled", { ...since, from }, "pickup"), []);
  });
});

test("a negative number of rooms hides no night of another reservation, nor its guests", async () => {
  await send("N1", booked("R1", 1), booked("R2", 1, { numberOfRooms: -1 }));
  assert.deepEqual(await figuresOf("N1", "rooms adults"), [[1, 2]]);
  await send("N2", booked("R1", 1), booked("R2", 1, {}, { numberOfAdults: -2 }));
  assert.deepEqual(await figuresOf("N2", "rooms adults"), [[2, 2]]);
});

describe("revenue without a room night", () => {
  const daily = (...days: [string, string][]) => ({
    stayRevenue: {
      daily: days.map(([occupancyDate, netRoomRevenue]) => ({ occupancyDate, netRoomRevenue })),
    },
  });
  const names = "stayDate rooms roomRevenue adr dayUseRooms dayUseRevenue feeRevenue outsideStayRevenue";

  test("is day use, fees and dates outside the stay, beside room revenue", async () => {
    await send(
      "W1",
      booked("R1", 1, daily([NIGHT, "100"], ["2026-12-02", "25"])),
      booked("R2", 1, { status: "NO SHOW", ...daily([NIGHT, "80"]) }, { rates: [{ rateValue: "500" }] }),
      booked("R3", 1, {}, { departureDate: NIGHT, rates: [{ rateValue: "70" }] }),
    );
    assert.deepEqual(await figuresOf("W1", names), [
      [NIGHT, 1, "100.00", "100.00", 1, "70.00", "80.00", null],
      ["2026-12-02", 0, null, null, 0, null, null, "25.00"],
    ]);
    assert.deepEqual(
      await figuresOf(
        "W1",
        "stayDate rooms feeRevenue outsideStayRevenue",
        { since: "2026-01-01T00:00:00Z" },
        "pickup",
      ),
      [
        [NIGHT, 1, "80.00", null],
        ["2026-12-02", 0, null, "25.00"],
      ],
    );
  });

  test("of a cancelled day use is a fee only if it is daily revenue", async () => {
    const stay = { departureDate: NIGHT, rates: [{ rateValue: "70" }] };
    await send("W2", booked("R1", 1, { status: "CANCELLED", ...daily([NIGHT, "30"]) }, stay));
    await send("W2", booked("R2", 1, { status: "CANCELLED" }, stay));
    assert.deepEqual(await figuresOf("W2", names), [[NIGHT, 0, null, null, 0, null, "30.00", null]]);
  });
});

describe("a line without money", () => {
  const block = (propertyCode: string) => ({
    ...group("G1", T(1), { startDate: NIGHT, endDate: "2026-12-02" }),
    propertyCode,
    groupBlocks: [{ occupancyDate: NIGHT, roomTypeCode: "DLX", blocks: 4 }],
  });
  const names = "currency rooms blocksRemaining capacity soldReported";
  const priced = (currencyCode: string) => ({ currencyCode, rates: [{ rateValue: "100" }] });

  test("joins the only currency of the night", async () => {
    await apply(service, "groups", [block("M1")]);
    await send("M1", booked("R1", 1, {}, priced("EUR")), booked("R2", 1, {}, { currencyCode: undefined }));
    await apply(service, "inventories", [
      {
        ...inventory(NIGHT, T(1)),
        propertyCode: "M1",
        roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 10, roomsSold: 1 }],
      },
    ]);
    for (const limit of ["1", "2", "1000"])
      assert.deepEqual(await figuresOf("M1", names, { limit }), [["EUR", 2, 4, 10, 1]], limit);
  });

  test("stays apart beside two currencies or with an amount; capacity stands once", async () => {
    await apply(service, "groups", [block("M2")]);
    await send("M2", booked("R1", 1, {}, priced("EUR")), booked("R2", 1, {}, priced("USD")));
    await apply(service, "inventories", [
      {
        ...inventory(NIGHT, T(1)),
        propertyCode: "M2",
        roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 10, roomsSold: 1 }],
      },
    ]);
    for (const limit of ["1", "2", "1000"])
      assert.deepEqual(
        await figuresOf("M2", names, { limit }),
        [
          ["EUR", 1, 0, 10, 1],
          ["USD", 1, 0, null, null],
          [null, 0, 4, null, null],
        ],
        limit,
      );
    await send(
      "M3",
      booked("R1", 1, {}, priced("EUR")),
      booked("R2", 1, {}, { ...priced("EUR"), currencyCode: undefined }),
    );
    assert.deepEqual(await figuresOf("M3", "currency rooms"), [
      ["EUR", 1],
      [null, 1],
    ]);
  });
});

test("pace has no revenue for the days before a reservation that reports some", async () => {
  await send(
    "P1",
    booked("R1", 1),
    booked("R2", 5, {}, { rates: [{ rateValue: "100", grossRateValue: "110" }] }),
  );
  const asked = { from: NIGHT, to: NIGHT, daysBefore: "185" };
  const points = await figuresOf("P1", "daysBefore rooms roomRevenue grossRoomRevenue adr", asked, "pace");
  const at = (days: number) => points.find(([before]) => before === days);
  assert.deepEqual(at(182), [182, 1, null, null, null]);
  assert.deepEqual(at(178), [178, 2, "100.00", "110.00", "50.00"]);
});
