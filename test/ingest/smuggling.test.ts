import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { errorObject } from "../support/error-object.ts";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

const PATH = "/api/public/v1/inventories";
const body = JSON.stringify([inventoryRecord()]);
const size = body.length.toString(16);
const whole = `${size}\r\n${body}\r\n0\r\n\r\n`;

let service: TestService;
let token: string;
before(async () => {
  service = await startTestService();
  token = await service.token();
});
after(() => service.stop());

/** The head of a push; `lines` follow the usual ones. */
function head(lines: readonly string[], start = `POST ${PATH} HTTP/1.1`): string {
  const usual = [start, "Host: a", `Authorization: Bearer ${token}`, "Content-Type: application/json"];
  return `${[...usual, ...lines].join("\r\n")}\r\n\r\n`;
}

/** A request that can be distinguished from every other by its answer, and leaves nothing behind. */
const canary = () => `${head(["X-Correlation-Id: canary", "Content-Length: 1"])}[`;

async function requestsInLog(): Promise<number> {
  const { rows } = await service.pool.query("select count(*)::int as requests from bellhop.accept_log");
  return rows[0].requests;
}

function isCanary(answer: RawAnswer): boolean {
  return answer.status === 400 && answer.headers.get("x-correlation-id") === "canary";
}

/** Sends bytes and a canary behind them; gives every answer until the canary's or the end of the connection. */
async function answersTo(bytes: string): Promise<{ first: RawAnswer; rest: RawAnswer[]; closed: boolean }> {
  const connection = await RawConnection.open(service.address);
  try {
    connection.write(bytes + canary());
    const first = await connection.answer();
    const rest: RawAnswer[] = [];
    if (first.headers.get("connection") === "close") {
      await connection.closing();
      while (connection.received.length > 0) rest.push(await connection.answer());
    } else {
      rest.push(await connection.answer());
    }
    return { first, rest, closed: connection.closed };
  } finally {
    connection.destroy();
  }
}

/** What two readers could cut differently: 400, the connection ends, and what stands behind is answered by nobody. */
async function isRefused(bytes: string, what: string): Promise<void> {
  const before = await requestsInLog();
  const { first, rest, closed } = await answersTo(bytes);
  errorObject({ status: first.status, text: first.body.toString() }, 400, "bellhop.http.BadRequest");
  assert.deepEqual([rest, closed], [[], true], what);
  assert.equal(await requestsInLog(), before, what);
}

/** What is rare and can be read in one way alone: done once, and what stands behind it has an answer of its own. */
async function isServed(bytes: string, status: number, what: string): Promise<void> {
  const before = await requestsInLog();
  const { first, rest } = await answersTo(bytes);
  assert.equal(first.status, status, `${what}: ${first.body}`);
  assert.deepEqual(rest.map(isCanary), [true], what);
  assert.equal(await requestsInLog(), before + (status === 202 ? 1 : 0), what);
}

describe("chunks that two readers could cut differently", () => {
  const chunked = (payload: string) => head(["Transfer-Encoding: chunked"]) + payload;

  test("chunk extensions are passed over, and end at CR LF alone", async () => {
    await isServed(chunked(`${size};a=b;c="d"\r\n${body}\r\n0;x\r\n\r\n`), 202, "extensions");
    for (const end of ["\n", "\r", "\rX\n", "\n\r\n"]) {
      await isRefused(chunked(`${size};a${end}${body}\r\n0\r\n\r\n`), JSON.stringify(end));
    }
  });

  test("a chunk's size is hexadecimal digits and nothing else", async () => {
    for (const spelling of [
      `0x${size}`,
      `+${size}`,
      `-${size}`,
      ` ${size}`,
      `${size} `,
      `\t${size}`,
      `${size}\t`,
      `${size}\x0b`,
      `${size}_0`,
      `${size}h`,
      `"${size}"`,
      "",
      "\u00b2",
      `${"f".repeat(17)}`,
      `1${"0".repeat(16)}`,
    ]) {
      await isRefused(chunked(`${spelling}\r\n${body}\r\n0\r\n\r\n`), JSON.stringify(spelling));
    }
    await isServed(chunked(`${"0".repeat(20)}${size}\r\n${body}\r\n00\r\n\r\n`), 202, "leading zeros");
  });

  test("a chunk ends with CR LF and has exactly its stated size", async () => {
    for (const rest of [
      `${size}\r\n${body}\n0\r\n\r\n`,
      `${size}\r\n${body}\r0\r\n\r\n`,
      `${size}\r\n${body}0\r\n\r\n`,
      `${size}\n${body}\r\n0\r\n\r\n`,
      `${size}\r\n${body}\r\n\r\n0\r\n\r\n`,
    ]) {
      await isRefused(chunked(rest), JSON.stringify(rest.replace(body, "…")));
    }
  });

  test("trailers do not change what the headers said, and framing fields among them are refused", async () => {
    await isServed(
      chunked(`${size}\r\n${body}\r\n0\r\nAuthorization: Bearer x\r\nHost: b\r\n\r\n`),
      202,
      "plain",
    );
    for (const line of ["Content-Length: 5", "X: a\nY: b", "X: a\rY: b", "X : a"]) {
      await isRefused(chunked(`${size}\r\n${body}\r\n0\r\n${line}\r\n\r\n`), line);
    }
  });
});

describe("ambiguous lengths and codings", () => {
  test("Content-Length is decimal digits, once", async () => {
    const { length } = body;
    for (const value of [
      `+${length}`,
      `-${length}`,
      `-0`,
      `0x${length}`,
      `${length}.0`,
      `${length}e0`,
      `${length}_0`,
      "",
      `${length},${length}`,
      `${length} ${length}`,
      `1 ${length}`,
      `"${length}"`,
      `${length}\x0b`,
      "\xb2",
      "9".repeat(20),
      "18446744073709551616",
      `${length}, 0`,
    ]) {
      await isRefused(head([`Content-Length: ${value}`]) + body, JSON.stringify(value));
    }
    await isServed(head([`Content-Length: \t ${length}  `]) + body, 202, "blanks around it");
    await isServed(head([`Content-Length: 000${length}`]) + body, 202, "leading zeros");
  });

  test("Transfer-Encoding must be chunked exactly once, and not beside Content-Length", async () => {
    for (const lines of [
      ...[
        "identity",
        "xchunked",
        "chunked, identity",
        "identity, chunked",
        "gzip, chunked",
        "chunked, chunked",
      ].map((value) => [`Transfer-Encoding: ${value}`]),
      ...[
        "chunked;q=1",
        '"chunked"',
        ",chunked",
        "chunked,",
        "",
        "chunked \t",
        "\x0bchunked",
        "chun ked",
      ].map((value) => [`Transfer-Encoding: ${value}`]),
      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: chunked", "X: a", "transfer-encoding: identity"],
      ["Transfer-Encoding : chunked"],
      [" Transfer-Encoding: chunked"],
      ["Transfer-Encoding\t: chunked"],
      ["Transfer-Encoding: chunked", `Content-Length: ${body.length}`],
      [`Content-Length: ${whole.length}`, "Transfer-Encoding: chunked"],
      [`Content-Length: ${whole.length}`, "Transfer-Encoding: identity"],
    ]) {
      await isRefused(head(lines) + whole, JSON.stringify(lines));
    }
    for (const value of ["CHUNKED", "\tchunked", "cHuNkEd"])
      await isServed(head([`Transfer-Encoding: ${value}`]) + whole, 202, value);
  });

  test("a name that only looks like one of framing frames nothing", async () => {
    for (const name of ["Transfer_Encoding", "Transfer-Encodin", "X-Transfer-Encoding", "TE"]) {
      const lines = [`${name}: chunked`, `Content-Length: ${body.length}`];
      await isServed(head(lines) + body, 202, name);
    }
    const lines = ["Connection: Content-Length, Authorization, Host", `Content-Length: ${body.length}`];
    await isServed(head(lines) + body, 202, "hop-by-hop names");
  });
});

describe("lines that two readers could end differently", () => {
  test("a bare CR, a control character or a NUL anywhere in a header: 400", async () => {
    const length = `Content-Length: ${body.length}`;
    for (const line of [
      "X: a\rY: b",
      "X: a\r",
      "X\x01: a",
      "X: a\x7f",
      "X: a\0b",
      "X: a\x08",
      ": a",
      "X",
      "X\xff: a",
    ]) {
      await isRefused(head([line, length]) + body, JSON.stringify(line));
    }
  });

  test("a request line is a method, a target without a fragment, and HTTP/1.0 or HTTP/1.1", async () => {
    const length = [`Content-Length: ${body.length}`];
    for (const start of [
      `POST\t${PATH} HTTP/1.1`,
      ` POST ${PATH} HTTP/1.1`,
      `POST ${PATH} HTTP/1.1 `,
      `POST ${PATH}  x HTTP/1.1`,
      `POST ${PATH} HTTP/1.2`,
      `POST ${PATH} HTTP/1.10`,
      `POST ${PATH} HTTP/2.0`,
      `POST ${PATH} http/1.1`,
      `POST ${PATH} HTTP/01.1`,
      `POST ${PATH}#x HTTP/1.1`,
      `POST /#${PATH} HTTP/1.1`,
      `POST \\api HTTP/1.1`,
      `POST ${PATH}\x01 HTTP/1.1`,
      `POST ${PATH}\xff\n HTTP/1.1`,
      `POST${PATH} HTTP/1.1`,
      `pOST ${PATH} HTTP/1.1`,
    ]) {
      await isRefused(head(length, start) + body, JSON.stringify(start));
    }
  });

  test("Host, Authorization and Content-Type must not be repeated", async () => {
    const length = `Content-Length: ${body.length}`;
    for (const line of [
      "Host: a",
      "HOST: b",
      "Authorization: x",
      "content-type: text/plain",
      "Content-Type: application/json",
    ])
      await isRefused(head([line, length]) + body, line);
  });

  test("a host is a name or an address", async () => {
    const ask = (host: string) => `GET /healthz HTTP/1.1\r\nHost:${host}\r\n\r\n`;
    for (const host of [
      " a b",
      " a/b",
      " u@a",
      " a:b",
      " a:1:2",
      " [::1",
      " a\\b",
      ' "a"',
      " a?b",
      " \xe4",
    ]) {
      await isRefused(ask(host), host);
    }
    for (const host of ["", " a", " a.example:8080", " [::1]:80", " 127.0.0.1", " xn--nxasmq6b", " a_b"])
      await isServed(ask(host), 200, host);
  });
});

describe("an Upgrade request, which is not upgraded", () => {
  const push = (id: string, lines: readonly string[] = [], payload = body) =>
    head([...lines, `X-Correlation-Id: ${id}`, `Content-Length: ${payload.length}`]) + payload;
  const offers: Record<string, readonly string[]> = {
    h2c: ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"],
    websocket: ["Connection: keep-alive, upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
    TLS: ["Connection: Upgrade", "Upgrade: TLS/1.0"],
    "without Connection": ["Upgrade: h2c"],
  };
  for (const [name, lines] of Object.entries(offers)) {
    test(`${name}: the request is processed, and the body of the next one never counts as a request`, async (t) => {
      const before = await requestsInLog();
      const smuggled = push("smuggled");
      const outer = push("outer", [], smuggled);
      const connection = await RawConnection.open(service.address);
      t.after(() => connection.destroy());
      // What follows the offer in its segment is dropped by Node: the next segment is what a reader sees next.
      const cut = outer.length - smuggled.length;
      connection.write(push("first", lines) + outer.slice(0, cut));
      const first = await connection.answer();
      assert.deepEqual([first.status, first.headers.get("x-correlation-id")], [202, "first"]);
      assert.equal(first.headers.get("connection"), "close");
      connection.write(outer.slice(cut));
      await connection.closing();
      assert.equal(connection.received.toString("latin1"), "");
      assert.equal(await requestsInLog(), before + 1);
    });
  }

  test("nor while the request is still being worked on, nor where it is refused", async (t) => {
    const before = await requestsInLog();
    const smuggled = push("smuggled");
    const outer = push("outer", [], smuggled);
    const cut = outer.length - smuggled.length;
    for (const [first, status] of [
      [push("first", offers["h2c"]), 202],
      [push("first", offers["h2c"], "["), 400],
      [push("first", offers["h2c"]).replace("Bearer ", "Bearer x"), 403],
    ] as const) {
      const connection = await RawConnection.open(service.address);
      t.after(() => connection.destroy());
      connection.write(first + outer.slice(0, cut));
      connection.write(outer.slice(cut));
      assert.equal((await connection.answer()).status, status);
      await connection.closing();
      assert.equal(connection.received.toString("latin1"), "");
      connection.destroy();
    }
    assert.equal(await requestsInLog(), before + 1);
  });
});
