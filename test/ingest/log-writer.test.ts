import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { BodyLayout } from "../../src/ingest/log/body-layout.ts";
import { RequestIdStamp } from "../../src/ingest/log/part-name.ts";
import { upkeepAcceptLog } from "../../src/ingest/log/partitions.ts";
import { ServiceError } from "../../src/platform/errors/registry.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { holdAppends } from "../support/held-appends.ts";
import { until, untilFound } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the accept log", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open(2);
  });
  after(() => bench.close());

  test("answers a strictly increasing UUIDv7 in each log writer, also for appends that share a flush", async () => {
    const ids = await Promise.all(
      Array.from({ length: 300 }, (_, n) => bench.accept([reservation(`A${n}`, T1, "x")])),
    );
    assert.equal(new Set(ids).size, 300);
    for (const id of ids) assert.match(id, UUID_V7);
    const rows = await bench.rows<{ log_writer_id: string; request_id: string; xmin: string }>(
      "select log_writer_id::text, request_id, xmin::text from bellhop.accept_log order by log_writer_id, request_id",
    );
    // Within a log writer, ids and transactions grow together: a reader behind an id never misses one that commits later.
    for (const [, logWriter] of Map.groupBy(rows, (row) => row.log_writer_id)) {
      const transactions = logWriter.map((row) => Number(row.xmin));
      assert.deepEqual(
        transactions,
        transactions.toSorted((a, b) => a - b),
      );
    }
    const commits = new Set(rows.map((row) => row.xmin)).size;
    assert.ok(commits < 300, `300 appends took ${commits} commits`);
  });

  test("stores a batch of many chunks byte for byte", async () => {
    const records = Array.from({ length: 2_000 }, (_, n) =>
      reservation(`B${n}`, T1, `é🏨 ${"x".repeat(n % 500)}`),
    );
    const requestId = await bench.accept(records);
    const [row] = await bench.rows<{ layout: Buffer; body: Buffer }>(
      "select layout, body from bellhop.accept_log where request_id = $1",
      [requestId],
    );
    assert.ok(row);
    const layout = new BodyLayout(row.layout);
    const stored = [...layout.allRecords(row.body)].map(({ bytes }) => bytes.toString());
    assert.deepEqual(
      stored,
      records.map((record) => JSON.stringify(record)),
    );
    // One record by itself, from its chunk's bytes alone.
    const { from, bytes, chunk } = layout.rangeOf(layout.positionOf(321));
    assert.ok(bytes < row.body.length / 3);
    const one = [...layout.recordsOf(chunk, row.body.subarray(from, from + bytes))].find(
      ({ position }) => position === 321,
    );
    assert.equal(one?.bytes.toString(), JSON.stringify(records[321]));
  });

  test("a lost connection makes unconfirmed batches 503, opens a new log writer, and closes the old one", async () => {
    const logWritersBefore = await bench.rows<{ log_writer_id: string }>(
      "select log_writer_id::text from bellhop.log_writer where closed_at is null",
    );
    const held = await holdAppends(bench.database.clientConfig);
    const appends = [bench.accept([reservation("C1", T1, "x")]), bench.accept([reservation("C2", T1, "x")])];
    const answers = Promise.allSettled(appends);
    await until(() => held.isWaiting(), 10_000);
    await held.endSessions();
    await held.release();
    for (const answer of await answers) {
      assert.equal(answer.status, "rejected");
      assert.ok(answer.reason instanceof ServiceError);
      assert.equal(answer.reason.code, "bellhop.accept.Unavailable");
      assert.ok((answer.reason.retryAfterSeconds ?? 0) > 0);
    }
    // A log writer that has not heard yet that its backend is gone refuses once more: as a client does, send it again.
    const requestId = await untilFound(() =>
      bench.accept([reservation("C3", T1, "x")]).catch(() => undefined),
    );
    bench.startApplier();
    assert.equal(await bench.outcomesOf(requestId), "a");
    const old = logWritersBefore.map(({ log_writer_id }) => log_writer_id);
    await until(
      async () =>
        (
          await bench.rows(
            "select from bellhop.log_writer where log_writer_id = any ($1::bigint[]) and retired_at is not null",
            [old],
          )
        ).length === old.length,
      20_000,
    );
    await bench.stopApplier();
  });

  test("opens log writers although another node hangs in the middle of the birth of one", async () => {
    const hung = new pg.Client(bench.database.clientConfig);
    hung.on("error", () => undefined);
    await hung.connect();
    await hung.query("begin");
    await hung.query("select pg_advisory_xact_lock(7302003)");
    const log = await AcceptLog.open(bench.database.clientConfig, 1, {});
    assert.ok(log.ready);
    await assert.rejects(hung.query("commit"));
    await log.close();
  });

  test("never stamps an id at or below one that is in the log when the log writer is born", async () => {
    const ahead = "ffffffff-0000-7000-8000-000000000000";
    const stamp = new RequestIdStamp();
    stamp.observe(Date.now(), performance.now(), performance.now());
    stamp.raise(ahead);
    const ids = Array.from({ length: 10_000 }, () => stamp.next());
    assert.ok((ids[0] as string) > ahead);
    assert.deepEqual(ids, ids.toSorted());
    assert.equal(new Set(ids).size, ids.length);
  });

  test("makes a log partition on demand when the one of this week is missing", async () => {
    const partitions = await bench.rows<{ name: string }>(
      "select relname as name from pg_class where relname like 'accept_log_2%' and relkind = 'r'",
    );
    for (const { name } of partitions) {
      await bench.rows(`alter table bellhop.accept_log detach partition bellhop.${name}`);
      await bench.rows(`drop table bellhop.${name}`);
    }
    assert.match(await bench.accept([reservation("D", T1, "x")]), UUID_V7);
  });

  test("upkeep makes partitions ahead and deletes only the Idempotency-Keys that are past their time", async () => {
    await bench.rows(`insert into bellhop.idempotency_key
      select 'c', n::text, gen_random_uuid(), '\\x00', clock_timestamp() - n * interval '1 hour' from generate_series(1, 2600) n`);
    await upkeepAcceptLog(bench.database.pool);
    const [keys] = await bench.rows<{ count: number }>("select count(*)::int from bellhop.idempotency_key");
    assert.equal(keys?.count, 24);
    const [partitions] = await bench.rows<{ count: number }>(
      "select count(*)::int from pg_inherits where inhparent = 'bellhop.accept_log'::regclass",
    );
    assert.equal(partitions?.count, 3);
  });
});
