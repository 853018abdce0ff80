import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { isDistributed } from "../../src/platform/db/distribution.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
const BATCHES = 60;
const RECORDS = 100;

describe("a backlog of several transactions, read ahead", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open(2);
  });
  after(() => bench.close());

  /** Batches of three hotels in turn; every version of a record is another content. */
  async function acceptBacklog(round: number): Promise<void> {
    for (let batch = 0; batch < BATCHES; batch += 1) {
      await bench.accept(
        Array.from({ length: RECORDS }, (_, n) =>
          reservation(
            `R${batch}-${n}`,
            T1.replace(":01Z", `:${10 + round}Z`),
            `c${round}`,
            `AHEAD${batch % 3}`,
          ),
        ),
      );
    }
  }
  const isApplied = async () =>
    (
      await bench.rows<{ done: boolean }>(
        "select (select count(*) from bellhop.accept_log) = (select count(*) from bellhop.request_outcome) as done",
      )
    )[0]?.done === true;
  const outcomes = async () =>
    bench.rows(
      `select letter, count(*)::integer as count
      from bellhop.request_outcome, unnest(string_to_array(outcomes, null)) as letter group by letter order by letter`,
    );

  test("is applied once and whole, though transactions fail again and again and their owner changes", async () => {
    await acceptBacklog(0);
    await bench.rows("create sequence bellhop.tries");
    // Each worker of Citus counts for itself.
    if (await isDistributed(bench.database.pool))
      await bench.rows("select run_command_on_workers('create sequence bellhop.tries')");
    await bench.rows(`create function bellhop.refuse_now_and_then() returns trigger language plpgsql as $$
      begin
        if nextval('bellhop.tries') % 2 = 0 then
          raise exception 'planted' using errcode = '54000';
        end if;
        return null;
      end $$`);
    await bench.rows(`create trigger refuse_now_and_then after insert on bellhop.request_outcome
        for each statement execute function bellhop.refuse_now_and_then()`);
    bench.startApplier();
    await until(() => bench.failures.length >= 3, 20_000);
    await bench.rows(
      // Of this test's database only: others are tested on the same server.
      `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'bellhop apply' and datname = current_database()`,
    );
    await until(isApplied, 60_000);
    assert.deepEqual(await outcomes(), [{ letter: "a", count: BATCHES * RECORDS }]);
    await bench.rows("drop trigger refuse_now_and_then on bellhop.request_outcome");
  });

  test("is applied once and completely while a replay takes and returns all buckets", async () => {
    await acceptBacklog(1);
    const before = bench.failures.length;
    const { pool, clientConfig } = bench.database;
    await replay({ clientConfig, pool, swap: true });
    await until(isApplied, 60_000);
    assert.deepEqual(await outcomes(), [{ letter: "a", count: 2 * BATCHES * RECORDS }]);
    for (const failure of bench.failures.slice(before)) assert.match(String(failure), /another owner/);
    assert.equal((await replay({ clientConfig, pool, swap: false })).equal, true);
  });
});
