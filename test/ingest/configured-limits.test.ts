import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { errorObject } from "../support/error-object.ts";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** The limits of `src/config.ts`, set small: what they change is what the service does. `src/config.test.ts` has their names. */
describe("a limit that an operator sets", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({
      requestRate: 1,
      requestBurst: 2,
      tokenBurst: 3,
      limits: {
        bodyBytesMax: 2_000,
        inflatedBytesMax: 4_000,
        recordsMax: 3,
        depthMax: 4,
        keepAliveTimeoutMs: 1_000,
      },
    });
  });
  after(() => service.stop());

  const record = JSON.stringify(inventoryRecord());
  const batchOfBytes = (bytes: number) => `[${record}${" ".repeat(bytes - record.length - 2)}]`;
  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    service.post("inventories", body, { headers });

  test("bounds the body on the wire", async () => {
    assert.equal((await post(batchOfBytes(2_000))).status, 202);
    const { message } = errorObject(await post(batchOfBytes(2_001)), 413, "bellhop.http.PayloadTooLarge");
    assert.equal(message, "The body has more than 2,000 bytes.");
  });

  test("bounds the body that is decompressed", async () => {
    const gzip = { "content-encoding": "gzip" };
    assert.equal((await post(gzipSync(batchOfBytes(4_000)), gzip)).status, 202);
    const answer = await post(gzipSync(batchOfBytes(4_001)), gzip);
    const { message } = errorObject(answer, 413, "bellhop.http.PayloadTooLarge");
    assert.equal(message, "The body has more than 4,000 bytes when decompressed.");
  });

  test("bounds the records of a batch", async () => {
    const batch = (count: number) => `[${Array(count).fill(record).join(",")}]`;
    assert.equal((await post(batch(3))).status, 202);
    errorObject(await post(batch(4)), 400, "bellhop.contract.TooManyRecords");
  });

  test("bounds the nesting", async () => {
    const nested = (note: string) => `[${record.slice(0, -1)},"note":${note}}]`;
    assert.equal((await post(nested("[[]]"))).status, 202);
    errorObject(await post(nested("[[[]]]")), 400, "bellhop.contract.MalformedJson");
  });

  test("limits the requests of a client without its own rate", async () => {
    const follows = await service.newClient({ requestRate: null, requestBurst: null });
    const own = await service.newClient({ requestRate: 1, requestBurst: 4 });
    const statuses = async (as: typeof own, count: number) => {
      const answers = await Promise.all(
        Array.from({ length: count }, () => service.post("inventories", `[${record}]`, { as })),
      );
      assert.equal(
        answers[0]?.headers.get("ratelimit-policy"),
        as === own ? '"requests";q=4;w=4' : '"requests";q=2;w=2',
      );
      return answers.filter(({ status }) => status === 429).length;
    };
    // Some may come back while the others are on their way, on a slow machine.
    const [refused, refusedOwn] = [await statuses(follows, 10), await statuses(own, 12)];
    assert.ok(refused >= 1 && refused <= 8, `${refused} of 10`);
    assert.ok(refusedOwn >= 1 && refusedOwn <= 8, `${refusedOwn} of 12`);
  });

  test("limits the tokens of a client without its own bucket", async () => {
    const { clientId, clientSecret } = await service.newClient({ tokenBurst: null });
    const statuses: number[] = [];
    for (let asked = 0; asked < 4; asked += 1) {
      const response = await fetch(new URL("/api/oauth2/token", service.address), {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "client_credentials",
          client_id: clientId,
          client_secret: clientSecret,
        }),
      });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 429]);
  });

  test("limits how long an idle connection is kept", async () => {
    const connection = await RawConnection.open(service.address);
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    const answer = await connection.answer();
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("keep-alive"), "timeout=1");
    await connection.closing(5_000);
    connection.destroy();
  });
});
