import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceProcess } from "../faults/service-process.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
/** Times that it is asked whether it may, in which it could have applied. */
const ASKED = 5;

test("applying pauses while the disk is full; the owner keeps its buckets and continues when there is space", async (t) => {
  const bench = await ApplyBench.open();
  t.after(() => bench.close());
  let reason: string | undefined;
  let asked = 0;
  const applier = bench.newApplier("blocked", {
    blocked: () => {
      asked += 1;
      return reason;
    },
  });
  applier.start();
  try {
    const held = () => bench.rows("select from bellhop.bucket_lease where owner like 'blocked%'");
    await until(async () => (await held()).length === 64, 20_000);
    await bench.acceptAndApply([reservation("R1", T1, "before", "ROOM1")]);
    reason = "The disk is almost full.";
    const askedUnblocked = asked;
    // What it was reading when there was room yet, it may apply.
    await until(() => asked > askedUnblocked, 20_000);
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

test("a node that only applies logs when its disk is almost full, and one that reads reports it by a metric", async (t) => {
  const full = { MIN_FREE_DISK_MIB: "1000000000", STOP_GRACE_MS: "0" };
  const applying = await ServiceProcess.prepare({ environment: { ...full, ROLE: "apply" } });
  const { dataDir } = applying;
  const reading = await ServiceProcess.prepare({ environment: { ...full, ROLE: "apply,read" }, dataDir });
  applying.start();
  t.after(async () => {
    await applying.end("SIGKILL");
    await reading.remove();
  });
  await until(async () => {
    const response = await fetch(`${applying.address}/readyz`).catch(() => undefined);
    return response?.status === 503 && (await response.text()).includes("The disk is almost full.");
  }, 30_000);
  await applying.end("SIGTERM");
  reading.start();
  await reading.untilReady(30_000);
  await until(async () => {
    const scrape = await (await fetch(`${reading.address}/metrics`)).text();
    return (
      /^bellhop_ready\{role="apply"\} 0$/m.test(scrape) && /^bellhop_ready\{role="read"\} 1$/m.test(scrape)
    );
  }, 30_000);
});
