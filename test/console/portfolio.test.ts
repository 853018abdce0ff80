import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { addMoney } from "../../packages/console/src/field/format.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import type { PortfolioAnswer } from "../../src/insight/console/answers.ts";
import type { PortfolioReport } from "../../src/insight/portfolio-report.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { addProperty } from "../support/insight-fixture.ts";
import { type ModelRun, writeNights } from "../support/insight-model.ts";
import { apply, inventory, reservation, resolveQuarantined } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dayOf } from "../workload/calendar-day.ts";
import { fillHotel } from "./hotel.ts";

let service: TestService;
let session: ConsoleSession;
before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
  await fillHotel(service);
  await refreshFigures(service.pool);
});
after(() => service.stop());

interface Item {
  readonly stayDate: string;
  readonly rooms: number;
  readonly currency: string | null;
  readonly roomRevenue: string | null;
  readonly capacity: number | null;
  readonly difference: number | null;
}

for (const nights of [1, 7, 30, 90])
  test(`figures of ${nights} nights are the insights' to the cent`, async () => {
    const { items } = await session.read<PortfolioAnswer>(`portfolio?nights=${nights}`);
    assert.ok(items.length > 0);
    for (const { clientCode, propertyCode, day, lastYearAsOf, now, lastYear, variance } of items) {
      const from = day ?? "";
      const read = async (insight: string, more: Record<string, string> = {}) => {
        const to = addDays(from, nights - 1);
        const query = new URLSearchParams({ clientCode, propertyCode, from, to, limit: "1000", ...more });
        return (await session.read<{ items: Item[] }>(`insight/${insight}?${query}`)).items;
      };
      const revenueOf = (those: readonly Item[]) =>
        Number(addMoney(those.flatMap(({ roomRevenue }) => roomRevenue ?? [])));
      const roomsOf = (those: readonly Item[]) => those.reduce((sum, { rooms }) => sum + rooms, 0);
      const shown = (amounts: readonly { readonly roomRevenue: string | null }[] = []) =>
        Number(addMoney(amounts.flatMap(({ roomRevenue }) => roomRevenue ?? [])));

      const books = await read("on-the-books");
      assert.equal(now?.rooms, roomsOf(books));
      assert.equal(shown(now?.amounts), revenueOf(books));
      const bases = new Map(
        books.flatMap(({ stayDate, capacity }) => (capacity ? [[stayDate, capacity]] : [])),
      );
      const base = [...bases.values()].reduce((sum, capacity) => sum + capacity, 0);
      const based = books.filter(({ stayDate }) => bases.has(stayDate));
      const ratio = (of: number, by: number, digits: number) =>
        by === 0 ? null : (Math.round(Math.round(of * 10 ** digits) / by) / 10 ** digits).toFixed(digits);
      assert.equal(now?.occupancy, ratio(roomsOf(based), base, 4));
      for (const { currency, adr, revpar } of now?.amounts ?? []) {
        if (currency === null) continue;
        const isPriced = (item: Item) => item.currency === currency;
        const priced = books.filter(isPriced);
        assert.equal(adr, ratio(revenueOf(priced), roomsOf(priced), 2));
        assert.equal(revpar, ratio(revenueOf(based.filter(isPriced)), base, 2));
      }
      for (const [since, days] of [
        ["day", 1],
        ["week", 7],
      ] as const) {
        const pickup = await read("pickup", { days: String(days) });
        assert.equal(now?.pickup[since].rooms, roomsOf(pickup), since);
        assert.equal(shown(now?.pickup[since].amounts), revenueOf(pickup), since);
      }
      const differences = (await read("reconciliation")).map(({ difference }) => Math.abs(difference ?? 0));
      assert.equal(
        variance?.rooms,
        differences.reduce((sum, rooms) => sum + rooms, 0),
      );
      const [first, last] = [addDays(from, -364), addDays(from, nights - 365)];
      const then = await read("on-the-books", { from: first, to: last, asOf: lastYearAsOf ?? "" });
      assert.equal(lastYear?.rooms ?? 0, roomsOf(then));
      assert.equal(shown(lastYear?.amounts), revenueOf(then));
      // Nobody knew the hotel's capacity then.
      assert.equal(lastYear?.occupancy ?? null, null);
    }
  });

test("an operator sees the granted properties, and a total per currency of those that match", async () => {
  const berta = await logInAsNew(service, "berta", { role: "viewer", grants: ["ACME/PARIS01"] });
  const { items, totals } = await berta.read<PortfolioAnswer>("portfolio?nights=90");
  assert.deepEqual(
    items.map(({ propertyCode }) => propertyCode),
    ["PARIS01"],
  );
  assert.deepEqual(
    totals.map(({ currency, now }) => [currency, now.amounts[0]?.roomRevenue]),
    items
      .flatMap(({ now }) => now?.amounts ?? [])
      .map(({ currency, roomRevenue }) => [currency, roomRevenue]),
  );
  assert.ok(totals.length === 1);
  const none = await berta.read<PortfolioAnswer>("portfolio?search=nowhere");
  assert.deepEqual([none.items, none.totals], [[], []]);
});

/** A room at 200 a night from today on. */
function runOf(nights: number, more: Partial<ModelRun> = {}): ModelRun {
  return {
    status: "CONFIRMED",
    first: dayOf(new Date().toISOString().slice(0, 10)),
    nights,
    rooms: 1,
    adults: 1,
    children: 0,
    net: 20_000,
    gross: null,
    roomType: "STD",
    bookedRoomType: null,
    marketSegment: null,
    group: null,
    rateCode: null,
    channel: null,
    currency: "EUR",
    ...more,
  };
}

/** A property of reservations of one run each. */
async function addBooked(propertyCode: string, runs: readonly ModelRun[]) {
  const place = await addProperty(service, propertyCode);
  const [sourceTime, receivedAt] = ["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000000Z"];
  await writeNights(
    service.pool,
    place,
    runs.map((run, at) => ({ key: `R${at}`, sourceTime, receivedAt, shareId: null, runs: [run] })),
  );
  return place;
}

const itemOf = async (propertyCode: string, nights = 30) => {
  const { items } = await session.read<PortfolioAnswer>(`portfolio?nights=${nights}&limit=100`);
  return items.find((item) => item.propertyCode === propertyCode) ?? assert.fail(propertyCode);
};

test("a property with more rooms, groups and nights than one answer may read has its figures", async () => {
  const groups = Array.from({ length: 2_900 }, (_, group) => runOf(96, { group: `G${group}` }));
  const { bucket, propertyId } = await addBooked("BIG", groups);
  await refreshFigures(service.pool);
  assert.equal((await itemOf("BIG", 90)).now?.rooms, 2_900 * 90);
  for (const table of ["night_entry", "ledger_delta"])
    await service.pool.query(`delete from bellhop_state.${table} where bucket = $1 and property_id = $2`, [
      bucket,
      propertyId,
    ]);
});

test("a property whose figures cannot be computed is reported, retried later, and does not block others", async () => {
  const { bucket, propertyId } = await addBooked("BROKEN", [runOf(3)]);
  await service.pool.query(
    `with progress as (insert into bellhop_state.ledger_segment_progress values ($1, $2, now()))
    insert into bellhop_state.ledger_segment select $1, $2, date_trunc('quarter', now()), now(), 1, '\\x00'`,
    [bucket, propertyId],
  );
  const asOf = async (propertyCode: string) => (await itemOf(propertyCode)).asOf ?? "";
  const failed: string[] = [];
  const postponed = new Map();
  const refresh = async () => {
    // It is the first in turn: nothing is known of it yet.
    await service.pool.query("update bellhop.property_figures set due_at = now()");
    const before = await asOf("PARIS01");
    await refreshFigures(service.pool, {
      postponed,
      failed: (error, { propertyCode }) => failed.push(`${propertyCode}: ${error}`),
    });
    assert.ok((await asOf("PARIS01")) > before);
  };
  await refresh();
  await refresh();
  assert.deepEqual(
    failed.map((text) => text.split(": ", 2)),
    [["BROKEN", "RangeError"]],
  );
  assert.equal(await asOf("BROKEN"), "");
  await service.pool.query("delete from bellhop_state.ledger_segment_progress where property_id = $1", [
    propertyId,
  ]);
  await refreshFigures(service.pool);
  assert.equal((await itemOf("BROKEN")).now?.rooms, 3);
});

test("a property in more currencies than any hotel sells in has no figures, and costs the others nothing", async () => {
  const currencyOf = (at: number) => `C${String(at).padStart(3, "0")}`;
  const runs = Array.from({ length: 33 }, (_, at) => runOf(90, { currency: currencyOf(at) }));
  const { bucket, propertyId } = await addBooked("MANY", runs);
  const failed: string[] = [];
  await refreshFigures(service.pool, {
    failed: (error, { propertyCode }) => failed.push(`${propertyCode}: ${error}`),
  });
  assert.deepEqual(failed, ["MANY: Error: Its reservations have more than 32 currencies."]);
  assert.equal((await itemOf("MANY")).now, null);
  for (const table of ["night_entry", "ledger_delta"])
    await service.pool.query(`delete from bellhop_state.${table} where bucket = $1 and property_id = $2`, [
      bucket,
      propertyId,
    ]);
  await refreshFigures(service.pool);
  assert.equal((await itemOf("MANY")).now?.rooms, 0);
});

test("a total has the money of every property in its currency, and counts the rooms of one under its main currency", async () => {
  const today = new Date().toISOString().slice(0, 10);
  const nightly = Array.from({ length: 10 }, () => runOf(20));
  await addBooked("MIX-PARIS", [...nightly, runOf(1, { currency: "CHF", net: 15_000 })]);
  await addBooked("MIX-LYON", [runOf(25), runOf(25)]);
  // Nothing is booked there: what could be sold counts all the same.
  await addProperty(service, "MIX-NICE");
  await setSetting(service.pool, { clientCode: "ACME", propertyCode: "MIX-NICE", name: "currency" }, "EUR");
  const stock = ["MIX-PARIS", "MIX-LYON", "MIX-NICE"].flatMap((propertyCode) =>
    Array.from({ length: 30 }, (_, night) =>
      inventory(addDays(today, night), `${today}T00:00:00Z`, {
        propertyCode,
        roomTypeInventories: [{ roomTypeCode: "STD", roomTypeCapacity: 20, roomsSold: 0 }],
      }),
    ),
  );
  await apply(service, "inventories", stock);
  await refreshFigures(service.pool);
  const { totals } = await session.read<PortfolioAnswer>("portfolio?nights=30&search=mix-");
  const without = { dayUseRevenue: null, feeRevenue: null, outsideStayRevenue: null };
  assert.deepEqual(
    totals.map(({ properties, now: { rooms, occupancy, amounts } }) => ({
      ...{ properties, rooms, occupancy },
      ...amounts[0],
    })),
    [
      {
        ...{ currency: "EUR", properties: 3, rooms: 251, occupancy: "0.1394" },
        ...{ roomRevenue: "50000.00", adr: "200.00", revpar: "27.78" },
        ...without,
      },
      // Its room counts among the euros', and what could be sold with it.
      {
        ...{ currency: "CHF", properties: 1, rooms: 0, occupancy: null },
        ...{ roomRevenue: "150.00", adr: "150.00", revpar: null },
        ...without,
      },
    ],
  );
  assert.deepEqual((await itemOf("MIX-NICE")).now?.amounts, [
    { currency: "EUR", roomRevenue: null, adr: null, revpar: "0.00", ...without },
  ]);
  assert.deepEqual(
    (await itemOf("MIX-PARIS")).now?.amounts.map(({ currency, roomRevenue }) => [currency, roomRevenue]),
    [
      ["EUR", "40000.00"],
      ["CHF", "150.00"],
    ],
  );
});

test("a total compares occupancy with last year only if the capacity of each property was known then", async () => {
  const today = new Date().toISOString().slice(0, 10);
  const lastYear = addDays(today, -364);
  for (const propertyCode of ["YEAR-PARIS", "YEAR-LYON"])
    await addBooked(propertyCode, [
      runOf(10),
      runOf(5, { first: dayOf(lastYear) }),
      // Nobody leaves before: the nights of the others would not be known from their first on.
      runOf(1, { first: dayOf(lastYear), rooms: 0 }),
    ]);
  const stock = (propertyCode: string, night: string) =>
    inventory(night, `${addDays(lastYear, -1)}T00:00:00Z`, {
      propertyCode,
      roomTypeInventories: [{ roomTypeCode: "STD", roomTypeCapacity: 10, roomsSold: 0 }],
    });
  const occupancyOf = async () => {
    await refreshFigures(service.pool);
    const { totals } = await session.read<PortfolioAnswer>("portfolio?nights=1&search=year-");
    return totals.map(({ now, lastYear: then }) => [now.occupancy, then?.rooms, then?.occupancy]);
  };
  await apply(service, "inventories", [
    stock("YEAR-PARIS", today),
    stock("YEAR-LYON", today),
    stock("YEAR-PARIS", lastYear),
  ]);
  assert.deepEqual(await occupancyOf(), [["0.1000", 2, null]]);
  await apply(service, "inventories", [stock("YEAR-LYON", lastYear)]);
  assert.deepEqual(await occupancyOf(), [["0.1000", 2, "0.1000"]]);
});

const reportOf = (query: Readonly<Record<string, string>>) =>
  session.read<PortfolioReport>(`portfolio-report?${new URLSearchParams(query)}`);

test("the report of several hotels adds up their reports, and names those whose figures are missing", async () => {
  const today = new Date().toISOString().slice(0, 10);
  await addBooked("SUM-PARIS", [
    ...Array.from({ length: 10 }, () => runOf(20)),
    runOf(1, { currency: "CHF", net: 15_000 }),
    // Before: last year is known.
    runOf(1, { first: dayOf(addDays(today, -380)), net: 10_000 }),
    runOf(4, { first: dayOf(addDays(today, -364)), net: 10_000 }),
  ]);
  await addBooked("SUM-LYON", [
    runOf(25, { net: 12_345 }),
    // Nothing is known of the nights before its departure.
    runOf(1, { first: dayOf(addDays(today, -364)), net: 10_000 }),
  ]);
  await apply(
    service,
    "inventories",
    ["SUM-PARIS", "SUM-LYON"].flatMap((propertyCode) =>
      Array.from({ length: 30 }, (_, night) =>
        inventory(addDays(today, night), `${today}T00:00:00Z`, {
          propertyCode,
          roomTypeInventories: [{ roomTypeCode: "STD", roomTypeCapacity: 20, roomsSold: 0 }],
        }),
      ),
    ),
  );
  await refreshFigures(service.pool);
  // Nothing is computed of it yet.
  await addProperty(service, "SUM-NEW");
  const report = await reportOf({ search: "sum-" });
  assert.deepEqual([report.from, report.to, report.properties], [today, addDays(today, 29), 2]);
  assert.deepEqual(
    report.missing.map(({ propertyCode, reason, asOf }) => [propertyCode, reason, asOf]),
    [["SUM-NEW", "noFigures", null]],
  );
  const nightOf = (items: PortfolioReport["items"], night: string, currency: string) =>
    items.find((item) => item.stayDate === night && item.currency === currency) ?? assert.fail(night);
  const first = nightOf(report.items, today, "EUR");
  assert.deepEqual(
    [
      first.properties,
      first.rooms,
      first.roomRevenue,
      first.capacity,
      first.occupancy,
      first.adr,
      first.revpar,
    ],
    [2, 11, "2123.45", 20, "0.2750", "193.04", "53.09"],
  );
  assert.equal(nightOf(report.items, today, "CHF").capacity, 20);
  // A hotel's capacity counts once: Paris has its own on the first of its currencies.
  assert.deepEqual(
    report.totals.map(({ currency, capacity, occupancy }) => [currency, capacity, occupancy]),
    [
      ["CHF", 600, "0.0017"],
      ["EUR", 600, "0.1875"],
    ],
  );
  assert.deepEqual(report.unknown, []);
  assert.equal(first.lastYearRooms, 2);
  // Lyon does not know the night before: neither does the sum.
  const before = addDays(today, -1);
  const early = await reportOf({ search: "sum-", from: before, to: today });
  assert.deepEqual(
    early.unknown.map(({ propertyCode, figures }) => [propertyCode, figures]),
    [["SUM-LYON", ["lastYear"]]],
  );
  assert.equal(early.totals.find(({ currency }) => currency === "EUR")?.lastYearRooms, null);
  assert.equal(nightOf(early.items, today, "EUR").lastYearRooms, 2);
  const comparable = await reportOf({ search: "sum-", from: before, to: today, comparable: "lastYear" });
  assert.deepEqual(
    comparable.missing.map(({ propertyCode, reason }) => [propertyCode, reason]),
    [
      ["SUM-LYON", "lastYear"],
      ["SUM-NEW", "noFigures"],
    ],
  );
  assert.equal(comparable.totals.find(({ currency }) => currency === "EUR")?.lastYearRooms, 1);
  const byHotel = await reportOf({ search: "sum-", sum: "property" });
  assert.deepEqual(
    byHotel.items.map(({ propertyCode, currency, rooms, dates }) => [propertyCode, currency, rooms, dates]),
    [
      ["SUM-LYON", "EUR", 25, 30],
      ["SUM-PARIS", "CHF", 1, 30],
      ["SUM-PARIS", "EUR", 200, 30],
    ],
  );
  assert.deepEqual(byHotel.totals, report.totals);
  const far = await reportOf({ search: "sum-", from: addDays(today, 60), to: addDays(today, 120) });
  assert.deepEqual(
    far.missing.map(({ reason }) => reason),
    ["nights", "noFigures", "nights"],
  );
  assert.deepEqual([far.items, far.totals, far.oldestAsOf], [[], [], null]);
});

test("the report of several hotels is of the granted ones, and of those that are asked for", async () => {
  const berta = await logInAsNew(service, "clara", { role: "viewer", grants: ["ACME/SUM-LYON"] });
  const own = await berta.read<PortfolioReport>("portfolio-report?range=next7&sum=property");
  assert.deepEqual(
    own.items.map(({ propertyCode }) => propertyCode),
    ["SUM-LYON"],
  );
  const two = await reportOf({ hotels: "ACME/SUM-LYON,ACME/SUM-PARIS", sum: "property", range: "next7" });
  assert.deepEqual(
    [...new Set(two.items.map(({ propertyCode }) => propertyCode))],
    ["SUM-LYON", "SUM-PARIS"],
  );
  const client = await service.newClient({ grants: [{ clientCode: "ACME", propertyCode: "SUM-LYON" }] });
  const ask = (query: string) => service.get(`/api/insight/v1/portfolio-report?${query}`, { as: client });
  assert.deepEqual((await ask("range=next7")).json()["properties"], 1);
  assert.equal((await ask("hotels=ACME%2FSUM-PARIS")).status, 403);
  assert.equal((await ask("hotels=OTHER%2F*")).status, 403);
  for (const refused of [
    "hotels=x",
    "from=2026-01-01",
    "from=2026-01-01&to=2027-01-01",
    "from=2026-02-01&to=2026-01-01",
    "sum=x",
  ])
    assert.equal((await ask(refused)).json()["exception"], "bellhop.http.InvalidParameter", refused);
});

test("the report of some hotels does not depend on how many others there are", async () => {
  await service.pool.query(
    `insert into bellhop.property (client_code, property_code, bucket, created_by)
    select 'AAAA', 'P' || n, 0, 'c1' from generate_series(1, 5001) as n`,
  );
  try {
    for (const asked of [{ hotels: "ACME/SUM-LYON" }, { search: "sum-lyon" }])
      assert.equal((await reportOf({ ...asked, range: "next7" })).properties, 1);
    const all = await session.get("portfolio-report?range=next7");
    assert.equal(all.json()["exception"], "bellhop.insight.TooLarge");
  } finally {
    await service.pool.query("delete from bellhop.property where client_code = 'AAAA'");
  }
});

test("a property's figures are computed again once a quarantined record is released", async () => {
  const today = new Date().toISOString().slice(0, 10);
  const record = {
    propertyCode: "RELEASED",
    roomStays: [{ arrivalDate: today, departureDate: addDays(today, 1), roomTypeCode: "STD" }],
  };
  const requestId = await apply(service, "reservations", [reservation("R1", "2999-01-01T00:00:00Z", record)]);
  await refreshFigures(service.pool);
  assert.equal((await itemOf("RELEASED")).now?.rooms, 0);
  await resolveQuarantined(service, "release", requestId, 0, bucketOf("ACME", "RELEASED"), "r");
  await refreshFigures(service.pool);
  assert.equal((await itemOf("RELEASED")).now?.rooms, 1);
});

test("very many quarantined records of one property do not hide those of others", async () => {
  const { bucket, propertyId } = await addProperty(service, "FLOODED");
  await service.pool.query(
    `insert into bellhop.quarantine (bucket, request_id, record_index, property_id, resource, key, code, message)
    select $1, gen_random_uuid(), place, $2, 'r', 'R' || place, 'time.future', '' from generate_series(1, 12000) as place`,
    [bucket, propertyId],
  );
  const { items } = await session.read<PortfolioAnswer>("portfolio?nights=30&attention=quarantine&limit=100");
  assert.deepEqual(
    items.map(({ propertyCode, quarantined }) => [propertyCode, quarantined]),
    [
      ["FLOODED", 1_000],
      ["PARIS01", 1],
    ],
  );
});
