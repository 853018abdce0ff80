import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { reservation } from "./records.ts";
import { itemsOf, untilApplied } from "./service-of-a-page.ts";

const good = reservation("R-1", "2025-06-01T09:00:00Z");
/** It leaves before it arrives. */
const bad = {
  ...reservation("R-2", "2025-06-01T09:00:00Z"),
  roomStays: [{ arrivalDate: "2025-07-14", departureDate: "2025-07-12", roomTypeCode: "DLX" }],
};

/**
 * Page 6. What cannot be stored and understood is refused with a pointer to it. By default one invalid record refuses its
 * whole batch, so that a partner never wonders which half got in; with `Prefer: handling=lenient` the valid ones are taken.
 */
describe("06 invalid records", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("one invalid record refuses the batch, and the response points to it", async () => {
    const answer = await service.post("reservations", [good, bad]);
    assert.equal(answer.status, 400);
    const error = answer.json();
    assert.equal(error["exception"], "bellhop.contract.InvalidRecords");
    assert.equal(error["violationTotal"], 1);
    const [violation] = error["violations"] as { pointer: string; code: string }[];
    assert.equal(violation?.pointer, "/1/roomStays/0/departureDate");
    assert.equal(violation?.code, "order.dates");
  });

  test("nothing was stored, not even the valid record", async () => {
    const path = "/api/public/v1/reservations?clientCode=ACME&propertyCode=LON01";
    assert.deepEqual(await itemsOf(service, path), []);
  });

  test("lenient, the valid record is applied and the invalid one is reported as rejected", async () => {
    const headers = { prefer: "handling=lenient" };
    const answer = await service.post("reservations", [good, bad], { headers });
    assert.equal(answer.status, 202);
    assert.equal(answer.headers.get("preference-applied"), "handling=lenient");
    const { counts, records } = await untilApplied(service, answer);
    assert.equal(counts["applied"], 1);
    assert.equal(counts["rejected"], 1);
    assert.equal(records[0]?.index, 1);
    assert.equal(records[0]?.outcome, "rejected");
    assert.equal(records[0]?.pointer, "/1/roomStays/0/departureDate");
  });

  test("a batch without a valid record is 400, lenient or not", async () => {
    const answer = await service.post("reservations", [bad], { headers: { prefer: "handling=lenient" } });
    assert.equal(answer.status, 400);
  });

  test("an unknown field is no fault: it is stored and returned", async () => {
    const withMore = {
      ...reservation("R-3", "2025-06-01T09:00:00Z"),
      acmeNote: { level: "GOLD", points: 1200 },
    };
    await untilApplied(service, await service.post("reservations", [withMore]));
    const path = "/api/public/v1/reservations?clientCode=ACME&propertyCode=LON01&reservationId=R-3";
    assert.deepEqual(await itemsOf(service, path), [withMore]);
  });
});
