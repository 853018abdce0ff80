import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { inventory, reservation } from "./records.ts";
import { bellhop, itemsOf, untilApplied } from "./service-of-a-page.ts";

const CURRENT = "/api/public/v1/reservations?clientCode=ACME&propertyCode=LON01&reservationId=R-1";

/**
 * Page 10. The log of what was accepted is never changed; everything else follows from it. A replay rebuilds the state from
 * the log beside the live one and compares the two. So an operator can prove that nothing was lost, and mend what was spoilt.
 */
describe("10 replay", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
    await untilApplied(service, await service.post("inventories", [inventory("2025-06-01T02:00:00Z", 31)]));
    for (const second of ["00", "20", "10"]) {
      const batch = [
        reservation("R-1", `2025-06-01T09:00:${second}Z`, second === "20" ? "IN_HOUSE" : "CONFIRMED"),
      ];
      await untilApplied(service, await service.post("reservations", batch));
    }
  });
  after(() => service.stop());

  test("the state matches the log", async () => {
    const { code, out } = await bellhop(service, "replay");
    assert.match(out, /Replayed 4 parts of the log/);
    assert.match(out, /The live state matches the log/);
    assert.equal(code, 0);
  });

  test("whoever changes the state by hand is found out", async () => {
    await service.pool.query(
      "update bellhop_state.current_record set status = 'CHECKED_OUT' where key = 'R-1'",
    );
    const { code, out } = await bellhop(service, "replay");
    assert.equal(code, 1);
    assert.match(out, /DIFFERENT/);
    assert.match(out, /The live state does NOT match the log/);
  });

  test("a swap puts the rebuilt state in its place", async () => {
    const { out } = await bellhop(service, "replay", "--swap");
    assert.match(out, /Swapped/);
    assert.equal((await bellhop(service, "replay")).code, 0);
    const [current] = await itemsOf<{ status: string }>(service, `${CURRENT}&status=IN_HOUSE`);
    assert.equal(current?.status, "IN_HOUSE");
  });

  test("the service continues unaffected", async () => {
    const next = await service.post("reservations", [
      reservation("R-1", "2025-06-02T09:00:00Z", "CHECKED_OUT"),
    ]);
    assert.equal((await untilApplied(service, next)).counts["applied"], 1);
    const [current] = await itemsOf<{ status: string }>(service, CURRENT);
    assert.equal(current?.status, "CHECKED_OUT");
  });
});
