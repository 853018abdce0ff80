import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { floodedRoutes } from "../hostile/flood-routes.ts";
import { errorObject } from "../support/error-object.ts";
import { holdAppends } from "../support/held-appends.ts";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const body = JSON.stringify([inventoryRecord()]);

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** The lines of a push and the empty one; `lines` follow the usual ones. */
async function head(
  of: TestService,
  lines: readonly string[],
  start = "POST /api/public/v1/inventories HTTP/1.1",
) {
  const usual = [
    start,
    "Host: a",
    `Authorization: Bearer ${await of.token()}`,
    "Content-Type: application/json",
  ];
  return `${[...usual, ...lines].join("\r\n")}\r\n\r\n`;
}

const withLength = async (of = service) => `${await head(of, [`Content-Length: ${body.length}`])}${body}`;

function refusedWith(answer: RawAnswer, status: number, code: Parameters<typeof errorObject>[2]) {
  return errorObject({ status: answer.status, text: answer.body.toString() }, status, code);
}

async function countRequests(): Promise<number> {
  const { rows } = await service.pool.query("select count(*)::int as requests from bellhop.accept_log");
  return rows[0].requests;
}

/** A connection whose client asks, and reads no answer, until the service reads no more of it. */
async function pipelineUnread(of: TestService): Promise<RawConnection> {
  const connection = await RawConnection.open(of.address);
  connection.socket.pause();
  const ask = Buffer.from("GET /api/public/v1/nowhere HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1_000));
  let stopped = false;
  for (let n = 0; n < 2_000 && !stopped; n += 1) {
    // Once the service reads no more, its socket buffers fill, and then ours.
    if (!connection.socket.write(ask)) {
      stopped = await Promise.race([
        new Promise<false>((resolve) => connection.socket.once("drain", () => resolve(false))),
        new Promise<true>((resolve) => setTimeout(() => resolve(true), 1_500)),
      ]);
    }
  }
  assert.equal(stopped, true);
  return connection;
}

test("a service starts whose requests have less time than headers would have", async () => {
  const service = await startTestService({ limits: { headersTimeoutMs: 10_000, requestTimeoutMs: 5_000 } });
  await service.stop();
});

describe("slow clients", () => {
  let strict: TestService;
  before(async () => {
    strict = await startTestService({
      limits: {
        headersTimeoutMs: 400,
        requestTimeoutMs: 1_200,
        keepAliveTimeoutMs: 300,
        stalledTimeoutMs: 300,
      },
    });
  });
  after(() => strict.stop());

  test("incomplete headers are 408, whether they stall or arrive slowly", async () => {
    const stalled = await RawConnection.open(strict.address);
    stalled.write("POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\nX-");
    const dripping = await RawConnection.open(strict.address);
    dripping.write("GET /healthz HTTP/1.1\r\nX-Drip: ");
    const drip = setInterval(() => dripping.socket.writable && dripping.write("x"), 50);
    for (const connection of [stalled, dripping]) {
      refusedWith(await connection.answer(), 408, "bellhop.http.RequestTimeout");
      await connection.closing();
    }
    clearInterval(drip);
  });

  test("a silent connection is closed", async () => {
    const silent = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(strict.address)));
    await Promise.all(silent.map((connection) => connection.closing()));
  });

  test("an incomplete body is 408, and its memory is released", async () => {
    const announced = await RawConnection.open(strict.address);
    announced.write(`${await head(strict, ["Content-Length: 300000"])}${" ".repeat(200_000)}`);
    const dripping = await RawConnection.open(strict.address);
    dripping.write(
      `${await head(strict, ["Transfer-Encoding: chunked"])}30D40\r\n${" ".repeat(200_000)}\r\n`,
    );
    const drip = setInterval(() => dripping.socket.writable && dripping.write("1\r\n \r\n"), 50);
    for (const connection of [announced, dripping]) {
      refusedWith(await connection.answer(), 408, "bellhop.http.RequestTimeout");
      await connection.closing();
    }
    clearInterval(drip);
    await until(async () => {
      const { text } = await strict.get("/metrics", { as: null });
      return text.includes("\nbellhop_body_bytes_in_flight 0\n");
    }, 5_000);
  });

  test("an incomplete form is 408, whether it stalls or arrives slowly", async () => {
    const type = "Content-Type: application/x-www-form-urlencoded";
    const start = `POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\n${type}\r\n`;
    const stalled = await RawConnection.open(strict.address);
    stalled.write(`${start}Content-Length: 200\r\n\r\ngrant_type=`);
    const dripping = await RawConnection.open(strict.address);
    dripping.write(`${start}Transfer-Encoding: chunked\r\n\r\n`);
    const drip = setInterval(() => dripping.socket.writable && dripping.write("1\r\nx\r\n"), 50);
    for (const connection of [stalled, dripping]) {
      refusedWith(await connection.answer(), 408, "bellhop.http.RequestTimeout");
      await connection.closing();
    }
    clearInterval(drip);
  });

  test("a body after a refusal does not keep the connection longer than a request may take", async () => {
    const connection = await RawConnection.open(strict.address);
    const request = await head(strict, ["Content-Length: 300000"]);
    connection.write(`${request.replace("application/json", "text/plain")}  `);
    refusedWith(await connection.answer(), 415, "bellhop.http.UnsupportedMediaType");
    await connection.closing();
  });

  test("an idle connection is closed after the keep-alive time, one in use is not", async () => {
    const connection = await RawConnection.open(strict.address);
    for (let n = 0; n < 5; n += 1) {
      connection.write(await withLength(strict));
      assert.equal((await connection.answer()).status, 202);
    }
    await connection.closing();
  });

  test("a connection whose client does not read its responses is closed after the time limit", async () => {
    const connection = await pipelineUnread(strict);
    await connection.closing();
  });

  test("a response that takes longer to compute is not mistaken for one that the client does not read", async () => {
    const held = await holdAppends(strict.database.clientConfig);
    const connection = await RawConnection.open(strict.address);
    connection.write(await withLength(strict));
    await until(() => held.isWaiting(1_000), 10_000);
    await held.release();
    assert.equal((await connection.answer()).status, 202);
    connection.destroy();
  });

  test("an incomplete request does not outlive the service", async () => {
    const own = await startTestService();
    const connection = await RawConnection.open(own.address);
    connection.write(`${await head(own, ["Content-Length: 300000", "Expect: 100-continue"])} `);
    await until(() => connection.received.includes("100 Continue"), 5_000);
    await own.stop();
    await connection.closing();
  });

  test("three hundred idle connections do not keep out others", async () => {
    const idle = await Promise.all(Array.from({ length: 300 }, () => RawConnection.open(service.address)));
    assert.equal((await service.post("inventories", body)).status, 202);
    for (const connection of idle) connection.destroy();
  });
});

describe("one connection, many requests", () => {
  test("pipelined requests are answered in their order", async () => {
    const connection = await RawConnection.open(service.address);
    const push = await withLength();
    const bad = push.replace("application/json", "text/plain");
    const ask = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    connection.write((push + ask + bad + ask).repeat(9));
    for (let n = 0; n < 9; n += 1) {
      for (const status of [202, 200, 415, 200]) assert.equal((await connection.answer()).status, status);
    }
    connection.destroy();
  });

  test("invalid bytes after a request get their own 400 after its response, and the connection is closed", async () => {
    const before = await countRequests();
    const connection = await RawConnection.open(service.address);
    connection.write(`${await withLength()}nonsense\r\n\r\n${await withLength()}`);
    assert.equal((await connection.answer()).status, 202);
    refusedWith(await connection.answer(), 400, "bellhop.http.BadRequest");
    await connection.closing();
    assert.equal(connection.received.length, 0);
    assert.equal(await countRequests(), before + 1);
  });

  test("pages behind a response that takes long do not keep it from being sent", async () => {
    const connection = await RawConnection.open(service.address);
    const ask = async (path: string) => head(service, [], `GET /api/public/v1/${path} HTTP/1.1`);
    const pages = (await ask("requests?limit=1")).repeat(12);
    connection.write((await ask("changes?from=now&wait=1")) + pages);
    for (let n = 0; n < 13; n += 1) assert.equal((await connection.answer()).status, 200);
    connection.destroy();
  });

  test("a client that pipelines without end and never reads is not answered without end", async () => {
    const connection = await pipelineUnread(service);
    assert.equal((await service.post("inventories", body)).status, 202);
    connection.destroy();
  });
});

test("every route answers pipelined requests with 15 kB of white space in a header", async () => {
  const spaced = [
    ["Accept-Encoding", "\t"],
    ["Prefer", "\u00a0"],
    ["Cookie", " "],
    ["X-Forwarded-For", "\u0085"],
  ] as const;
  const document = (await service.get("/openapi.json", { as: null })).json() as unknown as OpenApiDocument;
  for (const { method, path } of await floodedRoutes(document)) {
    const start = `${method} ${path.replaceAll(/\{\w+\}/g, "x")} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n`;
    const connection = await RawConnection.open(service.address);
    connection.write(
      spaced.map(([name, space]) => `${start}${name}: a${space.repeat(15_000)}b\r\n\r\n`).join(""),
    );
    for (const _ of spaced) assert.ok((await connection.answer()).status < 500, `${method} ${path}`);
    connection.destroy();
  }
});

describe("requests with ambiguous framing", () => {
  const smuggled = `POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\n`;
  const shapes: Record<string, readonly string[]> = {
    "Content-Length and Transfer-Encoding": ["Content-Length: 4", "Transfer-Encoding: chunked"],
    "Transfer-Encoding and Content-Length": ["Transfer-Encoding: chunked", "Content-Length: 4"],
    "two lengths": ["Content-Length: 4", "Content-Length: 5"],
    "the same length twice": ["Content-Length: 5", "Content-Length: 5"],
    "a list of lengths": ["Content-Length: 5, 5"],
    "a length with a sign": ["Content-Length: +5"],
    "a length in hexadecimal": ["Content-Length: 0x5"],
    "a length beyond 2^64": ["Content-Length: 18446744073709551621"],
    "a space before the colon": ["Transfer-Encoding : chunked"],
    "an unknown coding": ["Transfer-Encoding: xchunked"],
    "a coding before chunked": ["Transfer-Encoding: gzip, chunked"],
    "chunked twice": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    "chunked and identity": ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    "a folded coding": ["Transfer-Encoding:", " chunked"],
    "a vertical tab before the coding": ["Transfer-Encoding: \x0bchunked"],
    "a bare line feed": ["X: a\nTransfer-Encoding: chunked"],
    "a NUL": ["X: a\0"],
    "two hosts": ["Host: b", "Content-Length: 5"],
    "two Authorization headers": ["Authorization: Bearer x", "Content-Length: 5"],
    "a folded header (obs-fold)": ["X: a", " b", "Content-Length: 5"],
  };
  for (const [shape, lines] of Object.entries(shapes)) {
    test(`${shape}: 400, and nothing after it counts as a request`, async () => {
      const before = await countRequests();
      const connection = await RawConnection.open(service.address);
      const inner = `${smuggled}Authorization: Bearer ${await service.token()}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      connection.write(`${await head(service, lines)}0\r\n\r\n${inner}`);
      refusedWith(await connection.answer(), 400, "bellhop.http.BadRequest");
      await connection.closing();
      assert.equal(connection.received.length, 0);
      // The log keeps the order of arrival: what was smuggled would be there before this.
      assert.equal((await service.post("inventories", body)).status, 202);
      assert.equal(await countRequests(), before + 1);
    });
  }

  test("lines that all end in a bare line feed: 400, and nothing of it is stored", async () => {
    const before = await countRequests();
    const connection = await RawConnection.open(service.address);
    connection.write((await withLength()).replaceAll("\r\n", "\n"));
    refusedWith(await connection.answer(), 400, "bellhop.http.BadRequest");
    await connection.closing();
    assert.equal(await countRequests(), before);
  });

  test("more than 100 headers are 431, whatever their size, and the connection is closed", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write(
      await head(
        service,
        Array.from({ length: 101 }, () => "a:"),
      ),
    );
    refusedWith(await connection.answer(), 431, "bellhop.http.HeadersTooLarge");
    await connection.closing();
  });

  test("headers beyond 16 kB are 431, in one line or in many, and trailers are bounded too", async () => {
    for (const lines of [[`X: ${"x".repeat(17_000)}`], Array.from({ length: 3_000 }, (_, n) => `X${n}: y`)]) {
      const connection = await RawConnection.open(service.address);
      connection.write(await head(service, lines));
      const { message } = refusedWith(await connection.answer(), 431, "bellhop.http.HeadersTooLarge");
      assert.match(message, /100 headers.*16 kB/);
      await connection.closing();
    }
    const connection = await RawConnection.open(service.address);
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n`;
    connection.write(
      `${await head(service, ["Transfer-Encoding: chunked"])}${chunks}X: ${"x".repeat(17_000)}\r\n\r\n`,
    );
    refusedWith(await connection.answer(), 431, "bellhop.http.HeadersTooLarge");
    await connection.closing();
  });
});

describe("requests of older and rarer forms", () => {
  test("HTTP/1.0 is served and its connection closed; without a length it has no body", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write((await withLength()).replace("HTTP/1.1", "HTTP/1.0"));
    assert.equal((await connection.answer()).status, 202);
    await connection.closing();
  });

  test("a push without a length has no body; the bytes after it get a response as an invalid request", async () => {
    for (const version of ["HTTP/1.0", "HTTP/1.1"]) {
      const connection = await RawConnection.open(service.address);
      connection.write((await head(service, [], `POST /api/public/v1/inventories ${version}`)) + body);
      refusedWith(await connection.answer(), 400, "bellhop.contract.MalformedJson");
      if (version === "HTTP/1.1") refusedWith(await connection.answer(), 400, "bellhop.http.BadRequest");
      await connection.closing();
    }
  });

  test("HTTP/1.0 with Transfer-Encoding is 400", async () => {
    const connection = await RawConnection.open(service.address);
    const request = await head(
      service,
      ["Transfer-Encoding: chunked"],
      "POST /api/public/v1/inventories HTTP/1.0",
    );
    connection.write(`${request}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    refusedWith(await connection.answer(), 400, "bellhop.http.BadRequest");
    await connection.closing();
  });

  test("a target in absolute form is the address it names (RFC 9112 section 3.2.2)", async () => {
    for (const origin of ["http://a", "http://a:8080", "https://other.example", "HTTP://A"]) {
      const connection = await RawConnection.open(service.address);
      const start = `POST ${origin}/api/public/v1/inventories HTTP/1.1`;
      connection.write((await head(service, [`Content-Length: ${body.length}`], start)) + body);
      assert.equal((await connection.answer()).status, 202, origin);
      connection.write(`GET ${origin}/none HTTP/1.1\r\nHost: a\r\n\r\n`);
      refusedWith(await connection.answer(), 404, "bellhop.http.NotFound");
      connection.destroy();
    }
  });

  test("Expect: 100-continue gets a 100, or the refusal at once", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write(await head(service, [`Content-Length: ${body.length}`, "Expect: 100-continue"]));
    await until(() => connection.received.toString("latin1").startsWith("HTTP/1.1 100 "), 5_000);
    connection.write(body);
    assert.equal((await connection.answer()).status, 202);
    connection.destroy();
    const refused = await RawConnection.open(service.address);
    const request = await head(service, ["Content-Length: 17000000", "Expect: 100-continue"]);
    refused.write(request.replace(/Bearer \S+/, "Bearer forged"));
    await refused.closing();
    // Not 100 first, for which the client would send 17 MB that nobody reads.
    assert.match(refused.received.toString("latin1"), /^HTTP\/1\.1 403 .*\r\nconnection: close\r\n/is);
  });

  test("an Upgrade request is processed without upgrading, and an unknown expectation is ignored", async () => {
    for (const lines of [["Connection: Upgrade", "Upgrade: h2c"], ["Expect: the-spanish-inquisition"]]) {
      const connection = await RawConnection.open(service.address);
      connection.write((await head(service, [...lines, `Content-Length: ${body.length}`])) + body);
      assert.equal((await connection.answer()).status, 202, lines[0]);
      connection.destroy();
    }
  });

  test("CONNECT, HTTP/2's preface, TLS and other protocols are 400, and the connection ends", async () => {
    for (const bytes of [
      "CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
      "GET /\r\n\r\n",
      "SSH-2.0-client\r\n",
      "\0".repeat(100),
    ]) {
      const connection = await RawConnection.open(service.address);
      connection.write(bytes);
      refusedWith(await connection.answer(), 400, "bellhop.http.BadRequest");
      await connection.closing();
    }
  });
});

test("a client that resets its connection after a refusal, or during it, ends nothing but this connection", async () => {
  const push = "POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\n";
  const ask = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
  const connectRequest = "CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n";
  const refusals: Record<string, string> = {
    CONNECT: connectRequest,
    "CONNECT with bytes after it": `${connectRequest}\x16\x03\x01`,
    "CONNECT behind requests": ask.repeat(20) + connectRequest,
    "an upgrade": `${push}Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n[]`,
    "an invalid header": `${push}X Y: a\r\n\r\n`,
    "an invalid chunk": `${push}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    "small chunks": `${push}Transfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(2_000)}`,
    "two lengths": `${push}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    "too many headers": `${push}${"a:\r\n".repeat(101)}\r\n`,
    "a long header": `${push}X: ${"x".repeat(17_000)}\r\n\r\n`,
    "an unknown method": "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
    "no token": `${push}Content-Length: 5\r\n\r\n[`,
    "a body that is too large": await head(service, ["Content-Length: 17000000"]),
    "another media type": `${push}Content-Type: text/plain\r\nContent-Length: 5\r\n\r\n[`,
    "an unknown coding": `${await head(service, ["Content-Encoding: x", "Content-Length: 5"])}[`,
    "an unknown path": "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n",
    TLS: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": "GET /\r\n\r\n",
  };
  for (const [kind, text] of Object.entries(refusals)) {
    const unread = await RawConnection.open(service.address);
    unread.write(text);
    unread.socket.resetAndDestroy();
    const read = await RawConnection.open(service.address);
    // Its own side stays open after the service has closed the other.
    read.socket.allowHalfOpen = true;
    read.write(text);
    await until(() => read.received.length > 0, 5_000);
    read.socket.resetAndDestroy();
    assert.equal((await service.get("/healthz", { as: null })).status, 200, kind);
  }
});

test("a push whose client disconnects before the response is logged like any other", async () => {
  const held = await holdAppends(service.database.clientConfig);
  const connection = await RawConnection.open(service.address);
  connection.write(
    `${await head(service, ["X-Correlation-Id: gone-1", `Content-Length: ${body.length}`])}${body}`,
  );
  await until(() => held.isWaiting(), 10_000);
  connection.socket.destroy();
  // The end of the one connection comes before the answer on another.
  assert.equal((await fetch(`${service.address}/healthz`)).status, 200);
  await held.release();
  const lineOf = () => service.logLines().find((text) => text.includes("gone-1"));
  await until(async () => lineOf() !== undefined, 10_000);
  const { status, requestId, clientGone } = JSON.parse(lineOf() ?? "{}");
  assert.deepEqual({ status, clientGone }, { status: 202, clientGone: true });
  const { rows } = await service.pool.query(
    "select from bellhop.accept_log where request_id = $1 and correlation_id = 'gone-1'",
    [requestId],
  );
  assert.equal(rows.length, 1);
});
