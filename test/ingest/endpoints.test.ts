import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { updateClient } from "../../src/identity/client-admin.ts";
import { errorObject } from "../support/error-object.ts";
import { RawConnection } from "../support/raw-http.ts";
import { groupRecord, inventoryRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

async function storedRequests(): Promise<number> {
  const { rows } = await service.pool.query(
    "select count(distinct request_id)::int as n from bellhop.accept_log",
  );
  return rows[0].n;
}

describe("a batch that is accepted", () => {
  for (const [resource, record] of [
    ["inventories", inventoryRecord()],
    ["reservations", reservationRecord()],
    ["groups", groupRecord()],
  ] as const) {
    test(`${resource}: 202 with the request's UUIDv7 as JSON, and where to ask what became of it`, async () => {
      const answer = await service.post(resource, [record]);
      assert.equal(answer.status, 202, answer.text);
      assert.match(answer.headers.get("content-type") ?? "", /^application\/json\b/);
      assert.deepEqual(Object.keys(answer.json()), ["requestId"]);
      const id = String(answer.json()["requestId"]);
      assert.match(id, UUID_V7);
      assert.equal(answer.headers.get("location"), `/api/public/v1/requests/${id}`);
      const { rows } = await service.pool.query(
        "select client_id from bellhop.accept_log where request_id = $1",
        [id],
      );
      assert.deepEqual(rows, [{ client_id: service.client.clientId }]);
    });
  }

  test("answers the bare UUID to a client that would rather have text", async () => {
    for (const accept of [
      "text/plain",
      "application/json;q=0.5, text/plain",
      "text/*, application/json;q=0",
    ]) {
      const answer = await service.post("inventories", [inventoryRecord()], { headers: { accept } });
      assert.equal(answer.status, 202);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/plain\b/);
      assert.match(answer.text, UUID_V7);
    }
  });

  test("responds with JSON if the client accepts both or neither", async () => {
    for (const accept of [
      "*/*",
      "application/json, text/plain",
      "application/xml",
      "text/plain;q=x",
      ";;,,",
    ]) {
      const answer = await service.post("inventories", [inventoryRecord()], { headers: { accept } });
      assert.match(String(answer.json()["requestId"]), UUID_V7, accept);
    }
  });

  test("returns ids that increase with time", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push(String((await service.post("inventories", [inventoryRecord()])).json()["requestId"]));
    }
    assert.deepEqual(ids, [...ids].sort());
  });

  test("accepts a media type with charset in any case, and refuses other charsets", async () => {
    for (const type of [
      "application/json; charset=utf-8",
      'Application/JSON;charset="UTF-8"',
      "application/json;v=1",
    ]) {
      const answer = await service.post("inventories", [inventoryRecord()], {
        headers: { "content-type": type },
      });
      assert.equal(answer.status, 202, type);
    }
    for (const type of [
      "application/json; charset=latin1",
      "text/json",
      "application/x-www-form-urlencoded",
      "x",
    ]) {
      const answer = await service.post("inventories", [inventoryRecord()], {
        headers: { "content-type": type },
      });
      const error = errorObject(answer, 415, "bellhop.http.UnsupportedMediaType");
      assert.match(String(error["message"]), /application\/json in UTF-8/);
      assert.ok(String(error["message"]).endsWith(`Content-Type: application/json (got "${type}").`));
    }
  });
});

describe("permission to push", () => {
  test("no token, or another scheme, is 401 with no body and the challenge", async () => {
    for (const headers of [
      {},
      { authorization: "Basic YTpi" },
      { authorization: "Bearer" },
      { authorization: "x" },
    ]) {
      const answer = await service.post("inventories", [inventoryRecord()], { as: null, headers });
      assert.equal(answer.status, 401, JSON.stringify(headers));
      assert.equal(answer.bytes.length, 0);
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer realm="[^"]+"$/);
      assert.equal(answer.headers.get("content-type"), null);
    }
  });

  test("an invalid token is 403 with an empty body and invalid_token", async () => {
    const token = await service.token();
    for (const bad of ["x", "a.b.c", `${token}x`, token.slice(0, -4)]) {
      const answer = await service.post("inventories", [inventoryRecord()], {
        as: null,
        headers: { authorization: `Bearer ${bad}` },
      });
      assert.equal(answer.status, 403);
      assert.equal(answer.bytes.length, 0);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
    }
  });

  test("a token without the resource's scope is 403 with no body and insufficient_scope", async () => {
    const limited = await service.newClient({ scopes: ["inventories:write"] });
    assert.equal((await service.post("inventories", [inventoryRecord()], { as: limited })).status, 202);
    const narrowed = `Bearer ${await service.client.token("groups:write")}`;
    for (const options of [{ as: limited }, { as: null, headers: { authorization: narrowed } }]) {
      const answer = await service.post("reservations", [reservationRecord()], options);
      assert.equal(answer.status, 403);
      assert.equal(answer.bytes.length, 0);
      assert.equal(
        answer.headers.get("www-authenticate"),
        'Bearer error="insufficient_scope", error_description="The token lacks the scope reservations:write.", scope="reservations:write"',
      );
    }
  });

  test("a repeat under a known key is 403 too, once the grant is revoked", async () => {
    const as = await service.newClient();
    const push = () =>
      service.post("inventories", [inventoryRecord()], { as, headers: { "idempotency-key": "granted" } });
    assert.equal((await push()).status, 202);
    const { authenticator } = service.service;
    const grants = [{ clientCode: "ACME", propertyCode: "ELSEWHERE" }];
    await updateClient({ internals: authenticator.internals, who: "cli:test" }, as.clientId, { grants });
    await authenticator.renew();
    assert.deepEqual([(await push()).status, (await push()).text], [403, ""]);
  });

  test("a 403 names the codes of a hostile record in printable ASCII, briefly, and within its quotes", async () => {
    for (const [clientCode, propertyCode, shown] of [
      ["EVIL", 'P", realm="x\\', "EVIL/P?, realm=?x?"],
      ["Zoë\r\nX-Evil: 1", "😀", "Zo???X-Evil: 1/??"],
      ["C".repeat(5_000), "P", `${"C".repeat(64)}/P`],
    ] as const) {
      const answer = await service.post("inventories", [
        inventoryRecord(),
        inventoryRecord({ clientCode, propertyCode }),
      ]);
      assert.deepEqual([answer.status, answer.bytes.length], [403, 0]);
      assert.equal(answer.headers.get("x-evil"), null);
      assert.equal(
        answer.headers.get("www-authenticate"),
        `Bearer error="insufficient_scope", error_description="Record 1 names the property ${shown}, which is not granted to this client."`,
      );
    }
  });

  test("401 and 403 have zero bytes of body on the wire", async () => {
    for (const authorization of ["", "Authorization: Bearer nonsense\r\n"]) {
      const connection = await RawConnection.open(service.address);
      connection.write(
        `POST /api/public/v1/inventories HTTP/1.1\r\nHost: a\r\n${authorization}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[]`,
      );
      const { status, headers } = await connection.answer();
      assert.equal(status, authorization === "" ? 401 : 403);
      assert.equal(headers.get("content-length"), "0");
      assert.equal(headers.get("transfer-encoding"), undefined);
      assert.equal(connection.received.length, 0);
      connection.destroy();
    }
  });

  test("one record of a property that is not granted makes the whole batch 403: nothing is stored, except an audit entry", async () => {
    const before = await storedRequests();
    const records = Array.from({ length: 20 }, (_, n) =>
      inventoryRecord({ occupancyDate: `2026-04-${n + 10}` }),
    );
    (records[17] as { propertyCode: string }).propertyCode = "PAR01";
    const client = await service.newClient({ grants: [{ clientCode: "ACME", propertyCode: "LON01" }] });
    const answer = await service.post("inventories", records, { as: client });
    assert.equal(answer.status, 403);
    assert.equal(answer.bytes.length, 0);
    assert.equal(
      answer.headers.get("www-authenticate"),
      'Bearer error="insufficient_scope", error_description="Record 17 names the property ACME/PAR01, which is not granted to this client."',
    );
    assert.equal(await storedRequests(), before);
    const { rows } = await service.pool.query(
      "select who, what, detail from bellhop.audit_entry where client_id = $1 and who like 'client:%'",
      [client.clientId],
    );
    assert.deepEqual(rows, [
      {
        who: `client:${client.clientId}`,
        what: "refuse-foreign-property",
        detail: { resource: "inventories", index: 17, clientCode: "ACME", propertyCode: "PAR01" },
      },
    ]);
  });

  test("a foreign code is refused and noted whatever it is made of", async () => {
    for (const code of ["x".repeat(100_000), "\r\n\u001b[31m", "*", "acme", "ACME ", "ACM\u0045\u0301"]) {
      const answer = await service.post("inventories", [inventoryRecord({ clientCode: code })]);
      assert.equal(answer.status, 403, JSON.stringify(code.slice(0, 20)));
      assert.equal(answer.bytes.length, 0);
    }
    // A code that no text column can hold names nobody's property: it is a violation.
    for (const code of ["\ud800", "A\0B"]) {
      const answer = await service.post("inventories", [inventoryRecord({ clientCode: code })]);
      errorObject(answer, 400, "bellhop.contract.InvalidRecords");
    }
    const { rows } = await service.pool.query(
      "select max(length(detail::text)) as longest from bellhop.audit_entry where what = 'refuse-foreign-property'",
    );
    assert.ok(rows[0].longest < 2_000);
  });
});

describe("the order of errors when several apply", () => {
  const violated = () => [inventoryRecord({ occupancyDate: "2026-02-30" })];
  const foreign = () => [inventoryRecord({ occupancyDate: "2026-02-30", clientCode: "OTHER" })];
  let exhausted: TestClient;
  before(async () => {
    exhausted = await service.newClient({ scopes: ["inventories:write"], requestRate: 1, requestBurst: 1 });
    await service.post("inventories", [inventoryRecord()], { as: exhausted });
  });

  test("404 and 405 before 401", async () => {
    errorObject(
      await service.send("POST", "/api/public/v1/rooms", { as: null, body: "x" }),
      404,
      "bellhop.http.NotFound",
    );
    errorObject(await service.send("PUT", "/api/public/v1/inventories", { as: null }), 405);
  });
  test("401 before the body and its headers are looked at", async () => {
    const headers = { "content-type": "text/plain", "idempotency-key": "\u00e9", "content-encoding": "x" };
    assert.equal((await service.post("inventories", "nonsense", { as: null, headers })).status, 401);
  });
  test("403 for the scope before 429", async () => {
    assert.equal((await service.post("groups", "nonsense", { as: exhausted })).status, 403);
  });
  test("429 before 415, 422, 413 and 400", async () => {
    const headers = { "content-type": "text/plain", "content-encoding": "x", "x-correlation-id": " " };
    errorObject(await service.post("inventories", "nonsense", { as: exhausted, headers }), 429);
  });
  test("415 and 422 of headers before 400 of the body", async () => {
    errorObject(
      await service.post("inventories", "nonsense", { headers: { "content-type": "text/plain" } }),
      415,
    );
    errorObject(await service.post("inventories", "nonsense", { headers: { replyto: "nowhere" } }), 422);
    errorObject(
      await service.post("inventories", "nonsense", { headers: { "content-encoding": "rot13" } }),
      415,
    );
  });
  test("400 for a body that is not a JSON array precedes 403 for its records", async () => {
    const text = JSON.stringify(foreign());
    errorObject(await service.post("inventories", text.slice(0, -1)), 400, "bellhop.contract.MalformedJson");
    errorObject(await service.post("inventories", text.slice(1, -1)), 400, "bellhop.contract.NotAnArray");
  });
  test("403 for a foreign code before 400 for violations", async () => {
    assert.equal((await service.post("inventories", [...violated(), ...foreign()])).status, 403);
    errorObject(await service.post("inventories", violated()), 400, "bellhop.contract.InvalidRecords");
  });
});

describe("addresses and methods", () => {
  test("an unknown address is 404", async () => {
    for (const path of [
      "/api",
      "/api/public/v2/inventories",
      "/api/public/v1/inventories/",
      "/%2e%2e/etc/passwd",
    ]) {
      errorObject(await service.send("POST", path), 404, "bellhop.http.NotFound");
    }
    for (const path of ["/api/public/v1/inventories/", "/api//public/v1/inventories"]) {
      const error = errorObject(await service.send("POST", path), 404, "bellhop.http.NotFound");
      assert.match(String(error["message"]), /Did you mean \/api\/public\/v1\/inventories\?$/);
    }
  });
  test("another method is 405 with Allow", async () => {
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const answer = await service.send(method, "/api/public/v1/groups?x=1");
      errorObject(answer, 405, "bellhop.http.MethodNotAllowed");
      assert.equal(answer.headers.get("allow"), "GET, HEAD, POST");
    }
    const answer = await service.send("POST", "/healthz", { body: {} });
    errorObject(answer, 405);
    assert.equal(answer.headers.get("allow"), "GET, HEAD");
  });
  test("HEAD of an address that supports only POST is 405 without a body", async () => {
    const answer = await service.send("HEAD", "/api/oauth2/token");
    assert.equal(answer.status, 405);
    assert.equal(answer.bytes.length, 0);
  });
  test("an address that cannot be decoded, or has too long a segment, is 400 with that reason", async () => {
    for (const path of ["/api/%zz", `/api/public/v1/requests/${"x".repeat(300)}`]) {
      const { message } = errorObject(await service.send("GET", path), 400, "bellhop.http.BadRequest");
      assert.match(message, /address/);
    }
  });
});
