import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { tryLock, waitForLock } from "./file-lock.ts";

test("waiting for a lock ends in time even if the wall clock stops or is set back", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "bellhop-lock-"));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, "lock");
  const held = tryLock(path, "exclusive");
  assert.ok(held !== undefined);
  t.mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  assert.equal(await waitForLock(path, "exclusive", 50), undefined);
  held.release();
  const lock = await waitForLock(path, "exclusive", 50);
  assert.ok(lock !== undefined);
  lock.release();
});

test("an aborted wait for a lock fails with the signal's reason", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "bellhop-lock-"));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, "lock");
  const held = tryLock(path, "exclusive");
  const stopping = new AbortController();
  const waiting = waitForLock(path, "exclusive", 60_000, stopping.signal);
  stopping.abort(new Error("stopped"));
  await assert.rejects(waiting, /stopped/);
  held?.release();
});
