import assert from "node:assert/strict";
import { test } from "node:test";
import { Counter, Registry } from "prom-client";
import type { Role } from "../platform/db/coordination.ts";
import { WholeProcess } from "./whole-process.ts";

const ALL: readonly Role[] = ["accept", "apply", "read"];

/** What a node of these roles says when each of the blocked ones cannot be done, of that role. */
function sayOf(roles: readonly Role[], blocked: readonly Role[]): Promise<string | undefined> {
  const whole = new WholeProcess(roles);
  whole.add({ metrics: async () => [] });
  whole.add({
    blockedReason: async (role) => (blocked.includes(role) ? role : undefined),
    metrics: async () => [],
  });
  return whole.calls.blockedReason(undefined);
}

test("a node that accepts is ready when it can accept", async () => {
  for (const roles of [ALL, ["accept", "read"], ["accept", "apply"], ["accept"]] as const) {
    assert.equal(await sayOf(roles, []), undefined);
    assert.equal(await sayOf(roles, ["accept"]), "accept");
  }
});

test("a node that only reads is ready while others cannot accept, and not when it stops", async () => {
  for (const roles of [["read"], ["apply", "read"]] as const) {
    assert.equal(await sayOf(roles, ["accept"]), undefined);
    assert.equal(await sayOf(roles, ALL), "read");
  }
});

test("applying counts for a node that does nothing else only", async () => {
  assert.equal(await sayOf(["apply"], ["apply"]), "apply");
  assert.equal(await sayOf(ALL, ["apply"]), undefined);
});

test("of each role of a node a metric shows whether it can be done", async () => {
  const whole = new WholeProcess(ALL);
  whole.add({
    blockedReason: async (role) => (role === "apply" ? "The disk is almost full." : undefined),
    metrics: async () => [],
  });
  const ready = (await whole.readMetrics()).find(({ name }) => name === "bellhop_ready");
  const reported = ready?.values.map(({ labels, value }) => [labels["role"], value]);
  assert.deepEqual(reported, [
    ["accept", 1],
    ["apply", 0],
    ["read", 1],
  ]);
});

test("a thread that does not respond is not ready, and its metrics are from its last report", async () => {
  const whole = new WholeProcess(ALL);
  const registry = new Registry();
  new Counter({ name: "counted", help: "Counted.", registers: [registry] }).inc(3);
  const counted = await registry.getMetricsAsJSON();
  let answers = true;
  const answer = async <Value>(value: Value) => (answers ? value : assert.fail("not in time"));
  whole.add({ metrics: async () => [counted] });
  whole.add({ name: "http-2", blockedReason: () => answer(undefined), metrics: () => answer([counted]) });
  const report = async () => {
    const read = await whole.readMetrics();
    return ["bellhop_ready", "bellhop_unresponsive_threads", "counted"].map((metric) =>
      read.find(({ name }) => name === metric)?.values.map(({ value }) => value),
    );
  };
  assert.deepEqual(await report(), [[1, 1, 1], [0], [6]]);
  answers = false;
  assert.deepEqual(await report(), [[0, 0, 0], [1], [6]]);
  assert.equal(await whole.calls.blockedReason(undefined), "The thread http-2 does not answer.");
});
