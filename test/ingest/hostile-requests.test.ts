import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { errorObject } from "../support/error-object.ts";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

const MIB = 1_048_576;
const PUSH = "/api/public/v1/inventories";

let service: TestService;
let token: string;
before(async () => {
  service = await startTestService({ metricsToken: "for the operator" });
  token = await service.token();
});
after(() => service.stop());

/** Sends one request as it is spelt, on a connection of its own. */
async function send(start: string, lines: readonly string[] = [], payload = ""): Promise<RawAnswer> {
  const connection = await RawConnection.open(service.address);
  try {
    const usual = [`${start} HTTP/1.1`, "Host: a", `Authorization: Bearer ${token}`];
    connection.write(`${[...usual, ...lines].join("\r\n")}\r\n\r\n${payload}`);
    return await connection.answer();
  } finally {
    connection.destroy();
  }
}

async function metrics(): Promise<string> {
  const answer = await service.get("/metrics", {
    as: null,
    headers: { authorization: "Bearer for the operator" },
  });
  return answer.text;
}

describe("an address", () => {
  test("has one spelling: no escapes, dots, doubled or trailing slashes, other cases or parameters", async () => {
    for (const path of [
      "/metrics",
      "/healthz",
      "/openapi.json",
      "/api/public/v1/requests",
      "/api/oauth2/token",
    ]) {
      const second = path[1] as string;
      for (const spelling of [
        path.replace(`/${second}`, `/%${second.charCodeAt(0).toString(16)}`),
        `/%2e${path}`,
        `/.${path}`,
        `/x/..${path}`,
        `/x/%2e%2e${path}`,
        `/${path}`,
        `${path}/`,
        `${path}//`,
        `${path};x=1`,
        `${path}%00`,
        `${path}%20`,
        `${path}.json`,
        path.toUpperCase(),
        path.replaceAll("/", "%2f"),
        path.replaceAll("/", "/%2f"),
      ]) {
        const { status } = await send(`GET ${spelling}`);
        assert.ok(status === 404 || (status === 400 && spelling.startsWith("%")), `${spelling}: ${status}`);
      }
    }
  });

  test("in absolute form is judged by its path: whatever host it names, nothing else is reached", async () => {
    for (const target of [
      "http://169.254.169.254/latest/meta-data",
      "http://localhost:1/none",
      "http://a/../none",
      "ftp://a/metrics",
    ])
      assert.ok([400, 404].includes((await send(`GET ${target}`)).status), target);
    assert.equal((await send("GET http://other.example/metrics")).status, 401);
    assert.equal((await send("GET http://other.example/healthz")).status, 200);
  });
});

describe("headers that claim another sender or another address of the service", () => {
  const claims = {
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    "x-real-ip": "127.0.0.1",
    "x-original-url": "/metrics",
    "x-rewrite-url": "/metrics",
    "x-http-method-override": "DELETE",
    forwarded: "for=127.0.0.1;host=evil.example;proto=https",
    "x-request-id": "made-up",
    "x-client-id": "admin",
  };
  const lines = Object.entries(claims).map(([name, value]) => `${name}: ${value}`);

  test("change no answer: not the metadata's addresses, not the method, not the route, not the id", async () => {
    for (const path of [
      "/.well-known/oauth-authorization-server",
      "/openapi.json",
      "/docs",
      "/healthz",
      "/nowhere",
    ]) {
      const plain = await send(`GET ${path}`);
      const claimed = await send(`GET ${path}`, lines);
      assert.equal(claimed.status, plain.status, path);
      const body = (answer: RawAnswer) => answer.body.toString().replace(/"timestamp":"[^"]*"/, "");
      assert.equal(body(claimed), body(plain), path);
      assert.doesNotMatch([...claimed.headers.values()].join(), /evil|made-up/);
    }
    const metadata = await service.get("/.well-known/oauth-authorization-server", { as: null });
    const raw = await RawConnection.open(service.address);
    raw.write("GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert.equal((await raw.answer()).body.toString(), metadata.text);
    raw.destroy();
  });

  test("do not give a guesser of secrets another address to guess from", async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 22; n += 1) {
      const response = await fetch(`${service.address}/api/oauth2/token`, {
        method: "POST",
        headers: {
          "x-forwarded-for": `10.0.0.${n}`,
          forwarded: `for=10.0.0.${n}`,
          "x-real-ip": `10.0.0.${n}`,
        },
        body: new URLSearchParams({
          grant_type: "client_credentials",
          client_id: service.client.clientId,
          client_secret: `bhs_${n}`,
        }),
      });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    assert.deepEqual([...statuses.slice(0, 20), ...statuses.slice(20)], [...Array(20).fill(401), 429, 429]);
  });
});

test("errors around a form have OAuth's format, which its client reads", async () => {
  const form = new URLSearchParams({ grant_type: "client_credentials" }).toString();
  const lines = ["Content-Type: application/x-www-form-urlencoded", `Content-Length: ${form.length}`];
  for (const [line, description] of [
    ["Authorization: Basic eDp5", "Authorization must be sent once."],
    ["Content-Type: application/x-www-form-urlencoded", "Content-Type must be sent once."],
    ["Host: b", "Host must be sent once."],
  ] as const) {
    const answer = await send("POST /api/oauth2/token", [...lines, line], form);
    assert.equal(answer.status, 400);
    assert.deepEqual(JSON.parse(answer.body.toString()), {
      error: "invalid_request",
      error_description: description,
    });
    assert.equal(answer.headers.get("connection"), "close");
    assert.equal(answer.headers.get("pragma"), "no-cache");
  }
});

describe("methods and origins", () => {
  test("TRACE, OPTIONS and unsupported methods repeat nothing of the request", async () => {
    for (const method of [
      "TRACE",
      "OPTIONS",
      "PUT",
      "PATCH",
      "DELETE",
      "PURGE",
      "PROPFIND",
      "LOCK",
      "QUERY",
      "M-SEARCH",
    ]) {
      for (const path of [PUSH, "/metrics", "/api/oauth2/token", "/docs", "*"]) {
        if (path === "*" && method !== "OPTIONS") continue;
        const answer = await send(`${method} ${path}`, ["X-Sent: do-not-echo", "Content-Length: 0"]);
        // `*` names no address.
        assert.equal(answer.status, path === "*" ? 404 : 405, `${method} ${path}`);
        if (path !== "*")
          assert.equal(
            answer.headers.get("allow"),
            path.startsWith("/api") ? (path === PUSH ? "GET, HEAD, POST" : "POST") : "GET, HEAD",
            `${method} ${path}`,
          );
        const text = answer.body.toString() + [...answer.headers.values()].join();
        assert.ok(!text.includes("do-not-echo") && !text.includes(token.slice(0, 20)), `${method} ${path}`);
      }
    }
  });

  test("no page of another origin is let in, whatever it asks for", async () => {
    const lines = [
      "Origin: https://evil.example",
      "Access-Control-Request-Method: POST",
      "Access-Control-Request-Headers: authorization",
      "Access-Control-Request-Private-Network: true",
      "Content-Length: 0",
    ];
    for (const start of [
      `OPTIONS ${PUSH}`,
      `POST ${PUSH}`,
      "GET /healthz",
      "OPTIONS /api/oauth2/token",
      "POST /api/oauth2/token",
    ]) {
      const answer = await send(start, lines);
      const names = [...answer.headers.keys()].filter((name) => /^access-control|^timing-allow/.test(name));
      assert.deepEqual(names, [], start);
    }
  });

  test("nothing that a token opened, and no error, is for a cache", async () => {
    for (const start of [
      "GET /api/public/v1/requests",
      "GET /api/public/v1/requests/nope",
      "GET /api/public/v1/groups",
      "GET /nowhere",
      "GET /metrics",
      "PUT /healthz",
      "GET /readyz",
      "GET /.well-known/jwks.json",
      "GET /api/oauth2/token",
      "GET /%zz",
    ]) {
      assert.equal((await send(start)).headers.get("cache-control"), "no-store", start);
    }
  });
});

describe("metrics and error texts", () => {
  test("addresses, methods, codes and headers that a sender makes up add no series to the metrics", async () => {
    const series = (text: string) =>
      text.split("\n").filter((line) => /^bellhop_(http|errors|violations)/.test(line)).length;
    const provoke = async (n: number) => {
      for (const method of ["GET", "PROPFIND", "DELETE", "M-SEARCH"]) {
        await send(`${method} /made/up/${n}?x=${n}`, [`X-${n}: ${n}`]);
        await send(`${method} /api/public/v1/requests/made-up-${n}`);
        await send(`${method} /%zz${n}`);
      }
      await send(`MADEUP${n} /healthz`);
      const record = inventoryRecord({
        propertyCode: `P${n}`,
        [`field${n}`]: n,
        occupancyDate: `no date ${n}`,
      });
      assert.equal((await service.post("inventories", [record])).status, 400);
      await service.post("inventories", [inventoryRecord({ clientCode: `C${n}` })]);
    };
    await provoke(0);
    await metrics();
    const before = series(await metrics());
    for (let n = 1; n < 15; n += 1) await provoke(n);
    const after = await metrics();
    assert.equal(series(after), before);
    assert.doesNotMatch(after, /made|up-|P1\b|MADEUP|field/);
  });

  test("/metrics is for the operator alone where a token is set, and is compared whole", async () => {
    for (const sent of [
      "",
      "Bearer",
      "Bearer for",
      "Bearer for the operatorx",
      "bearer for the operator",
      `Bearer ${token}`,
    ]) {
      const answer = await service.get("/metrics", { as: null, headers: { authorization: sent } });
      assert.deepEqual([answer.status, answer.text], [401, ""], sent);
    }
    assert.match(await metrics(), /bellhop_errors_total/);
  });
});

describe("bodies in other clothes", () => {
  test("a byte order mark, UTF-16 and UTF-32 are 400, regardless of the charset parameter", async () => {
    const json = JSON.stringify([inventoryRecord()]);
    const utf32 = (bigEndian: boolean) => {
      const bytes = Buffer.alloc(json.length * 4);
      [...json].forEach((character, at) => {
        bytes[bigEndian ? "writeUInt32BE" : "writeUInt32LE"](character.charCodeAt(0), at * 4);
      });
      return bytes;
    };
    for (const body of [
      Buffer.from(`\ufeff${json}`),
      Buffer.from(json, "utf16le"),
      Buffer.from(`\ufeff${json}`, "utf16le"),
      Buffer.from(json, "utf16le").swap16(),
      Buffer.from(`\ufeff${json}`, "utf16le").swap16(),
      utf32(true),
      utf32(false),
      Buffer.concat([Buffer.from([0, 0, 0xfe, 0xff]), utf32(true)]),
    ]) {
      errorObject(await service.post("inventories", body), 400, "bellhop.contract.MalformedJson");
    }
    for (const charset of ["utf-16", "utf-32", "utf-7", "iso-8859-1", "us-ascii"]) {
      const headers = { "content-type": `application/json; charset=${charset}` };
      errorObject(await service.post("inventories", json, { headers }), 415);
    }
  });

  test("what JSON.parse would hide is 400 with its pointer", async () => {
    const record = JSON.stringify(inventoryRecord()).slice(1, -1);
    const cases: readonly (readonly [string, string])[] = [
      [`[{${record},"x":1e400}]`, "/0/x"],
      [`[{${record},"x":1e-400}]`, "/0/x"],
      [`[{${record},"x":[1,{"y":-1e999}]}]`, "/0/x/1/y"],
      [`[{${record},"x":1,"x":1}]`, "/0/x"],
      [`[{${record},"x":{"a":1,"\\u0061":2}}]`, "/0/x/a"],
      [`[{${record}},{${record},"x":"\\ud800"}]`, "/1/x"],
      [`[{${record},"x":"\\u0000"}]`, "/0/x"],
      [`[{${record},"__proto__":{}}]`, "/0/__proto__"],
      [`[{${record},"x":{"\\u005f_proto__":null}}]`, "/0/x/__proto__"],
      [`[{${record},"x":[{"constructor":1}]}]`, "/0/x/0/constructor"],
    ];
    for (const [body, pointer] of cases) {
      const { violations } = errorObject(await service.post("inventories", body), 400);
      assert.equal(violations?.[0]?.pointer, pointer, body.slice(-60));
    }
    const invalid = Buffer.from(`[{${record},"x":"@"}]`);
    for (const bytes of [[0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80], [0xff]]) {
      const at = invalid.indexOf("@");
      const body = Buffer.concat([invalid.subarray(0, at), Buffer.from(bytes), invalid.subarray(at + 1)]);
      errorObject(await service.post("inventories", body), 400, "bellhop.contract.MalformedJson");
    }
  });

  test("bombs of many gzip members, empty or full, and one within another", async () => {
    const empty = gzipSync("");
    const full = gzipSync(Buffer.alloc(MIB, " "), { level: 9 });
    const gzip = { headers: { "content-encoding": "gzip" } };
    const many = (member: Buffer, count: number) =>
      Buffer.concat(Array.from({ length: count }, () => member));
    const before = process.memoryUsage().rss;
    errorObject(await service.post("inventories", many(empty, 500_000), gzip), 400);
    errorObject(await service.post("inventories", many(full, 200), gzip), 413);
    errorObject(await service.post("inventories", gzipSync(many(full, 200)), gzip), 400);
    assert.ok(process.memoryUsage().rss - before < 256 * MIB);
  });
});
