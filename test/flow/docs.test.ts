import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { RawConnection } from "../support/raw-http.ts";
import { groupRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

let service: TestService;
let page: string;
before(async () => {
  service = await startTestService();
  page = (await service.get("/docs/api", { as: null })).text;
});
after(() => service.stop());

const FILES = [
  ...[
    "/docs",
    "/docs/api",
    "/docs/contract",
    "/docs/guides/quickstart",
    "/docs/search.json",
    "/openapi.json",
  ],
  ...["page.css", "site.css", "icon.svg"].map((name) => `/docs/${name}`),
  ...["copy", "follow-reading", "reference", "site", "search"].map((name) => `/docs/${name}.js`),
];

function unescaped(markup: string): string {
  const characters: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return markup.replace(/<[^>]*>/g, "").replace(/&(#39|\w+);/g, (_whole, name) => characters[name] ?? "");
}

describe("/docs and /openapi.json", () => {
  for (const path of FILES) {
    test(`${path} is there for everybody, also for HEAD and with a token that is no good`, async () => {
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
    test(`${path} is not sent again to who has it, and travels compressed to who can read that`, async () => {
      const whole = await service.get(path, { as: null, headers: { "accept-encoding": "identity" } });
      const etag = whole.headers.get("etag") ?? "";
      const again = await service.get(path, { as: null, headers: { "if-none-match": etag } });
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
    for (const path of ["page.ts", "contract.md", "plan", "nothing", ""])
      assert.equal((await service.get(`/docs/${path}`)).status, 404, path);
    assert.equal((await service.get("/docs/%2e%2e/config.ts")).status, 404);
  });
});

describe("the API reference", () => {
  test("loads its own files alone, and its policy lets nothing else in", async () => {
    const loaded = [...page.matchAll(/<(?:link|script|img|iframe|object|embed|source)\b[^>]*/g)].map(String);
    assert.equal(loaded.length, 6);
    for (const tag of loaded) assert.match(tag, /(?:href|src)="[a-z]+\.(?:css|js|svg)"/);
    assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
    const { headers } = await service.get("/docs/api", { as: null });
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(
      policy,
      /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; /,
    );
    assert.doesNotMatch(policy, /unsafe|\*|https?:|data:/);
    for (const path of FILES.filter((name) => /\.(?:css|js|svg)$/.test(name))) {
      const { text } = await service.get(path, { as: null });
      const others = text
        .replace('xmlns="http://www.w3.org/2000/svg"', "")
        .replaceAll(/^import \{ \w+ \} from "\.\/[a-z-]+\.js";$/gm, "");
      assert.doesNotMatch(others, /https?:|url\(|@import|\bimport\b/);
    }
  });
  test("every link within it leads somewhere, and every id stands once", () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, `twice: ${ids.filter((id, at) => ids.indexOf(id) !== at)}`);
    const targets = [...page.matchAll(/\shref="#([^"]*)"/g)].map(([, id]) => id);
    assert.ok(targets.length > 50);
    for (const target of targets) assert.ok(ids.includes(target), `#${target}`);
    for (const [, target = ""] of page.matchAll(/\s(?:aria-labelledby|popovertarget)="([^"]+)"/g))
      assert.ok(ids.includes(target), target);
  });
  test("shows every operation, error code and header parameter of the document", async () => {
    const document = (await service.get("/openapi.json", { as: null })).text;
    for (const pattern of [/"operationId":"(\w+)"/g, /"(bellhop\.\w+\.\w+)":/g, /"name":"([\w-]+)","in"/g]) {
      const names = [...document.matchAll(pattern)].map(([, name = ""]) => name);
      assert.ok(names.length > 3);
      for (const name of names) assert.ok(page.includes(name), name);
    }
  });
  test("has first steps that, pasted into a shell, end in a 202 and an applied record", async () => {
    const steps = /<ol class="steps">([\s\S]*?)<\/ol>/.exec(page)?.[1] ?? "";
    const commands = [...steps.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, code = ""]) =>
      unescaped(code),
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
    const operations = [
      ...page.matchAll(/<section class="operation" aria-labelledby="(\w+)">([\s\S]*?)<\/section>/g),
    ];
    assert.ok(operations.length > 15);
    for (const [, operation = "", section = ""] of operations) {
      const command = unescaped(/<pre[^>]*><code>(curl [\s\S]*?)<\/code>/.exec(section)?.[1] ?? "");
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
        BACKFILL: operation === "abandonBackfill" ? abandonable : closed,
      };
      const { stdout } = await run("sh", ["-c", `${command} -sS -o /dev/null -w '%{http_code}'`], { env });
      assert.match(stdout, /^2\d\d$/, `${operation}: ${command}`);
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
    for (const [, target = ""] of answer.text.matchAll(/\s(?:href|src)="([^"#]*)/g))
      if (!/^[a-z]+:/.test(target)) waiting.push(new URL(target, `http://a${path}`).pathname);
  }
  return pages;
}

describe("the site", () => {
  let pages: ReadonlyMap<string, string>;
  before(async () => {
    pages = await crawl();
  });

  test("has a page for every document of docs/, and each is in the contents", async () => {
    const documents = globSync("docs/**/*.md", { cwd: root }).filter(
      (file) => file !== "docs/internal/plan.md",
    );
    for (const file of documents) {
      const path = file.replace(/(?:\/README)?\.md$/, "");
      assert.ok(pages.has(`/${path}`), path);
    }
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
      assert.equal([...text.matchAll(/<h1[ >]/g)].length, 1, path);
      if (path !== "/docs/api") assert.equal([...text.matchAll(/aria-current="page"/g)].length, 1, path);
    }
  });
  test("leaves no Markdown unread, and lets no text become markup or a script", () => {
    for (const [path, text] of pages) {
      const prose = text.replace(/<pre[\s\S]*?<\/pre>|<code>[\s\S]*?<\/code>/g, "");
      assert.doesNotMatch(prose, /\*\*|^#{1,6} |^\|.*\|$|\]\(|<!--(?! )/m, path);
      assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i, path);
    }
  });
  test("shows each program of the guides as the file is that the suite runs, with what it prints", () => {
    const shown = [...pages.values()]
      .flatMap((text) => [...text.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code>/g)])
      .map(([, code = ""]) => unescaped(code));
    for (const file of globSync("examples/guides/*.{sh,ts,py,txt}", { cwd: root }))
      assert.ok(shown.includes(readFileSync(join(root, file), "utf8").trimEnd()), file);
  });
  test("finds by its search what stands on its pages", async () => {
    const index = JSON.parse((await service.get("/docs/search.json", { as: null })).text) as {
      at: string;
      text: string;
    }[];
    assert.ok(index.length > 150);
    for (const { at } of index) assert.ok(pages.has(`/${at.split("#")[0]}`), at);
    assert.ok(index.some(({ at, text }) => at === "docs/guides/shares" && text.includes("shareId")));
  });
});
