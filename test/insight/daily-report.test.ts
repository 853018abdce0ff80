import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDays, datesFrom } from "#contract/dates.ts";
import type { DailyReportPage } from "../../src/console/api-types.ts";
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
import { writeNights } from "../support/insight-model.ts";
import { apply, inventory, reservation } from "../support/read-fixture.ts";
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

type Item = Record<string, unknown>;
const MOVED = ["arrivals", "departures", "stayThroughs", "cancelledRooms", "noShowRooms"];
const sum = (of: readonly Item[], name: string) => of.reduce((all, item) => all + Number(item[name] ?? 0), 0);

/** The first date of a date's period. */
const PERIODS: Readonly<Record<string, (date: string) => string>> = {
  week: (date) => addDays(date, -((new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7)),
  month: (date) => `${date.slice(0, 7)}-01`,
  quarter: (date) => {
    const month = Number(date.slice(5, 7));
    return `${date.slice(0, 4)}-${String(month - ((month - 1) % 3)).padStart(2, "0")}-01`;
  },
  total: () => "0001-01-01",
};

test("has the figures of on the books and movements, and their sums", async () => {
  const random = SeededRandom.stream(SEED, 1);
  const propertyCode = "REPORTED";
  await writeNights(service.pool, await addProperty(service, propertyCode), randomVersions(random, 60));
  await apply(
    service,
    "inventories",
    [0, 3, 4, 9, 41].map((day) =>
      inventory(dateOfDay(FIRST_NIGHT + day), "2026-02-01T00:00:00Z", {
        propertyCode,
        roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 20 + day, roomsSold: 1 }],
      }),
    ),
  );
  let compared = 0;
  for (let round = 0; round < 3; round += 1) {
    const clock = random.pick(["source", "receipt"] as const);
    const asOf = `2026-0${3 + below(random, 6)}-${10 + below(random, 18)}T05:30:00.000000Z`;
    const from = dateOfDay(FIRST_NIGHT - below(random, 8));
    const to = dateOfDay(FIRST_NIGHT + below(random, DAYS + 40));
    const asked = { clientCode: "ACME", propertyCode, clock, asOf, from, to };
    const items = await insightItems(service, "daily-report", {
      ...asked,
      limit: String(5 + below(random, 60)),
    });
    const books = await insightItems(service, "on-the-books", { ...asked, compare: "all" });
    const movements = await insightItems(service, "movements", asked);
    const keyOf = ({ stayDate, currency }: Item) => JSON.stringify([stayDate, currency]);
    const report = new Map(items.map((item) => [keyOf(item), item]));
    assert.equal(report.size, items.length);
    for (const item of books)
      for (const [name, value] of Object.entries(item))
        assert.deepEqual(report.get(keyOf(item))?.[name], value, `${keyOf(item)} ${name}`);
    for (const date of datesFrom(from, 90))
      for (const name of MOVED) {
        const isOf = ({ stayDate }: Item) => stayDate === date;
        assert.equal(sum(items.filter(isOf), name), sum(movements.filter(isOf), name), `${date} ${name}`);
        compared += 1;
      }
    for (const item of items) {
      const booked = ["arrivals", "stayThroughs", "cancelledRooms", "noShowRooms"].reduce(
        (all, name) => all + Number(item[name]),
        0,
      );
      const rate = booked === 0 ? null : (Number(item["cancelledRooms"]) / booked).toFixed(4);
      assert.equal(item["cancellationRate"] === null, rate === null);
      assert.ok(Math.abs(Number(item["cancellationRate"]) - Number(rate)) < 0.00011);
    }
    for (const [period, firstOf] of Object.entries(PERIODS)) {
      const sums = await insightItems(service, "daily-report", { ...asked, sum: period, limit: "3" });
      const plain = await insightItems(service, "on-the-books", { ...asked, sum: period, compare: "all" });
      const naive = Map.groupBy(items, ({ stayDate, currency }) =>
        JSON.stringify([firstOf(String(stayDate)), currency]),
      );
      for (const item of sums) {
        const of = naive.get(JSON.stringify([firstOf(String(item["stayDate"])), item["currency"]])) ?? [];
        for (const name of ["rooms", "adults", "pickup7Rooms", ...MOVED])
          assert.equal(Number(item[name] ?? 0), sum(of, name), `${period} ${keyOf(item)} ${name}`);
        for (const name of ["roomRevenue", "cancelledRoomRevenue", "pickup1RoomRevenue"])
          assert.ok(Math.abs(Number(item[name] ?? 0) - sum(of, name)) < 0.001, `${period} ${name}`);
        assert.equal(String(item["stayDate"]) < from, false);
        assert.equal(item["dayOfWeek"], undefined);
      }
      assert.equal(sum(sums, "rooms"), sum(items, "rooms"), period);
      const added = new Map(sums.map((item) => [keyOf(item), item]));
      for (const item of plain)
        for (const name of ["rooms", "dates", "occupancy", "adr", "revpar", "lastYearRooms", "pickup30Rooms"])
          assert.equal(added.get(keyOf(item))?.[name], item[name], `${period} ${keyOf(item)} ${name}`);
    }
    const { totals } = (await insightPage(service, "daily-report", asked)) as unknown as DailyReportPage;
    assert.deepEqual(totals, await insightItems(service, "daily-report", { ...asked, sum: "total" }));
  }
  assert.ok(compared > 100);
});

test("a cancelled night without any other room is listed, and what is not known is null", async () => {
  const propertyCode = "CANCELLED1";
  const stay = {
    propertyCode,
    roomStays: [{ arrivalDate: "2026-07-11", departureDate: "2026-07-13", roomTypeCode: "STD" }],
  };
  await apply(service, "reservations", [
    reservation("A", "2026-07-01T00:00:00Z", { ...stay, status: "CANCELLED" }),
  ]);
  const asked = { clientCode: "ACME", propertyCode, from: "2026-07-06", to: "2026-07-31" };
  const page = (await insightPage(service, "daily-report", asked)) as unknown as DailyReportPage;
  assert.deepEqual(
    page.items.map(({ stayDate, rooms, cancelledRooms, occupancy, lastYearRooms, pickup30Rooms }) => [
      ...[stayDate, rooms, cancelledRooms, occupancy, lastYearRooms, pickup30Rooms],
    ]),
    [
      ["2026-07-11", 0, 1, null, null, 0],
      ["2026-07-12", 0, 1, null, null, 0],
    ],
  );
  assert.deepEqual(
    page.totals.map(({ stayDate, dates, rooms, cancelledRooms, lastYearRooms, cancellationRate }) => [
      ...[stayDate, dates, rooms, cancelledRooms, lastYearRooms, cancellationRate],
    ]),
    [["2026-07-06", 26, 0, 2, null, "1.0000"]],
  );
  const csv = await askInsight(
    service,
    "daily-report",
    { ...asked, sum: "month" },
    { headers: { accept: "text/csv" } },
  );
  assert.match(csv.text, /^stayDate,dates,rooms,/);
  assert.match(csv.text, /\r\n2026-07-06,26,0,/);
  const unknown = await insightPage(service, "daily-report", { ...asked, propertyCode: "NOBODY" });
  assert.deepEqual((unknown as unknown as DailyReportPage).totals, []);
});

test("cancelled rooms without a currency are of the night's only one, as on the books", async () => {
  const propertyCode = "ONECURRENCY";
  const of = { clientCode: "FREE", propertyCode };
  const stay = (currencyCode?: string) => ({
    ...of,
    roomStays: [
      {
        ...{ arrivalDate: "2026-07-11", departureDate: "2026-07-12", roomTypeCode: "STD" },
        ...(currencyCode === undefined ? {} : { currencyCode }),
      },
    ],
  });
  const client = await service.newClient({ grants: [{ clientCode: "FREE", propertyCode: "*" }] });
  await apply(
    service,
    "reservations",
    [
      reservation("A", "2026-07-01T00:00:00Z", { ...stay("CHF"), status: "CONFIRMED" }),
      reservation("B", "2026-07-01T00:00:00Z", { ...stay(), status: "CANCELLED" }),
    ],
    { as: client },
  );
  const asked = new URLSearchParams({ ...of, from: "2026-07-11", to: "2026-07-11" });
  const answer = await service.get(`/api/insight/v1/daily-report?${asked}`, { as: client });
  const items = answer.json()["items"] as Item[];
  assert.deepEqual(
    items.map(({ currency, rooms, cancelledRooms }) => [currency, rooms, cancelledRooms]),
    [["CHF", 1, 1]],
  );
});

test("a cancelled night without any other room stays listed beside one without a currency", async () => {
  const of = { clientCode: "FREE", propertyCode: "TWONIGHTS" };
  const cancelled = (id: string, night: number, more: object) =>
    reservation(id, "2026-07-01T00:00:00Z", {
      ...{ ...of, status: "CANCELLED" },
      roomStays: [
        {
          ...{ arrivalDate: `2026-07-${night}`, departureDate: `2026-07-${night + 1}`, roomTypeCode: "STD" },
          ...more,
        },
      ],
    });
  const client = await service.newClient({ grants: [{ clientCode: "FREE", propertyCode: "*" }] });
  await apply(
    service,
    "reservations",
    [cancelled("A", 11, { currencyCode: "CHF" }), cancelled("B", 12, {})],
    { as: client },
  );
  const asked = new URLSearchParams({ ...of, from: "2026-07-11", to: "2026-07-12" });
  const answer = await service.get(`/api/insight/v1/daily-report?${asked}`, { as: client });
  const items = answer.json()["items"] as Item[];
  assert.deepEqual(
    items.map(({ stayDate, currency, cancelledRooms }) => [stayDate, currency, cancelledRooms]),
    [
      ["2026-07-11", "CHF", 1],
      ["2026-07-12", null, 1],
    ],
  );
});
