import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { buildClient, CLIENT_DIRECTORY, packClient } from "../../scripts/client-package.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { writeRealBookings } from "./real-bookings-file.ts";

const run = promisify(execFile);
const NPM_QUIET = ["--offline", "--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier"];

let service: TestService;
let directory: string;
let node: string;
let bookings: number;

before(async () => {
  service = await startTestService();
  directory = await mkdtemp(join(tmpdir(), "bellhop-fresh-"));
  node = machinesNode();
  await buildClient();
  const { tarball } = await packClient(directory);
  await writeFile(join(directory, "package.json"), "{}");
  await run("npm", ["install", ...NPM_QUIET, tarball], { cwd: directory });
  const readme = await readFile(join(CLIENT_DIRECTORY, "README.md"), "utf8");
  const [, example] = /<!-- executed: five-lines -->\n```js\n([\s\S]*?)```/.exec(readme) ?? [];
  assert.equal(example?.trim().split("\n").length, 5);
  await writeFile(join(directory, "send.mjs"), example ?? "");
  bookings = await writeRealBookings(join(directory, "bookings.ndjson"), "ACME");
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

/** The Node that a partner would have, which may be as old as 20: the machine's own, not the pinned one; else that of this run. */
function machinesNode(): string {
  const directories = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((one) => !one.includes("node_modules"));
  return directories.map((one) => join(one, "node")).find(existsSync) ?? process.execPath;
}

function start(): ChildProcess {
  const { clientId, clientSecret } = service.client;
  const environment = {
    BELLHOP_URL: service.address,
    BELLHOP_CLIENT_ID: clientId,
    BELLHOP_CLIENT_SECRET: clientSecret,
  };
  return spawn(node, ["send.mjs"], {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function acceptedBatches(): Promise<{ batches: number; records: number }> {
  const answer = await service.get("/api/public/v1/requests?limit=1000");
  const { items } = answer.json() as unknown as { items: { counts: { records: number } }[] };
  return { batches: items.length, records: items.reduce((sum, { counts }) => sum + counts.records, 0) };
}

describe("a fresh directory with the client's README and nothing else", () => {
  test("sends 25,000 real bookings with five lines of code, and resumes after a kill without duplicates or gaps", async () => {
    const killed = start();
    await until(async () => (await acceptedBatches()).batches >= 5, 60_000);
    killed.kill("SIGKILL");
    await once(killed, "close");
    const before = await acceptedBatches();
    assert.ok(before.records < bookings, `it was over before it was killed: ${before.records} records`);

    const again = start();
    const [out, complaints, [code]] = await Promise.all([
      text(again.stdout as NodeJS.ReadableStream),
      text(again.stderr as NodeJS.ReadableStream),
      once(again, "close"),
    ]);
    assert.equal(code, 0, complaints);
    // No terminal, no bar.
    assert.equal(complaints, "");
    for (const said of [
      `accepted: ${bookings}`,
      "rejectedTotal: 0",
      "rejected: []",
      `applied: ${bookings}`,
      "duplicate: 0",
    ])
      assert.ok(out.includes(said), `${said} in ${out}`);
    const { batches, records } = await acceptedBatches();
    assert.equal(records, bookings);
    assert.equal(batches, bookings / 500);
    const { rows } = await service.pool.query(
      "select count(*)::int as versions, count(distinct (property_id, key))::int as keys from bellhop_state.reservation_version",
    );
    assert.deepEqual(rows, [{ versions: bookings, keys: bookings }]);
  });
});
