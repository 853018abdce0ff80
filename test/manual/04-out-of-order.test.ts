import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { inventory } from "./records.ts";
import { itemsOf, untilApplied } from "./service-of-a-page.ts";

interface Inventory {
  readonly roomTypeInventories: readonly { readonly roomsSold: number }[];
}

/**
 * Page 4. Messages overtake each other. The record with the newest source time (createDateTime, lastModifiedDateTime) is
 * current, in whatever order they arrive; an older one that comes late is kept in the history and reported as stale.
 */
describe("04 out of order", () => {
  let service: TestService;
  const roomsSold = async (): Promise<number | undefined> => {
    const [current] = await itemsOf<Inventory>(
      service,
      "/api/public/v1/inventories?clientCode=ACME&propertyCode=LON01&occupancyDate=2025-07-14",
    );
    return current?.roomTypeInventories[0]?.roomsSold;
  };
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("the evening's record arrives first", async () => {
    await untilApplied(service, await service.post("inventories", [inventory("2025-06-01T20:00:00Z", 35)]));
    assert.equal(await roomsSold(), 35);
  });

  test("the morning's record arrives late: it is stale, and the evening's stays current", async () => {
    const late = await service.post("inventories", [inventory("2025-06-01T08:00:00Z", 20)]);
    const { counts, records } = await untilApplied(service, late);
    assert.equal(counts["stale"], 1);
    assert.match(records[0]?.message ?? "", /newer source time is current/);
    assert.equal(await roomsSold(), 35);
  });

  test("of two contents with the very same source time, the one received later counts", async () => {
    // A partner's clock counts whole seconds: within one, the later message is the truer one.
    await untilApplied(service, await service.post("inventories", [inventory("2025-06-01T20:00:00Z", 36)]));
    assert.equal(await roomsSold(), 36);
  });

  test("within one batch the outcomes are as if its records were sent one by one", async () => {
    const batch = [
      inventory("2025-06-02T08:00:00Z", 10, "2025-09-01"),
      inventory("2025-06-02T09:00:00Z", 11, "2025-09-01"),
      inventory("2025-06-02T07:00:00Z", 9, "2025-09-01"),
    ];
    const { counts } = await untilApplied(service, await service.post("inventories", batch));
    assert.equal(counts["applied"], 2);
    assert.equal(counts["stale"], 1);
  });
});
