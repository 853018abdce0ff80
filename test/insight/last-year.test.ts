import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { GROUPINGS } from "../../src/insight/question.ts";
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
import { ONE_NIGHT, writeNights } from "../support/insight-model.ts";
import { apply, inventory } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dateOfDay, dayOf } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

const SEED = Number(process.env["SEED"] ?? 20_261_129);
const YEAR = 364;

let service: TestService;
before(async () => {
  service = await startTestService();
  await setSetting(service.pool, { clientCode: "ACME", propertyCode: null, name: "currency" }, "EUR");
});
after(() => service.stop());

const yearBefore = (instant: string) =>
  new Date(Date.parse(instant) - YEAR * 86_400_000).toISOString().replace("Z", "000Z");

type Item = Record<string, unknown>;

/** Sums of the items of one day of the week, group and currency; null if none has a value, or null for one that must be known throughout. */
function naiveWeek(items: readonly Item[], by: string) {
  const weekdayOf = (item: Item) => new Date(`${item["stayDate"]}T00:00:00Z`).getUTCDay() || 7;
  const days = Map.groupBy(items, (item) => JSON.stringify([weekdayOf(item), item[by] ?? null]));
  const sum = (of: readonly Item[], name: string) => {
    const given = of.map((item) => item[name]).filter((value) => value !== null && value !== undefined);
    return given.length === 0 ? null : given.reduce<number>((all, value) => all + Number(value), 0);
  };
  return new Map(
    [...days].map(([key, of]) => {
      const base = of.reduce(
        (all, item) => all + (item["capacity"] === null ? 0 : Math.max(Number(item["capacity"]), 0)),
        0,
      );
      const currencies = new Map(
        [...Map.groupBy(of, (item) => item["currency"])].map(([currency, some]) => [currency, some]),
      );
      return [key, { of, base, currencies, capacity: sum(of, "capacity"), sum }] as const;
    }),
  );
}

/** Holds `sum=dayOfWeek` to sums of the nights' own items. */
async function requireWeek(asked: Record<string, string>, nights: readonly Item[]): Promise<number> {
  const by = asked["by"] ?? "none";
  const sums = await insightItems(service, "on-the-books", { ...asked, sum: "dayOfWeek", limit: "5" });
  const naive = naiveWeek(nights, by);
  const groupOf = (item: Item) => JSON.stringify([item["dayOfWeek"], item[by] ?? null]);
  let rooms = 0;
  const capacities = new Map<string, number | null>();
  for (const item of sums) {
    const day = naive.get(groupOf(item));
    assert.ok(day !== undefined, groupOf(item));
    const own = day.currencies.get(item["currency"]) ?? [];
    const message = `${groupOf(item)} ${item["currency"]}`;
    for (const name of ["rooms", "adults", "children", "blocksRemaining", "unmappedRooms", "dayUseRooms"])
      assert.equal(item[name], day.sum(own, name), `${message} ${name}`);
    for (const name of [
      ...["roomRevenue", "grossRoomRevenue", "dayUseRevenue", "feeRevenue", "outsideStayRevenue"],
      ...[1, 3, 7, 30].flatMap((days) => [`pickup${days}Rooms`, `pickup${days}RoomRevenue`]),
    ]) {
      const expected = day.sum(own, name);
      const found = item[name] === null ? null : Number(item[name]);
      if (expected === null) assert.equal(found, null, `${message} ${name}`);
      else assert.ok(found !== null && Math.abs(found - expected) < 0.001, `${message} ${name}`);
    }
    const isUnknown = own.some(({ lastYearRooms }) => lastYearRooms === null);
    if (isUnknown) assert.equal(item["lastYearRooms"], null, message);
    else if (item["lastYearRooms"] !== null) {
      assert.equal(item["lastYearRooms"], day.sum(own, "lastYearRooms"), message);
      assert.equal(item["lastYearFinalRooms"], day.sum(own, "lastYearFinalRooms"), message);
      const [revenue, found] = [day.sum(own, "lastYearRoomRevenue"), item["lastYearRoomRevenue"]];
      assert.ok(Math.abs(Number(revenue) - Number(found)) < 0.001, message);
    }
    const known = own.filter(({ occupancy }) => occupancy !== null);
    const expected = day.base === 0 ? null : ((day.sum(known, "rooms") ?? 0) / day.base).toFixed(4);
    assert.ok(
      expected === null
        ? item["occupancy"] === null
        : Math.abs(Number(item["occupancy"]) - Number(expected)) < 0.00011,
      `${message} occupancy`,
    );
    const before = capacities.get(groupOf(item));
    assert.ok(before === undefined || item["capacity"] === null, `${message} capacity comes once`);
    if (before === undefined) capacities.set(groupOf(item), item["capacity"] as number | null);
    rooms += Number(item["rooms"]);
  }
  for (const [key, day] of naive) assert.equal(capacities.get(key), day.capacity, `${key} capacity`);
  assert.equal(
    rooms,
    nights.reduce((sum, item) => sum + Number(item["rooms"]), 0),
  );
  return sums.length;
}

describe("on the books beside last year and pickup", () => {
  test("has the figures that each question has by itself, page by page", async () => {
    const random = SeededRandom.stream(SEED, 1);
    const propertyCode = "COMPARED";
    const place = await addProperty(service, propertyCode);
    const versions = randomVersions(random, 50);
    // A year earlier, nights and times are those of other versions.
    const then = randomVersions(random, 50).map((version) => ({
      ...version,
      key: `Y${version.key}`,
      sourceTime: yearBefore(version.sourceTime),
      receivedAt: yearBefore(version.receivedAt),
      runs: version.runs.map((run) => ({ ...run, first: run.first - YEAR })),
    }));
    await writeNights(service.pool, place, [...versions, ...then]);
    await setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "timeZone" }, "Asia/Kathmandu");
    const stock = [0, 3, 4, 9].flatMap((day) =>
      [0, -YEAR].map((shift) =>
        inventory(
          dateOfDay(FIRST_NIGHT + day + shift),
          shift === 0 ? "2026-02-01T00:00:00Z" : "2025-02-01T00:00:00Z",
          {
            propertyCode,
            roomTypeInventories: ["DLX", "STD"].map((roomTypeCode) => ({
              ...{ roomTypeCode, roomTypeCapacity: 20 + day, roomsSold: 1, roomsNotAvailableOther: 2 },
            })),
          },
        ),
      ),
    );
    await apply(service, "inventories", stock);
    let [compared, summed] = [0, 0];
    for (let round = 0; round < 5; round += 1) {
      const by = random.pick(["none", "none", ...GROUPINGS]);
      const clock = random.pick(["source", "receipt"]);
      const asOf = `2026-0${3 + below(random, 6)}-${10 + below(random, 18)}T0${below(random, 10)}:30:00.00000${below(random, 10)}Z`;
      const [from, to] = [FIRST_NIGHT - below(random, 8), FIRST_NIGHT + below(random, DAYS)].map(
        dateOfDay,
      ) as [string, string];
      const asked = { clientCode: "ACME", propertyCode, by, clock, asOf, from, to };
      const keyOf = (item: Item, shift = 0) =>
        JSON.stringify([addDays(String(item["stayDate"]), shift), item[by] ?? null, item["currency"]]);
      const read = async (name: string, more: Record<string, string>, shift = 0) =>
        new Map(
          (await insightItems(service, name, { ...asked, ...more })).map((item) => [
            keyOf(item, shift),
            item,
          ]),
        );
      const items = await insightItems(service, "on-the-books", {
        ...asked,
        compare: "all",
        limit: String(10 + below(random, 90)),
      });
      const page = (await insightPage(service, "on-the-books", {
        ...asked,
        compare: "all",
      })) as unknown as Item;
      summed += await requireWeek({ ...asked, compare: "all" }, items);
      const plain = await read("on-the-books", {});
      const range = { from: addDays(from, -YEAR), to: addDays(to, -YEAR) };
      const lastYear = await read("on-the-books", { ...range, asOf: String(page["lastYearAsOf"]) }, YEAR);
      const final = await read("on-the-books", range, YEAR);
      const pickups: (readonly [number, Map<string, Item>])[] = [];
      for (const days of [1, 3, 7, 30]) pickups.push([days, await read("pickup", { days: String(days) })]);
      const places = new Set(items.map((item) => keyOf(item)));
      assert.equal(places.size, items.length, "no place comes twice");
      const order = items.map((item) => String(item["stayDate"]));
      assert.deepEqual(order, order.toSorted());
      for (const key of plain.keys()) assert.ok(places.has(key), key);
      for (const [key, item] of [...lastYear, ...final])
        if (item["rooms"] !== 0) assert.ok(places.has(key), `${key} of last year`);
      for (const item of items) {
        const key = keyOf(item);
        for (const [name, value] of Object.entries(plain.get(key) ?? { rooms: 0, roomRevenue: null }))
          assert.equal(item[name], value, `${key} ${name}`);
        const night = addDays(String(item["stayDate"]), -YEAR);
        const before = lastYear.get(key);
        if (night < String(page["lastYearKnownFrom"])) {
          assert.deepEqual(
            [item["lastYearRooms"], item["lastYearFinalRooms"], item["lastYearAdr"]],
            [null, null, null],
          );
          continue;
        }
        assert.equal(item["lastYearRooms"], before?.["rooms"] ?? 0, key);
        const revenueOf = (one: Item | undefined) => Number(one?.["roomRevenue"] ?? 0);
        assert.equal(Number(item["lastYearRoomRevenue"] ?? 0), revenueOf(before), key);
        if (before !== undefined) {
          assert.equal(item["lastYearAdr"], before["adr"]);
          assert.equal(item["lastYearOccupancy"], before["occupancy"]);
          assert.equal(item["lastYearCapacity"], before["capacity"]);
        }
        assert.equal(item["lastYearFinalRooms"], final.get(key)?.["rooms"] ?? 0, `${key} final`);
        assert.equal(Number(item["lastYearFinalRoomRevenue"] ?? 0), revenueOf(final.get(key)), key);
        for (const [days, pickup] of pickups) {
          // The books before the first version are not known.
          if (item[`pickup${days}Rooms`] === null) continue;
          assert.equal(item[`pickup${days}Rooms`], pickup.get(key)?.["rooms"] ?? 0, `${key} ${days}`);
          assert.equal(
            Number(item[`pickup${days}RoomRevenue`] ?? 0),
            revenueOf(pickup.get(key)),
            `${key} ${days}`,
          );
          compared += 1;
        }
      }
    }
    assert.ok(compared > 200, `only ${compared} pickups were compared`);
    assert.ok(summed > 50, `only ${summed} days of the week were summed`);
  });
});

describe("what is not known of last year", () => {
  const LIVE = "2025-10-05";
  const known = "2025-10-01T08:00:00.000000Z";
  /** A feed that began on 5 October 2025 with the guests in the house: two who came before, and one a night from then on. */
  async function addFeed(propertyCode: string, receivedAt: string) {
    const place = await addProperty(service, propertyCode);
    const stays: [string, number][] = [
      ["2025-10-01", 5],
      ["2025-10-03", 3],
      ...Array.from({ length: 20 }, (_, day): [string, number] => [addDays(LIVE, day), 1]),
      ...Array.from({ length: 30 }, (_, day): [string, number] => [addDays("2026-09-28", day), 1]),
    ];
    await writeNights(
      service.pool,
      place,
      stays.map(([first, nights], at) => ({
        ...{ key: `R${at}`, sourceTime: known, receivedAt, shareId: null },
        runs: [{ ...ONE_NIGHT, first: dayOf(first), nights }],
      })),
    );
    return { clientCode: "ACME", propertyCode, from: "2026-09-28", to: "2026-10-10" };
  }

  test("is null for the nights before it is known, and the answer says from when it is", async () => {
    const of = { ...(await addFeed("LIVE", known)), asOf: "2026-10-04T12:00:00Z", compare: "lastYear" };
    const page = await insightPage(service, "on-the-books", of);
    assert.equal((page as unknown as Item)["lastYearKnownFrom"], LIVE);
    assert.equal((page as unknown as Item)["lastYearAsOf"], "2025-10-05T12:00:00.000000Z");
    const expected = page.items.map(({ stayDate }) => {
      const night = addDays(String(stayDate), -YEAR);
      return night < LIVE
        ? [null, null, null]
        : [night < "2025-10-06" ? 3 : 1, night === LIVE ? "300.00" : "100.00", null];
    });
    assert.deepEqual(
      page.items.map((item) => [
        item["lastYearRooms"],
        item["lastYearRoomRevenue"],
        item["lastYearCapacity"],
      ]),
      expected,
    );
    assert.ok(expected.some(([rooms]) => rooms === null) && expected.some(([rooms]) => rooms === 1));
    const csv = await askInsight(service, "on-the-books", of, { headers: { accept: "text/csv" } });
    const [head = "", first = ""] = csv.text.split("\r\n");
    const column = head.split(",").indexOf("lastYearRooms");
    assert.ok(column > 0 && !head.includes("pickup"));
    assert.equal(first.split(",")[column], "");
  });

  test("is null in a sum of nights of which one is not known", async () => {
    const of = {
      ...(await addFeed("SUMMED", known)),
      ...{ asOf: "2026-10-04T12:00:00Z", compare: "lastYear", sum: "dayOfWeek" },
    };
    const sums = await insightItems(service, "on-the-books", { ...of, from: "2026-10-03", to: "2026-10-16" });
    assert.deepEqual(
      sums.map(({ stayDate, dayOfWeek, dates, rooms, lastYearRooms }) => [
        ...[stayDate, dayOfWeek, dates, rooms, lastYearRooms],
      ]),
      [
        // The night 364 days before 3 October is the day before the first that is known.
        ["2026-10-03", 6, 2, 2, null],
        ["2026-10-04", 7, 2, 2, 4],
        ["2026-10-05", 1, 2, 2, 2],
        ["2026-10-06", 2, 2, 2, 2],
        ["2026-10-07", 3, 2, 2, 2],
        ["2026-10-08", 4, 2, 2, 2],
        ["2026-10-09", 5, 2, 2, 2],
      ],
    );
    const csv = await askInsight(service, "on-the-books", of, { headers: { accept: "text/csv" } });
    assert.match(csv.text, /^stayDate,dayOfWeek,dates,rooms,.*\r\n2026-09-28,1,2,2,/);
    const plain = await askInsight(
      service,
      "on-the-books",
      { ...of, sum: "none" },
      { headers: { accept: "text/csv" } },
    );
    assert.match(plain.text, /^stayDate,rooms,/);
  });

  test("is null, not 0, for occupancy of a day of the week without capacity; nights without it count nowhere", async () => {
    const propertyCode = "STOCKED";
    const place = await addProperty(service, propertyCode);
    const runs = ["EUR", "JPY"].map((currency) => ({
      ...ONE_NIGHT,
      currency,
      first: dayOf("2026-10-05"),
      nights: 9,
    }));
    await writeNights(
      service.pool,
      place,
      runs.map((run, at) => ({
        key: `R${at}`,
        sourceTime: known,
        receivedAt: known,
        shareId: null,
        runs: [run],
      })),
    );
    const stockOn = (date: string, roomTypeCapacity: number) =>
      inventory(date, known, {
        propertyCode,
        roomTypeInventories: [{ roomTypeCode: "STD", roomTypeCapacity, roomsSold: 1 }],
      });
    await apply(service, "inventories", [stockOn("2026-10-05", 4), stockOn("2026-10-19", 6)]);
    const asked = {
      clientCode: "ACME",
      propertyCode,
      from: "2026-10-05",
      to: "2026-10-20",
      sum: "dayOfWeek",
    };
    const sums = await insightItems(service, "on-the-books", asked);
    const figures = (day: number) =>
      sums
        .filter(({ dayOfWeek }) => dayOfWeek === day)
        .map(({ currency, dates, rooms, capacity, soldReported, occupancy, revpar, adr }) => [
          ...[currency, dates, rooms, capacity, soldReported, occupancy, revpar, adr],
        ]);
    // Of the three Mondays, the second has rooms and no capacity, and the third no rooms.
    assert.deepEqual(figures(1), [
      ["EUR", 3, 2, 10, 2, "0.1000", "10.00", "100.00"],
      ["JPY", 3, 2, null, null, "0.1000", "10", "100"],
    ]);
    assert.deepEqual(figures(2), [
      ["EUR", 3, 2, null, null, null, null, "100.00"],
      ["JPY", 3, 2, null, null, null, null, "100"],
    ]);
  });

  test("is a known 0 for a night on which nobody stayed", async () => {
    const of = {
      ...(await addFeed("ZERO", known)),
      from: "2026-10-26",
      to: "2026-10-27",
      asOf: "2026-10-20T00:00:00Z",
    };
    const items = await insightItems(service, "on-the-books", { ...of, compare: "lastYear" });
    assert.deepEqual(
      items.map(({ lastYearRooms, lastYearRoomRevenue }) => [lastYearRooms, lastYearRoomRevenue]),
      [
        [0, "0.00"],
        [0, "0.00"],
      ],
    );
  });

  test("is null as of an instant before anything was received, while the final figures are there", async () => {
    const of = {
      ...(await addFeed("RECEIVED", "2026-09-01T00:00:00.000000Z")),
      clock: "receipt",
      asOf: "2026-10-20T00:00:00Z",
    };
    const items = await insightItems(service, "on-the-books", { ...of, from: "2026-10-08", compare: "all" });
    assert.deepEqual(
      items.map((item) => [item["lastYearRooms"], item["lastYearFinalRooms"], item["pickup30Rooms"]]),
      [
        [null, 1, 0],
        [null, 1, 0],
        [null, 1, 0],
      ],
    );
    const early = await insightItems(service, "on-the-books", {
      ...of,
      asOf: "2026-09-20T00:00:00Z",
      compare: "pickup",
    });
    assert.deepEqual(
      new Set(early.map((item) => [item["pickup7Rooms"], item["pickup30Rooms"]].join())),
      new Set(["0,"]),
    );
  });

  test("is known from the first departure, however many guests came before", async () => {
    const place = await addProperty(service, "IN_HOUSE");
    const stays = [
      // Three a day came before the feed began, all of whom stay on.
      ...Array.from({ length: 300 }, (_, at): [string, number] => {
        const first = addDays("2025-06-27", Math.floor(at / 3));
        return [first, 160 - Math.floor(at / 3)];
      }),
      ...Array.from({ length: 20 }, (_, day): [string, number] => [addDays(LIVE, day), 1]),
    ].map(([first, nights], at) => ({
      ...{ key: `R${at}`, sourceTime: known, receivedAt: known, shareId: null },
      runs: [{ ...ONE_NIGHT, first: dayOf(first), nights }],
    }));
    // Each night of theirs is a run of its own.
    const sharers = Array.from({ length: 6 }, (_, at) => ({
      ...{ key: `S${at}`, sourceTime: known, receivedAt: known, shareId: `SHARE${at}` },
      runs: Array.from({ length: 100 }, (_, day) => ({
        ...ONE_NIGHT,
        first: dayOf(addDays("2025-08-01", day)),
        net: 10_000 + day,
      })),
    }));
    await writeNights(service.pool, place, [...stays, ...sharers]);
    const page = await insightPage(service, "pace", {
      ...{ clientCode: "ACME", propertyCode: "IN_HOUSE", from: "2026-10-10", to: "2026-10-10" },
    });
    assert.equal((page as unknown as Item)["lastYearKnownFrom"], LIVE);
  });

  test("is null in pace for a range with such a night, and before the first day that is known", async () => {
    const of = await addFeed("PACED", known);
    const ask = async (from: string) =>
      insightPage(service, "pace", { ...of, from, daysBefore: "400", asOf: "2026-10-20T00:00:00Z" });
    const page = await ask("2026-10-01");
    assert.equal((page as unknown as Item)["lastYearKnownFrom"], LIVE);
    assert.deepEqual(new Set(page.items.map(({ lastYearRooms }) => lastYearRooms)), new Set([null]));
    const after = (await ask("2026-10-04")).items;
    const knownDays = (name: string) =>
      after.filter((item) => item[name] !== null).map(({ daysBefore }) => Number(daysBefore));
    // 5 October 2025 is four days after the first of what is known; 4 October 2026 is 368.
    assert.deepEqual([Math.max(...knownDays("lastYearRooms")), Math.max(...knownDays("rooms"))], [4, 368]);
  });
});
