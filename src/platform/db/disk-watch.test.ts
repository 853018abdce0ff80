import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { until } from "../../../test/support/until.ts";
import { DiskWatch } from "./disk-watch.ts";

test("too little free space blocks appends, with a message without a path", async (t) => {
  const watch = new DiskWatch(tmpdir(), Number.MAX_SAFE_INTEGER);
  t.after(() => watch.stop());
  await until(() => watch.blocked !== undefined, 5_000);
  assert.equal(watch.blocked, "The disk is almost full.");
});

test("enough free space does not block", async (t) => {
  const watch = new DiskWatch(tmpdir(), 1);
  t.after(() => watch.stop());
  // Blocked or not is known once another look, begun later, is over.
  const later = new DiskWatch(tmpdir(), Number.MAX_SAFE_INTEGER);
  t.after(() => later.stop());
  await until(() => later.blocked !== undefined, 5_000);
  assert.equal(watch.blocked, undefined);
});

test("an unreadable amount of free space blocks appends", async (t) => {
  const watch = new DiskWatch("/nowhere/at/all", 1);
  t.after(() => watch.stop());
  await until(() => watch.blocked !== undefined, 5_000);
});

test("without an embedded database, or with a bound of 0, nothing is watched", () => {
  assert.equal(new DiskWatch(undefined, 1).blocked, undefined);
  assert.equal(new DiskWatch("/nowhere/at/all", 0).blocked, undefined);
});
