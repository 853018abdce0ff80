import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { open, rm, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "../support/test-server.ts";

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

test("output larger than a pipe holds reaches its reader whole", async () => {
  const directory = await temporaryDirectory("output");
  const file = `${directory}/invalid.ndjson`;
  const count = 20_000;
  await writeFile(file, '{"reservationId":"R1"}\n'.repeat(count));
  const words = ["validate", file, "--resource", "reservations", "--limit", String(count), "--json"];
  const child = spawn(process.execPath, [MAIN, ...words], { stdio: ["ignore", "pipe", "ignore"] });
  const { violations } = JSON.parse(await text(child.stdout)) as { violations: readonly unknown[] };
  assert.equal(violations.length, count);
  await rm(directory, { recursive: true });
});
