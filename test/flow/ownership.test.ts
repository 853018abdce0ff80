import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { bucketOf } from "../../src/accept/bucket.ts";
import { Ownership, OwnershipLost } from "../../src/apply/ownership.ts";
import { ALL_BUCKETS, ApplyBench, reservation } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";

describe("a bucket has one owner", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
  });
  after(() => bench.close());

  const owners = async (): Promise<string[]> =>
    (
      await bench.rows<{ owner: string }>("select distinct owner from bellhop.bucket_lease order by owner")
    ).map(({ owner }) => owner);

  test("a second applier takes nothing while the first lives, and everything once its backend is gone", async () => {
    const first = bench.newApplier("first");
    first.start();
    await until(async () => (await owners()).join() === "first", 10_000);
    const second = bench.newApplier("second");
    second.start();
    const requestId = await bench.accept([reservation("A", T1, "x")]);
    assert.equal(await bench.outcomesOf(requestId), "a");
    assert.deepEqual(await owners(), ["first"]);
    await first.stop();
    await until(async () => (await owners()).join() === "second", 10_000);
    assert.equal(await bench.acceptAndApply([reservation("A", T1, "x")]), "d");
    await second.stop();
  });

  test("an applier whose backend is killed comes back and applies what is there", async () => {
    const applier = bench.newApplier("killed");
    applier.start();
    await until(async () => (await owners()).join() === "killed", 10_000);
    await bench.rows("select pg_terminate_backend(backend_pid) from bellhop.bucket_lease where bucket = 0");
    const requestId = await bench.accept([reservation("B", T1, "x")]);
    assert.equal(await bench.outcomesOf(requestId), "a");
    await applier.stop();
  });

  test("a former owner cannot go on: its epoch is past", async () => {
    const [one, two] = [
      new pg.Client(bench.database.clientConfig),
      new pg.Client(bench.database.clientConfig),
    ];
    await one.connect();
    await two.connect();
    const former = new Ownership(one, "former");
    assert.equal((await former.take(ALL_BUCKETS)).length, 64);
    assert.deepEqual(await new Ownership(two, "other").take(ALL_BUCKETS), []);
    const bucket = bucketOf("ACME", "LON01");
    await bench.rows("update bellhop.bucket_lease set epoch = epoch + 1 where bucket = $1", [bucket]);
    await one.query("begin");
    await assert.rejects(former.lock([bucket]), OwnershipLost);
    await one.query("rollback");
    assert.ok(!former.buckets.includes(bucket));
    await one.end();
    await two.end();
  });

  test("a taker waits for the running transaction of the one it takes over from", async () => {
    const [one, two] = [
      new pg.Client(bench.database.clientConfig),
      new pg.Client(bench.database.clientConfig),
    ];
    await one.connect();
    await two.connect();
    const holder = new Ownership(one, "holder");
    await until(async () => (await holder.take([7])).length === 1, 10_000);
    await one.query("begin");
    await holder.lock([7]);
    // As a takeover does it: the row is locked by the holder's transaction, so this cannot overtake it.
    const takeover = two.query("update bellhop.bucket_lease set epoch = epoch + 1 where bucket = 7");
    let taken = false;
    void takeover.then(() => {
      taken = true;
    });
    await until(
      async () =>
        (
          await bench.rows(
            "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%epoch + 1%'",
          )
        ).length === 1,
      10_000,
    );
    assert.equal(taken, false);
    await one.query("commit");
    await takeover;
    await one.end();
    await two.end();
  });
});
