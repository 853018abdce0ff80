import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { inventory } from "./records.ts";

/**
 * Page 1. A partner exchanges a client id and a secret for a token, which is valid for an hour, and pushes a batch: a
 * JSON array of records of one kind. The response is 202 and a UUID. From then on the batch is on disk.
 */
describe("01 the first batch", () => {
  let service: TestService;
  let token: string;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("a client id and secret are exchanged for a token that is valid for an hour", async () => {
    const answer = await fetch(`${service.address}/api/oauth2/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: service.client.clientId,
        client_secret: service.client.clientSecret,
      }),
    });
    assert.equal(answer.status, 200);
    const body = (await answer.json()) as Record<string, unknown>;
    assert.equal(body["token_type"], "Bearer");
    assert.equal(body["expires_in"], 3600);
    token = body["access_token"] as string;
  });

  test("a batch pushed with it is answered 202 with the UUID of the request", async () => {
    const answer = await fetch(`${service.address}/api/public/v1/inventories`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify([
        inventory("2025-06-01T02:00:00Z", 31, "2025-07-14"),
        inventory("2025-06-01T02:00:00Z", 28, "2025-07-15"),
      ]),
    });
    assert.equal(answer.status, 202);
    const { requestId } = (await answer.json()) as { requestId: string };
    assert.match(requestId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    // Where to ask what became of it: page 2.
    assert.equal(answer.headers.get("location"), `/api/public/v1/requests/${requestId}`);
  });

  test("a script can request only the UUID", async () => {
    const answer = await service.post("inventories", [inventory("2025-06-01T02:00:00Z", 12, "2025-07-16")], {
      headers: { accept: "text/plain" },
    });
    assert.equal(answer.status, 202);
    assert.match(answer.text, /^[0-9a-f-]{36}$/);
  });

  test("without a token the response is 401, with an invalid one 403, both empty", async () => {
    const withoutToken = await service.post("inventories", [], { as: null });
    assert.equal(withoutToken.status, 401);
    const forged = { as: null, headers: { authorization: "Bearer of.no.thing" } };
    const withForged = await service.post("inventories", [], forged);
    assert.equal(withForged.status, 403);
    assert.equal(withForged.bytes.length, 0);
    assert.equal(withForged.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
  });
});
