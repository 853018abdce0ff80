import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceProcess } from "../faults/service-process.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
/** Times that it is asked whether it may, in which it could have applied. */
const ASKED = 5;

test("nothing is applied while there is no room on the disk, its owner keeps the buckets, and goes on when there is", async (t) => {
  const bench = await ApplyBench.open();
  t.after(() => bench.close());
  let reason: string | undefined;
  let asked = 0;
  const applier = bench.newApplier("blocked", () => {
    asked += 1;
    return reason;
  });
  applier.start();
  try {
    const held = () => bench.rows("select from bellhop.bucket_lease where owner like 'blocked%'");
    await until(async () => (await held()).length === 64, 20_000);
    await bench.acceptAndApply([reservation("R1", T1, "before", "ROOM1")]);
    reason = "The disk is almost full.";
    const requestId = await bench.accept([reservation("R2", T1, "while", "ROOM1")]);
    const askedBefore = asked;
    applier.wake(Array.from({ length: 64 }, (_, bucket) => bucket));
    await until(() => asked >= askedBefore + ASKED, 20_000);
    assert.deepEqual(
      await bench.rows("select request_id from bellhop.request_outcome where request_id = $1", [requestId]),
      [],
    );
    assert.equal((await held()).length, 64);
    reason = undefined;
    assert.equal(await bench.outcomesOf(requestId), "a");
  } finally {
    await applier.stop();
  }
});

test("a node that only applies says so when its disk is almost full", async (t) => {
  const service = await ServiceProcess.prepare({
    environment: { ROLE: "apply", MIN_FREE_DISK_MIB: "1000000000", STOP_GRACE_MS: "0" },
  });
  t.after(() => service.remove());
  service.start();
  await until(async () => {
    const response = await fetch(`${service.address}/readyz`).catch(() => undefined);
    return response?.status === 503 && (await response.text()).includes("The disk is almost full.");
  }, 30_000);
});
