import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, judge, type SeenRecord } from "../step.ts";
import { groupPickup } from "./group-pickup.ts";

const CODES = { clientCode: "ACME", propertyCode: "LON01" };

function seen(resource: SeenRecord["resource"], key: string, at: number, fields: object): SeenRecord {
  const receivedAt = `2026-06-01T08:30:0${at}Z`;
  const facts = { requestId: `request ${at}`, receivedAt, sourceTime: receivedAt, index: 0, digest: "" };
  return { resource, key, ...CODES, ...facts, outcome: "applied", warnings: [], fields: { ...fields } };
}

test("a group that thousands of reservations with many stays name is judged", () => {
  const stay = { arrivalDate: "2026-07-01", departureDate: "2026-07-02", roomTypeCode: "A" };
  const roomStays = Array.from({ length: 20 }, () => ({ ...stay, groupBlockCode: "G1" }));
  const stays = { status: "RESERVED", roomStays };
  const block = { occupancyDate: "2026-07-01", roomTypeCode: "A", pickup: 1_000_000 };
  const records = [
    ...Array.from({ length: 9_000 }, (_, at) => seen("reservations", `R${at}`, 1, stays)),
    seen("groups", "G1", 2, { groupBlocks: [block] }),
  ];
  const none = { requests: [], events: [], backfills: [], isWhole: true };
  const certification = {} as Evidence["certification"];
  const { result, requestIds } = judge(groupPickup, { ...none, certification, from: "", records });
  assert.equal(result, "pass");
  assert.deepEqual(requestIds, ["request 1", "request 2"]);
});
