import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rename, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const THREADS = ["http-1", "apply-1"];

let directory: string;
let node: TestService;
let launcher: ChildProcess;
let address: string;
let ends = 0;

before(async () => {
  directory = await temporaryDirectory("starts-again");
  // For the client and its token; it takes no part in what follows.
  node = await startTestService({ roles: ["read", "accept"] });
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address() as AddressInfo;
  free.close();
  address = `http://127.0.0.1:${port}`;
  const imports = THREADS.map((thread) => {
    const crash = new URL("../faults/crash-thread.ts", import.meta.url);
    crash.search = String(new URLSearchParams({ thread, file: join(directory, thread) }));
    return `--import=${crash.href}`;
  });
  launcher = spawn(process.execPath, [join(root, "bin/launch.mjs"), "src/main.ts", "serve", "--no-sandbox"], {
    env: {
      ...process.env,
      DATABASE_URL: node.database.url,
      DATA_DIR: directory,
      PORT: String(port),
      HTTP_THREADS: "2",
      NODE_OPTIONS: imports.join(" "),
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  launcher.stderr?.on("data", (text) => {
    if (String(text).includes("It starts again")) ends += 1;
  });
});
after(async () => {
  const gone = once(launcher, "exit");
  launcher.kill("SIGTERM");
  await gone;
  await node.stop();
  await rm(directory, { recursive: true });
});

const accepted: string[] = [];

/** Pushes one record; false where nothing answers, or it is refused. */
async function push(): Promise<boolean> {
  const day = new Date(Date.UTC(2027, 0, 1 + accepted.length)).toISOString().slice(0, 10);
  try {
    const response = await fetch(`${address}/api/public/v1/inventories`, {
      method: "POST",
      headers: { authorization: `Bearer ${await node.token()}`, "content-type": "application/json" },
      body: JSON.stringify([inventoryRecord({ occupancyDate: day })]),
    });
    const { requestId } = (await response.json()) as { requestId: string };
    if (response.status === 202) accepted.push(requestId);
    return response.status === 202;
  } catch {
    return false;
  }
}

for (const [thread, how] of [
  ["http-1", "heap"],
  ["apply-1", "heap"],
  ["http-1", "throw"],
  ["apply-1", "throw"],
] as const) {
  test(`after ${thread} failed (${how}) the service starts again: the next batch is 202, and none is lost`, async () => {
    await until(push, 60_000);
    for (let more = 0; more < 10; more += 1) await push();
    const endsBefore = ends;
    // Whole at once, as it is looked for all the time.
    await writeFile(join(directory, "new"), how);
    await rename(join(directory, "new"), join(directory, thread));
    while (ends === endsBefore) await push();
    await rm(join(directory, thread));
    await until(push, 60_000);
    await until(async () => {
      const { rows } = await node.pool.query<{ id: string }>(
        "select request_id as id from bellhop.request_outcome",
      );
      const applied = new Set(rows.map(({ id }) => id));
      return accepted.every((id) => applied.has(id));
    }, 60_000);
    assert.equal(launcher.exitCode, null);
  });
}
