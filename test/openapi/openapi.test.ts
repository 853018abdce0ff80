import assert from "node:assert/strict";
import diagnostics from "node:diagnostics_channel";
import { after, before, describe, test } from "node:test";
import type { FastifyInstance } from "fastify";
import { DATA_ROUTES } from "../../src/ingest/data-endpoints.ts";
import { EXAMPLE_RECORDS } from "../../src/ingest/openapi/record-examples.ts";
import { ERRORS, type ErrorCode } from "../../src/platform/errors/registry.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { assertDocumented } from "../support/openapi.ts";
import { RawConnection } from "../support/raw-http.ts";
import { groupRecord, inventoryRecord, reservationRecord } from "../support/records.ts";
import { type RequestOptions, startTestService, type TestService } from "../support/service.ts";

/** The pages of the documentation and what they load are no API; `/docs` itself leads to them. */
const OF_DOCUMENTATION = /^[A-Z]+ \/(docs\/.*|llms\.txt)?$/;
/** The console's own, for its app and for nobody else (the features' console-answers.ts). */
const OF_CONSOLE = /^[A-Z]+ \/console(\/|$)/;
/** The page behind the link in a message, which people open (docs/delivery.md). */
const OF_MESSAGES = /^\w+ \/unsubscribe\//;
const RESOURCES = ["inventories", "reservations", "groups"] as const;

/** Data POSTs are answered ahead of the framework, which knows no route for them. */
const registered = new Set<string>(DATA_ROUTES.map((path) => `POST ${path}`));
/** Fastify announces every instance before its first route: so no route that the service registers can be missed. */
function listen(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook("onRoute", ({ method, url, onRequest }) => {
    // Routes that only answer 405 are no operations: they refuse at their own first hook, whatever comes.
    const refuses = Array.isArray(method) && onRequest !== undefined;
    if (refuses) return;
    for (const one of [method].flat()) registered.add(`${one} ${url.replace(/:(\w+)/g, "{$1}")}`);
  });
}

let service: TestService;
let document: OpenApiDocument;
before(async () => {
  diagnostics.subscribe("fastify.initialization", listen);
  service = await startTestService({ metricsToken: "metrics" });
  diagnostics.unsubscribe("fastify.initialization", listen);
  document = (await service.get("/openapi.json")).json() as unknown as OpenApiDocument;
});
after(() => service.stop());

/** Sends a request and holds its answer to the document. */
async function sendChecked(method: string, path: string, options: RequestOptions = {}, status?: number) {
  const answer = await service.send(method, path, options);
  if (status !== undefined) assert.equal(answer.status, status, answer.text);
  const template = path.split("?")[0]?.replace(/(requests)\/[^/]+$/, "$1/{requestId}") ?? "";
  assertDocumented(document, method, template, answer);
  return answer;
}

describe("routes", () => {
  test("every route that is registered is in the document, and the reverse", () => {
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const operations = [...registered].filter(
      (route) => ![OF_DOCUMENTATION, OF_CONSOLE, OF_MESSAGES, /^HEAD /].some((apart) => apart.test(route)),
    );
    assert.ok(documented.length > 15);
    assert.deepEqual(documented.sort(), operations.sort());
  });
  test("HEAD is supported exactly where GET is", () => {
    const of = (method: string) =>
      [...registered].filter((route) => route.startsWith(`${method} `)).map((route) => route.split(" ")[1]);
    assert.deepEqual(of("HEAD").sort(), of("GET").sort());
  });
});

describe("what the service answers is what the document describes", () => {
  test("of accepted pushes, and of reading them back", async () => {
    for (const [resource, record, key] of [
      [
        "inventories",
        inventoryRecord({ roomTypeInventories: [{ roomTypeCode: "A", roomTypeCapacity: 1, roomsSold: 2 }] }),
        "occupancyDate=2026-03-10",
      ],
      ["reservations", reservationRecord(), "reservationId=R-1"],
      ["groups", groupRecord(), "groupCode=G-1"],
    ] as const) {
      const headers = { "x-correlation-id": "c-1", prefer: "handling=lenient", "idempotency-key": resource };
      const path = `/api/public/v1/${resource}`;
      const { requestId } = (await sendChecked("POST", path, { body: [record, {}], headers }, 202)).json();
      await sendChecked("POST", path, { body: [record, {}], headers }, 202);
      await sendChecked("POST", path, { body: [record], headers: { accept: "text/plain" } }, 202);
      const waiting = { headers: { prefer: "wait=10" } };
      const status = (await sendChecked("GET", `/api/public/v1/requests/${requestId}`, waiting, 200)).json();
      assert.equal(status["status"], "applied");
      assert.ok((status["records"] as unknown[]).length > 0);
      const query = "clientCode=ACME&propertyCode=LON01";
      const page = (await sendChecked("GET", `${path}?${query}`, {}, 200)).json();
      assert.equal((page["items"] as unknown[]).length, 1);
      const history = (await sendChecked("GET", `${path}/history?${query}&${key}&limit=1`, {}, 200)).json();
      assert.equal((history["items"] as unknown[]).length, 1);
    }
    const lines = (await sendChecked("GET", "/api/public/v1/changes?clientCode=ACME&limit=2", {}, 200)).text;
    assert.equal(lines.trimEnd().split("\n").length, 3);
    const list = (await sendChecked("GET", "/api/public/v1/requests?limit=2", {}, 200)).json();
    assert.equal(typeof list["nextCursor"], "string");
  });

  test("of the records that the document shows, each applied without a warning", async () => {
    const as = await service.newClient({ grants: [{ clientCode: "DEMO", propertyCode: "*" }] });
    for (const resource of RESOURCES) {
      const body = [EXAMPLE_RECORDS[resource]];
      const { requestId } = (
        await sendChecked("POST", `/api/public/v1/${resource}`, { as, body }, 202)
      ).json();
      const waiting = { as, headers: { prefer: "wait=10" } };
      const status = (await sendChecked("GET", `/api/public/v1/requests/${requestId}`, waiting, 200)).json();
      const { applied, warned } = status["counts"] as Record<string, number>;
      assert.deepEqual({ applied, warned }, { applied: 1, warned: 0 }, JSON.stringify(status));
    }
  });

  const refusals: readonly (readonly [ErrorCode, RequestOptions])[] = [
    ["bellhop.contract.MalformedJson", { body: "[{" }],
    ["bellhop.contract.NotAnArray", { body: {} }],
    ["bellhop.contract.EmptyBatch", { body: [] }],
    ["bellhop.contract.TooManyRecords", { body: `[${"{},".repeat(10_000)}{}]` }],
    ["bellhop.contract.InvalidRecords", { body: [{}, inventoryRecord({ createDateTime: "now" })] }],
    ["bellhop.http.BadRequest", { body: "[]", headers: { "content-encoding": "gzip" } }],
    ["bellhop.http.UnsupportedMediaType", { body: "[]", headers: { "content-type": "text/csv" } }],
    ["bellhop.http.UnsupportedEncoding", { body: "[]", headers: { "content-encoding": "pack200" } }],
    ["bellhop.http.PayloadTooLarge", { body: " ".repeat(16 * 1_048_576 + 1) }],
    ["bellhop.http.InvalidHeader", { body: "[]", headers: { "idempotency-key": "x".repeat(256) } }],
  ];
  for (const [code, options] of refusals) {
    test(`of ${code}`, async () => {
      const headers = { "x-correlation-id": "c-2", prefer: "handling=strict", ...options.headers };
      const path = "/api/public/v1/inventories";
      const answer = await sendChecked("POST", path, { ...options, headers }, ERRORS[code].status);
      assert.equal(answer.json()["exception"], code);
    });
  }

  test("of an Idempotency-Key that was used for another batch", async () => {
    const headers = { "idempotency-key": "k-1" };
    await sendChecked("POST", "/api/public/v1/groups", { body: [groupRecord()], headers }, 202);
    await sendChecked("POST", "/api/public/v1/groups", { body: [groupRecord({ name: "x" })], headers }, 422);
  });

  test("of a client without a token, a right or a rate", async () => {
    const other = await service.newClient({ scopes: ["read"], requestRate: 1, requestBurst: 1 });
    for (const resource of RESOURCES) {
      const path = `/api/public/v1/${resource}`;
      await sendChecked("POST", path, { as: null, body: "[]" }, 401);
      await sendChecked("POST", path, { as: other, body: "[]" }, 403);
      await sendChecked("POST", path, { as: null, headers: { authorization: "Bearer no" }, body: "[]" }, 403);
      const asked = { "x-correlation-id": "c-3", prefer: "handling=lenient" };
      await sendChecked(
        "POST",
        path,
        { body: [inventoryRecord({ clientCode: "OTHER" })], headers: asked },
        403,
      );
    }
    await sendChecked("GET", "/api/public/v1/requests", { as: null }, 401);
    // Slow as this machine may be, some of so many must come within one second.
    const answers = Array.from({ length: 20 }, () =>
      sendChecked("GET", "/api/public/v1/requests", { as: other }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.ok(statuses.includes(200) && statuses.includes(429), String(statuses));
  });

  test("of questions that cannot be answered", async () => {
    await sendChecked("GET", "/api/public/v1/requests?limit=0", {}, 400);
    await sendChecked("GET", "/api/public/v1/requests/none", {}, 404);
    await sendChecked("GET", "/api/public/v1/groups?clientCode=OTHER&propertyCode=A", {}, 403);
    await sendChecked("GET", "/api/public/v1/changes?cursor=none", {}, 400);
    await sendChecked("GET", "/api/public/v1/changes?clientCode=OTHER", {}, 403);
  });

  test("of what any address answers", async () => {
    for (const [method, path, code] of [
      ["GET", "/api/public/v2/groups", "bellhop.http.NotFound"],
      ["DELETE", "/api/public/v1/groups", "bellhop.http.MethodNotAllowed"],
      ["PUT", "/api/oauth2/token", "bellhop.http.MethodNotAllowed"],
    ] as const) {
      const answer = await service.send(method, path);
      assert.equal(answer.json()["exception"], code);
      assertDocumented(document, "POST", path.replace("v2", "v1"), answer);
    }
    const connection = await RawConnection.open(service.address);
    connection.write(`GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`);
    const { status, headers, body } = await connection.answer();
    assert.equal(status, 431);
    assertDocumented(document, "GET", "/healthz", { status, headers, text: body.toString() });
    connection.destroy();
  });

  test("of the OAuth endpoints", async () => {
    const { clientId, clientSecret } = await service.newClient({ tokenBurst: 1 });
    const form = (fields: Record<string, string>) => ({
      as: null,
      body: new URLSearchParams(fields).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    const credentials = { client_id: clientId, client_secret: clientSecret };
    const grant = { grant_type: "client_credentials", ...credentials };
    const token = "/api/oauth2/token";
    const { access_token } = (await sendChecked("POST", token, form(grant), 200)).json();
    await sendChecked("POST", token, form(grant), 429);
    await sendChecked("POST", token, form({ ...grant, grant_type: "password" }), 400);
    await sendChecked("POST", token, form({ ...grant, client_secret: "wrong" }), 401);
    await sendChecked("POST", token, { as: null, body: "{}" }, 415);
    await sendChecked("POST", token, form({ ...grant, scope: "x".repeat(9000) }), 413);
    const question = { ...credentials, token: String(access_token) };
    await sendChecked("POST", "/api/oauth2/introspect", form(question), 403);
    await sendChecked("POST", "/api/oauth2/revoke", form(question), 200);
    const operator = await service.newClient({ scopes: ["introspect"] });
    const asked = { client_id: operator.clientId, client_secret: operator.clientSecret };
    for (const [one, active] of [
      [await service.token(), true],
      ["no", false],
    ] as const) {
      const answer = await sendChecked("POST", "/api/oauth2/introspect", form({ ...asked, token: one }), 200);
      assert.equal(answer.json()["active"], active);
    }
    await sendChecked("GET", "/.well-known/oauth-authorization-server", { as: null }, 200);
    await sendChecked("GET", "/.well-known/jwks.json", { as: null }, 200);
  });

  test("of the service itself", async () => {
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/docs"])
      await sendChecked("GET", path, { as: null }, 200);
    const plain = await sendChecked("GET", "/openapi.json?profile=codegen", { as: null }, 200);
    assert.equal(plain.json()["openapi"], "3.0.3");
    assert.match(plain.text, new RegExp(`"url":"${service.address}"`));
    for (const profile of ["other", "", "codegen&profile=codegen"])
      await sendChecked("GET", `/openapi.json?profile=${profile}`, { as: null }, 400);
    const { headers } = await sendChecked("GET", "/openapi.json", { as: null }, 200);
    const known = { "if-none-match": headers.get("etag") ?? "" };
    await sendChecked("GET", "/openapi.json", { as: null, headers: known }, 304);
    await sendChecked("GET", "/metrics", { as: null }, 401);
    await sendChecked("GET", "/metrics", { as: null, headers: { authorization: "Bearer metrics" } }, 200);
  });
});
