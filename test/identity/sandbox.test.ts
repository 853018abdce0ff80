import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { untilFound } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const SANDBOX = /CLIENT_ID=(\S+) CLIENT_SECRET=/;

interface Run {
  readonly address: string;
  readonly said: string;
}

/** Runs `bellhop serve` with these settings until it listens, asks something of it, and stops it. */
async function serve<Result>(
  settings: Record<string, string>,
  args: string[],
  ask: (run: Run) => Promise<Result>,
) {
  const child = spawn(process.execPath, [MAIN, "serve", ...args], {
    env: { PATH: process.env["PATH"], PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  try {
    const address = await untilFound(async () => {
      const line = said.split("\n").find((one) => one.startsWith("{") && one.includes('"msg":"listening"'));
      return line === undefined ? undefined : (JSON.parse(line) as { address: string }).address;
    }, 60_000);
    // What is said to a person follows the line of the log; in production nothing does.
    if (settings["NODE_ENV"] !== "production")
      await untilFound(async () =>
        /Bellhop listens on/.test(said) && said.endsWith("\n") ? said : undefined,
      );
    return await ask({ address, said });
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

/** Answers of the token endpoint, as many as are asked for. */
async function tokenStatuses(address: string, dataDir: string, count: number): Promise<number[]> {
  const { clientId, clientSecret } = JSON.parse(await readFile(`${dataDir}/sandbox-client.json`, "utf8"));
  const body = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
  const ask = async () => {
    const response = await fetch(new URL("/api/oauth2/token", address), {
      method: "POST",
      body: new URLSearchParams(body),
    });
    await response.arrayBuffer();
    return response.status;
  };
  return Promise.all(Array.from({ length: count }, ask));
}

/** The files below a directory that another user of the machine could read or write: one in a closed directory is not. */
async function openToOthers(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    const { mode } = await stat(path);
    if (entry.isDirectory() && (mode & 0o077) !== 0) found.push(...(await openToOthers(path)));
    else if (!entry.isDirectory() && (mode & 0o077) !== 0) found.push(entry.name);
  }
  return found;
}

describe("the sandbox client", () => {
  let dataDir: string;
  let database: TestDatabase;
  before(async () => {
    dataDir = await temporaryDirectory("sandbox");
    database = await createTestDatabase();
  });
  after(async () => {
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const clients = async () => (await database.pool.query("select from bellhop.client")).rowCount;

  test("exists with the embedded database on a loopback address, the same at every start, with tokens for more than six runs; only the owner can read its secret and the rest of DATA_DIR (password, keys, log of PostgreSQL, sockets)", async () => {
    const ask = async ({ address, said }: Run) => {
      assert.deepEqual(await tokenStatuses(address, dataDir, 8), new Array(8).fill(200));
      const { clientSecret } = JSON.parse(await readFile(`${dataDir}/sandbox-client.json`, "utf8"));
      assert.ok(!said.includes(clientSecret), "no secret outside a terminal");
      assert.deepEqual(await openToOthers(dataDir), []);
      return SANDBOX.exec(said)?.slice(1);
    };
    const first = await serve({ DATA_DIR: dataDir }, [], ask);
    assert.deepEqual(await serve({ DATA_DIR: dataDir, HOST: "127.0.0.1" }, [], ask), first);
    assert.equal((await stat(`${dataDir}/sandbox-client.json`)).mode & 0o777, 0o600);
  });

  test("a batch is applied by the printed commands, and by those of the README, pasted into a shell", async () => {
    const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
    await serve({ DATA_DIR: dataDir }, [], async ({ address, said }) => {
      const printed = said.split("\n").filter((line) => line.startsWith("  "));
      assert.equal(printed.length, 4);
      const steps = /```sh\n(export CLIENT_ID.*?)```/s.exec(readme)?.[1] ?? assert.fail("no first steps");
      const shown = steps.replaceAll("http://127.0.0.1:8080", address).replaceAll(" data/", ` ${dataDir}/`);
      for (const script of [printed.join("\n"), shown]) {
        const { stdout } = await promisify(execFile)("sh", ["-c", script]);
        assert.match(stdout, /"status":"applied".*"records":1,"pending":0,"applied":1,/);
      }
    });
  });

  test("is not used on an address that others can reach, in production, or where it is switched off", async () => {
    for (const [settings, args] of [
      [{ HOST: "0.0.0.0" }, []],
      [{ NODE_ENV: "production" }, []],
      [{}, ["--no-sandbox"]],
    ] as [Record<string, string>, string[]][]) {
      await serve({ DATA_DIR: dataDir, ...settings }, args, async ({ said }) => {
        assert.doesNotMatch(said, SANDBOX);
        assert.doesNotMatch(said, /secret/i);
      });
    }
  });

  test("is never made in a database of the operator's own", async () => {
    await serve({ DATA_DIR: dataDir, DATABASE_URL: database.url }, [], async ({ said }) => {
      assert.doesNotMatch(said, SANDBOX);
    });
    assert.equal(await clients(), 0);
  });
});
