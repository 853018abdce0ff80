import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const CHUNKED = "Transfer-Encoding: chunked";
const oneByteChunks = (count: number) => "1\r\nx\r\n".repeat(count);

function head(method: string, path: string, ...lines: readonly string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, `Host: ${new URL(service.address).host}`, ...lines].join("\r\n")}\r\n\r\n`;
}

async function bytesInFlight(): Promise<number> {
  const { text } = await service.get("/metrics", { as: null });
  return Number(/^bellhop_body_bytes_in_flight (\d+)$/m.exec(text)?.[1]);
}

/** Sends bytes that do not end the request, and answers what comes back. */
async function answerTo(bytes: string): Promise<RawAnswer> {
  const connection = await RawConnection.open(service.address);
  try {
    connection.write(bytes);
    return await connection.answer();
  } finally {
    connection.destroy();
  }
}

describe("a body that is never finished", () => {
  test("is refused at the login once it is larger than 4 kB, whatever the size of its chunks", async () => {
    const login = ["Content-Type: application/json", CHUNKED];
    const small = await answerTo(`${head("POST", "/console/api/login", ...login)}${oneByteChunks(4_097)}`);
    assert.equal(small.status, 413);
    assert.equal(JSON.parse(small.body.toString()).exception, "bellhop.console.PayloadTooLarge");
    const large = await answerTo(
      head("POST", "/console/api/login", "Content-Type: application/json", "Content-Length: 4097"),
    );
    assert.equal(large.status, 413);
  });

  test("counts in the budget of all bodies, at the login and at the token endpoint, and is given back", async () => {
    const held = [
      head("POST", "/console/api/login", "Content-Type: application/json", CHUNKED),
      head("POST", "/api/oauth2/token", "Content-Type: application/x-www-form-urlencoded", CHUNKED),
    ];
    for (const start of held) {
      const connection = await RawConnection.open(service.address);
      try {
        connection.write(`${start}${oneByteChunks(1_000)}`);
        await until(async () => (await bytesInFlight()) >= 1_000, 5_000);
      } finally {
        connection.destroy();
      }
      await until(async () => (await bytesInFlight()) === 0, 5_000);
    }
  });

  test("has more than a million chunks: 413, and the connection is closed", async () => {
    const connection = await RawConnection.open(service.address);
    const authorization = `Authorization: Bearer ${await service.token()}`;
    connection.write(
      head("POST", "/api/public/v1/inventories", authorization, "Content-Type: application/json", CHUNKED),
    );
    const chunks = Buffer.from("1\r\n \r\n".repeat(50_000));
    const gone = connection.closing(60_000);
    while (!connection.closed) {
      if (connection.socket.write(chunks)) continue;
      await Promise.race([new Promise((resolve) => connection.socket.once("drain", resolve)), gone]);
    }
    assert.match(connection.received.toString("latin1"), /^HTTP\/1\.1 413 /);
    connection.destroy();
  });
});
