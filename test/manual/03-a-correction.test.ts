import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { reservation } from "./records.ts";
import { itemsOf, untilApplied } from "./service-of-a-page.ts";

const CURRENT = "/api/public/v1/reservations?clientCode=ACME&propertyCode=LON01&reservationId=R-100";

/**
 * Page 3. A record is a full overlay: a newer one replaces the older whole, nested arrays included, and what it leaves
 * out is gone. There is no patch and no delete; a booking that is off is sent again with a status that says so.
 */
describe("03 a correction", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("a booking is sent, with a channel and a confirmation number", async () => {
    const booked = {
      ...reservation("R-100", "2025-06-01T09:00:00Z"),
      channel: "WEB",
      confirmationNumber: "C-7",
    };
    const { counts } = await untilApplied(service, await service.post("reservations", [booked]));
    assert.equal(counts["applied"], 1);
    assert.deepEqual(await itemsOf(service, CURRENT), [booked]);
  });

  test("a newer version replaces the record completely: omitted fields are gone", async () => {
    const changed = { ...reservation("R-100", "2025-06-02T09:00:00Z"), channel: "PHONE" };
    await untilApplied(service, await service.post("reservations", [changed]));
    const [current] = await itemsOf<Record<string, unknown>>(service, CURRENT);
    assert.deepEqual(current, changed);
    assert.ok(!("confirmationNumber" in (current ?? {})));
  });

  test("a cancellation is a version like any other", async () => {
    const cancelled = reservation("R-100", "2025-06-03T09:00:00Z", "CANCELLED");
    await untilApplied(service, await service.post("reservations", [cancelled]));
    const [current] = await itemsOf<{ status: string }>(service, CURRENT);
    assert.equal(current?.status, "CANCELLED");
  });

  test("a newer source time with the same content is unchanged: recorded, but no change", async () => {
    const again = reservation("R-100", "2025-06-04T09:00:00Z", "CANCELLED");
    const { counts } = await untilApplied(service, await service.post("reservations", [again]));
    assert.equal(counts["unchanged"], 1);
  });
});
