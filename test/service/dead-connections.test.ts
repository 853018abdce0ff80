import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { openRoad } from "../support/database-road.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** What a firewall does that has forgotten connections: they lead nowhere, nobody is notified, and new ones come through. */
// At once, each with a database of its own: nearly all of it is waiting.
describe("connections to the database that were forgotten on the way", { concurrency: true }, () => {
  async function start(t: TestContext) {
    const stops: (() => unknown)[] = [];
    t.after(async () => {
      for (const stop of stops.splice(0).reverse()) await stop();
    });
    const database = await createTestDatabase();
    stops.push(() => database.drop());
    const road = await openRoad(database.url);
    stops.push(() => road.close());
    const service = await startTestService({}, { database: { ...database, url: road.url } });
    stops.push(() => service.stop());
    const first = await service.post("inventories", [inventoryRecord()]);
    assert.equal(first.status, 202);
    // In the middle of a transaction an applier waits for longer, as what it asks then may take long.
    await untilApplied(service, String(first.json()["requestId"]), 20_000);
    return { road, service };
  }

  /** Each answer is awaited only so long: a request that hangs is what this is about. */
  const within = <Value>(ms: number, answer: Promise<Value>): Promise<Value | undefined> =>
    Promise.race([
      answer,
      new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms).unref()),
    ]);

  async function untilApplied(service: TestService, requestId: string, ms: number): Promise<void> {
    await until(
      async () => (await service.get(`/api/public/v1/requests/${requestId}`)).json()["status"] === "applied",
      ms,
    );
  }

  async function untilAccepted(service: TestService, propertyCode: string): Promise<string> {
    let requestId = "";
    await until(async () => {
      const answer = await within(2_000, service.post("inventories", [inventoryRecord({ propertyCode })]));
      assert.ok(answer === undefined || [202, 503].includes(answer.status), String(answer?.status));
      if (answer?.status !== 202) return false;
      requestId = String(answer.json()["requestId"]);
      return true;
    }, 40_000);
    return requestId;
  }

  test("are dropped: permission checks and new properties work again", async (t) => {
    const { road, service } = await start(t);
    const shared = road.ways.filter(({ name }) => name === "bellhop");
    assert.ok(shared.length > 0);
    for (const way of shared) way.lose();
    await untilAccepted(service, "NEW1");
  });

  test("are dropped by the applier, too, and accepted batches are applied", async (t) => {
    const { road, service } = await start(t);
    const appliers = road.ways.filter(({ name }) => name.startsWith("bellhop apply"));
    assert.ok(appliers.length > 0);
    for (const way of appliers) way.lose();
    const requestId = await untilAccepted(service, "NEW2");
    await untilApplied(service, requestId, 55_000);
  });
});
