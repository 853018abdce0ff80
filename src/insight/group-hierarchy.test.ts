import assert from "node:assert/strict";
import test from "node:test";
import { mastersOf } from "./group-hierarchy.ts";

const hierarchy = async (...links: [subgroup: string, master: string | null][]) =>
  Object.fromEntries(await mastersOf(links.map(([subgroup, master]) => ({ subgroup, master }))));

test("a subgroup has the master that it names, in chains too", async () => {
  assert.deepEqual(await hierarchy(["S1", "M"], ["S2", "M"], ["M", null]), { S1: "M", S2: "M" });
  assert.deepEqual(await hierarchy(["T", "S"], ["S", "M"]), { T: "S", S: "M" });
});

test("a group that names itself, or groups that name each other in a circle, have no master", async () => {
  assert.deepEqual(await hierarchy(["M", "M"], ["S", "M"]), { S: "M" });
  assert.deepEqual(await hierarchy(["A", "B"], ["B", "A"], ["S", "A"]), { S: "A" });
  assert.deepEqual(await hierarchy(["S", "A"], ["A", "B"], ["B", "C"], ["C", "A"]), { S: "A" });
});

test("long chains and circles take linear time", async () => {
  const chain = (end: string): [string, string][] =>
    Array.from({ length: 50_000 }, (_, at) => [`G${at}`, at === 49_999 ? end : `G${at + 1}`]);
  assert.equal(Object.keys(await hierarchy(...chain("M"))).length, 50_000);
  assert.deepEqual(await hierarchy(...chain("G0")), {});
});
