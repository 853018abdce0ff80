import assert from "node:assert/strict";
import { test } from "node:test";
import { type Finding, findingsOf, type NightEvidence } from "./findings.ts";
import { type NightReservation, settleNight } from "./night-rooms.ts";
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
    shareId: null,
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
  rooms: [{ unit: "DLX", counts: { sold: 10, transient: null, grouped: null, ...more } }],
});

/** Evidence of a night on which DLX differs by so many rooms, and other nights by what is said of them. */
function evidence(
  difference: number,
  more: Partial<NightEvidence> = {},
  others: Readonly<Record<string, number>> = {},
): NightEvidence {
  return {
    night: NIGHT,
    report: report(),
    reservations: [],
    blocks: [],
    masters: new Map(),
    quarantined: [],
    differenceOf: (night, roomType) =>
      roomType !== "DLX" ? 0 : night === NIGHT ? difference : (others[night] ?? 0),
    ...more,
  };
}
const reported = (found: readonly Finding[]) =>
  found.map(({ kind, rooms, records }) => [kind, rooms, records[0]?.key]);

test("a night without a difference has no findings", () => {
  const reservations = [reservation("c", { deducts: false, counted: 0, label: "CANCELLED" })];
  assert.deepEqual(findingsOf(evidence(0, { reservations }), ["DLX"]), []);
});

test("of cancelled reservations, one whose every night differs comes first", () => {
  const off = { deducts: false, counted: 0, label: "CANCELLED" };
  const reservations = [
    reservation("a", { ...off, departure: "2026-07-18" }),
    reservation("b", { ...off, arrival: "2026-07-13", departure: "2026-07-16" }),
    reservation("c", { ...off, rooms: 2 }),
  ];
  const others = { "2026-07-13": 1, "2026-07-15": 1 };
  const findings = findingsOf(evidence(1, { reservations }, others), ["DLX"]);
  assert.deepEqual(reported(findings), [
    ["cancelled-but-sold", 1, "b"],
    ["cancelled-but-sold", 1, "a"],
  ]);
  assert.deepEqual(
    findings.map(({ nights, nightsExplained }) => `${nightsExplained} of ${nights}`),
    ["3 of 3", "2 of 4"],
  );
});

test("an unexplained difference is a missing reservation or a wrong count", () => {
  const others = { "2026-07-15": 1, "2026-07-16": 1 };
  const found = findingsOf(evidence(1, {}, others), ["DLX"]);
  assert.deepEqual(reported(found), [
    ["missing-reservation", 1, NIGHT],
    ["wrong-sold-count", 1, NIGHT],
  ]);
  assert.equal(found[0]?.nights, 3);
  assert.deepEqual(found[0]?.records, [{ resource: "inventories", key: NIGHT, ...at("inventory", 3) }]);
  assert.deepEqual(reported(findingsOf(evidence(-2), ["DLX"])), [["wrong-sold-count", -2, NIGHT]]);
});

test("a count that does not agree with itself is a finding, whatever else may explain it", () => {
  const reservations = [reservation("c", { deducts: false, counted: 0, label: "CANCELLED" })];
  const torn = report({ transient: 6, grouped: 3 });
  assert.deepEqual(reported(findingsOf(evidence(1, { reservations, report: torn }), ["DLX"])), [
    ["cancelled-but-sold", 1, "c"],
    ["wrong-sold-count", 1, NIGHT],
  ]);
});

test("a reservation changed after the count explains a low count of its room type", () => {
  const later = "2026-07-13T09:00:00.000000Z";
  const reservations = [
    reservation("n", { sourceTime: later }),
    reservation("m", { roomType: "STD", bookedRoomType: "DLX" }),
  ];
  assert.deepEqual(reported(findingsOf(evidence(-1, { reservations }), ["DLX"])), [
    ["changed-since-count", -1, "n"],
  ]);
  assert.deepEqual(reported(findingsOf(evidence(1, { reservations }), ["DLX"])), [
    ["other-room-type-booked", 1, "m"],
  ]);
});

test("a share is one room, listed under its smallest id, with the highest number of sharers that any record states", () => {
  const rows = [
    { reservationId: "a", shareId: "s", rooms: 1 },
    { reservationId: "b", shareId: "s", rooms: 2 },
    { reservationId: "c", shareId: null, rooms: 3 },
    { reservationId: "d", shareId: "s", rooms: 5 },
  ];
  assert.deepEqual(settleNight(rows, [true, true, true, false]), [2, 0, 3, 0]);
  assert.deepEqual(settleNight(rows, [null, true, true, true]), [0, 5, 3, 0]);
});
