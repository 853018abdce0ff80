import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import fastify from "fastify";
import { readConfig } from "../../src/config.ts";
import { registerDocsRoutes } from "../../src/documentation/docs-routes.ts";
import { RawConnection } from "../support/raw-http.ts";
import { groupRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

interface Sampled {
  readonly info: { readonly description: string };
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly operationId: string; readonly "x-codeSamples": readonly { readonly source: string }[] }
        >
      >
    >
  >;
}

let service: TestService;
let document: Sampled;
before(async () => {
  service = await startTestService();
  document = JSON.parse((await service.get("/openapi.json", { as: null })).text) as Sampled;
});
after(() => service.stop());

const FILES = [
  "/docs",
  "/docs/api",
  "/docs/contract",
  "/docs/guides/quickstart",
  "/docs/guides/quickstart.md",
  "/llms.txt",
  "/openapi.json",
  "/openapi.json?profile=codegen",
];

function unescaped(markup: string): string {
  const characters: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };
  return markup.replace(/<[^>]*>/g, "").replace(/&(#x27|\w+);/g, (_whole, name) => characters[name] ?? "");
}

describe("/docs and /openapi.json", () => {
  for (const path of FILES) {
    test(`${path} is public, also for HEAD and with an invalid token`, async () => {
      const answer = await service.get(path, { as: null });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      assert.equal(answer.headers.get("set-cookie"), null);
      const head = await service.send("HEAD", path, { as: null });
      assert.equal(head.status, 200);
      assert.equal(head.bytes.length, 0);
      for (const name of ["content-type", "etag", "content-security-policy", "cache-control"])
        assert.equal(head.headers.get(name), answer.headers.get(name), name);
      const headers = { authorization: "Bearer no.good" };
      assert.equal((await service.get(path, { as: null, headers })).status, 200);
    });
    test(`${path} can be revalidated, and is compressed for clients that accept it`, async () => {
      const whole = await service.get(path, { as: null, headers: { "accept-encoding": "identity" } });
      const etag = whole.headers.get("etag") ?? "";
      const again = await service.get(path, {
        as: null,
        headers: { "accept-encoding": "identity", "if-none-match": etag },
      });
      assert.equal(again.status, 304);
      assert.equal(again.bytes.length, 0);
      const connection = await RawConnection.open(service.address);
      connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br;q=0, gzip\r\n\r\n`);
      const packed = await connection.answer();
      connection.destroy();
      assert.equal(packed.headers.get("content-encoding"), "gzip");
      assert.equal(packed.headers.get("vary"), "Accept-Encoding");
      assert.deepEqual(gunzipSync(packed.body), whole.bytes);
    });
  }
  test("other methods are 405, and other addresses below /docs are 404", async () => {
    const refused = await service.post("../../../docs", "{}");
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.get("allow"), "GET, HEAD");
    for (const path of ["page.ts", "contract.html", "index", "plan", "nothing", "assets"])
      assert.equal((await service.get(`/docs/${path}`)).status, 404, path);
    assert.equal((await service.get("/docs/%2e%2e/config.ts")).status, 404);
  });
});

function docsOptions(sandboxId?: string) {
  const { limits, requestRate, requestBurst, tokenBurst } = readConfig({});
  const addresses = () => ({ baseUrl: "https://hotels.example", authUrl: "https://hotels.example" });
  return { limits, requestRate, requestBurst, tokenBurst, addresses, sandboxId: async () => sandboxId };
}

test("/ and /docs/ lead to /docs", async () => {
  for (const path of ["/", "/docs/"]) {
    const { status, headers } = await fetch(new URL(path, service.address), { redirect: "manual" });
    assert.ok([301, 302].includes(status), path);
    assert.equal(headers.get("location"), "/docs");
  }
});

test("guides and first steps name the address of the deployment, and the sandbox client once there is one", async () => {
  let sandboxId: string | undefined;
  const app = fastify();
  registerDocsRoutes(app, { ...docsOptions(), sandboxId: async () => sandboxId });
  const guide = async () => unescaped((await app.inject("/docs/guides/quickstart")).body);
  const steps = async () => (await app.inject("/openapi.json")).json<Sampled>().info.description;
  assert.match(await guide(), /export BASE_URL=https:\/\/hotels\.example\nexport CLIENT_ID=…$/m);
  assert.doesNotMatch(await guide(), /127\.0\.0\.1/);
  assert.match(await steps(), /CLIENT_ID='your client id'/);
  sandboxId = "bhc_sandbox";
  assert.match(await guide(), /^export CLIENT_ID=bhc_sandbox$/m);
  assert.match(await steps(), /CLIENT_ID='bhc_sandbox'/);
  await app.close();
});

test("/docs shows a notice while the pages are not built", async () => {
  const app = fastify();
  registerDocsRoutes(app, docsOptions(), join(root, "no-such-directory"));
  const { statusCode, body, headers } = await app.inject("/docs/contract");
  await app.close();
  assert.equal(statusCode, 503);
  assert.match(String(headers["content-type"]), /^text\/html/);
  assert.match(body, /not built yet/);
});

describe("the API reference", () => {
  test("has first steps that, pasted into a shell, end in a 202 and an applied record", async () => {
    const commands = [...document.info.description.matchAll(/```sh\n([\s\S]*?)```/g)].map(
      ([, code = ""]) => code,
    );
    assert.equal(commands.length, 3);
    const partner = await service.newClient({ grants: [{ clientCode: "DEMO", propertyCode: "*" }] });
    const script = commands
      .join("\n")
      .replace("your client id", partner.clientId)
      .replace("your client secret", partner.clientSecret);
    const { stdout, stderr } = await run("sh", ["-c", script]);
    assert.match(stderr, /^HTTP 202$/m);
    const id = /^[0-9a-f-]{36}$/m.exec(stdout)?.[0];
    assert.ok(stdout.includes(`{"requestId":"${id}"`), stdout);
    await until(async () => {
      const { status, counts } = (await service.get(`/api/public/v1/requests/${id}`, { as: partner })).json();
      return status === "applied" && (counts as Record<string, number>)["applied"] === 1;
    }, 20_000);
  });
  test("has an example of every operation that, pasted into a shell, is answered 2xx", async () => {
    const partner = await service.newClient({
      grants: [{ clientCode: "DEMO", propertyCode: "*" }],
      scopes: [
        "inventories:write",
        "reservations:write",
        "groups:write",
        "read",
        "insight:read",
        "webhooks",
        "introspect",
      ],
    });
    const pushed = await service.post("groups", [groupRecord({ clientCode: "DEMO" })], { as: partner });
    const newEndpoint = async () => {
      const body = { url: "https://partner.example/bellhop", events: ["request.applied"] };
      // Ten are the most that a client may have.
      await service.pool.query("delete from bellhop.webhook_endpoint");
      return String(
        (await service.send("POST", "/api/public/v1/webhooks", { as: partner, body })).json()["endpointId"],
      );
    };
    const newBackfill = async () => {
      const resources = [{ resource: "groups", from: "2026-01-01", to: "2026-01-31" }];
      const body = { clientCode: "DEMO", propertyCode: "DOCS", resources };
      const opened = await service.send("POST", "/api/public/v1/backfills", { as: partner, body });
      return String(opened.json()["backfillId"]);
    };
    const closed = await newBackfill();
    await service.send("POST", `/api/public/v1/backfills/${closed}/close`, { as: partner });
    const abandonable = await newBackfill();
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    assert.ok(operations.length > 15);
    for (const { operationId, "x-codeSamples": samples } of operations) {
      const command = samples[0]?.source ?? "";
      const env = {
        PATH: process.env["PATH"],
        CLIENT_ID: partner.clientId,
        CLIENT_SECRET: partner.clientSecret,
        // One of the examples revokes it.
        TOKEN: await partner.token(
          "inventories:write reservations:write groups:write read insight:read webhooks",
        ),
        REQUEST: String(pushed.json()["requestId"]),
        ENDPOINT: await newEndpoint(),
        BACKFILL: operationId === "abandonBackfill" ? abandonable : closed,
      };
      const { stdout } = await run("sh", ["-c", `${command} -sS -o /dev/null -w '%{http_code}'`], { env });
      assert.match(stdout, /^2\d\d$/, `${operationId}: ${command}`);
    }
  });
});

/** The pages of the site by address, each with its text, as a crawl from the start finds them. */
async function crawl(): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>();
  const waiting = ["/docs"];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue;
    const answer = await service.get(path, { as: null });
    assert.equal(answer.status, 200, path);
    if (answer.headers.get("content-type")?.startsWith("text/html") !== true) continue;
    pages.set(path, answer.text);
    for (const [, target = ""] of answer.text.matchAll(/\s(?:href|src|data-index|data-document)="([^"#]*)/g))
      if (!/^[a-z]+:/.test(target)) waiting.push(new URL(target, `http://a${path}`).pathname);
  }
  return pages;
}

describe("the site", () => {
  let pages: ReadonlyMap<string, string>;
  before(async () => {
    pages = await crawl();
  });

  test("has a page for every document of docs/ but those for engineers", async () => {
    const documents = globSync("docs/**/*.md", { cwd: root }).filter(
      (file) => !/^docs\/(?:internal|decisions)\//.test(file),
    );
    for (const file of documents) {
      const path = file.replace(/(?:\/README)?\.md$/, "");
      assert.ok(pages.has(`/${path}`), path);
    }
    const engineers = [...pages.keys()].filter((path) => /^\/docs\/(?:internal|decisions)/.test(path));
    assert.deepEqual(engineers, []);
  });
  test("has no link that leads nowhere, within a page or to another", () => {
    for (const [path, text] of pages) {
      for (const [, target = ""] of text.matchAll(/\shref="([^"]*)"/g)) {
        if (/^[a-z]+:/.test(target) || !target.includes("#")) continue;
        const { pathname, hash } = new URL(target, `http://a${path}`);
        const id = decodeURIComponent(hash.slice(1));
        assert.ok(pages.get(pathname)?.includes(` id="${id}"`), `${path} links to ${target}`);
      }
    }
  });
  test("has every id once, one title, and one page marked as where you are", () => {
    for (const [path, text] of pages) {
      const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
      assert.equal(
        new Set(ids).size,
        ids.length,
        `${path}: ${ids.filter((id, at) => ids.indexOf(id) !== at)}`,
      );
      const contents = /<nav id="contents"[\s\S]*?<\/nav>/.exec(text)?.[0] ?? "";
      assert.equal([...contents.matchAll(/aria-current="page"/g)].length, 1, path);
      // Scalar draws the title of the API reference.
      if (path !== "/docs/api") assert.equal([...text.matchAll(/<h1[ >]/g)].length, 1, path);
    }
  });
  test("leaves no Markdown unread, and lets no text become markup or a script", () => {
    for (const [path, text] of pages) {
      const prose = text.replace(/<pre[\s\S]*?<\/pre>|<code>[\s\S]*?<\/code>/g, "");
      assert.doesNotMatch(prose, /\*\*|^#{1,6} |^\|.*\|$|\]\(|<!--(?! )/m, path);
      assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i, path);
    }
  });
  test("shows each program of the guides exactly as tested, with its output", () => {
    const shown = [...pages.values()]
      .flatMap((text) => [...text.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code>/g)])
      .map(([, code = ""]) => unescaped(code));
    for (const file of globSync("examples/guides/*.{sh,mjs,py,txt}", { cwd: root }))
      assert.ok(
        shown.includes(
          readFileSync(join(root, file), "utf8")
            .trimEnd()
            .replaceAll("http://127.0.0.1:8080", service.address),
        ),
        file,
      );
  });
  test("loads only its own files, as its policy requires", async () => {
    for (const [path, text] of pages) {
      for (const [tag] of text.matchAll(/<(?:link|script|img|iframe|object|embed|source)\b[^>]*/g))
        assert.match(tag, /\s(?:href|src)="[\w./-]+"/, path);
      const policy = (await service.get(path, { as: null })).headers.get("content-security-policy");
      const isReference = path === "/docs/api";
      assert.equal(
        policy,
        [
          "default-src 'none'; script-src 'self'",
          `style-src 'self'${isReference ? " 'unsafe-inline'" : ""}`,
          "font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          ...(isReference ? [] : ["require-trusted-types-for 'script'"]),
        ].join("; "),
      );
    }
  });
  test("keeps files with a hash in their names for ever", async () => {
    const [, style = ""] = /href="([^"]*\.css)"/.exec(pages.get("/docs/guides/quickstart") ?? "") ?? [];
    const { pathname } = new URL(style, "http://a/docs/guides/quickstart");
    const { headers } = await service.get(pathname, { as: null });
    assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable");
  });
  test("has an index of all its pages and of the operations for its search", async () => {
    const [, address = ""] = /data-index="([^"]*)"/.exec(pages.get("/docs") ?? "") ?? [];
    const index = JSON.parse((await service.get(`/${address}`, { as: null })).text) as {
      readonly documentIds: Readonly<Record<string, string>>;
    };
    const ids = Object.values(index.documentIds);
    assert.ok(ids.length > 150);
    for (const id of ids) assert.ok(pages.has(`/${id.split("#")[0]}`), id);
    assert.ok(ids.includes("docs/guides/shares") && ids.includes("docs/api#getRequest"));
  });
});
