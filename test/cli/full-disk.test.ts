import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { open } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

test("a command whose output finds the disk full fails and says so, as a secret may be in it", async (t) => {
  if (process.platform !== "linux") return t.skip("there is no /dev/full");
  await using full = await open("/dev/full", "w");
  const child = spawn(process.execPath, [MAIN, "client", "--help"], { stdio: ["ignore", full.fd, "pipe"] });
  const exited = new Promise((resolve) => child.once("close", resolve));
  assert.ok(child.stderr);
  assert.equal(await text(child.stderr), "bellhop: Standard output cannot be written (ENOSPC).\n");
  assert.equal(await exited, 1);
});
