import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { VERSION_WINDOWS } from "../../src/apply/state/write-versions.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { readWindows } from "../../src/platform/db/time-windows.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { keepRetention, runRetention } from "../../src/retention/run-retention.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const DAY_MS = 86_400_000;
const EVERY = { clientCode: "*", kind: "versions", resource: undefined } as const;
const RESERVATIONS =
  VERSION_WINDOWS.find(({ table }) => table === "reservation_version") ??
  assert.fail("They have no windows.");
/** A wrong clock, a year that stands for "none", and the last time that there is. */
const FAR = ["2031-03-04T05:06:07.5Z", "2500-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z"];

describe("released records of the far future", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
    bench.startApplier();
  });
  after(() => bench.close());

  const release = async (id: string, time: string) => {
    const requestId = await bench.accept([reservation(id, time, "far")]);
    assert.equal(await bench.outcomesOf(requestId), "q");
    const target = { bucket: bucketOf("ACME", "LON01"), resource: "r" as const, requestId, index: 0 };
    const decision = await bench.log.appendResolution({ kind: "release", operator: "anna", ...target });
    return bench.outcomesOf(decision);
  };
  const keysOf = async () =>
    (
      await bench.rows<{ key: string }>(
        "select key from bellhop_state.reservation_version order by key, source_time",
      )
    ).map(({ key }) => key);
  const isEqual = async () => {
    const { clientConfig, pool } = bench.database;
    return (await replay({ clientConfig, pool, swap: false })).equal;
  };

  test("do not keep the versions of everyone from expiring", async () => {
    for (const [at, time] of FAR.entries()) assert.equal(await release(`FAR${at}`, time), "a");
    for (const time of ["2025-01-01T00:00:00Z", "2025-01-02T00:00:00Z"])
      assert.equal(await bench.acceptAndApply([reservation("OLD", time, time)]), "a");
    assert.deepEqual(await keysOf(), ["FAR0", "FAR1", "FAR2", "OLD", "OLD"]);
    await setTerm(bench.database.pool, EVERY, DAY_MS);
    const { clientConfig } = bench.database;
    assert.equal((await runRetention({ clientConfig })).state, "done");
    const nowMs = Date.now() + 60 * DAY_MS;
    const { state, due } = await runRetention({ clientConfig, nowMs });
    assert.equal(state, "done");
    assert.ok(due.some(({ window }) => window === "reservation_version_before"));
    assert.deepEqual(await keysOf(), ["FAR0", "FAR1", "FAR2", "OLD"]);
    const windows = await readWindows(bench.database.pool, RESERVATIONS);
    for (const time of FAR) {
      const atMs = Date.parse(time.slice(0, 19).concat("Z"));
      const [own] = windows.filter(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
      assert.ok((own?.fromMs ?? 0) > nowMs, time);
    }
    assert.equal(await isEqual(), true);
  });

  test("are released where there are windows, too", async () => {
    assert.equal(await release("FAR3", FAR[2] as string), "a");
    assert.equal(await release("FAR4", "2400-01-01T00:00:00Z"), "a");
    assert.equal(await isEqual(), true);
  });
});

test("a constraint that a killed run leaves is removed before it refuses records", async () => {
  const bench = await ApplyBench.open();
  const { pool, clientConfig } = bench.database;
  await bench.rows(
    `alter table bellhop_state.reservation_version add constraint reservation_version_before_window
      check (source_time < '2026-01-01') not valid`,
  );
  const retention = keepRetention({ clientConfig, pool }, 7 * DAY_MS, {
    copying: () => undefined,
    roomBytes: async () => Number.POSITIVE_INFINITY,
    progress: () => undefined,
    ran: () => undefined,
    failed: (error) => bench.failures.push(error),
  });
  try {
    const left = "select from pg_constraint where conname = 'reservation_version_before_window'";
    await until(async () => (await bench.rows(left)).length === 0, 30_000);
    bench.startApplier();
    assert.equal(await bench.acceptAndApply([reservation("R1", "2026-02-01T00:00:00Z", "later")]), "a");
    assert.deepEqual(bench.failures, []);
  } finally {
    await retention.stop();
    await bench.close();
  }
});
