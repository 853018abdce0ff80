import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { type BooksSource, type ComparisonContext, compareBooks } from "../../src/insight/compared-books.ts";
import { mastersOf } from "../../src/insight/group-hierarchy.ts";
import { type MovementRow, pageOfMovements } from "../../src/insight/movements.ts";
import { compareCodes } from "../../src/insight/paging.ts";
import { NightSums } from "../../src/insight/reconciliation.ts";
import { sumBooks } from "../../src/insight/sum-books.ts";
import { WorkPauses } from "../../src/platform/runtime/work-pauses.ts";
import { assertTurns } from "../support/assert-turns.ts";

/** Codes that differ only in their end, and whose order in UTF-16 is not that of UTF-8. */
const codeOf = (at: number) => `${"😀".repeat(50)}${(at * 7_919) % 999_983}`;
const NIGHT = "2026-09-10";

test("codes are compared by their bytes in UTF-8", () => {
  const code = fc
    .array(fc.constantFrom("a", "b", "é", "\ud7ff", "\ue000", "\uffff", "😀", "🙂"))
    .map((some) => some.join(""));
  fc.assert(
    fc.property(code, code, (one, other) => {
      assert.equal(compareCodes(one, other), Buffer.compare(Buffer.from(one), Buffer.from(other)));
    }),
  );
});

test("a night of 60,000 room types is listed in turns", async () => {
  const rooms = Array.from({ length: 60_000 }, (_, at) => {
    return { night: NIGHT, room_type: codeOf(at), block_group: null, rooms: 1 };
  });
  const pauses = new WorkPauses();
  const sums = await new NightSums(NIGHT).add(rooms, [], pauses);
  let listed = 0;
  const list = async () => {
    listed = 0;
    for await (const some of sums.byRoomType(pauses)) listed += some.length;
  };
  await assertTurns(list);
  assert.equal(listed, 60_000);
});

test("books of 10,000 items are compared with others in turns", async () => {
  const itemsOf = (series: number, night: string) =>
    Array.from({ length: 10_000 }, (_, at) => ({
      stayDate: night,
      unit: codeOf(at * 7 + series),
      currency: "EUR",
      rooms: 1,
      roomRevenue: "101.10",
      grossRoomRevenue: null,
      adr: "101.10",
      capacity: null,
      outOfOrder: null,
      occupancy: null,
      revpar: null,
    })).sort((one, other) => compareCodes(one.unit, other.unit));
  type Item = ReturnType<typeof itemsOf>[number];
  // The nights of last year are 364 days earlier.
  const series = Array.from({ length: 7 }, (_, at) =>
    itemsOf(at, at === 1 || at === 2 ? "2025-09-11" : NIGHT),
  );
  const source = {
    question: { by: "roomType", clock: "source", asOf: null },
    start: null,
    hasStock: false,
    listed: () => [],
    read: async () => {
      await setImmediate();
      return series.shift();
    },
    positionOf: ({ stayDate, unit, currency }: Item) => [stayDate, 0, unit, 0, currency],
    without: (item: Item) => ({ ...item, rooms: 0, roomRevenue: null }),
  } as unknown as BooksSource<Item>;
  const context = {
    comparison: "all",
    known: { night: "2020-01-01", since: "2020-01-01T00:00:00Z" },
    lastYearAsOf: "2026-09-01T00:00:00Z",
    businessDay: NIGHT,
    since: ["2026-09-09T00:00:00Z", "2026-09-07T00:00:00Z", "2026-09-03T00:00:00Z", "2026-08-11T00:00:00Z"],
  } as unknown as ComparisonContext;
  const window = { first: NIGHT, last: NIGHT };
  let compared: readonly Item[] = [];
  const compare = async () => {
    compared = await compareBooks(source, context, window, 10_000);
  };
  await assertTurns(compare);
  assert.equal(compared.length, 10_000);
});

test("books of 60,000 items are added up in turns", async () => {
  const items = Array.from({ length: 60_000 }, (_, at) => ({
    stayDate: `20${10 + (at % 50)}-09-10`,
    currency: `C${at % 1_200}`,
    rooms: 1,
    roomRevenue: "101.10",
    capacity: at < 50 ? 40 : null,
    outOfOrder: null,
    occupancy: "0.0250",
  }));
  const dates = { first: "2010-09-10", last: "2059-09-10", every: 1 } as const;
  const settings = { occupancyBase: "capacity" } as const;
  let sums: readonly object[] = [];
  const add = async () => {
    sums = await sumBooks({ dates, items }, settings, null, new WorkPauses());
  };
  await assertTurns(add);
  assert.equal(sums.length, 1_200);
});

test("a page behind more currencies of a night than are read again is refused, and not cut", async () => {
  const items = Array.from({ length: 400 }, (_, at) => {
    return { stayDate: NIGHT, currency: `C${100 + at}`, rooms: 1, roomRevenue: "1.00" };
  });
  type Item = (typeof items)[number];
  const pageFrom = (place: number) => {
    const source = {
      question: { by: "none", clock: "source", asOf: null },
      start: [NIGHT, 1, "", 0, `C${100 + place}`],
      hasStock: false,
      listed: () => [],
      read: async (...[, , , wanted]: readonly [unknown, unknown, unknown, number]) => items.slice(0, wanted),
      positionOf: ({ stayDate, currency }: Item) => [stayDate, 1, "", 0, currency],
      without: (item: Item) => item,
    } as unknown as BooksSource<never>;
    const context = {
      comparison: "pickup",
      known: { since: null },
      since: [],
    } as unknown as ComparisonContext;
    return compareBooks(source, context, { first: NIGHT, last: NIGHT }, 101);
  };
  assert.equal((await pageFrom(199)).length, 301);
  await assert.rejects(pageFrom(200), /need|needs/);
  await assert.rejects(pageFrom(290), /need|needs/);
});

test("a page of a night's movements in 100,000 currencies is put together in turns", async () => {
  const rows = Array.from({ length: 100_000 }, (_, at): MovementRow => {
    const counts = { arrivals: 3, departures: 1, stayThroughs: 2, stayRooms: 3, leadRooms: 3 };
    const [cancelled, noShows] = [
      { cancelled: 1, cancelledRevenue: "99.50", cancelledDays: "3" },
      { noShows: 1, noShowRevenue: "1.25" },
    ];
    const place = { night: NIGHT, unit: null, currency: String(at).padStart(6, "0") };
    return { ...place, ...counts, stayNights: "7", leadDays: "11", ...cancelled, ...noShows };
  });
  const client = {
    query: async ({ text = "" }: { readonly text?: string }) => {
      await setImmediate();
      if (text.includes("movement_as_of")) return { rows };
      return { rows: [{ shared: 0, blocks: 0, stays: 0 }] };
    },
  };
  const question = { from: NIGHT, to: NIGHT, by: "none", clock: "source", asOf: null, property: {} };
  const asked = { client, question, start: null, limit: 10 } as unknown as Parameters<
    typeof pageOfMovements
  >[0];
  let listed = 0;
  await assertTurns(async () => {
    listed = (await pageOfMovements(asked)).items.length;
  });
  assert.equal(listed, 10);
});

test("the masters of 200,000 groups are found in turns", async () => {
  const links = Array.from({ length: 200_000 }, (_, at) => ({
    subgroup: `G${at}`,
    master: `G${(at + 1) * 2}`,
  }));
  await assertTurns(async () => {
    assert.equal((await mastersOf(links)).size, links.length);
  });
});
