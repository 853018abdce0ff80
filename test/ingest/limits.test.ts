import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { errorObject } from "../support/error-object.ts";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MIB = 1_048_576;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const head = async (lines: string) =>
  `POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await service.token()}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n`;

const record = JSON.stringify(inventoryRecord());
/** A valid batch of exactly so many bytes. */
const batchOfBytes = (bytes: number) => `[${" ".repeat(bytes - record.length - 2)}${record}]`;

describe("the size of a body", () => {
  test("16 MiB is accepted, one byte more is 413", async () => {
    assert.equal((await service.post("inventories", batchOfBytes(16 * MIB))).status, 202);
    const answer = await service.post("inventories", batchOfBytes(16 * MIB + 1));
    errorObject(answer, 413, "bellhop.http.PayloadTooLarge");
  });

  test("a chunked body is counted as it arrives", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write(await head("Transfer-Encoding: chunked"));
    const chunk = `${MIB.toString(16)}\r\n${" ".repeat(MIB)}\r\n`;
    for (let n = 0; n < 17; n += 1) connection.write(chunk);
    const answer = await connection.answer();
    errorObject({ status: answer.status, text: answer.body.toString() }, 413, "bellhop.http.PayloadTooLarge");
    connection.destroy();
  });

  test("an early answer reaches a client that sends all of its 17 MB first, and the connection serves on", async () => {
    const token = await service.token();
    const big = Buffer.alloc(17_000_000, " ");
    const cases: [string, number][] = [
      [await head(`Content-Length: ${big.length}`), 413],
      [(await head(`Content-Length: ${big.length}`)).replace(token, "forged"), 403],
      [(await head(`Content-Length: ${big.length}`)).replace(/Authorization.*\r\n/, ""), 401],
      [(await head(`Content-Length: ${big.length}`)).replace("application/json", "text/plain"), 415],
      [(await head(`Content-Length: ${big.length}`)).replace("inventories", "nowhere"), 404],
      [(await head(`Content-Length: ${big.length}`)).replace("POST", "PUT"), 405],
      [(await head(`Content-Length: ${big.length}\r\nX-Correlation-Id:`)).replace("a\r\n", "a\r\n"), 422],
      [await head(`Content-Length: ${big.length}\r\nContent-Encoding: gzip`), 413],
    ];
    for (const [request, status] of cases) {
      const connection = await RawConnection.open(service.address);
      connection.write(request);
      // Written in full before anything is read, as a simple client does.
      await new Promise<void>((resolve, reject) =>
        connection.socket.write(big, (error) => (error ? reject(error) : resolve())),
      );
      assert.equal((await connection.answer(20_000)).status, status);
      connection.write(`${await head(`Content-Length: ${record.length + 2}`)}[${record}]`);
      assert.equal((await connection.answer()).status, 202);
      assert.equal(connection.wasReset, false);
      connection.destroy();
    }
  });

  test("the smallest chunks that are allowed cost no more memory than the body", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write(await head("Transfer-Encoding: chunked"));
    connection.write(`${(record.length + 1).toString(16)}\r\n[${record}\r\n`);
    const bytes = Buffer.from(`40\r\n${" ".repeat(64)}\r\n`.repeat(4_000));
    const before = process.memoryUsage.rss();
    let peak = 0;
    for (let n = 0; n < 60; n += 1) {
      await new Promise<void>((resolve, reject) =>
        connection.socket.write(bytes, (error) => (error ? reject(error) : resolve())),
      );
      peak = Math.max(peak, process.memoryUsage.rss() - before);
    }
    connection.write("1\r\n]\r\n0\r\n\r\n");
    assert.equal((await connection.answer(30_000)).status, 202);
    connection.destroy();
    // Kept, 240,000 Buffers are about 100 MB.
    assert.ok(peak < 75 * MIB, `${Math.round(peak / MIB)} MiB for a body of 15 MB`);
  });
});

describe("the shape of a batch", () => {
  test("10,000 records are accepted, one more is 400", async () => {
    const records = Array.from({ length: 10_001 }, () => record);
    assert.equal((await service.post("inventories", `[${records.slice(1).join(",")}]`)).status, 202);
    const answer = await service.post("inventories", `[${records.join(",")}]`);
    errorObject(answer, 400, "bellhop.contract.TooManyRecords");
  });

  test("nesting of 16 is accepted, 17 is 400 with the record's pointer", async () => {
    const nested = (depth: number) =>
      `[${record.slice(0, -1)},"note":${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}}]`;
    assert.equal((await service.post("inventories", nested(16))).status, 202);
    const { violations } = errorObject(
      await service.post("inventories", nested(17)),
      400,
      "bellhop.contract.MalformedJson",
    );
    assert.equal(violations?.[0]?.pointer, "/0");
    assert.equal(violations?.[0]?.code, "json.depth");
  });

  test("100,000 opening brackets are 400", async () => {
    errorObject(
      await service.post("inventories", "[".repeat(100_000)),
      400,
      "bellhop.contract.MalformedJson",
    );
    errorObject(await service.post("inventories", `[${'{"a":'.repeat(100_000)}`), 400);
  });

  test("an empty batch, another value, and an empty body are 400 with different codes", async () => {
    const codeOf = async (text: string) => errorObject(await service.post("groups", text), 400).exception;
    assert.equal(await codeOf("[]"), "bellhop.contract.EmptyBatch");
    assert.equal(await codeOf(" [ ] "), "bellhop.contract.EmptyBatch");
    for (const text of ["{}", "null", "1", '"[]"', record]) {
      assert.equal(await codeOf(text), "bellhop.contract.NotAnArray", text);
    }
    for (const text of ["", " ", "[", "]", "[,]", "[{}],", "[{}] x", "\ufeff[{}]", "[{}]\0"]) {
      assert.equal(await codeOf(text), "bellhop.contract.MalformedJson", JSON.stringify(text));
    }
  });
});

function gzippedChunk(bytes: Buffer): Buffer {
  // Without its end, for which whoever reads it waits.
  const gzipped = gzipSync(bytes).subarray(0, -8);
  return Buffer.concat([Buffer.from(`${gzipped.length.toString(16)}\r\n`), gzipped, Buffer.from("\r\n")]);
}

describe("the request cost of a batch", () => {
  const remainingOf = ({ headers }: { readonly headers: Headers }) =>
    Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
  /** One request a second comes back: little, while the test runs. */
  const newClient = (requestBurst: number) => service.newClient({ requestRate: 1, requestBurst });

  test("it counts as one request for each 100 records begun, and an invalid one as four", async () => {
    const as = await newClient(100_000);
    const before = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    const taken = await service.post("inventories", `[${Array(1_001).fill(record).join(",")}]`, { as });
    assert.equal(taken.status, 202);
    const refused = await service.post("inventories", `[${Array(1_001).fill("{}").join(",")}]`, { as });
    assert.equal(refused.status, 400);
    const after = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    const mixed = await service.post("inventories", `[${record},${Array(1_000).fill("{}").join(",")}]`, {
      as,
      headers: { prefer: "handling=lenient" },
    });
    assert.equal(mixed.status, 202);
    // As the answers say, and within the few that come back meanwhile: 11, then 41 for 1,001 times four and 1; at last 1,000 times four and one.
    assert.ok(Math.abs(before - remainingOf(taken) - 11) <= 5, `${before - remainingOf(taken)}`);
    assert.ok(Math.abs(before - after - 53) <= 10, `${before - after}`);
    assert.ok(Math.abs(after - remainingOf(mixed) - 41) <= 5, `${after - remainingOf(mixed)}`);
  });

  test("a record that will be quarantined, as its time is ahead, counts as four, too, whether or not it has to be parsed", async () => {
    const as = await newClient(100_000);
    const at = (minutes: number, more = {}) =>
      JSON.stringify({
        ...inventoryRecord({ createDateTime: new Date(Date.now() + minutes * 60_000).toISOString() }),
        ...more,
      });
    const of = async (...kinds: string[]) => {
      const records = kinds.flatMap((kind) => Array(400).fill(kind));
      const answer = await service.post("inventories", `[${records.join(",")}]`, { as });
      assert.equal(answer.status, 202);
      return remainingOf(answer);
    };
    const before = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    const within = await of(at(9), at(9, { ours: { of: 1 } }));
    assert.ok(Math.abs(before - within - 8) <= 4, `${before - within}`);
    const ahead = await of(at(11), at(11, { ours: { of: 1 } }));
    assert.ok(Math.abs(within - ahead - 32) <= 4, `${within - ahead}`);
  });

  test("and per 20,000 values begun, however few bytes they have; values of an invalid record count fourfold", async () => {
    const as = await newClient(100_000);
    const numbers = (token: string) =>
      `${record.slice(0, -1)},"ours":[${Array(200_000).fill(token).join(",")}]}`;
    const before = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    const taken = await service.post("inventories", `[${numbers("1e5")}]`, { as });
    assert.equal(taken.status, 202);
    const refused = await service.post("inventories", `[${numbers("1e400")}]`, { as });
    assert.equal(refused.status, 400);
    const after = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    assert.ok(Math.abs(before - remainingOf(taken) - 11) <= 4, `${before - remainingOf(taken)}`);
    assert.ok(Math.abs(remainingOf(taken) - after - 42) <= 8, `${remainingOf(taken) - after}`);
  });

  test("and for each 256 KiB begun, whatever is in them", async () => {
    const as = await newClient(100_000);
    const before = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    assert.equal((await service.post("inventories", batchOfBytes(16 * MIB), { as })).status, 202);
    const after = remainingOf(await service.post("inventories", `[${record}]`, { as }));
    assert.ok(Math.abs(before - after - 65) <= 20, `${before - after}`);
  });

  for (const [framing, lines, begin] of [
    ["what is promised of it, before it comes", `Content-Length: ${16 * MIB}`, "["],
    [
      "what has come of it, where nothing is promised",
      "Transfer-Encoding: chunked",
      `1000000\r\n${" ".repeat(16 * MIB)}\r\n`,
    ],
    [
      "what has come of it, decompressed",
      "Content-Encoding: gzip\r\nTransfer-Encoding: chunked",
      gzippedChunk(Buffer.alloc(16 * MIB, randomBytes(20_000))),
    ],
  ] as const) {
    test(`beside it counts ${framing}`, async () => {
      const as = await newClient(100_000);
      const before = remainingOf(await service.post("inventories", `[${record}]`, { as }));
      const connection = await RawConnection.open(service.address);
      const own = (await head(lines)).replace(await service.token(), await as.token());
      connection.write(own);
      connection.write(begin);
      let asked = 0;
      const isCounted = async () => {
        asked += 1;
        const after = remainingOf(await service.post("inventories", `[${record}]`, { as }));
        return before - after - asked >= 60;
      };
      await until(isCounted, 20_000).finally(() => connection.destroy());
    });
  }

  test("a cost above the burst is accepted, and the next request is 429 before its body is read", async () => {
    const as = await newClient(20);
    const large = await service.post("inventories", `[${Array(10_000).fill(record).join(",")}]`, { as });
    assert.equal(large.status, 202);
    const connection = await RawConnection.open(service.address);
    connection.write(
      `POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await as.token()}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n[`,
    );
    const { status, headers, body } = await connection.answer();
    errorObject({ status, text: body.toString() }, 429, "bellhop.http.RateLimitExceeded");
    // 100 were counted, 20 were there.
    assert.ok(Number(headers.get("retry-after")) > 50, String(headers.get("retry-after")));
    connection.destroy();
  });
});

describe("the budget of all bodies", () => {
  test("when a client's share is used up, its next body is 503 with Retry-After; other clients' are accepted", async () => {
    const small = await startTestService({
      limits: { bodiesInFlightBytesMax: 1_200_000, inflatedBytesMax: 200_000, bodyBytesMax: 200_000 },
    });
    const stalled = [await RawConnection.open(small.address), await RawConnection.open(small.address)];
    try {
      const big = batchOfBytes(150_000);
      // Each has a buffer of 256 KiB; a client may hold as much as it leaves free.
      for (const connection of stalled) {
        connection.write(
          `POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await small.token()}\r\nContent-Type: application/json\r\nContent-Length: ${big.length}\r\n\r\n${big.slice(0, 149_000)}`,
        );
      }
      const inFlight = async () => {
        const { text } = await small.get("/metrics", { as: null });
        return Number(/^bellhop_body_bytes_in_flight (\d+)$/m.exec(text)?.[1]);
      };
      await until(async () => (await inFlight()) === 2 * 262_144, 5_000);
      const refused = await small.post("inventories", big);
      errorObject(refused, 503, "bellhop.accept.Unavailable");
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      assert.equal((await small.post("inventories", big, { as: await small.newClient() })).status, 202);
      for (const connection of stalled) {
        connection.write(big.slice(149_000));
        assert.equal((await connection.answer()).status, 202);
      }
      await until(async () => (await inFlight()) === 0, 5_000);
      assert.equal((await small.post("inventories", big)).status, 202);
    } finally {
      for (const connection of stalled) connection.destroy();
      await small.stop();
    }
  });

  test("an incomplete body releases its memory, however the client disconnects", async () => {
    const inFlight = async () => {
      const { text } = await service.get("/metrics", { as: null });
      return Number(/^bellhop_body_bytes_in_flight (\d+)$/m.exec(text)?.[1]);
    };
    const framings = {
      length: `${await head("Content-Length: 500000")}${" ".repeat(400_000)}`,
      chunks: `${await head("Transfer-Encoding: chunked")}61A80\r\n${" ".repeat(400_000)}`,
      inflated: Buffer.concat([
        Buffer.from(await head("Content-Length: 50000\r\nContent-Encoding: gzip")),
        gzipSync(Buffer.alloc(50 * MIB, " ")).subarray(0, 40_000),
      ]),
    };
    const departures: Record<string, (connection: RawConnection) => void> = {
      "closes its side": (connection) => connection.socket.end(),
      "is gone": (connection) => connection.destroy(),
      "resets the connection": (connection) => connection.socket.resetAndDestroy(),
    };
    for (const [framing, bytes] of Object.entries(framings)) {
      for (const [departure, leave] of Object.entries(departures)) {
        const connection = await RawConnection.open(service.address);
        connection.write(bytes);
        await until(async () => (await inFlight()) >= 400_000, 5_000);
        leave(connection);
        await until(async () => (await inFlight()) === 0, 20_000).catch((error: unknown) => {
          throw new Error(`${framing}: a client that ${departure}`, { cause: error });
        });
        connection.destroy();
      }
    }
  });

  test("a body with broken framing is 400 and releases its memory", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write(
      `${await head("Transfer-Encoding: chunked")}61A80\r\n${" ".repeat(400_000)}\r\nnonsense`,
    );
    const answer = await connection.answer();
    errorObject({ status: answer.status, text: answer.body.toString() }, 400, "bellhop.http.BadRequest");
    await connection.closing();
    await until(async () => {
      const { text } = await service.get("/metrics", { as: null });
      return text.includes("\nbellhop_body_bytes_in_flight 0\n");
    }, 5_000);
  });
});
