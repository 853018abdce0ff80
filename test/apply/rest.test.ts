import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { ALL_BUCKETS, bucketOf } from "../../src/ingest/log/part-name.ts";
import { machineTime } from "../../src/platform/runtime/time.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
/** The longest rest. A transaction that was held up for longer is followed by it. */
const REST_MS = 50;

test("an applier pauses if more batches arrived while it applied all of them, and only a stop ends the pause", async (t) => {
  const bench = await ApplyBench.open();
  t.after(() => bench.close());
  let endRest: (() => void) | undefined;
  let isResting = false;
  const applier = bench.newApplier("resting", {
    time: {
      ...machineTime,
      after(ms, call) {
        if (ms !== REST_MS) return machineTime.after(ms, call);
        isResting = true;
        endRest = call;
        return () => {
          isResting = false;
        };
      },
    },
  });
  applier.start();
  const holder = new pg.Client(bench.database.clientConfig);
  await holder.connect();
  /** Has a record applied in a transaction that ends after another one was accepted. */
  const applyWhileAnotherComes = async (first: string, second: string): Promise<string> => {
    await holder.query("begin");
    await holder.query("select from bellhop.change_counter where bucket = $1 for update", [
      bucketOf("ACME", "LON01"),
    ]);
    const held = await bench.accept([reservation(first, T1, "x")]);
    applier.wake(ALL_BUCKETS);
    await until(async () => (await waitingForLock(bench.database.pool, "%change_counter%")) > 0, 20_000);
    const heldSince = performance.now();
    const next = await bench.accept([reservation(second, T1, "x")]);
    applier.wake(ALL_BUCKETS);
    await until(() => performance.now() - heldSince > REST_MS, 20_000);
    await holder.query("commit");
    assert.equal(await bench.outcomesOf(held), "a");
    return next;
  };
  try {
    const next = await applyWhileAnotherComes("R1", "R2");
    await until(() => isResting, 20_000);
    applier.wake(ALL_BUCKETS);
    assert.equal(isResting, true);
    endRest?.();
    assert.equal(await bench.outcomesOf(next), "a");
    await applyWhileAnotherComes("R3", "R4");
    await until(() => isResting, 20_000);
    await applier.stop();
    assert.equal(isResting, false);
  } finally {
    await applier.stop();
    await holder.end();
  }
});
