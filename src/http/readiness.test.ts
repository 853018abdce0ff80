import assert from "node:assert/strict";
import { test } from "node:test";
import type { Role } from "../db/presence.ts";
import { type Obstacle, readinessOf } from "./readiness.ts";

const ALL: readonly Role[] = ["accept", "apply", "read"];
const fullDisk: Obstacle = {
  reason: "The disk is almost full.",
  roles: ["accept"],
  isOfThisNode: false,
};
const noLane: Obstacle = { reason: "no connection", roles: ["accept"], isOfThisNode: true };
const idle: Obstacle = { reason: "not applying", roles: ["apply"], isOfThisNode: true };

test("a node on an almost full disk is ready as long as it reads, and says what it does not", () => {
  const ready = { isReady: true, reason: fullDisk.reason };
  assert.deepEqual(readinessOf(ALL, [fullDisk]), ready);
  assert.deepEqual(readinessOf(["accept", "read"], [fullDisk]), ready);
  assert.deepEqual(readinessOf(["read"], [fullDisk]), { isReady: true, reason: undefined });
});

test("a node that only accepts is not ready on an almost full disk, whether or not it applies", () => {
  const unready = { isReady: false, reason: fullDisk.reason };
  assert.deepEqual(readinessOf(["accept"], [fullDisk]), unready);
  assert.deepEqual(readinessOf(["accept", "apply"], [fullDisk]), unready);
});

test("what another node may do meanwhile makes a node unready, and is the reason told", () => {
  const unready = { isReady: false, reason: noLane.reason };
  assert.deepEqual(readinessOf(ALL, [noLane]), unready);
  assert.deepEqual(readinessOf(ALL, [fullDisk, noLane]), unready);
  assert.deepEqual(readinessOf(["read"], [{ ...noLane, roles: ["read"] }]), unready);
});

test("applying counts for a node that does nothing else only", () => {
  assert.deepEqual(readinessOf(["apply"], [idle]), { isReady: false, reason: idle.reason });
  assert.deepEqual(readinessOf(ALL, [idle]), { isReady: true, reason: undefined });
});
