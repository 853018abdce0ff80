import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { findHomes, type Home } from "../../src/platform/db/citus/workers.ts";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { distributeTables } from "../support/citus.ts";
import { createJoinedDatabase, type TestDatabase } from "../support/database.ts";
import type { DatabaseRoad } from "../support/database-road.ts";
import { accept, apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** A property code and its bucket. */
interface Hotel {
  readonly propertyCode: string;
  readonly bucket: number;
}

const joined = await createJoinedDatabase({ byRoad: true });

if (joined !== undefined)
  describe("with one worker unavailable", () => {
    let database: TestDatabase;
    let service: TestService;
    /** Of the first worker, and of the second, which the road leads to. */
    let near: Hotel;
    let far: Hotel;
    let road: DatabaseRoad;
    before(async () => {
      database = joined.open();
      await migrate(database.clientConfig, createLogger({ level: "silent", pretty: false }));
      await distributeTables(database.clientConfig);
      const { rows: homes } = await database.pool.query<Home>(findHomes);
      const hotelAt = ({ port }: DatabaseRoad): Hotel => {
        const home = homes.find(({ worker }) => worker.endsWith(`:${port}`)) ?? assert.fail();
        for (let number = 0; ; number += 1) {
          const propertyCode = `HOTEL${number}`;
          const bucket = bucketOf("ACME", propertyCode);
          if (home.buckets.includes(bucket)) return { propertyCode, bucket };
        }
      };
      const [first = assert.fail(), second = assert.fail()] = joined.roads;
      [near, far, road] = [hotelAt(first), hotelAt(second), second];
      service = await startTestService({}, { database });
      // The log writers write to both, and every bucket has an owner.
      for (const { propertyCode } of [near, far])
        await apply(service, "reservations", [
          reservation("first", "2026-01-01T00:00:00Z", { propertyCode }),
        ]);
    });
    after(async () => {
      await service.stop();
      await database.drop();
    });

    /** By the bucket's own worker alone, as a question by id asks both. */
    const isApplied = async ({ bucket }: Hotel, requestId: string) => {
      const found = "select from bellhop.request_outcome where bucket = $1 and request_id = $2";
      return (await database.pool.query(found, [bucket, requestId])).rowCount === 1;
    };
    const recordsOf = ({ propertyCode }: Hotel, id: string) => [
      reservation(id, "2026-01-01T00:00:00Z", { propertyCode }),
    ];
    const posted = (at: Hotel, id: string) => service.post("reservations", recordsOf(at, id));
    const accepted = (at: Hotel, id: string) => accept(service, "reservations", recordsOf(at, id));
    const hasFailedSince = (lines: number) =>
      service
        .logLines()
        .slice(lines)
        .some((line) => line.includes("apply failed"));
    /** A node that starts now is ready, takes what lies at the other worker and refuses what lies there. */
    const startsBesideIt = async (id: string) => {
      const late = await startTestService({}, { database });
      try {
        assert.equal((await late.get("/readyz", { as: null })).status, 200);
        assert.equal((await late.post("reservations", recordsOf(far, id))).status, 503);
        const requestId = await accept(late, "reservations", recordsOf(near, id));
        await until(() => isApplied(near, requestId), 30_000);
      } finally {
        await late.stop();
      }
    };
    /** Its log writers are open again within a moment, in which it is refused as before. */
    const goesOn = async (id: string) => {
      let back = await posted(far, id);
      await until(async () => {
        if (back.status !== 202) back = await posted(far, id);
        return back.status === 202;
      }, 60_000);
      const { requestId } = back.json() as { requestId: string };
      await until(() => isApplied(far, requestId), 60_000);
    };

    test("while it is down, parts of the other worker are applied, also by a new node, and the rest once it is up", async () => {
      const lines = service.logLines().length;
      await road.close();
      try {
        await until(() => hasFailedSince(lines), 30_000);
        for (const id of ["while-down-1", "while-down-2"]) {
          const requestId = await accepted(near, id);
          await until(() => isApplied(near, requestId), 30_000);
        }
        // What cannot be written there is refused, and nothing else.
        assert.equal((await posted(far, "refused")).status, 503);
        const both = [...recordsOf(near, "both"), ...recordsOf(far, "both")];
        assert.equal((await service.post("reservations", both)).status, 503);
        // The coordinator's log writer, which that has cost, opens again: nobody else waits for it.
        assert.equal((await service.get("/readyz", { as: null })).status, 200);
        assert.equal((await posted(near, "after-refused")).status, 202);
        await startsBesideIt("late-down");
      } finally {
        await road.reopen();
      }
      await goesOn("back-up");
    });

    test("as its leases are locked: what lies at the other is applied", async () => {
      const { rows } = await database.pool.query<{ shard: string }>(
        `select distinct 'bellhop.bucket_lease_' || home.shardid as shard from pg_dist_shard_placement as home
          join pg_dist_shard using (shardid)
          where logicalrelid = 'bellhop.bucket_lease'::regclass and home.nodeport = $1`,
        [road.port],
      );
      const address = new URL(joined.url);
      address.port = String(road.port);
      const holder = new pg.Client(clientConfig({ connectionString: address.href }));
      await holder.connect();
      const lines = service.logLines().length;
      try {
        await holder.query("begin; set local idle_in_transaction_session_timeout = 0");
        await holder.query("set local citus.enable_manual_changes_to_shards = on");
        for (const { shard } of rows) await holder.query(`lock table ${shard} in access exclusive mode`);
        await until(() => hasFailedSince(lines), 60_000);
        const requestId = await accepted(near, "while-locked");
        await until(() => isApplied(near, requestId), 60_000);
      } finally {
        await holder.end();
      }
      const requestId = await accepted(far, "unlocked");
      await until(() => isApplied(far, requestId), 120_000);
    });

    test("while it hangs, parts of the other worker are applied, also by a new node, and the rest once it continues", async () => {
      // Something of it is under way when it stops, and waits to be applied.
      const underWay = Array.from({ length: 20 }, (_, n) => posted(far, `under-way-${n}`));
      road.swallow();
      try {
        const isAppliedElsewhere = async (id: string) => {
          const requestId = await accepted(near, id);
          await until(() => isApplied(near, requestId), 30_000);
        };
        for (let n = 0; n < 5; n += 1) await isAppliedElsewhere(`while-hanging-${n}`);
        assert.equal((await posted(far, "hanging")).status, 503);
        assert.equal((await service.get("/readyz", { as: null })).status, 200);
        await isAppliedElsewhere("while-refused");
        await startsBesideIt("late-hanging");
      } finally {
        road.release();
      }
      const answers = await Promise.all(underWay);
      await goesOn("going-on");
      for (const { status, json } of answers)
        if (status === 202) await until(() => isApplied(far, String(json()["requestId"])), 60_000);
        else assert.equal(status, 503);
    });
  });
