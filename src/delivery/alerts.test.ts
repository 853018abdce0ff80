import assert from "node:assert/strict";
import { test } from "node:test";
import type { PortfolioItem } from "../insight/console/answers.ts";
import { changesOf, type OpenAlert } from "./alerts.ts";
import type { AlertCondition } from "./console-answers.ts";

const BOOKS = { rooms: 0, amounts: [] };

/** A property with figures and nothing to report. */
function property(propertyCode: string, more: Partial<PortfolioItem> = {}, pickup = 0): PortfolioItem {
  return {
    clientCode: "ACME",
    propertyCode,
    name: null,
    city: null,
    asOf: "2026-11-30T08:00:00Z",
    day: "2026-11-30",
    timeZone: "UTC",
    pickupSince: null,
    lastYearAsOf: null,
    lastYearKnownFrom: null,
    feeds: [],
    quarantined: 0,
    attention: [],
    now: {
      rooms: 0,
      occupancy: null,
      amounts: [],
      pickup: { day: { ...BOOKS, rooms: pickup }, week: BOOKS },
    },
    lastYear: null,
    variance: { nights: 0, rooms: 0 },
    rooms: [],
    roomsLastYear: null,
    ...more,
  };
}

const ALL: readonly AlertCondition[] = ["silent", "quarantine", "variance", "unmapped", "pickup"];
const everything: Parameters<typeof changesOf>[0] = {
  grants: ["ACME/*"],
  clientCode: null,
  propertyCode: null,
  conditions: ALL,
  pickupRooms: 10,
};
const UNKNOWN = { now: null, variance: null, day: null };

const open = (propertyCode: string, condition: AlertCondition, subject = ""): OpenAlert => ({
  alertId: `${propertyCode} ${condition}`,
  clientCode: "ACME",
  propertyCode,
  condition,
  subject,
});

const troubled = property("P1", {
  feeds: [
    { resource: "reservations", lastReceivedAt: "2026-11-28T00:00:00Z", state: "silent", cadenceHours: 24 },
    { resource: "groups", lastReceivedAt: null, state: "never", cadenceHours: 24 },
  ],
  quarantined: 3,
  variance: { nights: 2, rooms: 5 },
  attention: ["unmapped"],
});

test("each condition begins once, with what it is about", () => {
  const { begins, ends } = changesOf(everything, [troubled], []);
  assert.deepEqual(
    begins.map(({ condition, subject, detail }) => [condition, subject, Object.values(detail)]),
    [
      ["silent", "reservations", ["reservations", "2026-11-28T00:00:00Z", 24]],
      ["quarantine", "", [3]],
      ["variance", "", [2, 5]],
      ["unmapped", "", []],
    ],
  );
  assert.deepEqual(ends, []);
  const alerts = begins.map(({ condition, subject }) => open("P1", condition, subject));
  assert.deepEqual(changesOf(everything, [troubled], alerts), { begins: [], ends: [] });
});

test("a condition that is over ends; one that is not known now goes on", () => {
  const alerts = (["quarantine", "variance", "unmapped"] as const).map((one) => open("P1", one));
  assert.deepEqual(
    changesOf(everything, [property("P1")], alerts).ends.map(({ isReported }) => isReported),
    [true, true, true],
  );
  const { ends } = changesOf(everything, [property("P1", UNKNOWN)], alerts);
  assert.deepEqual(ends, [{ alertId: "P1 quarantine", isReported: true }]);
});

test("pickup begins at the threshold, in either direction, at most once a business day", () => {
  const begins = (rooms: number, alerts: readonly OpenAlert[] = []) =>
    changesOf(everything, [property("P1", {}, rooms)], alerts).begins.map(({ detail }) => detail.rooms);
  assert.deepEqual([begins(9), begins(10), begins(-10), begins(-9)], [[], [10], [-10], []]);
  const today = [open("P1", "pickup", "2026-11-30")];
  assert.deepEqual(begins(25, today), []);
  assert.deepEqual(changesOf(everything, [property("P1", {}, 0)], today).ends, []);
  const yesterday = [open("P1", "pickup", "2026-11-29")];
  assert.deepEqual(changesOf(everything, [property("P1", {}, 12)], yesterday).ends, [
    { alertId: "P1 pickup", isReported: false },
  ]);
  assert.deepEqual(begins(12, yesterday), [12]);
});

test("only what the operator may see and subscribed to begins; what may no longer be seen ends unreported", () => {
  const two = [troubled, property("P2", { quarantined: 1 })];
  const begins = (of: Partial<typeof everything>) =>
    changesOf({ ...everything, conditions: ["quarantine"], ...of }, two, []).begins.map(
      ({ propertyCode }) => propertyCode,
    );
  assert.deepEqual(begins({}), ["P1", "P2"]);
  assert.deepEqual(begins({ grants: ["ACME/P2"] }), ["P2"]);
  assert.deepEqual(begins({ clientCode: "ACME", propertyCode: "P1" }), ["P1"]);
  assert.deepEqual(begins({ clientCode: "OTHER" }), []);
  assert.deepEqual(begins({ grants: ["*/*"] }), ["P1", "P2"]);
  const lost = changesOf({ ...everything, grants: ["ACME/P2"] }, two, [open("P1", "quarantine")]);
  assert.deepEqual(lost.ends, [{ alertId: "P1 quarantine", isReported: false }]);
});
