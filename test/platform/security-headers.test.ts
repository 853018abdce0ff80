import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** What Helmet sets: no sniffing, no framing, nothing loaded, no address given away, and HTTPS where there is any. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  "content-security-policy": /^default-src 'none';\s*frame-ancestors 'none'/,
  "cross-origin-opener-policy": /^same-origin$/,
  "cross-origin-resource-policy": /^same-origin$/,
  "referrer-policy": /^no-referrer$/,
  "strict-transport-security": /^max-age=\d{7,}/,
  "x-content-type-options": /^nosniff$/,
  "x-frame-options": /^(?:DENY|SAMEORIGIN)$/,
};

test("every response has Helmet's headers and does not reveal the server software, whatever its status", async () => {
  const limited = await service.newClient({ requestRate: 1, requestBurst: 1 });
  const post = (body: unknown, options = {}) => service.post("inventories", body as object, options);
  // At once, so that at least one is beyond the rate however slow the machine is.
  const atOnce = await Promise.all(
    Array.from({ length: 10 }, () => post([inventoryRecord()], { as: limited })),
  );
  const answers: [status: number, answer: Answer][] = [
    [202, await post([inventoryRecord()])],
    [400, await post([{}])],
    [401, await post([inventoryRecord()], { as: null })],
    [403, await post([inventoryRecord({ clientCode: "OTHER" })])],
    [404, await service.get("/nowhere")],
    [405, await service.send("PUT", "/api/public/v1/groups")],
    [415, await post("x", { headers: { "content-type": "text/plain" } })],
    [422, await post([inventoryRecord()], { headers: { replyto: "x" } })],
    [429, atOnce.find(({ status }) => status === 429) ?? assert.fail("none was beyond the rate")],
    [200, await service.get("/healthz")],
    [200, await service.get("/metrics", { as: null })],
    [200, await service.get("/api/public/v1/inventories?clientCode=ACME&propertyCode=LON01")],
    [200, await service.get("/.well-known/jwks.json", { as: null })],
    [415, await service.send("POST", "/api/oauth2/token", { as: null, body: {} })],
  ];
  for (const [status, { status: answered, headers }] of answers) {
    assert.equal(answered, status);
    for (const [name, value] of Object.entries(EXPECTED))
      assert.match(headers.get(name) ?? "", value, `${name} of a ${status}`);
    for (const name of ["server", "x-powered-by"]) assert.equal(headers.get(name), null, name);
  }
});

test("invalid or incomplete requests are refused with them, too", async () => {
  const refused = {
    "no request": "NONSENSE\r\n\r\n",
    "broken in its body":
      "POST /console/api/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense",
  };
  for (const [what, bytes] of Object.entries(refused)) {
    const connection = await RawConnection.open(service.address);
    connection.write(bytes);
    const { status, headers } = await connection.answer();
    assert.equal(status, 400, what);
    for (const [name, value] of Object.entries(EXPECTED))
      assert.match(headers.get(name) ?? "", value, `${name}: ${what}`);
    assert.equal(headers.get("cache-control"), "no-store");
    connection.destroy();
  }
});

test("an address that cannot be decoded is answered with the headers that count, and an id to ask by", async () => {
  const { status, headers } = await service.get("/api/%zz");
  assert.equal(status, 400);
  for (const name of ["content-security-policy", "x-content-type-options"])
    assert.match(headers.get(name) ?? "", EXPECTED[name] as RegExp, name);
  assert.match(headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
});
