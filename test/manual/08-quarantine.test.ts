import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";
import { inventory } from "./records.ts";
import { bellhop, itemsOf, type RequestStatus, requestIdOf, untilApplied } from "./service-of-a-page.ts";

const CURRENT = "/api/public/v1/inventories?clientCode=ACME&propertyCode=LON01";
/** A clock that is a day ahead: such a record would win over every true one until tomorrow. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");

/**
 * Page 8. A record that was accepted and must not be applied as it is, is quarantined. The rest of its batch goes
 * its way. An operator looks at it and releases or discards it; both are entries of the log, like batches.
 */
describe("08 quarantine", () => {
  let service: TestService;
  let requestId: string;
  /** What the request says once it has so many records with that outcome. */
  const statusWith = (outcome: string, count: number): Promise<RequestStatus> =>
    untilFound(async () => {
      const status = await untilApplied(service, requestId);
      return status.counts[outcome] === count ? status : undefined;
    });
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("a record from the future is quarantined, and the others of its batch are applied", async () => {
    const batch = [
      inventory("2025-06-01T02:00:00Z", 31, "2025-07-14"),
      inventory(tomorrow, 28, "2025-07-15"),
      inventory(tomorrow, 29, "2025-07-16"),
    ];
    const accepted = await service.post("inventories", batch);
    requestId = requestIdOf(accepted);
    const { counts, records } = await untilApplied(service, accepted);
    assert.equal(counts["applied"], 1);
    assert.equal(counts["quarantined"], 2);
    assert.equal(records[0]?.outcome, "quarantined");
    assert.equal(records[0]?.code, "time.future");
    assert.match(
      records[0]?.message ?? "",
      /^The source time \S+Z is 2\d(\.\d)? hours in the future \(limit: 10 minutes\): the record was quarantined for an operator to release or discard\.$/,
    );
    assert.equal((await itemsOf(service, CURRENT)).length, 1);
  });

  test("the operator sees quarantined records and the reasons", async () => {
    const { code, out } = await bellhop(service, "quarantine", "list", "--json");
    assert.equal(code, 0);
    const { items } = JSON.parse(out) as { items: { requestId: string; index: number; code: string }[] };
    assert.deepEqual(
      items.map((quarantined) => [quarantined.requestId, quarantined.index, quarantined.code]),
      [
        [requestId, 1, "time.future"],
        [requestId, 2, "time.future"],
      ],
    );
  });

  test("after release the record is applied verbatim, and its request shows that", async () => {
    const { code } = await bellhop(service, "quarantine", "release", requestId, "1");
    assert.equal(code, 0);
    const { counts } = await statusWith("quarantined", 1);
    assert.equal(counts["applied"], 2);
    const released = (await untilApplied(service, requestId)).records.find(({ index }) => index === 1);
    assert.equal(released?.outcome, "applied");
    assert.match(released?.message ?? "", /: the record was quarantined for an operator/);
    assert.equal((await itemsOf(service, CURRENT)).length, 2);
  });

  test("discarded, the record stays in the log and is reported as discarded", async () => {
    const { code } = await bellhop(service, "quarantine", "discard", requestId, "2");
    assert.equal(code, 0);
    const { counts } = await statusWith("discarded", 1);
    assert.equal(counts["quarantined"], 0);
    assert.equal((await itemsOf(service, CURRENT)).length, 2);
  });

  test("a second word on a record is refused: it is quarantined no more", async () => {
    const { code, out } = await bellhop(service, "quarantine", "release", requestId, "2");
    assert.equal(code, 1);
    assert.match(out, /No record of that request and index is quarantined/);
  });

  test("a partner with a wrong clock sends many: all quarantined records of a request are discarded at once", async () => {
    const days = ["17", "18", "19"].map((day) => inventory(tomorrow, 27, `2025-07-${day}`));
    requestId = requestIdOf(await service.post("inventories", days));
    await statusWith("quarantined", 3);
    const some = await bellhop(service, "quarantine", "list", "--limit", "2", "--json");
    assert.equal((JSON.parse(some.out) as { more: boolean }).more, true);
    const { code, out } = await bellhop(service, "quarantine", "discard", requestId, "all", "--json");
    assert.equal(code, 0);
    const { entries } = JSON.parse(out) as { entries: { index: number }[] };
    assert.deepEqual(
      entries.map(({ index }) => index),
      [0, 1, 2],
    );
    await statusWith("discarded", 3);
    requestId = requestIdOf(await service.post("inventories", [inventory(tomorrow, 27, "2025-07-20")]));
    await statusWith("quarantined", 1);
    const one = await bellhop(service, "quarantine", "discard", requestId, "all");
    assert.match(one.out, /^1 record will be discarded\.$/m);
  });
});
