import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { inventory } from "./records.ts";
import { requestIdOf, untilApplied } from "./service-of-a-page.ts";

/**
 * Page 2. A 202 says that a batch was accepted. What became of each of its records is said by the status of the request:
 * first it is `accepted`, a moment later `applied`, and every record has an outcome. Doubts are warnings, not refusals.
 */
describe("02 what became of it", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("once every record has its outcome the request is applied, and the outcomes are counted", async () => {
    const accepted = await service.post("inventories", [
      inventory("2025-06-01T02:00:00Z", 31, "2025-07-14"),
      inventory("2025-06-01T02:00:00Z", 28, "2025-07-15"),
    ]);
    const { status, counts, records } = await untilApplied(service, accepted);
    assert.equal(status, "applied");
    assert.equal(counts["records"], 2);
    assert.equal(counts["applied"], 2);
    assert.equal(counts["pending"], 0);
    // Only records of which there is more to say are listed one by one.
    assert.deepEqual(records, []);
  });

  test("warnings do not reject records: overbooking is legal", async () => {
    const accepted = await service.post("inventories", [inventory("2025-06-01T02:00:00Z", 43, "2025-08-01")]);
    const { counts, records } = await untilApplied(service, accepted);
    assert.equal(counts["applied"], 1);
    assert.equal(counts["warned"], 1);
    const [record] = records;
    assert.equal(record?.outcome, "applied");
    assert.equal(record?.key, "2025-08-01");
    assert.equal(record?.warnings[0]?.code, "inventory.oversold");
    assert.match(record?.warnings[0]?.pointer ?? "", /^\/0\/roomTypeInventories\/0/);
  });

  test("all requests of a client are listed, the newest first", async () => {
    const last = requestIdOf(await service.post("inventories", [inventory("2025-06-02T02:00:00Z", 1)]));
    const { items } = (await service.get("/api/public/v1/requests")).json() as {
      items: { requestId: string }[];
    };
    assert.equal(items.length, 3);
    assert.equal(items[0]?.requestId, last);
  });

  test("another client's request is as one that does not exist", async () => {
    const requestId = requestIdOf(await service.post("inventories", [inventory("2025-06-03T02:00:00Z", 1)]));
    const stranger = await service.newClient({ grants: [{ clientCode: "OTHER", propertyCode: "*" }] });
    const answer = await service.get(`/api/public/v1/requests/${requestId}`, { as: stranger });
    assert.equal(answer.status, 404);
    assert.equal(answer.json()["exception"], "bellhop.read.RequestNotFound");
  });
});
