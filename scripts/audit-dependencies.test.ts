import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("./audit-dependencies.ts", import.meta.url));

const advisory = (severity: string) => ({
  jose: [
    { id: 1, url: "https://advisories.example/1", title: "made up", severity, vulnerable_versions: "*" },
  ],
});

/** Runs the check against a registry that returns the next status and body for each lock file, then the last one. */
async function audit(
  answers: readonly (readonly [status: number, body: unknown])[],
  ...args: string[]
): Promise<{ code: number; said: string }> {
  let asked = 0;
  const registry = createServer((request, response) => {
    request.resume();
    const isQuestion = request.method === "POST";
    // After an error npm retries at another path.
    if (request.url?.endsWith("/bulk")) asked += 1;
    const [status, body] = answers[Math.min(asked, answers.length) - 1] ?? [404, {}];
    response.writeHead(isQuestion ? status : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isQuestion ? body : {}));
  });
  registry.listen(0, "127.0.0.1");
  await once(registry, "listening");
  const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  // npm caches advisories; the invented one must not get into the user's cache.
  const cache = await mkdtemp(join(tmpdir(), "bellhop-audit-"));
  const child = spawn(process.execPath, [SCRIPT, ...args], {
    env: { ...process.env, npm_config_registry: address, npm_config_cache: cache },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = (await once(child, "close")) as [number];
  registry.close();
  await rm(cache, { recursive: true, force: true });
  return { code, said };
}

test("the dependency audit fails on a finding of high severity and names the package", async () => {
  const { code, said } = await audit([[200, advisory("high")]]);
  assert.equal(code, 1, said);
  assert.match(said, /^high: jose /m);
});

test("the dependency audit passes where there is nothing, or nothing of high severity, and reports it all", async () => {
  const { code, said } = await audit([
    [200, advisory("moderate")],
    [200, {}],
  ]);
  assert.equal(code, 0, said);
  assert.match(said, /^moderate: jose /m);
  assert.match(said, /^\d{3} packages, \d with findings, 0 of them high/m);
  assert.match(said, /^\d+ packages of packages\/console\/, 0 with findings/m);
});

test("the dependency audit reports that it checked nothing if the registry does not support it", async () => {
  const none = [
    [405, {}],
    [500, { error: "no" }],
    [200, "<html>"],
  ] as const;
  const { code, said } = await audit(none);
  assert.equal(said.match(/NO dependency.* was checked/g)?.length, none.length, said);
  assert.equal(code, 0);
  assert.equal((await audit(none, "--required")).code, 1);
});
