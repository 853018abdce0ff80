import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import fastify, { type FastifyRequest } from "fastify";
import { addAppRoutes } from "../../src/console/guard.ts";
import { BuiltFiles } from "../../src/platform/http/built-files.ts";
import { until } from "../support/until.ts";

let directory: string;
let address: string;
// A connection whose answer is being sent at the end keeps the app open for its keep-alive.
const app = fastify({ forceCloseConnections: true });
before(async () => {
  directory = join(await mkdtemp(join(tmpdir(), "bellhop-console-")), "dist");
  addAppRoutes(app, directory);
  address = await app.listen({ port: 0, host: "127.0.0.1" });
});
after(async () => {
  await app.close();
  await rm(directory, { recursive: true, force: true });
});

const ask = (path: string, headers: Record<string, string> = {}) => fetch(`${address}${path}`, { headers });

async function build(page: string): Promise<void> {
  await mkdir(join(directory, "assets"), { recursive: true });
  await writeFile(join(directory, "assets", "index-Ab3_-x9Z.js"), "let app;");
  await writeFile(join(directory, "assets", "index-Ab3_-x9Z.js.gz"), gzipSync("let app;"));
  await writeFile(join(directory, "assets", "index-Ab3_-x9Z.js.map"), "{}");
  await writeFile(join(directory, "icon.svg"), "<svg/>");
  await writeFile(join(directory, "index.html"), page);
}

describe("the console's app", () => {
  test("shows a notice page while it is not built", async () => {
    const answer = await ask("/console");
    assert.equal(answer.status, 503);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(await answer.text(), /not built yet/);
  });

  test("serves its page at every deep link, revalidated each time", async () => {
    await build("<p>one</p>");
    for (const path of [
      "/console",
      "/console/",
      "/console/intake",
      "/console/requests/0198?outcome=failed",
    ]) {
      const answer = await ask(path);
      assert.equal(answer.status, 200, path);
      assert.equal(await answer.text(), "<p>one</p>");
      assert.equal(answer.headers.get("cache-control"), "no-cache");
      const tag = answer.headers.get("etag") ?? "";
      assert.equal((await ask(path, { "if-none-match": tag })).status, 304);
    }
  });

  test("serves files with a hash in their name as immutable, in their precompressed size", async () => {
    const packed = await ask("/console/assets/index-Ab3_-x9Z.js", { "accept-encoding": "gzip" });
    assert.equal(packed.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(packed.headers.get("content-encoding"), "gzip");
    assert.equal(packed.headers.get("vary"), "Accept-Encoding");
    assert.match(packed.headers.get("content-type") ?? "", /^text\/javascript/);
    assert.equal(await packed.text(), "let app;");
    const plain = await ask("/console/assets/index-Ab3_-x9Z.js", { "accept-encoding": "gzip;q=0, identity" });
    assert.equal(plain.headers.get("content-encoding"), null);
    assert.equal(await plain.text(), "let app;");
    assert.equal((await ask("/console/icon.svg")).headers.get("cache-control"), "no-cache");
  });

  test("serves only its own files: no maps, no path traversal, no page for a missing file or an API address", async () => {
    for (const path of [
      "/console/assets/index-Ab3_-x9Z.js.map",
      "/console/assets/other.js",
      "/console/assets",
      "/console/../package.json",
      "/console/..%2f..%2fpackage.json",
      "/console/package.json",
      "/console/api/nothing",
      "/console/api",
      "/console/assets/index-Ab3_-x9Z.js.gz",
    ])
      assert.ok((await ask(path)).status >= 400, path);
  });

  test("is read once, however many ask for it at once", async () => {
    const files = new BuiltFiles(directory, "no-cache");
    const sent: unknown[] = [];
    const reply = { header: () => reply, type: () => reply, send: (bytes: unknown) => sent.push(bytes) };
    const serve = async () => {
      assert.equal(await files.has("icon.svg"), true);
      await files.send("icon.svg", { headers: {} } as FastifyRequest, reply as never);
    };
    await Promise.all(Array.from({ length: 50 }, serve));
    assert.equal(sent.length, 50);
    assert.equal(new Set(sent).size, 1);
  });

  test("is read again after a build", async () => {
    await build("<p>two</p>");
    await until(async () => (await (await ask("/console")).text()) === "<p>two</p>", 5_000);
  });

  test("its pages can load only its own resources", async () => {
    const policy = (await ask("/console/anything")).headers.get("content-security-policy");
    assert.equal(
      policy,
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
  });
});
