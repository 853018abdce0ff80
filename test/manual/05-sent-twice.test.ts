import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { inventory } from "./records.ts";
import { requestIdOf, untilApplied } from "./service-of-a-page.ts";

/**
 * Page 5. When an answer is lost, a partner sends again. That is always safe: a record that comes twice changes nothing.
 * With an Idempotency-Key not even a second request comes of it: the first answer is given again.
 */
describe("05 sent twice", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("without a key, the second one is a separate request and its record a duplicate", async () => {
    const batch = [inventory("2025-06-01T02:00:00Z", 31)];
    const first = await service.post("inventories", batch);
    const second = await service.post("inventories", batch);
    assert.notEqual(requestIdOf(second), requestIdOf(first));
    assert.equal((await untilApplied(service, first)).counts["applied"], 1);
    assert.equal((await untilApplied(service, second)).counts["duplicate"], 1);
  });

  test("with a key, the first response is returned again, with the same UUID", async () => {
    const batch = [inventory("2025-06-02T02:00:00Z", 32)];
    const headers = { "idempotency-key": "push-2025-06-02" };
    const first = await service.post("inventories", batch, { headers });
    const second = await service.post("inventories", batch, { headers });
    assert.equal(requestIdOf(second), requestIdOf(first));
    assert.equal(first.headers.get("idempotent-replayed"), null);
    assert.equal(second.headers.get("idempotent-replayed"), "true");
  });

  test("the same key with another body is an error", async () => {
    const headers = { "idempotency-key": "push-2025-06-02" };
    const answer = await service.post("inventories", [inventory("2025-06-03T02:00:00Z", 33)], { headers });
    assert.equal(answer.status, 422);
    assert.equal(answer.json()["exception"], "bellhop.accept.IdempotencyKeyReused");
  });

  test("a refused batch uses no key up: mended, it is sent under the same one", async () => {
    const headers = { "idempotency-key": "push-2025-06-04" };
    const refused = await service.post("inventories", [{ clientCode: "ACME", propertyCode: "LON01" }], {
      headers,
    });
    assert.equal(refused.status, 400);
    const mended = await service.post("inventories", [inventory("2025-06-04T02:00:00Z", 34)], { headers });
    assert.equal(mended.status, 202);
  });
});
