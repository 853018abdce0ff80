import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { businessDayOf } from "../../src/settings/business-day.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { addProperty, askInsight, below, insightItems, insightPage } from "../support/insight-fixture.ts";
import {
  booksOf,
  countingOf,
  type ModelRun,
  type ModelVersion,
  ONE_NIGHT,
  writeNights,
} from "../support/insight-model.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dateOfDay, dayOf } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

const SEED = Number(process.env["SEED"] ?? 20_261_129);
const STATUSES = {
  deducting: new Set(["CONFIRMED"]),
  off: new Set(["CANCELLED"]),
  holding: new Set<string>(),
};
const FIRST_NIGHT = dayOf("2026-11-10");
const RANGE = { from: FIRST_NIGHT, to: FIRST_NIGHT + 9, by: "none" } as const;
const DATES = { from: dateOfDay(RANGE.from), to: dateOfDay(RANGE.to) };

/** Days around both clock changes of America and Europe, in turn. */
const CHANGES = [
  ["2026-03-06", "2026-03-09"],
  ["2026-03-27", "2026-03-30"],
  ["2026-10-30", "2026-11-02"],
  ["2026-10-23", "2026-10-26"],
] as const;

const ZONES = [
  "Asia/Tokyo",
  "Asia/Kathmandu",
  "Pacific/Honolulu",
  "Europe/Berlin",
  "America/New_York",
  "Pacific/Chatham",
] as const;
const ENDS = ["00:00", "03:00"] as const;
/** Local times that clocks show twice and skip. */
const REPEATED = [
  ["Europe/Berlin", "02:30"],
  ["America/New_York", "01:30"],
] as const;

const changesIn = (timeZone: string) =>
  CHANGES.filter((_, at) => (at % 2 === 0) === timeZone.startsWith("America"));

/** The day that a clock on the wall shows at an instant; hours before the end are of the day before. */
function wallDayOf(instant: string, timeZone: string, end: string): number {
  const shown = new Date(instant).toLocaleString("sv", { timeZone });
  return dayOf(shown.slice(0, 10)) - (shown.slice(11, 16) < end ? 1 : 0);
}

const RUN: ModelRun = { ...ONE_NIGHT, first: FIRST_NIGHT };

/** Reservations that change at any minute around clock changes, often at the full and the half hour and just before. */
function versionsOf(random: SeededRandom, timeZone: string): ModelVersion[] {
  const instantOf = () => {
    const [day, to] = random.pick(changesIn(timeZone));
    // The hours around the change, or any.
    const isNear = below(random, 2) === 0;
    const night = `${addDays(day, 2)}T${timeZone.startsWith("America") ? "05" : "00"}:00:00Z`;
    const from = isNear ? night : day;
    const minutes = isNear ? 180 : (Date.parse(to) - Date.parse(from)) / 60_000;
    const step = random.pick([1, 15, 30, 60]);
    const ms = Date.parse(from) + Math.floor(below(random, minutes) / step) * step * 60_000;
    const before = below(random, 3) === 0;
    return new Date(before ? ms - 1 : ms).toISOString().replace("Z", before ? "999Z" : "000Z");
  };
  return Array.from({ length: 60 }, (_, key) =>
    Array.from({ length: 1 + below(random, 3) }, (): ModelVersion => {
      const sourceTime = instantOf();
      const status = random.pick(["CONFIRMED", "CONFIRMED", "CANCELLED"]);
      const first = FIRST_NIGHT + below(random, 8);
      const run = { ...RUN, status, first, nights: 1 + below(random, 3), rooms: 1 + below(random, 2) };
      return { key: `R${key}`, sourceTime, receivedAt: sourceTime, shareId: null, runs: [run] };
    }),
  ).flat();
}

interface Hotel {
  readonly propertyCode: string;
  readonly timeZone: string;
  readonly businessDayEnd: string;
  /** With the business day of each. */
  readonly versions: readonly (ModelVersion & { readonly day: number })[];
}

let service: TestService;
const hotels: Hotel[] = [];

async function addHotel(timeZone: string, businessDayEnd: string): Promise<Hotel> {
  const propertyCode = `DAYS${hotels.length}`;
  const random = SeededRandom.stream(SEED, hotels.length);
  const dayOfTime = (time: string) =>
    businessDayEnd.endsWith("30")
      ? dayOf(businessDayOf(new Date(time), { timeZone, businessDayEnd }))
      : wallDayOf(time, timeZone, businessDayEnd);
  const versions = versionsOf(random, timeZone).map((one) => ({ ...one, day: dayOfTime(one.sourceTime) }));
  const hotel = { propertyCode, timeZone, businessDayEnd, versions };
  await writeNights(service.pool, await addProperty(service, propertyCode), hotel.versions);
  const of = { clientCode: "ACME", propertyCode };
  await setSetting(service.pool, { ...of, name: "timeZone" }, timeZone);
  await setSetting(service.pool, { ...of, name: "businessDayEnd" }, businessDayEnd);
  hotels.push(hotel);
  return hotel;
}

before(async () => {
  service = await startTestService();
  await setSetting(service.pool, { clientCode: "ACME", propertyCode: null, name: "currency" }, "EUR");
  for (const timeZone of ZONES) for (const end of ENDS) await addHotel(timeZone, end);
  for (const [timeZone, end] of REPEATED) await addHotel(timeZone, end);
});
after(() => service.stop());

/** Net rooms by night on the books at the end of a business day, by the wall clock where it shows no time twice. */
function booksAtEndOf(day: number, { versions }: Hotel): Map<string, number> {
  const counting = countingOf(versions, (version) => version.day <= day);
  const books = booksOf(counting, [], RANGE, STATUSES);
  return new Map([...books].map(([name, { rooms }]) => [String(JSON.parse(name)[0]), rooms]));
}

describe("pickup by business day", () => {
  test("is what a clock on the property's wall says, over both clock changes", async () => {
    let changed = 0;
    for (const hotel of hotels) {
      const of = { clientCode: "ACME", propertyCode: hotel.propertyCode, ...DATES };
      for (const [from, to] of changesIn(hotel.timeZone))
        for (let day = dayOf(from) - 1; day <= dayOf(to); day += 1) {
          const [then, now] = [booksAtEndOf(day - 1, hotel), booksAtEndOf(day, hotel)];
          const expected = new Map<string, number>();
          for (const night of new Set([...then.keys(), ...now.keys()])) {
            const rooms = (now.get(night) ?? 0) - (then.get(night) ?? 0);
            if (rooms !== 0) expected.set(night, rooms);
          }
          const items = await insightItems(service, "pickup", { ...of, day: dateOfDay(day) });
          const answered = new Map(
            items.flatMap(({ stayDate, rooms }) => (rooms === 0 ? [] : [[stayDate, rooms] as const])),
          );
          const what = `${hotel.timeZone} ${hotel.businessDayEnd} ${dateOfDay(day)}`;
          assert.deepEqual([...answered].sort(), [...expected].sort(), what);
          changed += answered.size;
        }
    }
    assert.ok(changed > 300, `only ${changed} nights changed`);
  });

  test("adds up over the days asked for, and says its days and instants", async () => {
    for (const { propertyCode, timeZone, businessDayEnd } of hotels.slice(-6)) {
      const of = { clientCode: "ACME", propertyCode, ...DATES };
      const sumOf = (items: readonly Record<string, unknown>[]) =>
        items.reduce((sum, { rooms }) => sum + Number(rooms), 0);
      const whole = await insightPage(service, "pickup", { ...of, day: "2026-10-26", days: "3" });
      let sum = 0;
      for (const day of ["2026-10-24", "2026-10-25", "2026-10-26"])
        sum += sumOf(await insightItems(service, "pickup", { ...of, day }));
      assert.equal(sumOf(whole.items), sum);
      const { since, until, ...days } = whole as unknown as Record<string, string>;
      assert.equal(days["timeZone"], new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone);
      assert.equal(days["businessDayEnd"], businessDayEnd);
      assert.equal(days["businessDay"], "2026-10-26");
      const dayAt = (instant = "") => businessDayOf(new Date(instant), { timeZone, businessDayEnd });
      assert.deepEqual([dayAt(since), dayAt(until)], ["2026-10-23", "2026-10-26"]);
      const csv = await askInsight(
        service,
        "pickup",
        { ...of, day: "2026-10-26" },
        { headers: { accept: "text/csv" } },
      );
      assert.equal(csv.headers.get("x-time-zone"), days["timeZone"]);
      assert.equal(csv.headers.get("x-business-day"), "2026-10-26");
    }
  });

  test("is since the end of yesterday's business day by default, at any instant", async () => {
    for (const { propertyCode, timeZone, businessDayEnd } of hotels.slice(-6)) {
      const asOf = "2026-10-25T00:45:00Z";
      const of = { clientCode: "ACME", propertyCode, ...DATES, asOf };
      const page = (await insightPage(service, "pickup", of)) as unknown as Record<string, string>;
      const dayAt = (instant: string) => businessDayOf(new Date(instant), { timeZone, businessDayEnd });
      const next = new Date(Date.parse(page["since"] ?? "") + 1).toISOString();
      assert.equal(page["businessDay"], dayAt(asOf));
      assert.equal(dayAt(next), dayAt(asOf));
      assert.ok(dayAt(page["since"] ?? "") < dayAt(asOf));
      assert.deepEqual(page["until"], "2026-10-25T00:45:00.000000Z");
    }
  });
});

describe("pace", () => {
  test("counts a change on its business day, also where clocks show the end of the day twice or never", async () => {
    for (const hotel of hotels) {
      const of = { clientCode: "ACME", propertyCode: hotel.propertyCode, daysBefore: "60" };
      for (const night of [RANGE.from + 2, RANGE.from + 4]) {
        const nights = { from: dateOfDay(night), to: dateOfDay(night) };
        const items = await insightItems(service, "pace", { ...of, ...nights });
        const points = new Map(items.map(({ daysBefore, rooms }) => [daysBefore, rooms]));
        const [from, to] = changesIn(hotel.timeZone)[1] as (typeof CHANGES)[number];
        for (let day = dayOf(from); day <= dayOf(to); day += 1) {
          const expected = booksAtEndOf(day, hotel).get(dateOfDay(night)) ?? 0;
          const what = `${hotel.timeZone} ${hotel.businessDayEnd} ${dateOfDay(day)}`;
          assert.equal(points.get(night - day), expected, what);
        }
      }
    }
  });
});
