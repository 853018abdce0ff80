import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { nightEntriesOf } from "../../src/apply/state/state-schema.ts";
import { VERSION_WINDOWS } from "../../src/apply/state/write-versions.ts";
import { setWindowMs } from "../../src/ingest/log/partitions.ts";
import { APPLY_GATE } from "../../src/platform/db/coordination.ts";
import { readWindows } from "../../src/platform/db/time-windows.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { findRecordingWindows } from "../../src/retention/expire-versions.ts";
import { openWindows } from "../../src/retention/open-windows.ts";
import { NoRoom } from "../../src/retention/replace-window.ts";
import { runRetention } from "../../src/retention/run-retention.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
const now = Date.now();
const ago = (minutes: number) => new Date(now - minutes * MINUTE_MS).toISOString();
const WAIT_MS = 60_000;
const PAYLOADS = { clientCode: "ACME", kind: "payloads", resource: undefined } as const;
const RESERVATIONS =
  VERSION_WINDOWS.find(({ table }) => table === "reservation_version") ??
  assert.fail("They have no windows.");

const ANALYSTS =
  "select reservation_id, channel, source_time from analytics.reservation order by reservation_id";

describe("retention of versions", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open(1, async ({ pool }) => {
      const client = await pool.connect();
      await setWindowMs(client, MINUTE_MS);
      // As if a term had been set a quarter of an hour ago.
      for (const versions of VERSION_WINDOWS)
        assert.equal(
          await openWindows(client, versions, { nowMs: now - 16 * MINUTE_MS, windowMs: MINUTE_MS }),
          true,
        );
      client.release();
    });
    bench.startApplier();
  });
  after(() => bench.close());

  const run = () => runRetention({ clientConfig: bench.database.clientConfig, nowMs: now });
  const runReplay = (swap = false) =>
    replay({ clientConfig: bench.database.clientConfig, pool: bench.database.pool, swap });
  const send = (id: string, minutes: number, content: string) =>
    bench.acceptAndApply([reservation(id, ago(minutes), content)]);
  const timesOf = async (key: string) =>
    (
      await bench.rows<{ minutes: number }>(
        `select round(extract(epoch from $2::timestamptz - source_time) / 60, 1)::float8 as minutes
        from bellhop_state.reservation_version where key = $1 order by source_time`,
        [key, new Date(now).toISOString()],
      )
    ).map(({ minutes }) => minutes);
  /** What analysts see of current state. */
  const analysts = () => bench.rows(ANALYSTS);
  let digestBefore: Awaited<ReturnType<typeof runReplay>>["live"];
  let seenBefore: unknown[];

  test("versions are in windows of their source times, created on demand", async () => {
    assert.equal(await send("R1", 15, "first"), "a");
    assert.equal(await send("R1", 14.5, "second"), "a");
    assert.equal(await send("R1", 0.5, "third"), "a");
    assert.equal(await send("R2", 15, "stays"), "a");
    assert.equal(await send("R2", 9, "stays"), "u");
    assert.equal(await send("R3", 15, "long"), "a");
    assert.equal(await send("R3", 12, "long"), "u");
    assert.equal(await send("R3", 0.5, "new"), "a");
    const other = { ...reservation("O1", ago(15), "other"), clientCode: "OTHER" };
    assert.equal(await bench.acceptAndApply([other]), "a");
    assert.equal(
      await bench.acceptAndApply([{ ...other, lastModifiedDateTime: ago(0.4), channel: "x" }]),
      "a",
    );
    assert.deepEqual(bench.failures, []);
    const report = await runReplay();
    assert.deepEqual(report.rebuilt, report.live);
    [digestBefore, seenBefore] = [report.live, await analysts()];
  });

  test("expired versions are deleted; current ones, their facts, and those of remaining versions stay, also for who began to read before", async () => {
    const of = { clientCode: "ACME", kind: "versions", resource: undefined } as const;
    await setTerm(bench.database.pool, of, 13 * MINUTE_MS);
    const reader = await bench.database.pool.connect();
    await reader.query("begin isolation level repeatable read");
    await reader.query("select from bellhop.property");
    const running = run();
    const isWaiting = async () => {
      const asked = await bench.rows(
        "select from pg_stat_activity where application_name like '%retention%' and query like '%backend_xmin%'",
      );
      return asked.length > 0;
    };
    await Promise.race([running, until(isWaiting, WAIT_MS)]);
    const seen = await reader.query(ANALYSTS);
    await reader.query("commit");
    reader.release();
    const { expired } = await running;
    assert.deepEqual(seen.rows, seenBefore);
    assert.ok(expired.length > 0);
    assert.ok(
      expired.every(({ replaced }) => replaced !== null),
      JSON.stringify(expired),
    );
    assert.deepEqual(await timesOf("R1"), [0.5]);
    assert.deepEqual(await timesOf("R2"), [15, 9]);
    assert.deepEqual(await timesOf("R3"), [15, 12, 0.5]);
    assert.deepEqual(await timesOf("O1"), [15, 0.4]);
    assert.deepEqual(await analysts(), seenBefore);
    assert.deepEqual((await run()).due, []);
  });

  test("a replay keeps known versions, and the ledger is unchanged", async () => {
    const report = await runReplay();
    assert.deepEqual(report.rebuilt, report.live);
    for (const part of ["currentHash", "nightsHash", "blocksHash"] as const)
      assert.equal(report.live[part], digestBefore[part]);
  });

  test("late versions older than the complete data are stale and not stored; new ones are", async () => {
    const nights = `select count(*)::int as count from ${nightEntriesOf("bellhop_state")} as entry`;
    const before = await bench.rows(nights);
    assert.equal(await send("R1", 14.6, "late"), "s");
    assert.deepEqual(await timesOf("R1"), [0.5]);
    assert.deepEqual(await bench.rows(nights), before);
    assert.equal(await send("R1", 8, "late, but known"), "s");
    assert.deepEqual(await timesOf("R1"), [8, 0.5]);
    assert.equal(await send("R2", 9, "stays"), "d");
    assert.equal(await send("NEW", 14.8, "old, and new to us"), "a");
    assert.equal((await runReplay()).equal, true);
  });

  test("rows written to a window while it is copied are not lost", async () => {
    const { pool, clientConfig } = bench.database;
    assert.equal(await send("R4", 13.5, "first"), "a");
    assert.equal(await send("R4", 0.3, "second"), "a");
    const [gate, lock] = [await pool.connect(), await pool.connect()];
    try {
      await gate.query("select pg_advisory_lock_shared($1)", [APPLY_GATE]);
      // With the longer term twice over the windows are gone through again.
      const running = runRetention({ clientConfig, nowMs: now + 13 * MINUTE_MS });
      const isWaiting = async () =>
        (
          await bench.rows(
            `select from pg_locks as held join pg_stat_activity as session using (pid)
            where held.locktype = 'advisory' and not held.granted and session.application_name = 'bellhop retention'`,
          )
        ).length > 0;
      await until(isWaiting, WAIT_MS);
      // The copy begins with the properties.
      await lock.query("begin; lock table bellhop.property in access exclusive mode");
      await gate.query("select pg_advisory_unlock_shared($1)", [APPLY_GATE]);
      let noted: string | undefined;
      await until(async () => {
        [noted] = await findRecordingWindows(pool, RESERVATIONS);
        return noted !== undefined;
      }, WAIT_MS);
      const window = (await readWindows(lock, RESERVATIONS)).find(({ name }) => noted?.endsWith(`.${name}`));
      const late = (now - (window?.toMs ?? now)) / MINUTE_MS + 0.3;
      // Its property is known, which nobody can look up now.
      const { requestId } = await bench.log.append(submissionOf([reservation("LATE", ago(late), "late")]));
      assert.equal(await bench.outcomesOf(requestId), "a");
      await lock.query("rollback");
      await running;
    } finally {
      gate.release(true);
      lock.release(true);
    }
    assert.equal(
      (await bench.rows("select from bellhop_state.reservation_version where key = 'LATE'")).length,
      1,
    );
    assert.equal((await runReplay()).equal, true);
  });

  test("a swap of the state includes the windows", async () => {
    const seen = await analysts();
    const report = await runReplay(true);
    assert.deepEqual(report.rebuilt, report.live);
    assert.deepEqual(await analysts(), seen);
    assert.equal(await send("R1", 0.1, "fourth"), "a");
    assert.equal((await run()).state, "done");
    assert.deepEqual(await timesOf("R3"), [15, 12, 0.5]);
    assert.equal((await runReplay()).equal, true);
    assert.deepEqual(bench.failuresWithinLeases, []);
  });

  test("a window waits until everything received before its end is applied", async () => {
    const due = async (nowMs: number) =>
      (await runRetention({ clientConfig: bench.database.clientConfig, nowMs, dryRun: true })).due.map(
        ({ window }) => window,
      );
    const later = Date.now() + 90 * MINUTE_MS;
    await setTerm(bench.database.pool, PAYLOADS, 13 * MINUTE_MS);
    const ahead = new Date(Date.now() + 3 * MINUTE_MS).toISOString();
    assert.equal(await bench.acceptAndApply([reservation("AHEAD", ahead, "first")]), "a");
    const windows = await readWindows(bench.database.pool, RESERVATIONS);
    const ofAhead = windows.find(
      ({ fromMs, toMs }) => fromMs <= Date.parse(ahead) && Date.parse(ahead) < toMs,
    );
    const window = ofAhead?.name ?? assert.fail();
    await bench.stopApplier();
    const { requestId } = await bench.log.append(submissionOf([reservation("R1", ago(0), "waits")]));
    await runRetention({ clientConfig: bench.database.clientConfig, nowMs: later });
    assert.ok((await due(later)).includes(window));
    bench.startApplier();
    await bench.outcomesOf(requestId);
    await runRetention({ clientConfig: bench.database.clientConfig, nowMs: later });
    assert.ok(!(await due(later)).includes(window));
  });

  test("old versions of a new client code are deleted from their windows", async () => {
    const every = { clientCode: "*", kind: "versions", resource: undefined } as const;
    await setTerm(bench.database.pool, every, 13 * MINUTE_MS);
    // The log has new windows every minute, of which none is to be due.
    await setTerm(bench.database.pool, PAYLOADS, 1_000 * MINUTE_MS);
    const at = { clientConfig: bench.database.clientConfig, nowMs: Date.now() + 90 * MINUTE_MS };
    await runRetention(at);
    assert.deepEqual((await runRetention(at)).due, []);
    for (const [minutes, content] of [
      [14.7, "first"],
      [12.2, "second"],
    ] as const) {
      const record = { ...reservation("N1", ago(minutes), content), clientCode: "NEW" };
      assert.equal(await bench.acceptAndApply([record]), "a");
    }
    const holding = (await readWindows(bench.database.pool, RESERVATIONS)).filter(({ fromMs, toMs }) =>
      [14.7, 12.2].some((minutes) => fromMs <= Date.parse(ago(minutes)) && Date.parse(ago(minutes)) < toMs),
    );
    const { due } = await runRetention(at);
    assert.deepEqual(
      due.map(({ window }) => window),
      holding.map(({ name }) => name),
    );
    assert.deepEqual(await timesOf("N1"), [12.2]);
    assert.deepEqual((await runRetention(at)).due, []);
    for (const [id, minutes] of [
      ["L1", 14.7],
      ["L2", 14.7],
      ["L1", 12.2],
    ] as const) {
      const record = { ...reservation(id, ago(minutes), `at ${minutes}`), clientCode: "LATER" };
      assert.equal(await bench.acceptAndApply([record]), "a");
    }
    let looks = 0;
    const atFirst = async () => {
      looks += 1;
      return looks <= 3 ? -1 : Number.POSITIVE_INFINITY;
    };
    await assert.rejects(runRetention({ ...at, roomBytes: atFirst }), NoRoom);
    assert.deepEqual(await timesOf("L1"), [14.7, 12.2]);
    const [putOff] = (await runRetention({ ...at, dryRun: true })).due;
    assert.ok(putOff);
    const [size] = await bench.rows<{ bytes: number }>(
      `select pg_total_relation_size('bellhop_state.${putOff.window}')::integer as bytes`,
    );
    const roomBytes = async () => (size?.bytes ?? 0) - 1;
    assert.deepEqual((await runRetention({ ...at, roomBytes })).due, [putOff]);
    assert.deepEqual(await timesOf("L1"), [12.2]);
    assert.deepEqual(await timesOf("L2"), [14.7]);
    assert.deepEqual((await runRetention(at)).due, []);
    assert.equal((await runReplay()).equal, true);
  });
});
