import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { MovementPage } from "../../src/console/api-types.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import {
  addProperty,
  askInsight,
  below,
  DAYS,
  FIRST_NIGHT,
  insightItems,
  insightPage,
  randomVersions,
} from "../support/insight-fixture.ts";
import { countingOf, type ModelVersion, writeNights } from "../support/insight-model.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dateOfDay } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

const SEED = Number(process.env["SEED"] ?? 20_261_129);

let service: TestService;
before(async () => {
  service = await startTestService();
  await setSetting(service.pool, { clientCode: "ACME", propertyCode: null, name: "currency" }, "EUR");
});
after(() => service.stop());

const STATES: Readonly<Record<string, string>> = {
  CONFIRMED: "books",
  "In House": "books",
  CANCELLED: "cancelled",
  "NO SHOW": "no-show",
};

/** Rooms by state and night of each reservation, or of each share the most of any member. */
function roomsOf(versions: readonly ModelVersion[]): Map<string, Map<string, number>> {
  const units = new Map<string, Map<string, number>>();
  for (const { key, shareId, runs } of versions) {
    const own = new Map<string, number>();
    for (const { status, first, nights, rooms } of runs)
      for (let night = first; night < first + nights; night += 1) {
        const name = `${STATES[status]} ${night}`;
        own.set(name, (own.get(name) ?? 0) + rooms);
      }
    const unit = units.get(shareId === null ? `key ${key}` : `share ${shareId}`) ?? new Map<string, number>();
    for (const [name, rooms] of own) unit.set(name, Math.max(unit.get(name) ?? 0, rooms));
    units.set(shareId === null ? `key ${key}` : `share ${shareId}`, unit);
  }
  return units;
}

const SUMS = ["arrivals", "departures", "stayThroughs", "cancelledRooms", "noShowRooms"];
type Item = Record<string, unknown>;

/** Holds sums by day of the week to the items of the dates. */
function requireWeek(dates: readonly Item[], sums: readonly Item[]): void {
  const keyOf = (weekday: unknown, { currency }: Item) => JSON.stringify([weekday, currency]);
  const naive = Map.groupBy(dates, (item) =>
    keyOf(new Date(`${item["stayDate"]}T00:00:00Z`).getUTCDay() || 7, item),
  );
  assert.deepEqual(sums.map((item) => keyOf(item["dayOfWeek"], item)).sort(), [...naive.keys()].sort());
  for (const item of sums) {
    const own = naive.get(keyOf(item["dayOfWeek"], item)) ?? [];
    const sum = (name: string) => own.reduce((all, one) => all + Number(one[name] ?? 0), 0);
    for (const name of SUMS) assert.equal(item[name], sum(name), name);
    for (const name of ["cancelledRoomRevenue", "noShowRoomRevenue"]) {
      const isReported = own.some((one) => one[name] !== null);
      assert.equal(item[name] !== null, isReported, name);
      assert.ok(Math.abs(Number(item[name] ?? 0) - sum(name)) < 0.001, name);
    }
    const booked = sum("arrivals") + sum("stayThroughs") + sum("cancelledRooms") + sum("noShowRooms");
    const rate = booked === 0 ? null : sum("cancelledRooms") / booked;
    assert.ok(
      rate === null
        ? item["cancellationRate"] === null
        : Math.abs(Number(item["cancellationRate"]) - rate) < 0.0001,
    );
  }
}

test("movements of each date are those of a naive model, and add up to the books", async () => {
  const random = SeededRandom.stream(SEED, 1);
  const propertyCode = "MOVED";
  const versions = randomVersions(random, 60);
  await writeNights(service.pool, await addProperty(service, propertyCode), versions);
  let moved = 0;
  for (let round = 0; round < 6; round += 1) {
    const clock = random.pick(["source", "receipt"] as const);
    const asOf = `2026-0${3 + below(random, 6)}-${10 + below(random, 18)}T05:30:00.000000Z`;
    const [from, to] = [FIRST_NIGHT - below(random, 8), FIRST_NIGHT + below(random, DAYS + 40)];
    const asked = { clientCode: "ACME", propertyCode, clock, asOf, from: dateOfDay(from), to: dateOfDay(to) };
    const isKnown = ({ sourceTime, receivedAt }: ModelVersion) =>
      (clock === "source" ? sourceTime : receivedAt) <= asOf;
    const units = [...roomsOf(countingOf(versions, isKnown)).values()];
    const items = await insightItems(service, "movements", {
      ...asked,
      limit: String(5 + below(random, 60)),
    });
    const books = await insightItems(service, "on-the-books", asked);
    const sum = (of: readonly Record<string, unknown>[], name: string, date: string) =>
      of.filter(({ stayDate }) => stayDate === date).reduce((all, item) => all + Number(item[name]), 0);
    requireWeek(items, await insightItems(service, "movements", { ...asked, sum: "dayOfWeek", limit: "3" }));
    for (let night = from; night <= to; night += 1) {
      const date = dateOfDay(night);
      const expected = { arrivals: 0, departures: 0, stayThroughs: 0, cancelledRooms: 0, noShowRooms: 0 };
      for (const unit of units) {
        const [now, then] = [unit.get(`books ${night}`) ?? 0, unit.get(`books ${night - 1}`) ?? 0];
        expected.arrivals += Math.max(now - then, 0);
        expected.departures += Math.max(then - now, 0);
        expected.stayThroughs += Math.min(now, then);
        expected.cancelledRooms += unit.get(`cancelled ${night}`) ?? 0;
        expected.noShowRooms += unit.get(`no-show ${night}`) ?? 0;
      }
      const answered = Object.fromEntries(
        Object.keys(expected).map((name) => [name, sum(items, name, date)]),
      );
      assert.deepEqual(answered, expected, `${clock} ${asOf} ${date}`);
      assert.equal(answered["arrivals"] + answered["stayThroughs"], sum(books, "rooms", date), date);
      moved += expected.arrivals + expected.cancelledRooms;
    }
  }
  assert.ok(moved > 100, `only ${moved} rooms moved`);
});

test("length of stay, lead times, rates and revenue are of the records, as JSON and as CSV", async () => {
  const propertyCode = "LED";
  await setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "timeZone" }, "Asia/Tokyo");
  const stay = (arrivalDate: string, departureDate: string, netRate = "100.00") => ({
    propertyCode,
    roomStays: [
      {
        ...{ arrivalDate, departureDate, roomTypeCode: "STD", currencyCode: "EUR" },
        rates: [{ startDate: arrivalDate, endDate: departureDate, rateValue: Number(netRate) }],
      },
    ],
  });
  await apply(service, "reservations", [
    // Booked on 1 July in Tokyo.
    reservation("A", "2026-06-30T16:00:00Z", {
      ...stay("2026-07-11", "2026-07-14"),
      bookingDateTime: "2026-06-30T16:00:00Z",
    }),
    reservation("B", "2026-07-01T00:00:00Z", { ...stay("2026-07-11", "2026-07-12"), numberOfRooms: 2 }),
    reservation("C", "2026-07-08T16:00:00Z", { ...stay("2026-07-11", "2026-07-12"), status: "CANCELLED" }),
    reservation("D", "2026-07-12T00:00:00Z", { ...stay("2026-07-11", "2026-07-13"), status: "NO SHOW" }),
  ]);
  const asked = { clientCode: "ACME", propertyCode, from: "2026-07-11", to: "2026-07-14" };
  const { items } = (await insightPage(service, "movements", asked)) as unknown as MovementPage;
  const day = (stayDate: string, more: object) => ({
    ...{ stayDate, arrivals: 0, departures: 0, stayThroughs: 0, lengthOfStay: null, leadDays: null },
    ...{ cancelledRooms: 0, cancelledRoomRevenue: null, cancelledLeadDays: null, cancellationRate: "0.0000" },
    ...{ noShowRooms: 0, noShowRoomRevenue: null, noShowRate: "0.0000", currency: "EUR" },
    ...more,
  });
  assert.deepEqual(items, [
    day("2026-07-11", {
      ...{ arrivals: 3, lengthOfStay: "1.67", leadDays: "10.00" },
      ...{
        cancelledRooms: 1,
        cancelledRoomRevenue: "100.00",
        cancelledLeadDays: "2.00",
        cancellationRate: "0.2000",
      },
      ...{ noShowRooms: 1, noShowRoomRevenue: "100.00", noShowRate: "0.2000" },
    }),
    day("2026-07-12", {
      ...{
        departures: 2,
        stayThroughs: 1,
        noShowRooms: 1,
        noShowRoomRevenue: "100.00",
        noShowRate: "0.5000",
      },
    }),
    day("2026-07-13", { stayThroughs: 1 }),
    day("2026-07-14", { departures: 1, cancellationRate: null, noShowRate: null }),
  ]);
  const week = await insightItems(service, "movements", { ...asked, to: "2026-07-20", sum: "dayOfWeek" });
  assert.deepEqual(
    week.map(({ dayOfWeek, dates, arrivals, lengthOfStay, leadDays, cancelledLeadDays }) => [
      ...[dayOfWeek, dates, arrivals, lengthOfStay, leadDays, cancelledLeadDays],
    ]),
    [
      [6, 2, 3, "1.67", "10.00", "2.00"],
      [7, 2, 0, null, null, null],
      [1, 2, 0, null, null, null],
      [2, 1, 0, null, null, null],
    ],
  );
  const csv = await askInsight(service, "movements", asked, { headers: { accept: "text/csv" } });
  assert.match(
    csv.text,
    /^stayDate,arrivals,departures,stayThroughs,.*\r\n2026-07-11,3,0,0,1\.67,10\.00,1,100\.00,/,
  );
});
