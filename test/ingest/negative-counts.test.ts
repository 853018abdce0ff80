import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { bellhop, type RequestStatus, requestIdOf, untilApplied } from "../manual/service-of-a-page.ts";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";

const WAIT_MS = 60_000;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

let night = 0;
function soldBelowZero(propertyCode: string) {
  night += 1;
  const occupancyDate = new Date(Date.UTC(2026, 3, night)).toISOString().slice(0, 10);
  const room = { roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 3 };
  const roomTypeInventories = [room, { ...room, roomTypeCode: "STD", roomsSold: -3 }];
  return inventoryRecord({ propertyCode, occupancyDate, roomTypeInventories });
}

const push = (propertyCode: string, headers = {}) => {
  const good = inventoryRecord({ propertyCode, occupancyDate: "2026-03-31" });
  return service.post("inventories", [good, soldBelowZero(propertyCode)], { headers });
};
const decide = (value: string, propertyCode: string | null = null) =>
  setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "negativeCounts" }, value);

/** Pushes until the nodes have heard of the setting. */
const pushedUntil = (propertyCode: string, isSo: (status: RequestStatus) => boolean) =>
  untilFound(async () => {
    const accepted = await push(propertyCode);
    const status = await untilApplied(service, accepted);
    return isSo(status) ? { ...status, requestId: requestIdOf(accepted) } : undefined;
  }, WAIT_MS);

test("without a setting a count below zero is applied with a warning", async () => {
  const { counts, records } = await untilApplied(service, await push("LON01"));
  assert.equal(counts["applied"], 2);
  assert.deepEqual(
    records.flatMap(({ warnings = [] }) => warnings.map(({ code }) => code)),
    ["count.negative"],
  );
});

test("quarantine: the record waits for an operator, the others of its batch are applied", async () => {
  await decide("quarantine");
  const status = await pushedUntil("LON01", ({ counts }) => counts["quarantined"] === 1);
  assert.equal(status.counts["pending"], 0);
  const record = status.records.find(({ index }) => index === 1);
  assert.deepEqual([record?.outcome, record?.code], ["quarantined", "count.negative"]);
  assert.equal(
    record?.message,
    "roomsSold is -3 (/roomTypeInventories/1/roomsSold), which is below zero: the record was quarantined for an operator to release or discard.",
  );
  const { code } = await bellhop(service, "quarantine", "release", status.requestId, "1");
  assert.equal(code, 0);
  await untilFound(async () => {
    const { counts } = await untilApplied(service, status.requestId);
    return counts["quarantined"] === 0 ? counts : undefined;
  }, WAIT_MS);
});

test("a replay applies records that were applied before the setting, and released ones", async () => {
  const { clientConfig } = service.database;
  const { equal } = await replay({ clientConfig, pool: service.pool, swap: false });
  assert.equal(equal, true);
});

test("refuse: a retry of an accepted batch gets its first response, another batch is 400", async () => {
  const batch = [soldBelowZero("ROM01")];
  const repeat = (key: string, body = batch) =>
    service.post("inventories", body, { headers: { "idempotency-key": key } });
  const first = await repeat("before");
  assert.equal(first.status, 202);
  await decide("refuse", "ROM01");
  await untilFound(async () => ((await push("ROM01")).status === 400 ? true : undefined), WAIT_MS);
  const again = await repeat("before");
  assert.deepEqual([again.status, again.text], [202, first.text]);
  assert.equal(again.headers.get("location"), first.headers.get("location"));
  assert.equal((await repeat("before", [soldBelowZero("ROM01")])).status, 400);
});

test("refuse: the batch is 400 with each count, and one of a property that warns is accepted", async () => {
  await decide("refuse");
  await decide("warn", "PAR01");
  const answer = await untilFound(async () => {
    const refused = await push("LON01");
    return refused.status === 400 ? refused : undefined;
  }, WAIT_MS);
  assert.deepEqual(errorObject(answer, 400, "bellhop.contract.InvalidRecords").violations, [
    {
      pointer: "/1/roomTypeInventories/1/roomsSold",
      code: "number.range",
      message: "roomsSold is -3: below zero",
    },
  ]);
  assert.equal((await push("PAR01")).status, 202);
});

test("refuse: in a lenient batch the record alone is rejected", async () => {
  const accepted = await push("LON01", { prefer: "handling=lenient" });
  const { counts, records } = await untilApplied(service, requestIdOf(accepted));
  assert.equal(counts["rejected"], 1);
  assert.deepEqual(
    records.filter(({ index }) => index === 1).map(({ outcome, code, pointer }) => [outcome, code, pointer]),
    [["rejected", "number.range", "/1/roomTypeInventories/1/roomsSold"]],
  );
});
