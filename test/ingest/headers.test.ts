import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { errorObject } from "../support/error-object.ts";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const post = (headers: Record<string, string>, records: object[] = [inventoryRecord()]) =>
  service.post("inventories", records, { headers });

async function kept(requestId: unknown): Promise<{ correlation_id: string | null; reply_to: string | null }> {
  const { rows } = await service.pool.query(
    "select correlation_id, reply_to from bellhop.accept_log where request_id = $1",
    [requestId],
  );
  return rows[0];
}

/** Posts with header lines as they are given, which `fetch` would join or refuse. */
async function postLines(lines: readonly string[]) {
  const connection = await RawConnection.open(service.address);
  const body = JSON.stringify([inventoryRecord()]);
  const head = [
    "POST /api/public/v1/inventories HTTP/1.1",
    "Host: a",
    `Authorization: Bearer ${await service.token()}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...lines,
  ];
  connection.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  const answer = await connection.answer();
  connection.destroy();
  return { ...answer, text: answer.body.toString() };
}

describe("X-Correlation-Id", () => {
  test("is stored with the request, echoed and logged", async () => {
    const answer = await post({ "x-correlation-id": "pms-42 / night audit" });
    assert.equal(answer.headers.get("x-correlation-id"), "pms-42 / night audit");
    assert.equal((await kept(answer.json()["requestId"])).correlation_id, "pms-42 / night audit");
    const line = service.logLines().find((text) => text.includes(String(answer.json()["requestId"])));
    assert.equal(JSON.parse(line ?? "{}").correlationId, "pms-42 / night audit");
  });
  test("is echoed with a refusal of the body too", async () => {
    const answer = await post({ "x-correlation-id": "c-1" }, []);
    errorObject(answer, 400);
    assert.equal(answer.headers.get("x-correlation-id"), "c-1");
  });
  test("that cannot be used is 422", async () => {
    errorObject(await post({ "x-correlation-id": "x".repeat(129) }), 422, "bellhop.http.InvalidHeader");
    for (const line of ["X-Correlation-Id:", "X-Correlation-Id: caf\xe9", "X-Correlation-Id: a\tb"]) {
      errorObject(await postLines([line]), 422, "bellhop.http.InvalidHeader");
    }
  });
  test("sent twice is 422, while one with a comma is one", async () => {
    errorObject(await postLines(["X-Correlation-Id: a", "x-correlation-id: b"]), 422);
    assert.equal((await postLines(["X-Correlation-Id: a, b"])).status, 202);
  });
});

describe("ReplyTo", () => {
  test("is stored with the request", async () => {
    const answer = await post({ replyto: "https://partner.example/answers?x=1" });
    assert.equal(answer.status, 202);
    assert.equal((await kept(answer.json()["requestId"])).reply_to, "https://partner.example/answers?x=1");
  });
  test("that is no absolute http address is 422", async () => {
    const overlong = `https://a.example/${"x".repeat(2_048)}`;
    for (const bad of [
      "/answers",
      "https://user:secret@a.example/",
      "https://user@a.example/",
      "partner.example",
      "ftp://a.example/",
      "javascript:alert(1)",
      "http://",
      overlong,
    ]) {
      errorObject(await post({ replyto: bad }), 422, "bellhop.http.InvalidHeader");
    }
    errorObject(await postLines(["ReplyTo: https://a.example/", "ReplyTo: https://b.example/"]), 422);
  });
});

describe("Prefer", () => {
  test("without a handling, or with one of another name, is handled strictly and not applied", async () => {
    for (const prefer of [
      "respond-async",
      "handling=loose",
      "handling",
      "handlings=lenient",
      'x="a, handling=lenient"',
    ]) {
      const answer = await post({ prefer }, [inventoryRecord(), inventoryRecord({ occupancyDate: "no" })]);
      errorObject(answer, 400, "bellhop.contract.InvalidRecords");
      assert.equal(answer.headers.get("preference-applied"), null, prefer);
    }
  });
  test("a misspelt handling is suggested where the batch is refused", async () => {
    const ofInvalid = async (prefer: string) => {
      const answer = await post({ prefer }, [inventoryRecord(), inventoryRecord({ occupancyDate: "no" })]);
      return errorObject(answer, 400, "bellhop.contract.InvalidRecords").message;
    };
    const message = "The batch has invalid records; violations lists them.";
    assert.equal(
      await ofInvalid("respond-async, handling=lenent"),
      `${message} Prefer: "handling=lenent" was ignored (did you mean handling=lenient?).`,
    );
    assert.equal(
      await ofInvalid("Handlings=strict"),
      `${message} Prefer: "Handlings=strict" was ignored (did you mean handling=strict?).`,
    );
    for (const prefer of ["respond-async", "handling=strict", "handling=whatever"])
      assert.equal(await ofInvalid(prefer), message);
    assert.equal((await post({ prefer: "handling=lenent" })).status, 202);
  });
  test("handling=strict is applied and said", async () => {
    const answer = await post({ prefer: "handling=strict, handling=lenient" }, [inventoryRecord(), {}]);
    errorObject(answer, 400);
    assert.equal(answer.headers.get("preference-applied"), "handling=strict");
  });
  test("handling=lenient is understood as RFC 7240 lets it be written", async () => {
    for (const prefer of ["handling=lenient", 'Handling = "lenient"', "wait=5; x, handling=lenient;y=z"]) {
      const answer = await post({ prefer }, [inventoryRecord(), {}]);
      assert.equal(answer.status, 202, prefer);
      assert.equal(answer.headers.get("preference-applied"), "handling=lenient");
    }
    assert.equal((await postLines(["Prefer: wait=5", "Prefer: handling=lenient"])).status, 202);
  });
});

describe("the request rate", () => {
  test("is on every response to a valid token", async () => {
    for (const options of [{}, { headers: { "content-type": "x" } }, { headers: { replyto: "x" } }]) {
      for (const records of [[inventoryRecord()], [inventoryRecord({ clientCode: "OTHER" })], [{}]]) {
        const answer = await service.post("inventories", records, options);
        assert.equal(
          answer.headers.get("ratelimit-policy"),
          '"requests";q=100000;w=1',
          String(answer.status),
        );
        assert.match(answer.headers.get("ratelimit") ?? "", /^"requests";r=\d+;t=\d+$/);
      }
    }
  });
  test("above the limit requests are 429 with Retry-After, separately for each client", async () => {
    const client = await service.newClient({ requestRate: 1, requestBurst: 3 });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => service.post("inventories", [inventoryRecord()], { as: client })),
    );
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length >= 4 && refused.length <= 5, `${refused.length} of 8 refused`);
    for (const answer of refused) {
      const { message } = errorObject(answer, 429, "bellhop.http.RateLimitExceeded");
      assert.equal(message, "rate limit exceeded");
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      assert.equal(answer.headers.get("ratelimit-policy"), '"requests";q=3;w=3');
      assert.match(answer.headers.get("ratelimit") ?? "", /^"requests";r=0;t=[1-9]\d*$/);
    }
    assert.equal((await post({})).status, 202);
  });
  test("a client that respects Retry-After is served again", async () => {
    const client = await service.newClient({ requestRate: 2, requestBurst: 1 });
    const send = () => service.post("inventories", [inventoryRecord()], { as: client });
    await send();
    const refused = await send();
    assert.equal(refused.status, 429);
    await new Promise((resolve) => setTimeout(resolve, Number(refused.headers.get("retry-after")) * 1000));
    assert.equal((await send()).status, 202);
  });
  test("a new property beyond the client's day is 429, and the batch is not stored", async () => {
    const few = await startTestService({ newPropertiesPerDay: 2 });
    try {
      const send = (...codes: string[]) =>
        few.post(
          "inventories",
          codes.map((propertyCode) => inventoryRecord({ propertyCode })),
        );
      assert.equal((await send("A", "B")).status, 202);
      const answer = await send("A", "C");
      errorObject(answer, 429, "bellhop.accept.TooManyNewProperties");
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      assert.equal((await send("B", "A")).status, 202);
    } finally {
      await few.stop();
    }
  });
});
