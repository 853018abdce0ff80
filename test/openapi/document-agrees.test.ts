import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OpenApiDocument, Operation, Schema } from "../../src/platform/http/openapi/model.ts";
import { assertDocumented, errorsOf } from "../support/openapi.ts";
import { groupRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";

const FORM = "application/x-www-form-urlencoded";
const WEBHOOK = { url: "https://partner.example/bellhop", events: ["request.applied"] };
const RANGE = { resource: "groups", from: "2026-01-01", to: "2026-01-31" };
const manifest = (expectedRecords: unknown) => ({
  clientCode: "ACME",
  propertyCode: "PARIS01",
  resources: [{ ...RANGE, expectedRecords }],
});
const sharedWith = (sharer: object) => reservationRecord({ sharers: ["R-48214", sharer] });
/** 200 characters of two UTF-16 code units each. */
const ASTRAL = "\u{1F6CE}".repeat(200);

/** Requests at the edge of what is accepted: what the service does with each, and by its schema the document. */
const REQUESTS: readonly (readonly [string, string, unknown, "accepted" | "refused"])[] = [
  ["a webhook", "webhooks", WEBHOOK, "accepted"],
  ["an unknown setting of a webhook", "webhooks", { ...WEBHOOK, secret: "mine" }, "refused"],
  ["plain http", "webhooks", { ...WEBHOOK, url: "http://partner.example/" }, "refused"],
  ["a user name in an address", "webhooks", { ...WEBHOOK, url: "https://a@partner.example/" }, "refused"],
  ["a fragment in an address", "webhooks", { ...WEBHOOK, url: "https://partner.example/#a" }, "refused"],
  ["an @ in the path", "webhooks", { ...WEBHOOK, url: "https://partner.example/@a" }, "accepted"],
  ["an address in Unicode", "webhooks", { ...WEBHOOK, url: "https://hôtel.example/é" }, "accepted"],
  ["brackets in a query", "webhooks", { ...WEBHOOK, url: "https://partner.example/?a[]=`" }, "accepted"],
  ["a description of 200 characters", "webhooks", { ...WEBHOOK, description: ASTRAL }, "accepted"],
  ["a description of 201", "webhooks", { ...WEBHOOK, description: `${ASTRAL}a` }, "refused"],
  ["a line feed in a description", "webhooks", { ...WEBHOOK, description: "a\nb" }, "refused"],
  ["an empty clientCode", "webhooks", { ...WEBHOOK, clientCode: "" }, "refused"],
  ["no expected records", "backfills", manifest(0), "accepted"],
  ["fewer than none", "backfills", manifest(-1), "refused"],
  ["fewer than none, as text", "backfills", manifest("-1"), "refused"],
  ["an unknown field", "groups", [groupRecord({ more: { deep: ["a", null] } })], "accepted"],
  ["NUL in an unknown field", "groups", [groupRecord({ more: { deep: ["a\0"] } })], "refused"],
  ["NUL in its name", "groups", [groupRecord({ more: { "a\0": 1 } })], "refused"],
  ["NUL in what describes a sharer", "reservations", [sharedWith({ name: "a\0" })], "refused"],
  ["an object that describes a sharer", "reservations", [sharedWith({ name: ["a"] })], "accepted"],
  ["constructor as a name", "groups", [groupRecord({ more: { constructor: 1 } })], "refused"],
];

const TOKENS: readonly (readonly [string, string, "accepted" | "refused"])[] = [
  ["a text that is no token", "0*\\", "accepted"],
  ["2,048 characters, each escaped", "=".repeat(2_048), "accepted"],
  ["2,049 characters", "a".repeat(2_049), "refused"],
  ["a character that is not ASCII", "é", "refused"],
  ["nothing", "", "refused"],
];

let service: TestService;
let document: OpenApiDocument;
before(async () => {
  service = await startTestService();
  document = (await service.get("/openapi.json")).json() as unknown as OpenApiDocument;
});
after(() => service.stop());

function isDocumented(path: string, type: string, body: unknown): boolean {
  const operation = document.paths[path]?.post as Operation;
  return errorsOf(document, operation.requestBody?.content[type]?.schema as Schema, body).length === 0;
}

describe("the document and the service agree", () => {
  for (const [name, path, body, expected] of REQUESTS)
    test(`${name}: ${expected}`, async () => {
      const at = `/api/public/v1/${path}`;
      const answer = await service.send("POST", at, { body: body as object });
      assert.equal(answer.status < 300 ? "accepted" : "refused", expected, answer.text);
      assertDocumented(document, "POST", at, answer);
      assert.equal(isDocumented(at, "application/json", body) ? "accepted" : "refused", expected);
      if (path === "webhooks" && expected === "accepted")
        await service.send("POST", `${at}/${answer.json()["endpointId"]}/remove`);
    });
  for (const [name, token, expected] of TOKENS)
    test(`a token to revoke, ${name}: ${expected}`, async () => {
      const { clientId, clientSecret } = service.client;
      const body = { token, client_id: clientId, client_secret: clientSecret };
      const answer = await service.send("POST", "/api/oauth2/revoke", {
        as: null,
        headers: { "content-type": FORM },
        body: new URLSearchParams(body).toString(),
      });
      assert.equal(answer.status < 300 ? "accepted" : "refused", expected, answer.text);
      assert.equal(isDocumented("/api/oauth2/revoke", FORM, body) ? "accepted" : "refused", expected);
    });
  test("no reason for abandoning a backfill may be null", async () => {
    const opened = await service.send("POST", "/api/public/v1/backfills", { body: manifest(0) });
    const path = `/api/public/v1/backfills/${opened.json()["backfillId"]}/abandon`;
    assert.equal((await service.send("POST", path, { body: { why: null } })).status, 200);
    const template = "/api/public/v1/backfills/{backfillId}/abandon";
    assert.ok(isDocumented(template, "application/json", { why: null }));
  });
  test("a preference of any length is ignored, and the document names no bound", async () => {
    const headers = { prefer: "x".repeat(4_000) };
    const answer = await service.post("groups", [groupRecord({})], { headers });
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(
      errorsOf(document, document.components.parameters["Prefer"]?.schema as Schema, headers.prefer),
      [],
    );
  });
});
