import assert from "node:assert/strict";
import { test } from "node:test";
import type { Role } from "../db/presence.ts";
import { type Obstacle, readinessOf } from "./readiness.ts";

const ALL: readonly Role[] = ["accept", "apply", "read"];
const fullDisk: Obstacle = { reason: "The disk is almost full.", roles: ["accept"] };
const idle: Obstacle = { reason: "not applying", roles: ["apply"] };
const stopping: Obstacle = { reason: "The node is stopping.", roles: ALL };

const READY = { isReady: true, reason: undefined };
const unreadyFor = ({ reason }: Obstacle) => ({ isReady: false, reason });

test("a node that accepts is ready when it can accept", () => {
  for (const roles of [ALL, ["accept", "read"], ["accept", "apply"], ["accept"]] as const) {
    assert.deepEqual(readinessOf(roles, []), READY);
    assert.deepEqual(readinessOf(roles, [fullDisk]), unreadyFor(fullDisk));
  }
});

test("a node that only reads is ready while others cannot accept, and not when it stops", () => {
  for (const roles of [["read"], ["apply", "read"]] as const) {
    assert.deepEqual(readinessOf(roles, [fullDisk]), READY);
    assert.deepEqual(readinessOf(roles, [fullDisk, stopping]), unreadyFor(stopping));
  }
});

test("applying counts for a node that does nothing else only", () => {
  assert.deepEqual(readinessOf(["apply"], [idle]), unreadyFor(idle));
  assert.deepEqual(readinessOf(ALL, [idle]), READY);
});
