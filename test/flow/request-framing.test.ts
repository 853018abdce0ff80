import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { errorObject } from "../support/error-object.ts";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

const HEADERS_TIMEOUT_MS = 1_000;
const REQUEST_TIMEOUT_MS = 2_000;

let service: TestService;
before(async () => {
  service = await startTestService({
    limits: { headersTimeoutMs: HEADERS_TIMEOUT_MS, requestTimeoutMs: REQUEST_TIMEOUT_MS },
  });
});
after(() => service.stop());

const body = JSON.stringify([inventoryRecord()]);
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const LENGTH = `Content-Length: ${body.length}`;

async function stored(): Promise<number> {
  const { rows } = await service.pool.query<{ n: number }>(
    "select count(*)::int as n from bellhop.accept_log",
  );
  return rows[0]?.n ?? -1;
}

/** A push with these header lines beside those that it needs, each line with its own end. */
async function push(lines: readonly string[], sent = body, lineEnd = "\r\n"): Promise<RawConnection> {
  const connection = await RawConnection.open(service.address);
  const head = [
    "POST /api/public/v1/inventories HTTP/1.1",
    "Host: a",
    `Authorization: Bearer ${await service.token()}`,
    "Content-Type: application/json",
    ...lines,
  ];
  connection.write(`${head.join(lineEnd)}${lineEnd}${lineEnd}${sent}`);
  return connection;
}

async function expectRefusal(connection: RawConnection, status: number): Promise<void> {
  const answer = await connection.answer();
  errorObject({ status: answer.status, text: answer.body.toString() }, status);
  assert.equal(answer.headers.get("connection"), "close");
  await connection.closing();
  assert.equal(connection.received.length, 0, "nothing that followed was answered");
  connection.destroy();
}

describe("a request that two readers could understand differently", () => {
  test("is taken when it is framed as it should be, so that the tests below fail for the reason they name", async () => {
    for (const connection of [await push([LENGTH]), await push(["Transfer-Encoding: chunked"], chunked)]) {
      assert.equal((await connection.answer()).status, 202);
      connection.destroy();
    }
  });

  for (const [name, lines, sent] of [
    ["two Authorization headers", [LENGTH, "Authorization: Bearer x"], body],
    ["two Content-Length headers", [LENGTH, `Content-Length: ${body.length + 1}`], body],
    ["two Content-Length headers that agree", [LENGTH, LENGTH], body],
    ["Content-Length with Transfer-Encoding", [LENGTH, "Transfer-Encoding: chunked"], chunked],
    ["Transfer-Encoding with Content-Length", ["Transfer-Encoding: chunked", LENGTH], chunked],
    ["a folded header (obs-fold)", [LENGTH, "X-Note: a\r\n b"], body],
    ["a header that ends in a bare LF", [`${LENGTH}\nX-Note: a`], body],
    ["two Host headers", [LENGTH, "Host: b"], body],
  ] as const) {
    test(`${name}: 400, the connection closed, nothing stored`, async () => {
      const before = await stored();
      await expectRefusal(await push(lines, sent), 400);
      assert.equal(await stored(), before);
    });
  }

  test("lines that all end in a bare LF: 400, the connection closed, nothing stored", async () => {
    const before = await stored();
    await expectRefusal(await push([LENGTH], body, "\n"), 400);
    assert.equal(await stored(), before);
  });

  test("20 kB of one header: 431, the connection closed, nothing stored", async () => {
    const before = await stored();
    await expectRefusal(await push([LENGTH, `X-Note: ${"x".repeat(20_000)}`]), 431);
    assert.equal(await stored(), before);
  });
});

describe("a request that does not come to its end", () => {
  test("slow headers: 408 once their time is over, and the connection closed", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write("POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\n");
    // A line now and then does not buy more time.
    const dripping = setInterval(() => connection.write("X-Note: a\r\n"), 200);
    await expectRefusal(connection, 408).finally(() => clearInterval(dripping));
  });

  test("slow body: 408 once the whole request's time is over, the connection closed, nothing stored", async () => {
    const before = await stored();
    const connection = await push([LENGTH], body.slice(0, -20));
    let at = body.length - 20;
    const dripping = setInterval(() => {
      if (at < body.length - 1) connection.write(body.slice(at, at + 1));
      at += 1;
    }, 300);
    await expectRefusal(connection, 408).finally(() => clearInterval(dripping));
    assert.equal(await stored(), before);
  });
});
