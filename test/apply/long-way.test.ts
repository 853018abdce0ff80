import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
const T2 = "2026-01-01T00:00:02Z";
/** Its first batch of a property takes long: two more than 4 x 500, so that it is worked on in five pieces. */
const LONG = 2_002;

const many = (time: string, content: string, propertyCode: string) =>
  Array.from({ length: LONG }, (_, n) => reservation(`L${n}`, time, content, propertyCode));

describe("a slow batch", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
    bench.startApplier();
  });
  after(() => bench.close());

  // Of one bucket, as Citus locks rows of one worker only.
  const lockRecord = "select key from bellhop_state.current_record where bucket = $1 and key = $2 for update";
  const isWaiting = async () => (await waitingForLock(bench.database.pool, "%current_record%")) === 1;
  const holders = () =>
    bench.rows<{ owner: string; held: number }>(
      "select owner, count(*)::integer as held from bellhop.bucket_lease group by owner order by owner",
    );

  test("delays no other bucket, and later parts of its own bucket follow it", async () => {
    assert.notEqual(bucketOf("ACME", "LONG"), bucketOf("ACME", "QUICK"));
    const before = await bench.accept(many(T1, "x", "LONG"));
    assert.equal(await bench.outcomesOf(before), "a".repeat(LONG));
    // Whoever looks at a current record with the intention to change it stands in its way, for as long as the test wants.
    const blocker = await bench.database.pool.connect();
    try {
      await blocker.query("begin");
      await blocker.query(lockRecord, [bucketOf("ACME", "LONG"), "L7"]);
      const long = await bench.accept(many(T2, "y", "LONG"));
      const behind = await bench.accept([reservation("L7", T2, "z", "LONG")]);
      await until(isWaiting, 10_000);
      for (let n = 0; n < 5; n += 1)
        assert.equal(await bench.acceptAndApply([reservation(`Q${n}`, T1, "x", "QUICK")]), "a");
      const unapplied = await bench.rows(
        "select from bellhop.request_outcome where request_id = any ($1::uuid[])",
        [[long, behind]],
      );
      assert.deepEqual(unapplied, []);
      assert.deepEqual(await holders(), [
        { owner: "bench", held: 63 },
        { owner: "bench/long", held: 1 },
      ]);
      await blocker.query("rollback");
      assert.equal(await bench.outcomesOf(long), "a".repeat(LONG));
      // The same source time, and received later.
      assert.equal(await bench.outcomesOf(behind), "a");
      assert.deepEqual(
        await bench.rows("select status, request_id from bellhop_state.current_record where key = 'L7'"),
        [{ status: "CONFIRMED", request_id: behind }],
      );
    } finally {
      blocker.release(true);
    }
  });

  test("gives its bucket back once it is applied", async () => {
    await until(async () => (await holders()).length === 1, 10_000);
    assert.deepEqual(await holders(), [{ owner: "bench", held: 64 }]);
    assert.equal(await bench.acceptAndApply([reservation("N", T1, "x", "LONG")]), "a");
  });

  test("is applied atomically, and waits only for its own records", async () => {
    await bench.rows(`create function bellhop.refuse_late() returns trigger language plpgsql as $$
      begin if new.key = 'L1001' then raise exception 'planted' using errcode = '54000'; end if; return new; end $$`);
    await bench.rows(`create trigger refuse_late before insert on bellhop_state.reservation_version
      for each row execute function bellhop.refuse_late()`);
    const failed = bench.failures.length;
    const stuck = await bench.accept(many(T1, "x", "STUCK"));
    await until(() => bench.failures.length >= failed + 2, 10_000);
    assert.equal(await bench.acceptAndApply([reservation("F", T1, "x", "QUICK")]), "a");
    const written = await bench.rows(
      "select from bellhop_state.reservation_version where request_id = $1 limit 1",
      [stuck],
    );
    assert.deepEqual(written, []);
    await bench.rows("drop trigger refuse_late on bellhop_state.reservation_version");
    assert.equal(await bench.outcomesOf(stuck), "a".repeat(LONG));
  });

  test("is taken over by another session when the bulk applier's session ends in the middle of it", async () => {
    const blocker = await bench.database.pool.connect();
    try {
      await blocker.query("begin");
      await blocker.query(lockRecord, [bucketOf("ACME", "LONG"), "L9"]);
      const long = await bench.accept(many("2026-01-01T00:00:03Z", "w", "LONG"));
      await until(isWaiting, 10_000);
      await bench.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'bellhop apply long' and state = 'active'`,
      );
      await blocker.query("rollback");
      assert.equal(await bench.outcomesOf(long), "a".repeat(LONG));
    } finally {
      blocker.release(true);
    }
  });
});
