import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { ServiceProcess } from "../faults/service-process.ts";
import { bucketsOf } from "../faults/takeover.ts";
import { bucketsOfServers } from "../support/citus.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { openRoad } from "../support/database-road.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

describe("a node beside one that hangs and keeps its connections", () => {
  let database: TestDatabase;
  let servers: number;
  before(async () => {
    database = await createTestDatabase();
    servers = (await bucketsOfServers(database.pool)).length;
  });
  /** Of all buckets: those of each server are shared by themselves, and may be odd in number. */
  const isHalf = (buckets: number) => Math.abs(buckets - 32) <= servers / 2;
  after(() => database.drop());
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  const ended = async (service: TestService) => {
    const { text } = await service.get("/metrics", { as: null });
    return Number(/^bellhop_silent_sessions_ended_total (\d+)/m.exec(text)?.[1]);
  };
  const propertyIn = (bucket: number): string => {
    for (let at = 0; ; at += 1) if (bucketOf("ACME", `H${at}`) === bucket) return `H${at}`;
  };

  async function appliesFor(service: TestService, bucket: number): Promise<void> {
    const answer = await service.post("inventories", [inventoryRecord({ propertyCode: propertyIn(bucket) })]);
    assert.equal(answer.status, 202);
    const status = `/api/public/v1/requests/${answer.json()["requestId"]}`;
    await until(async () => (await service.get(status)).json()["status"] === "applied", 30_000);
  }

  test("is replaced as applier while the network drops its traffic, and gets buckets again afterwards", async () => {
    const road = await openRoad(database.url);
    stops.push(() => road.close());
    const far = await startTestService({}, { database: { ...database, url: road.url } });
    stops.push(() => far.stop());
    await until(async () => (await bucketsOf(database.pool, process.pid)).length === 64, 20_000);
    const near = await startTestService({}, { database });
    stops.push(() => near.stop());
    const owned = async (service: TestService) => {
      const { text } = await service.get("/metrics", { as: null });
      return Number(/^bellhop_buckets_owned (\d+)/m.exec(text)?.[1]);
    };
    await until(async () => isHalf(await owned(far)) && isHalf(await owned(near)), 20_000);
    road.swallow();
    await until(async () => (await owned(near)) === 64, 20_000);
    assert.ok((await ended(near)) >= 1);
    for (const bucket of [0, 31, 32, 63]) await appliesFor(near, bucket);
    road.release();
    await until(async () => isHalf(await owned(far)) && isHalf(await owned(near)), 30_000);
    for (const bucket of [0, 31, 32, 63]) await appliesFor(far, bucket);
  });

  test("is replaced as applier while its applying thread's event loop is blocked, which its other threads survive", async () => {
    const file = join(await temporaryDirectory("stuck"), "now");
    const plant = new URL("../faults/crash-thread.ts", import.meta.url);
    plant.search = String(new URLSearchParams({ thread: "apply-1", file, how: "stuck" }));
    const environment = { DATABASE_URL: database.url, HTTP_THREADS: "1", APPLY_WRITERS: "1" };
    const stuck = await ServiceProcess.prepare({ imports: [plant.href], environment });
    stops.push(() => stuck.remove());
    stuck.start();
    await stuck.untilReady(60_000);
    await until(async () => (await bucketsOf(database.pool, stuck.pid)).length === 64, 20_000);
    const service = await startTestService({}, { database });
    stops.push(() => service.stop());
    await until(async () => isHalf((await bucketsOf(database.pool, stuck.pid)).length), 20_000);
    const [bucket = 0] = await bucketsOf(database.pool, stuck.pid);
    await writeFile(file, "");
    await until(async () => (await bucketsOf(database.pool, process.pid)).length === 64, 20_000);
    assert.ok((await ended(service)) >= 1);
    await appliesFor(service, bucket);
    assert.ok(await stuck.isReady());
    await rm(file);
    await until(async () => isHalf((await bucketsOf(database.pool, stuck.pid)).length), 30_000);
    assert.equal(await stuck.end("SIGTERM"), 0);
  });
});
