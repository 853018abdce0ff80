import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GROUPINGS } from "../../src/insight/question.ts";
import { businessDayOf } from "../../src/settings/business-day.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import {
  addProperty,
  below,
  DAYS,
  FIRST_NIGHT,
  insightItems,
  randomBlocks,
  randomVersions,
} from "../support/insight-fixture.ts";
import {
  booksOf,
  countingOf,
  type ModelBlock,
  type ModelBooks,
  type ModelBy,
  type ModelCell,
  type ModelStatuses,
  type ModelVersion,
  writeBlocks,
  writeNights,
} from "../support/insight-model.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { dateOfDay, dayOf } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

const STATUSES: ModelStatuses = {
  deducting: new Set(["CONFIRMED", "In House"]),
  off: new Set(["CANCELLED", "NO SHOW"]),
  holding: new Set(["DEFINITE"]),
};
const BY: readonly ModelBy[] = ["none", ...GROUPINGS];
const CLOCKS = ["source", "receipt"] as const;
const SEED = Number(process.env["SEED"] ?? 20_261_122);

interface Hotel {
  readonly propertyCode: string;
  readonly versions: readonly ModelVersion[];
  readonly blocks: readonly ModelBlock[];
}

let service: TestService;
const hotels: Hotel[] = [];
before(async () => {
  service = await startTestService();
  await setSetting(service.pool, { clientCode: "ACME", propertyCode: null, name: "currency" }, "EUR");
  for (let number = 0; number < 4; number += 1) {
    const random = SeededRandom.stream(SEED, number);
    const propertyCode = `MODEL${number}`;
    const place = await addProperty(service, propertyCode);
    const versions = randomVersions(random, 60);
    const blocks = randomBlocks(random, 5);
    await writeNights(service.pool, place, versions);
    await writeBlocks(service.pool, place, blocks);
    hotels.push({ propertyCode, versions, blocks });
  }
  const zone = { clientCode: "ACME", propertyCode: "MODEL1" };
  await setSetting(service.pool, { ...zone, name: "timeZone" }, "America/New_York");
  await setSetting(service.pool, { ...zone, name: "businessDayEnd" }, "03:30");
  const evening = { clientCode: "ACME", propertyCode: "MODEL2" };
  await setSetting(service.pool, { ...evening, name: "timeZone" }, "Pacific/Auckland");
  await setSetting(service.pool, { ...evening, name: "businessDayEnd" }, "22:00");
});
after(() => service.stop());

type Known = (version: { readonly sourceTime: string; readonly receivedAt: string }) => boolean;

function knownAt(clock: (typeof CLOCKS)[number], asOf: string | undefined): Known {
  return ({ sourceTime, receivedAt }) =>
    asOf === undefined || (clock === "source" ? sourceTime : receivedAt) <= asOf;
}

const isNothing = (cell: ModelCell) =>
  [cell.rooms, cell.unmapped, cell.adults, cell.children, cell.blocks].every((count) => count === 0) &&
  !cell.net &&
  !cell.gross;

/** Amounts as numbers of cents: what is compared is exact, and how it is written is another test's. */
const centsOf = (text: unknown) => (text === null ? null : Math.round(Number(text) * 100));

function expectedOf(books: ModelBooks): Map<string, unknown> {
  const cells = [...books].filter(([, cell]) => !isNothing(cell));
  return new Map(
    cells.map(([name, { net, gross, ...counts }]) => [name, { ...counts, net: net ?? 0, gross: gross ?? 0 }]),
  );
}

function answeredOf(items: readonly Record<string, unknown>[], by: ModelBy): Map<string, unknown> {
  const cells = new Map<string, unknown>();
  for (const item of items) {
    const name = JSON.stringify([item["stayDate"], by === "none" ? null : item[by], item["currency"]]);
    assert.ok(!cells.has(name), `${name} comes twice`);
    cells.set(name, {
      rooms: item["rooms"],
      unmapped: item["unmappedRooms"],
      adults: item["adults"],
      children: item["children"],
      blocks: item["blocksRemaining"],
      net: centsOf(item["roomRevenue"]) ?? 0,
      gross: centsOf(item["grossRoomRevenue"]) ?? 0,
    });
  }
  return cells;
}

function sorted(cells: ReadonlyMap<string, unknown>): [string, unknown][] {
  return [...cells].sort(([left], [right]) => (left < right ? -1 : 1));
}

/** Some instants: those of versions, a microsecond before and after them, and none at all. */
function instantsOf({ versions }: Hotel, random: SeededRandom, count: number): (string | undefined)[] {
  const times = versions.flatMap(({ sourceTime, receivedAt }) => [sourceTime, receivedAt]);
  const picked = Array.from({ length: count }, () => {
    const time = random.pick(times);
    return below(random, 2) === 0
      ? time
      : time.replace(/\d{3}Z$/, (end) => (end === "000Z" ? "001Z" : "000Z"));
  });
  return [undefined, ...picked];
}

describe("on the books", () => {
  test("are what the versions amount to by their definition, at any instant of either clock, by any grouping", async () => {
    const random = SeededRandom.stream(SEED, 100);
    let cells = 0;
    for (const hotel of hotels) {
      for (const asOf of instantsOf(hotel, random, 10)) {
        const [by, clock] = [random.pick(BY), random.pick(CLOCKS)];
        const from = FIRST_NIGHT - 10 + below(random, 30);
        const to = from + below(random, DAYS);
        const isKnown = knownAt(clock, asOf);
        const expected = expectedOf(
          booksOf(
            countingOf(hotel.versions, isKnown),
            countingOf(hotel.blocks, isKnown),
            { from, to, by },
            STATUSES,
          ),
        );
        const items = await insightItems(service, "on-the-books", {
          clientCode: "ACME",
          propertyCode: hotel.propertyCode,
          by,
          clock,
          from: dateOfDay(from),
          to: dateOfDay(to),
          limit: String(1 + below(random, 60)),
          ...(asOf === undefined ? {} : { asOf }),
        });
        const what = `${hotel.propertyCode} ${by} ${clock} ${asOf} ${dateOfDay(from)} ${dateOfDay(to)}`;
        assert.deepEqual(sorted(answeredOf(items, by)), sorted(expected), what);
        const order = items.map((item) => String(item["stayDate"]));
        assert.deepEqual(order, order.toSorted(), what);
        cells += items.length;
      }
    }
    assert.ok(cells > 2_000, `only ${cells} cells were compared`);
  });
});

describe("pickup", () => {
  test("is the difference of the books at two instants, and adds up whatever instant is put between", async () => {
    const random = SeededRandom.stream(SEED, 200);
    let rooms = 0;
    for (const hotel of hotels) {
      for (let round = 0; round < 6; round += 1) {
        const instants = instantsOf(hotel, random, 2)
          .filter((one) => one !== undefined)
          .sort();
        const [since = "", asOf = ""] = instants;
        const [by, clock] = [random.pick(BY), random.pick(CLOCKS)];
        const range = { from: FIRST_NIGHT - 5, to: FIRST_NIGHT + DAYS, by };
        const at = (instant: string) =>
          booksOf(countingOf(hotel.versions, knownAt(clock, instant)), [], range, STATUSES);
        const [former, later] = [at(since), at(asOf)];
        const items = await insightItems(service, "pickup", {
          clientCode: "ACME",
          propertyCode: hotel.propertyCode,
          by,
          clock,
          since,
          asOf,
          from: dateOfDay(range.from),
          to: dateOfDay(range.to),
          limit: String(20 + below(random, 400)),
        });
        const answered = new Map<string, unknown>();
        for (const item of items) {
          const name = JSON.stringify([item["stayDate"], by === "none" ? null : item[by], item["currency"]]);
          assert.ok(!answered.has(name));
          assert.equal(item["rooms"], Number(item["booked"]) - Number(item["cancelled"]));
          assert.ok(Number(item["booked"]) >= 0 && Number(item["cancelled"]) >= 0);
          rooms += Number(item["booked"]);
          const { rooms: net, adults, children } = item;
          const money = [centsOf(item["roomRevenue"]) ?? 0, centsOf(item["grossRoomRevenue"]) ?? 0];
          if (net === 0 && adults === 0 && children === 0 && money.every((cents) => cents === 0)) continue;
          answered.set(name, [net, adults, children, ...money]);
        }
        const expected = new Map<string, unknown>();
        for (const name of new Set([...former.keys(), ...later.keys()])) {
          const [one, other] = [former.get(name), later.get(name)];
          const less = (of: (cell: ModelCell) => number | null) =>
            ((other && of(other)) ?? 0) - ((one && of(one)) ?? 0);
          const change = [
            less((cell) => cell.rooms),
            less((cell) => cell.adults),
            less((cell) => cell.children),
            less((cell) => cell.net),
            less((cell) => cell.gross),
          ];
          if (change.some((value) => value !== 0)) expected.set(name, change);
        }
        assert.deepEqual(
          sorted(answered),
          sorted(expected),
          `${hotel.propertyCode} ${by} ${clock} ${since} ${asOf}`,
        );
      }
    }
    assert.ok(rooms > 100, `only ${rooms} rooms were picked up`);
  });
});

describe("pace", () => {
  const SETTINGS: Readonly<Record<string, { timeZone: string; businessDayEnd: string }>> = {
    MODEL1: { timeZone: "America/New_York", businessDayEnd: "03:30" },
    MODEL2: { timeZone: "Pacific/Auckland", businessDayEnd: "22:00" },
  };
  const UTC = { timeZone: "UTC", businessDayEnd: "00:00" };

  const days = new Map<string, number>();
  /** The business day of an instant, remembered: it is asked for each night and day. */
  function enteredOn(time: string, settings: typeof UTC): number {
    const name = `${settings.timeZone} ${time}`;
    const day = days.get(name) ?? dayOf(businessDayOf(new Date(time), settings));
    days.set(name, day);
    return day;
  }

  const firstDay = ({ versions }: Hotel, clock: "source" | "receipt", settings: typeof UTC) =>
    Math.min(
      ...versions.map(({ sourceTime, receivedAt }) =>
        enteredOn(clock === "source" ? sourceTime : receivedAt, settings),
      ),
    );

  /** What was on the books of all nights so many days before each, by group and currency. */
  function pointOf(
    hotel: Hotel,
    range: { from: number; to: number; by: ModelBy },
    days: number,
    clock: "source" | "receipt",
    asOf: string | undefined,
  ) {
    const settings = SETTINGS[hotel.propertyCode] ?? UTC;
    const isKnown = knownAt(clock, asOf);
    const known = hotel.versions.filter(isKnown).map((version) => ({
      ...version,
      day: enteredOn(clock === "source" ? version.sourceTime : version.receivedAt, settings),
    }));
    const sums = new Map<string, { rooms: number; net: number; gross: number }>();
    for (let night = range.from; night <= range.to; night += 1) {
      const counting = countingOf(known, ({ day }) => day <= night - days);
      for (const [name, cell] of booksOf(counting, [], { ...range, from: night, to: night }, STATUSES)) {
        const group = JSON.stringify(JSON.parse(name).slice(1));
        const { rooms, net, gross } = sums.get(group) ?? { rooms: 0, net: 0, gross: 0 };
        sums.set(group, {
          rooms: rooms + cell.rooms,
          net: net + (cell.net ?? 0),
          gross: gross + (cell.gross ?? 0),
        });
      }
    }
    return sums;
  }

  test("is the books of the nights at the end of each business day before them, in the property's zone", async () => {
    const random = SeededRandom.stream(SEED, 300);
    let points = 0;
    for (const hotel of hotels) {
      for (const asOf of instantsOf(hotel, random, 3)) {
        const [by, clock, daysBefore] = [random.pick(BY), random.pick(CLOCKS), random.pick([0, 5, 60, 130])];
        const from = FIRST_NIGHT + below(random, 20);
        const range = { from, to: from + random.pick([0, 0, 6, 30]), by };
        const items = await insightItems(service, "pace", {
          clientCode: "ACME",
          propertyCode: hotel.propertyCode,
          by,
          clock,
          daysBefore: String(daysBefore),
          from: dateOfDay(range.from),
          to: dateOfDay(range.to),
          limit: String(1 + below(random, 150)),
          ...(asOf === undefined ? {} : { asOf }),
        });
        const settings = SETTINGS[hotel.propertyCode] ?? UTC;
        const today = dayOf(businessDayOf(asOf === undefined ? new Date() : new Date(asOf), settings));
        const groups = Map.groupBy(items, (item) =>
          JSON.stringify([by === "none" ? null : item[by], item["currency"]]),
        );
        const what = `${hotel.propertyCode} ${by} ${clock} ${asOf} ${dateOfDay(range.from)} ${range.to - range.from} ${daysBefore}`;
        for (const [group, ofGroup] of groups)
          assert.deepEqual(
            ofGroup.map((item) => item["daysBefore"]),
            Array.from({ length: daysBefore + 1 }, (_, at) => daysBefore - at),
            `${what} ${group}`,
          );
        for (let days = daysBefore; days >= 0; days -= 1 + below(random, 9)) {
          const expected = pointOf(hotel, range, days, clock, asOf);
          for (const [group, sum] of expected)
            if (Object.values(sum).some((value) => value !== 0))
              assert.ok(groups.has(group), `${what} ${group}`);
          for (const [group, ofGroup] of groups) {
            const item = ofGroup[daysBefore - days] ?? {};
            const sum = expected.get(group) ?? { rooms: 0, net: 0, gross: 0 };
            // The books before the first version are not known.
            const isThere = range.to - days <= today && range.from - days >= firstDay(hotel, clock, settings);
            const answered = [
              item["rooms"],
              centsOf(item["roomRevenue"]) ?? 0,
              centsOf(item["grossRoomRevenue"]) ?? 0,
            ];
            assert.deepEqual(
              answered,
              isThere ? [sum.rooms, sum.net, sum.gross] : [null, 0, 0],
              `${what} ${group} ${days}`,
            );
            points += 1;
          }
        }
      }
    }
    assert.ok(points > 500, `only ${points} points were compared`);
  });

  test("is compared with the nights 364 days before", async () => {
    const hotel = hotels[0] as Hotel;
    const asked = { clientCode: "ACME", propertyCode: hotel.propertyCode, daysBefore: "90" };
    const [from, to] = [FIRST_NIGHT + 3, FIRST_NIGHT + 9];
    const then = await insightItems(service, "pace", { ...asked, from: dateOfDay(from), to: dateOfDay(to) });
    const now = await insightItems(service, "pace", {
      ...asked,
      from: dateOfDay(from + 364),
      to: dateOfDay(to + 364),
    });
    const of = (item: Record<string, unknown>, prefix: string) =>
      ["Rooms", "RoomRevenue", "GrossRoomRevenue", "Adr"].map(
        (name) => item[prefix === "" ? `${name[0]?.toLowerCase()}${name.slice(1)}` : prefix + name],
      );
    assert.deepEqual(
      now.map((item) => of(item, "lastYear")),
      then.map((item) => of(item, "")),
    );
    assert.ok(then.some((item) => Number(item["rooms"]) > 0));
  });
});
