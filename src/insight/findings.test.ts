import assert from "node:assert/strict";
import { test } from "node:test";
import { turnsDuring } from "../../test/support/turns-during.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { type NightEvidence, NightsAround } from "./causes.ts";
import { findingsOf } from "./findings.ts";
import { listedAround } from "./night-differences.ts";
import { type NightReservation, settleNight } from "./night-rooms.ts";
import { rivalryOf } from "./rank-causes.ts";
import type { ReportedNight } from "./reconciliation.ts";

const NIGHT = "2026-07-14";
const at = (request: string, index = 0) => ({ requestId: request, index });

function reservation(id: string, more: Partial<NightReservation> = {}): NightReservation {
  return {
    reservationId: id,
    label: "CONFIRMED",
    deducts: true,
    roomType: "DLX",
    bookedRoomType: null,
    group: null,
    ...{
      shareId: null,
      marketSegment: null,
      rateCode: null,
      roomRevenue: null,
      currency: null,
      bookedAt: null,
    },
    rooms: 1,
    counted: 1,
    arrival: NIGHT,
    departure: "2026-07-15",
    sourceTime: "2026-06-01T00:00:00.000000Z",
    ...at(`r-${id}`),
    late: null,
    ...more,
  };
}
const report = (more: Partial<ReportedNight["rooms"][number]["counts"]> = {}): ReportedNight => ({
  night: NIGHT,
  request_id: "inventory",
  record_index: 3,
  source_time: "2026-07-13T02:00:00.000000Z",
  facts_source_time: "",
  content_hash: "",
  rooms: [{ unit: "DLX", counts: { sold: 10, transient: null, grouped: null, capacity: null, ...more } }],
  virtual: [],
  repeated: [],
});

/** Evidence of a night on which DLX differs by so many rooms, and other nights by what is said of them. */
function evidence(
  difference: number,
  more: Partial<NightEvidence> = {},
  others: Readonly<Record<string, number>> = {},
): NightEvidence {
  const around = new NightsAround(NIGHT, 31);
  const differencesOf = (roomType: string | null) => ({
    all: around.nights.map((night) =>
      roomType !== "DLX" ? 0 : night === NIGHT ? difference : (others[night] ?? 0),
    ),
    parts: null,
  });
  return {
    around,
    report: report(),
    reservations: [],
    details: new Map(),
    changed: [],
    withheld: [],
    blocks: new Map(),
    masters: new Map(),
    pickedUp: () => 0,
    differencesOf,
    countedAt: () => report().source_time,
    isListed: () => true,
    ...more,
  };
}
const findingsIn = async (of: NightEvidence) => (await findingsOf(of, ["DLX"])).findings;
const reported = async (of: NightEvidence) =>
  (await findingsIn(of)).map(({ kind, rooms, records }) => [kind, rooms, records[0]?.key]);

test("a night without a difference has no findings", async () => {
  const reservations = [reservation("c", { deducts: false, counted: 0, label: "CANCELLED" })];
  assert.deepEqual(await reported(evidence(0, { reservations })), []);
});

test("of cancelled reservations, one whose every night differs comes first", async () => {
  const off = { deducts: false, counted: 0, label: "CANCELLED" };
  const reservations = [
    reservation("a", { ...off, departure: "2026-07-18" }),
    reservation("b", { ...off, arrival: "2026-07-13", departure: "2026-07-16" }),
    reservation("c", { ...off, rooms: 2 }),
  ];
  const others = { "2026-07-13": 1, "2026-07-15": 1 };
  const of = evidence(1, { reservations }, others);
  assert.deepEqual(await reported(of), [
    ["cancelled-but-sold", 1, "b"],
    ["cancelled-but-sold", 1, "a"],
  ]);
  assert.deepEqual(
    (await findingsIn(of)).map(({ nights, nightsExplained }) => `${nightsExplained} of ${nights}`),
    ["3 of 3", "2 of 4"],
  );
});

test("an unexplained difference is a missing reservation or a wrong count", async () => {
  const others = { "2026-07-15": 1, "2026-07-16": 1 };
  const of = evidence(1, {}, others);
  assert.deepEqual(await reported(of), [
    ["missing-reservation", 1, NIGHT],
    ["wrong-sold-count", 1, NIGHT],
  ]);
  const [first] = await findingsIn(of);
  assert.equal(first?.nights, 3);
  assert.deepEqual(first?.records, [{ resource: "inventories", key: NIGHT, ...at("inventory", 3) }]);
  assert.deepEqual(await reported(evidence(-2)), [["wrong-sold-count", -2, NIGHT]]);
});

test("a count that does not agree with itself comes first, whatever else may explain it", async () => {
  const reservations = [reservation("c", { deducts: false, counted: 0, label: "CANCELLED" })];
  const torn = report({ transient: 6, grouped: 3 });
  assert.deepEqual(await reported(evidence(1, { reservations, report: torn })), [
    ["wrong-sold-count", 1, NIGHT],
    ["cancelled-but-sold", 1, "c"],
  ]);
});

test("a cause of a whole run of nights comes before many candidates of one night", async () => {
  const off = { deducts: false, counted: 0, label: "CANCELLED" };
  const cancelled = Array.from({ length: 25 }, (_, number) => reservation(`c${number}`, off));
  const sharers = ["s1", "s2"].map((id, place) =>
    reservation(id, { shareId: "S", counted: place === 0 ? 1 : 0, departure: "2026-07-17" }),
  );
  const others = { "2026-07-15": 1, "2026-07-16": 1 };
  const found = await reported(evidence(1, { reservations: [...cancelled, ...sharers] }, others));
  assert.deepEqual([found.length, found[0]], [26, ["share-counted-twice", 1, "s2"]]);
});

test("causes that explain a difference together come first, up to three", async () => {
  const reservations = [
    reservation("u", { deducts: null, counted: 0, label: "HOUSE", departure: "2026-07-16" }),
    reservation("c", { deducts: false, counted: 0, label: "CANCELLED", rooms: 2, arrival: "2026-07-13" }),
    reservation("o", { deducts: false, counted: 0, label: "CANCELLED", departure: "2026-08-01" }),
  ];
  const torn = report({ transient: 6, grouped: 3 });
  const others = { "2026-07-13": 2, "2026-07-15": 1 };
  assert.deepEqual((await reported(evidence(4, { reservations, report: torn }, others))).slice(0, 3), [
    ["wrong-sold-count", 1, NIGHT],
    ["cancelled-but-sold", 2, "c"],
    ["unmapped-label", 1, "u"],
  ]);
});

test("causes of both directions may add up to a difference that neither explains", async () => {
  const reservations = [
    reservation("c", { deducts: false, counted: 0, label: "CANCELLED", rooms: 3, departure: "2026-07-17" }),
    reservation("f", { rooms: 1, counted: 1 }),
  ];
  const details = new Map([["f", { isFree: true, roomNumbers: [], roomTypes: [], numberOfRooms: 1 }]]);
  const others = { "2026-07-15": 3, "2026-07-16": 3 };
  assert.deepEqual((await reported(evidence(2, { reservations, details }, others))).slice(0, 2), [
    ["cancelled-but-sold", 3, "c"],
    ["complimentary-left-out", -1, "f"],
  ]);
});

test("a reservation of another room type than booked explains both", async () => {
  const reservations = [reservation("m", { roomType: "STD", bookedRoomType: "DLX" })];
  const counts = { sold: 0, transient: null, grouped: null, capacity: null };
  const both = { ...report(), rooms: [...report().rooms, { unit: "STD", counts }] };
  const found = await reported(evidence(1, { reservations, report: both }));
  assert.deepEqual(found, [["other-room-type-booked", 1, "m"]]);
});

test("a night with very many candidates takes work that grows with their number, and lets other work in between", async () => {
  const workOf = async (count: number) => {
    let reads = 0;
    const off = reservation("", { counted: 0, label: "X", departure: "2027-07-15" });
    const reservations = Array.from({ length: count }, (_, number) => {
      const deducts = number % 2 === 0 ? false : null;
      const own = { ...off, reservationId: `c${number}`, deducts, group: `G${number % 3}` };
      return Object.defineProperty(own, "rooms", {
        get: () => {
          reads += 1;
          return 1;
        },
      });
    });
    const { turns, result: found } = await turnsDuring(() =>
      findingsOf(evidence(3, { reservations }), ["DLX"]),
    );
    assert.equal(found.findings.length, 100);
    assert.ok(found.findingCount > count);
    return { reads, turns };
  };
  const [few, many] = [await workOf(500), await workOf(5_000)];
  assert.ok(many.reads <= 10 * few.reads, `${few.reads} and ${many.reads} reads`);
  assert.ok(many.turns >= 20, `${many.turns} turns of the event loop`);
});

/** An object whose property counts how often it is read. */
function counting<Of extends object>(of: Of, name: keyof Of, count: () => void): Of {
  const value = of[name];
  return Object.defineProperty({ ...of }, name, {
    enumerable: true,
    get: () => {
      count();
      return value;
    },
  });
}

/** A night on which so many room types differ by one room, and what is read of them. */
function nightOf(roomTypes: number, onWork = () => 0) {
  const units = Array.from({ length: roomTypes }, (_, number) => `T${number}`);
  const work = { reads: 0, longest: 0, inTurn: 0 };
  const around = new NightsAround(NIGHT, 31);
  const counts = { sold: 1, transient: null, grouped: null, capacity: null };
  const rooms = units.map((unit) => counting({ unit, counts }, "unit", () => (work.reads += 1)));
  const differencesOf = () => {
    work.inTurn += 1;
    onWork();
    work.longest = Math.max(work.longest, work.inTurn);
    return { all: around.nights.map((night) => (night === NIGHT ? 1 : 0)), parts: null };
  };
  return { units, work, more: { report: { ...report(), rooms }, differencesOf } };
}

test("a night on which very many room types differ takes work that grows with their number, in short pieces", async (t) => {
  // A clock on which the differences of a room type take 0.05 ms, and nothing else takes time.
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const workOf = async (count: number) => {
    const { units, work, more } = nightOf(count, () => (now += 0.05));
    let isRunning = true;
    const turn = () => {
      work.inTurn = 0;
      if (isRunning) setImmediate(turn);
    };
    setImmediate(turn);
    const { findings, findingCount } = await findingsOf(evidence(1, more), units);
    isRunning = false;
    assert.equal(findings.length, 100);
    assert.equal(findingCount, 2 * count);
    return work;
  };
  const [few, many] = [await workOf(100), await workOf(1_000)];
  // Of the listed findings alone, a room type's count is sought among all.
  assert.ok(many.reads <= 15 * few.reads, `${few.reads} and ${many.reads} reads`);
  assert.ok(many.longest <= 100, `${many.longest} differences in one piece`);
});

test("whether inventory lists a room type is looked up, not sought again for each", () => {
  let reads = 0;
  const rooms = nightOf(100).more.report.rooms.map(({ unit, counts }) =>
    counting({ unit, counts }, "unit", () => (reads += 1)),
  );
  const isListed = listedAround(Array.from({ length: 63 }, () => ({ rooms })));
  for (let number = 0; number < 1_000; number += 1) assert.equal(isListed(`T${number}`), number < 100);
  assert.equal(reads, 63 * 100);
});

test("a cause of very many room types is weighed against its others once", async () => {
  const readsOf = async (count: number) => {
    let reads = 0;
    const cause = { kind: "unmapped-label", isProof: false, prior: 1, changedAt: "" };
    const effects = Array.from({ length: count }, (_, number) =>
      counting({ cause, roomType: `T${number}`, rooms: [1], isGroup: null }, "roomType", () => (reads += 1)),
    );
    const differences = { all: [1], parts: null };
    const { elsewhere } = await rivalryOf(effects, () => differences, new WorkPauses());
    for (const effect of effects) assert.equal(elsewhere(effect), count - 1);
    return reads;
  };
  assert.ok((await readsOf(1_000)) <= 10 * (await readsOf(100)));
});

test("of a record that does not count, a bounded number of stays and of its reservation's rows is compared", async () => {
  let reads = 0;
  const stays = Array.from({ length: 1_000 }, (_, number) => {
    const dates = { arrival: NIGHT, departure: NIGHT, rooms: 1, isGuess: true };
    const stay = { roomType: `T${number}`, group: null, roomNumber: null, ...dates };
    return counting(stay, "roomType", () => (reads += 1));
  });
  const about = { reason: "rejected", resource: "reservations", why: "", deducts: true } as const;
  const withheld = Array.from({ length: 50 }, (_, number) => ({
    ...about,
    ...at("rejecting", number),
    key: `R${number}`,
    stays,
    sold: null,
    current: null,
  }));
  const rows = Array.from({ length: 1_000 }, (_, number) =>
    counting(reservation("R0", { counted: 0, roomType: `T${number}` }), "departure", () => (reads += 1)),
  );
  const { units, more } = nightOf(100);
  const { findingCount } = await findingsOf(evidence(1, { ...more, withheld, reservations: rows }), units);
  assert.ok(reads <= 50 * 20 + 10 * 1_000, `${reads} reads`);
  assert.ok(findingCount <= 50 * 20 + 2 * 100, `${findingCount} findings`);
});

test("only blocks of room types that differ are compared with the nights around, and a bounded number", async () => {
  const blocksOf = (count: number, roomTypeOf: (number: number) => string) =>
    Array.from({ length: count }, (_, number) => ({
      night: NIGHT,
      group: `G${number}`,
      status: "DEFINITE",
      roomType: roomTypeOf(number),
      blocks: 1,
      pickedUp: null,
      originalBlocks: null,
      releasedAfterCutoff: 0,
      holds: true,
      unpicked: 1,
      subgroupBlocks: 0,
    }));
  const masters = { get: (group: string) => ({ group, ...at("groups") }) };
  const findingsOfBlocks = async (roomTypeOf: (number: number) => string, count: number) => {
    let calls = 0;
    const blocks = new Map([[NIGHT, blocksOf(count, roomTypeOf)]]);
    const pickedUp = () => {
      calls += 1;
      return 0;
    };
    const more = { blocks, pickedUp, masters: masters as unknown as NightEvidence["masters"] };
    return { ...(await findingsOf(evidence(1, more), ["DLX"])), calls: () => calls };
  };
  assert.equal((await findingsOfBlocks((number) => `T${number}`, 5_000)).calls(), 0);
  const { findings, findingCount } = await findingsOfBlocks(() => "DLX", 5_000);
  assert.ok(findings.some(({ kind }) => kind === "unpicked-block-counted"));
  assert.ok(findingCount <= 2_002, `${findingCount} findings`);
});

test("a share is one room, listed under its smallest id, with the highest number of sharers that any record states", async () => {
  const rows = [
    { reservationId: "a", shareId: "s", rooms: 1 },
    { reservationId: "b", shareId: "s", rooms: 2 },
    { reservationId: "c", shareId: null, rooms: 3 },
    { reservationId: "d", shareId: "s", rooms: 5 },
  ];
  assert.deepEqual(settleNight(rows, [true, true, true, false]), [2, 0, 3, 0]);
  assert.deepEqual(settleNight(rows, [null, true, true, true]), [0, 5, 3, 0]);
});
