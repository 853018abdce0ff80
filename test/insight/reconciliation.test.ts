import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import type { BlockItem } from "../../src/insight/blocks.ts";
import type { NightReconciliation } from "../../src/insight/one-night.ts";
import type { ReconciledNight } from "../../src/insight/reconciliation.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { assertDocumented } from "../support/openapi.ts";
import { accept, apply, group, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let document: OpenApiDocument;
before(async () => {
  service = await startTestService();
  document = (await service.get("/openapi.json")).json() as unknown as OpenApiDocument;
});
after(() => service.stop());

const FIRST = "2026-07-10";
const BOOKED = "2026-06-01T00:00:00Z";
const COUNTED = "2026-07-09T02:00:00Z";
const on = (day: number) => addDays(FIRST, day);

const stay = (from: number, to: number, roomTypeCode = "DLX", more: Record<string, unknown> = {}) => ({
  roomStays: [{ arrivalDate: on(from), departureDate: on(to), roomTypeCode, ...more }],
});

/** One hotel of ACME: its records and what is asked of it. */
function hotel(propertyCode: string) {
  const ofHotel = { propertyCode };
  const ask = async (path: string, more: Record<string, string>) => {
    const query = new URLSearchParams({ clientCode: "ACME", propertyCode, ...more });
    const answer = await service.get(`/api/insight/v1/${path}?${query}`);
    assert.equal(answer.status, 200, answer.text);
    assertDocumented(document, "GET", `/api/insight/v1/${path}`, answer);
    return answer.json();
  };
  return {
    ask,
    book: (
      id: string,
      nights: Record<string, unknown>,
      more: Record<string, unknown> = {},
      modified = BOOKED,
    ) => apply(service, "reservations", [reservation(id, modified, { ...ofHotel, ...nights, ...more })]),
    /** What the hotel counts as sold of DLX (and of STD) on the nights from the first on. */
    count: (sold: readonly number[], std: readonly number[] = [], created = COUNTED) =>
      apply(
        service,
        "inventories",
        sold.map((roomsSold, day) =>
          inventory(on(day), created, {
            ...ofHotel,
            roomTypeInventories: [
              { roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold },
              { roomTypeCode: "STD", roomTypeCapacity: 40, roomsSold: std[day] ?? 0 },
            ],
            virtualRoomTypeInventories: [{ roomTypeCode: "VIRT", roomTypeCapacity: 9, roomsSold: 9 }],
          }),
        ),
      ),
    block: (code: string, more: Record<string, unknown>, modified = BOOKED) =>
      apply(service, "groups", [
        group(code, modified, { ...ofHotel, startDate: FIRST, endDate: on(9), ...more }),
      ]),
    differences: async (days: number, more: Record<string, string> = {}) =>
      (await ask("reconciliation", { from: FIRST, to: on(days - 1), ...more }))["items"] as ReconciledNight[],
    night: async (day: number, more: Record<string, string> = {}) =>
      (await ask("reconciliation/night", {
        stayDate: on(day),
        ...more,
      })) as unknown as NightReconciliation,
    blocks: async (more: Record<string, string> = {}) =>
      (await ask("blocks", { from: FIRST, to: on(9), ...more }))["items"] as BlockItem[],
  };
}

const differs = (items: readonly { readonly difference: number | null }[]) =>
  items.map(({ difference }) => difference);

test("a hotel whose counts equal its reservations differs on no night", async () => {
  const { book, count, differences, night } = hotel("EVEN");
  await book("e1", stay(0, 3), { numberOfRooms: 2 });
  await book("e2", stay(1, 2, "STD"));
  await book("e3", stay(2, 2));
  await count([2, 2, 2, 0], [0, 1, 0, 0]);
  assert.deepEqual(differs(await differences(5)), [0, 0, 0, 0]);
  assert.deepEqual(
    (await differences(2, { by: "roomType" })).map(({ roomType, reported, rebuilt }) => [
      roomType,
      reported,
      rebuilt,
    ]),
    [
      ["DLX", 2, 2],
      ["STD", 0, 0],
      ["DLX", 2, 2],
      ["STD", 1, 1],
    ],
  );
  assert.deepEqual((await night(1)).findings, []);
});

test("an inventory record without room types reports none sold and no capacity, and one that is not there nothing", async () => {
  const { book, ask, differences } = hotel("BARE");
  await book("b1", stay(0, 2));
  await apply(service, "inventories", [
    inventory(FIRST, COUNTED, {
      propertyCode: "BARE",
      roomTypeInventories: [],
      virtualRoomTypeInventories: [],
    }),
  ]);
  for (const by of ["none", "roomType"] as const)
    assert.deepEqual(
      (await differences(2, by === "none" ? {} : { by })).map(({ reported, difference }) => [
        reported,
        difference,
      ]),
      [
        [0, -1],
        [null, null],
      ],
    );
  const books = (await ask("on-the-books", { from: FIRST, to: on(1) }))["items"] as Record<string, unknown>[];
  assert.deepEqual(
    books.map(({ capacity, occupancy, soldReported }) => [capacity, occupancy, soldReported]),
    [
      [0, null, 0],
      [null, null, null],
    ],
  );
});

test("a reservation that was never sent is found, with its nights and the record of the count", async () => {
  const { book, count, differences, night } = hotel("MISSING");
  await book("m1", stay(0, 5));
  const requestId = await count([1, 2, 2, 1, 1]);
  assert.deepEqual(differs(await differences(5)), [0, 1, 1, 0, 0]);
  const { findings, roomTypes } = await night(1);
  assert.deepEqual(differs(roomTypes), [1, 0]);
  const [first] = findings;
  assert.deepEqual(
    [first?.kind, first?.roomType, first?.rooms, first?.nights],
    ["missing-reservation", "DLX", 1, 2],
  );
  assert.deepEqual(first?.records, [{ resource: "inventories", key: on(1), requestId, index: 1 }]);
});

test("a wrong count is found on its night, with its record", async () => {
  const { book, count, differences, night } = hotel("WRONG");
  await book("w1", stay(0, 4), { numberOfRooms: 3 });
  const requestId = await count([3, 3, 1, 3]);
  assert.deepEqual(differs(await differences(4)), [0, 0, -2, 0]);
  const [first, ...others] = (await night(2)).findings;
  assert.deepEqual([first?.kind, first?.rooms, others.length], ["wrong-sold-count", -2, 0]);
  assert.deepEqual(first?.records, [{ resource: "inventories", key: on(2), requestId, index: 2 }]);
});

test("a share that the hotel counts twice is found, with the sharers", async () => {
  const { book, count, differences, night } = hotel("SHARE");
  const first = await book("s1", stay(0, 3), { shareId: "X" });
  const second = await book("s2", stay(1, 3), { shareId: "X" });
  await book("s3", stay(0, 3), { shareId: "" });
  await count([2, 3, 3, 0]);
  assert.deepEqual(differs(await differences(4)), [0, 1, 1, 0]);
  const { findings, reservations } = await night(1);
  assert.deepEqual(
    [findings[0]?.kind, findings[0]?.rooms, findings[0]?.nights, findings[0]?.nightsExplained],
    ["share-counted-twice", 1, 2, 2],
  );
  assert.deepEqual(
    findings[0]?.records.map(({ key, requestId, index }) => [key, requestId, index]),
    [
      ["s2", second, 0],
      ["s1", first, 0],
    ],
  );
  assert.deepEqual(
    reservations.map(({ reservationId, rooms, counted }) => [reservationId, rooms, counted]),
    [
      ["s1", 1, 1],
      ["s2", 1, 0],
      ["s3", 1, 1],
    ],
  );
});

test("a reservation that is cancelled and still sold is found, before others that are cancelled", async () => {
  const { book, count, differences, night } = hotel("CANCEL");
  const cancelled = { status: "CANCELLED" };
  await book("c1", stay(0, 4));
  await book("c2", stay(1, 3));
  const requestId = await book("c2", stay(1, 3), cancelled, "2026-06-05T00:00:00Z");
  await book("c3", stay(0, 4), cancelled);
  await book("c4", stay(2, 4, "STD"), cancelled);
  await count([1, 2, 2, 1]);
  assert.deepEqual(differs(await differences(4)), [0, 1, 1, 0]);
  const { findings } = await night(2);
  assert.deepEqual(
    findings.map(({ kind, records, nights, nightsExplained }) => [
      kind,
      records[0]?.key,
      nightsExplained,
      nights,
    ]),
    [
      ["cancelled-but-sold", "c2", 2, 2],
      ["cancelled-but-sold", "c3", 2, 4],
    ],
  );
  assert.equal(findings[0]?.records[0]?.requestId, requestId);
});

test("an unused block that counts as sold is found, with the group's record", async () => {
  const { book, block, count, differences, night } = hotel("BLOCK");
  await book("b1", stay(0, 2, "DLX", { groupBlockCode: "WED" }));
  const groupBlocks = [0, 1].map((day) => ({
    occupancyDate: on(day),
    roomTypeCode: "DLX",
    blocks: 5,
    pickup: 1,
    originalBlocks: 8,
  }));
  const requestId = await block("WED", { groupBlocks });
  await block("TENT", { groupBlocks, groupStatusCode: "TENTATIVE" });
  await count([1, 5, 0]);
  const items = await differences(3);
  assert.deepEqual(
    items.map(({ difference, unpickedBlocks, rebuiltGroup }) => [difference, unpickedBlocks, rebuiltGroup]),
    [
      [0, 4, 1],
      [4, 4, 1],
      [0, 0, 0],
    ],
  );
  const [first, second] = (await night(1)).findings;
  assert.deepEqual([first?.kind, first?.rooms], ["unpicked-block-counted", 4]);
  assert.deepEqual(first?.records, [{ resource: "groups", key: "WED", requestId, index: 0 }]);
  assert.deepEqual([second?.kind, second?.records[0]?.key], ["block-without-hold-counted", "TENT"]);
});

test("reservations that are not on the books for another reason are candidates", async () => {
  const { book, count, night } = hotel("OTHER");
  await book("o1", stay(0, 1), { status: "ON HOLD" });
  const future = new Date(Date.now() + 3_600_000).toISOString();
  const quarantined = await accept(service, "reservations", [
    reservation("o2", future, { propertyCode: "OTHER", ...stay(1, 2) }),
  ]);
  await book("o3", stay(2, 3, "STD", { bookedRoomTypeCode: "DLX" }));
  await book("o4", stay(3, 4), {}, "2026-07-09T12:00:00Z");
  await book("o5", stay(5, 6), { status: "CANCELLED" }, "2026-06-02T00:00:00Z");
  const late = await book("o5", stay(5, 6), {}, BOOKED);
  await count([1, 1, 1, 0, 0, 1]);
  const firstOf = async (day: number) => {
    const [first] = (await night(day)).findings;
    return [first?.kind, first?.rooms, first?.records[0]?.key];
  };
  assert.deepEqual(await firstOf(0), ["unmapped-label", 1, "o1"]);
  assert.deepEqual(await firstOf(1), ["quarantined", 1, "o2"]);
  assert.equal((await night(1)).findings[0]?.records[0]?.requestId, quarantined);
  assert.deepEqual(await firstOf(2), ["other-room-type-booked", 1, "o3"]);
  assert.deepEqual(await firstOf(3), ["changed-since-count", -1, "o4"]);
  const stale = (await night(5)).findings.find(({ kind }) => kind === "stale");
  assert.deepEqual(stale?.records[0], { resource: "reservations", key: "o5", requestId: late, index: 0 });
});

test("a night is reconciled as it stood at an instant, by either clock", async () => {
  const { book, count, night } = hotel("PAST");
  await book("p1", stay(0, 2));
  await count([1, 1]);
  const received = new Date().toISOString();
  await book("p2", stay(0, 2), {}, "2026-06-20T00:00:00Z");
  await count([5, 5], [], "2026-07-09T22:00:00Z");
  const of = async (more: Record<string, string> = {}) => {
    const { night: total, reservations } = await night(0, more);
    return [total.reported, total.rebuilt, reservations.length];
  };
  assert.deepEqual(await of(), [5, 2, 2]);
  assert.deepEqual(await of({ asOf: "2026-06-10T00:00:00Z" }), [null, 1, 1]);
  assert.deepEqual(await of({ asOf: "2026-07-09T12:00:00Z" }), [1, 2, 2]);
  assert.deepEqual(await of({ asOf: received, clock: "receipt" }), [1, 1, 1]);
});

test("blocks are reported according to the master and to reservations, with released rooms", async () => {
  const { book, block, blocks } = hotel("GROUPS");
  const nights = (dlx: number, std: number) => [
    { occupancyDate: FIRST, roomTypeCode: "DLX", blocks: dlx, pickup: 2, originalBlocks: 10 },
    { occupancyDate: FIRST, roomTypeCode: "STD", blocks: std, originalBlocks: 4 },
  ];
  const about = { cutoffDate: "2026-06-20", name: "Wedding" };
  await setSetting(
    service.pool,
    { clientCode: "ACME", propertyCode: "GROUPS", name: "timeZone" },
    "Europe/Lisbon",
  );
  await block("WED", { ...about, groupBlocks: nights(10, 4) });
  await block("WED", { ...about, groupBlocks: nights(8, 4) }, "2026-06-20T22:59:00Z");
  await block("WED", { ...about, groupBlocks: nights(5, 4) }, "2026-06-20T23:00:00Z");
  await block("TENT", { groupStatusCode: "TENTATIVE", groupBlocks: nights(3, 0) });
  await book("g1", stay(0, 1, "DLX", { groupBlockCode: "WED" }), { numberOfRooms: 3 });
  await book("g2", stay(0, 1, "SUITE", { groupBlockCode: "WED" }));
  await book("g3", stay(0, 1, "DLX", { groupBlockCode: "WED" }), { status: "CANCELLED" });
  const shared = {
    stayDate: FIRST,
    group: "WED",
    name: "Wedding",
    label: "DEFINITE",
    holds: true,
    cutoffDate: "2026-06-20",
  };
  assert.deepEqual(await blocks(), [
    {
      ...shared,
      blocks: 9,
      originalBlocks: 14,
      pickedUp: 2,
      pickedUpRebuilt: 4,
      remaining: 7,
      subgroupBlocks: 0,
      wash: 5,
      washAfterCutoff: 3,
    },
  ]);
  assert.deepEqual(
    (await blocks({ by: "roomType" })).map((item) => [
      item.roomType,
      item.blocks,
      item.pickedUp,
      item.pickedUpRebuilt,
      item.remaining,
      item.wash,
    ]),
    [
      ["DLX", 5, 2, 3, 3, 5],
      ["STD", 4, null, 0, 4, 0],
      ["SUITE", 0, null, 1, 0, null],
    ],
  );
  const [other, ...more] = await blocks({ holding: "no" });
  assert.deepEqual(
    [other?.group, other?.holds, other?.blocks, other?.remaining, more],
    ["TENT", false, 3, 0, []],
  );
  const [then] = await blocks({ asOf: "2026-06-20T22:59:00Z" });
  assert.deepEqual([then?.blocks, then?.wash, then?.washAfterCutoff], [12, 2, 0]);
});

test("after its cutoff, only changes of a block's rooms release it, not its status", async () => {
  const { block, blocks } = hotel("RELEASED");
  const nights = (rooms: number) => ({
    cutoffDate: "2026-06-20",
    groupBlocks: [{ occupancyDate: FIRST, roomTypeCode: "DLX", blocks: rooms, originalBlocks: 20 }],
  });
  await block("FIRM", { ...nights(20), groupStatusCode: "TENTATIVE" });
  await block("FIRM", nights(18), "2026-06-25T00:00:00Z");
  await block("GONE", nights(20));
  await block("GONE", { ...nights(20), groupStatusCode: "CANCELLED" }, "2026-06-25T00:00:00Z");
  await block("LATE", nights(18), "2026-06-25T00:00:00Z");
  const released = async (holding: string) =>
    (await blocks({ holding })).map((item) => [item.group, item.wash, item.washAfterCutoff]);
  assert.deepEqual(await released("yes"), [
    ["FIRM", 2, 2],
    ["LATE", 2, 0],
  ]);
  assert.deepEqual(await released("no"), [["GONE", 0, 0]]);
});

test("a block reduced to nothing is listed once with its released rooms, whatever its status", async () => {
  const { block, blocks, differences } = hotel("EMPTIED");
  const nights = (rooms: number) => ({
    cutoffDate: "2026-06-20",
    groupBlocks: [{ occupancyDate: FIRST, roomTypeCode: "DLX", blocks: rooms }],
  });
  await block("GONE", nights(7));
  await block("GONE", nights(0), "2026-06-25T00:00:00Z");
  await block("LOST", nights(4));
  await block("LOST", { ...nights(0), groupStatusCode: "CANCELLED" }, "2026-06-25T00:00:00Z");
  const known = { occupancyDate: FIRST, roomTypeCode: "DLX", blocks: 5, pickup: 0, originalBlocks: 5 };
  await block("OMIT", { cutoffDate: "2026-06-20", groupBlocks: [known] });
  await block("OMIT", { cutoffDate: "2026-06-20", groupBlocks: [] }, "2026-06-25T00:00:00Z");
  const released = async (holding: string) =>
    (await blocks({ holding })).map((item) => [item.group, item.blocks, item.wash, item.washAfterCutoff]);
  assert.deepEqual(await released("yes"), [
    ["GONE", 0, null, 7],
    ["OMIT", 0, null, 5],
  ]);
  assert.deepEqual(await released("no"), [["LOST", 0, null, 4]]);
  assert.deepEqual(await differences(1), []);
});

test("wash includes only room types with known original rooms; others did not grow", async () => {
  const { block, blocks } = hotel("PARTLY");
  await block("HALF", {
    groupBlocks: [
      { occupancyDate: FIRST, roomTypeCode: "DLX", blocks: 8, originalBlocks: 10 },
      { occupancyDate: FIRST, roomTypeCode: "STD", blocks: 5 },
    ],
  });
  const [both] = await blocks();
  assert.deepEqual([both?.blocks, both?.originalBlocks, both?.wash], [13, 10, 2]);
});

test("fields omitted by a newer version of a block are unknown", async () => {
  const { block, blocks } = hotel("SILENT");
  const nights = (more: Record<string, number>) => ({
    groupBlocks: [{ occupancyDate: FIRST, roomTypeCode: "DLX", ...more }],
  });
  await block("ONCE", nights({ blocks: 10, pickup: 3, originalBlocks: 10 }));
  await block("ONCE", nights({ blocks: 8 }), "2026-06-25T00:00:00Z");
  const [once] = await blocks();
  assert.deepEqual([once?.blocks, once?.pickedUp, once?.originalBlocks, once?.wash], [8, null, null, null]);
  const std = { occupancyDate: FIRST, roomTypeCode: "STD", blocks: 0, originalBlocks: 0 };
  await block("ONCE", { groupBlocks: [...nights({ blocks: 8 }).groupBlocks, std] }, "2026-06-26T00:00:00Z");
  const [beside] = await blocks();
  assert.deepEqual(
    [beside?.blocks, beside?.originalBlocks],
    [8, null],
    "a room type without rooms gives nothing",
  );
});

test("a cutoff date may be the first or the last of the calendar, by which some systems mean none", async () => {
  const { block, blocks, differences, night } = hotel("NEVER");
  const nights = (rooms: number) => ({
    groupBlocks: [{ occupancyDate: FIRST, roomTypeCode: "DLX", blocks: rooms }],
  });
  for (const [code, cutoffDate] of [
    ["FIRST", "0001-01-01"],
    ["LAST", "9999-12-31"],
  ] as const) {
    await block(code, { ...nights(5), cutoffDate });
    await block(code, { ...nights(3), cutoffDate }, "2026-06-25T00:00:00Z");
  }
  assert.deepEqual(
    (await blocks()).map((item) => [item.group, item.cutoffDate, item.washAfterCutoff]),
    [
      ["FIRST", "0001-01-01", 2],
      ["LAST", "9999-12-31", 0],
    ],
  );
  assert.equal((await differences(1))[0]?.unpickedBlocks, 6);
  assert.equal((await night(0)).night.unpickedBlocks, 6);
});
