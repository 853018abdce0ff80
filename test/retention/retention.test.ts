import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { bucketOf, lowestIdAt, RequestIdStamp } from "../../src/ingest/log/part-name.ts";
import { REQUEST_OUTCOME, setWindowMs } from "../../src/ingest/log/partitions.ts";
import { openBackupFile } from "../../src/operations/backup/backup-file.ts";
import { restore } from "../../src/operations/backup/restore.ts";
import { writeBackup } from "../../src/operations/backup/write-backup.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { withExclusiveWork } from "../../src/platform/db/coordination.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { readRecordHistory } from "../../src/query/console/record-history.ts";
import { listHistory } from "../../src/query/list-records.ts";
import { loadRecords } from "../../src/query/load-records.ts";
import { findProperty, readKnownFrom } from "../../src/query/property.ts";
import { findQuarantined } from "../../src/query/quarantine.ts";
import { readSummariesOf } from "../../src/query/request-summary.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { openWindows } from "../../src/retention/open-windows.ts";
import { NoRoom } from "../../src/retention/replace-window.ts";
import { keepRetention, runRetention } from "../../src/retention/run-retention.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { createEmptyTestDatabase } from "../support/database.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const silentLog = createLogger({ level: "silent", pretty: false });

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** When all of this takes place, however long it takes. */
const now = Date.now();

/** Stamps ids of the past: the database's clock, so many milliseconds earlier. */
class PastStamp extends RequestIdStamp {
  readonly #agoMs: number;

  constructor(agoMs: number) {
    super();
    this.#agoMs = agoMs;
  }

  override observe(databaseNowMs: number, sentAt: number, receivedAt: number): void {
    super.observe(databaseNowMs - this.#agoMs, sentAt, receivedAt);
  }

  /** What the log has is younger. */
  override raise(): void {}
}

/** A property of another client code that lies in the same bucket as ACME's LON01: their records share parts of batches. */
const NEIGHBOUR = Array.from({ length: 5_000 }, (_, n) => `N${n}`).find(
  (code) => bucketOf("OTHER", code) === bucketOf("ACME", "LON01"),
) as string;

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, "0")}:00Z`;
const other = (id: string, time: string, content: string) => ({
  ...reservation(id, time, content, NEIGHBOUR),
  clientCode: "OTHER",
});

describe("retention", () => {
  let bench: ApplyBench;
  let past: AcceptLog;
  /** Requests by what they are for. */
  const sent = new Map<string, string>();
  before(async () => {
    bench = await ApplyBench.open(1, async ({ pool }) => {
      const client = await pool.connect();
      await setWindowMs(client, MINUTE_MS);
      // As if a term had been set four hours ago.
      const nowMs = now - 4 * HOUR_MS;
      assert.equal(await openWindows(client, REQUEST_OUTCOME, { nowMs, windowMs: MINUTE_MS }), true);
      client.release();
    });
    bench.startApplier();
  });
  after(async () => {
    await past?.close();
    await bench.close();
  });

  /** Sends a batch so long ago, and waits until it is applied. */
  const sendAgo = async (name: string, agoMs: number, records: Parameters<typeof submissionOf>[0]) => {
    await past?.close();
    past = await AcceptLog.open(bench.database.clientConfig, 1, {}, new PastStamp(agoMs));
    const submission = submissionOf(records);
    await bench.properties.register(submission.clientId, submission.records);
    const { requestId } = await past.append(submission);
    sent.set(name, requestId);
    return bench.outcomesOf(requestId);
  };
  const idOf = (name: string) => sent.get(name) as string;
  const run = () => runRetention({ clientConfig: bench.database.clientConfig, nowMs: now });
  const runReplay = (swap = false) =>
    replay({ clientConfig: bench.database.clientConfig, pool: bench.database.pool, swap });
  const payloadsOf = async (pointers: readonly { requestId: string; index: number }[]) => {
    const bucket = bucketOf("ACME", "LON01");
    const texts: string[] = [];
    for await (const bytes of loadRecords(
      bench.database.pool,
      pointers.map((pointer) => ({ bucket, ...pointer })),
    ))
      texts.push(bytes.toString());
    return texts;
  };
  const currentPayloads = async () => {
    const rows = await bench.rows<{ request_id: string; record_index: number }>(
      "select request_id, record_index from bellhop_state.current_record order by property_id, key",
    );
    return payloadsOf(rows.map((row) => ({ requestId: row.request_id, index: row.record_index })));
  };
  const isKnown = async (name: string) =>
    (await readSummariesOf(bench.database.pool, [{ requestId: idOf(name), clientId: "tester" }])).length ===
    1;
  const rowsOf = (table: string, name: string) =>
    bench.rows(`select from bellhop.${table} where request_id = $1`, [idOf(name)]);

  let currentBefore: string[] = [];
  let digestBefore: unknown;

  test("keeps everything where no term is set", async () => {
    const future = reservation("FUT", new Date(Date.now() + 24 * HOUR_MS).toISOString(), "quarantined");
    const first = [
      reservation("R1", at(1), "old"),
      reservation("R2", at(1), "stays"),
      other("O1", at(1), "old"),
      other("O2", at(1), "stays"),
      future,
    ];
    assert.equal(await sendAgo("first", 3 * HOUR_MS, first), "aaaaq");
    assert.equal(await sendAgo("gone", 2.5 * HOUR_MS, [reservation("R1", at(2), "older")]), "a");
    const second = [reservation("R1", at(3), "new"), other("O1", at(3), "new")];
    assert.equal(await sendAgo("second", 2 * HOUR_MS, second), "aa");
    currentBefore = await currentPayloads();
    const report = await runReplay();
    assert.equal(report.equal, true);
    assert.equal(report.derivedFrom, null);
    digestBefore = report.live;
    assert.deepEqual(await run(), { state: "done", due: [], expired: [] });
    assert.equal(await isKnown("gone"), true);
  });

  test("forgets when feeds arrived longer ago than anything asks for, but for the last time", async () => {
    const day = 24 * HOUR_MS;
    await bench.rows(
      `insert into bellhop.feed_arrival (first_request_id, last_request_id, property_id, batches, applied, unchanged, stale,
        duplicate, quarantined, rejected, warned, bucket, resource)
      select noted.id, noted.id, property_id, 1, 1, 0, 0, 0, 0, 0, 0, bucket, noted.resource
      from bellhop.property, unnest($1::uuid[], $2::"char"[]) as noted (id, resource)
      where client_code = 'ACME' and property_code = 'LON01'`,
      [[40, 36, 34, 50, 45].map((days) => lowestIdAt(now - days * day)), ["r", "r", "r", "g", "g"]],
    );
    // By the database's clock, which has more digits.
    await runRetention({ clientConfig: bench.database.clientConfig });
    const left = await bench.rows<{ days: number; resource: string }>(
      `select resource, round(extract(epoch from to_timestamp($1) - analytics.received_at_of(last_request_id)) / 86400)::integer as days
      from bellhop.feed_arrival join bellhop.property using (bucket, property_id)
      where client_code = 'ACME' and property_code = 'LON01' order by resource, days desc`,
      [now / 1000],
    );
    assert.deepEqual(left, [
      { resource: "g", days: 45 },
      { resource: "r", days: 34 },
      ...[0, 0, 0].map((days) => ({ resource: "r", days })),
    ]);
  });

  test("keeps a window whose copy does not fit on the disk, and dependent data", async () => {
    for (const kind of ["payloads", "outcomes"] as const)
      await setTerm(bench.database.pool, { clientCode: "ACME", kind, resource: undefined }, HOUR_MS);
    const { clientConfig, pool } = bench.database;
    const runWithin = (roomBytes: () => number) =>
      runRetention({ clientConfig, nowMs: now, roomBytes: async () => roomBytes() });
    const readDue = async () => (await runRetention({ clientConfig, nowMs: now, dryRun: true })).due;
    await assert.rejects(
      runWithin(() => -1),
      /^Error: The disk has no room for the remaining rows of accept_log_\S+: 0 B are free beyond half of MIN_FREE_DISK_MIB\.$/,
    );
    const due = await readDue();
    const ofLog = due.filter(({ table }) => table === "accept_log").length;
    assert.ok(ofLog >= 3 && due.length > ofLog, JSON.stringify(due));
    let looks = 0;
    const afterLog = () => {
      looks += 1;
      return looks > 2 * ofLog ? Number.POSITIVE_INFINITY : -1;
    };
    await assert.rejects(runWithin(afterLog), NoRoom);
    assert.equal(looks, 2 * ofLog, "no outcomes are taken out before what says which");
    assert.deepEqual(await readDue(), due);
    looks = 0;
    const whileCopying = () => {
      looks += 1;
      return looks % 2 === 0 ? -1 : Number.POSITIVE_INFINITY;
    };
    await assert.rejects(runWithin(whileCopying), NoRoom);
    assert.deepEqual(await readDue(), due);
    const { rows } = await pool.query(
      "select relname from pg_class where relname like 'accept_log%' and relkind = 'r' and not relispartition",
    );
    assert.deepEqual(rows, []);
  });

  test("reports why it failed even if its session was lost", async () => {
    const { clientConfig, pool } = bench.database;
    let looks = 0;
    const roomBytes = async () => {
      looks += 1;
      if (looks % 2 === 1) return Number.POSITIVE_INFINITY;
      await pool.query(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = current_database() and application_name = 'bellhop retention'",
      );
      throw new Error("the first reason");
    };
    await assert.rejects(runRetention({ clientConfig, nowMs: now, roomBytes }), /the first reason/);
  });

  test("deletes expired data, and keeps current, quarantined and other clients' records", async () => {
    const { state, due, expired } = await run();
    assert.equal(state, "done");
    assert.ok(due.length >= 3, JSON.stringify(due));
    assert.ok(
      expired.every(({ replaced }) => replaced !== null),
      JSON.stringify(expired),
    );
    assert.deepEqual(await currentPayloads(), currentBefore);
    const [r1, r2, o1, o2, quarantined] = await payloadsOf(
      [0, 1, 2, 3, 4].map((index) => ({ requestId: idOf("first"), index })),
    );
    assert.equal(r1, "null");
    assert.match(r2 ?? "", /stays/);
    assert.match(o1 ?? "", /old/);
    assert.match(o2 ?? "", /stays/);
    assert.match(quarantined ?? "", /quarantined/);
    // All of it was ACME's, whose outcomes' term is OTHER's too in a bucket that they share.
    assert.deepEqual(await payloadsOf([{ requestId: idOf("gone"), index: 0 }]), ["null"]);
    const property = await findProperty(bench.database.pool, "ACME", "LON01");
    assert.ok(property);
    const { items } = await readRecordHistory(
      bench.database.pool,
      property,
      { resource: "r", key: "R1" },
      { start: null, limit: 10 },
    );
    assert.deepEqual(
      items.map(({ payload, changeTotal }) => [payload?.text.includes("new") ?? null, changeTotal]),
      [
        [null, 0],
        [null, null],
        [true, null],
      ],
    );
    assert.equal(await isKnown("gone"), true);
  });

  test("a request of which nothing is to be known any more is unknown", async () => {
    await setTerm(bench.database.pool, { clientCode: "*", kind: "outcomes", resource: undefined }, HOUR_MS);
    const { clientConfig } = bench.database;
    await assert.rejects(runRetention({ clientConfig, nowMs: now, roomBytes: async () => -1 }), NoRoom);
    assert.deepEqual(await rowsOf("accept_log", "gone"), [], "what needs no room goes from a full disk");
    assert.deepEqual(await rowsOf("request_outcome", "gone"), []);
    assert.equal((await rowsOf("request_outcome", "first")).length, 1);
    await run();
    assert.equal(await isKnown("gone"), false);
    assert.equal(await isKnown("first"), false);
    assert.deepEqual(await rowsOf("request_outcome", "first"), []);
    assert.equal((await rowsOf("accept_log", "first")).length, 1);
    assert.deepEqual(await currentPayloads(), currentBefore);
    assert.deepEqual((await run()).due, [], "a window is gone through once");
  });

  test("history omits deleted versions, and states from when on it is complete", async () => {
    const property = await findProperty(bench.database.pool, "ACME", "LON01");
    assert.ok(property !== undefined);
    const channels: unknown[] = [];
    for await (const item of listHistory(
      bench.database.pool,
      property,
      { resource: "r", key: "R1" },
      { start: null, limit: 100 },
    ))
      channels.push((JSON.parse(item.toString()) as { record: { channel: string } }).record.channel);
    assert.deepEqual(channels, ["new"]);
    const knownFrom = await readKnownFrom(bench.database.pool, "ACME", "r");
    assert.ok(knownFrom !== null && Date.parse(knownFrom) <= now - HOUR_MS, String(knownFrom));
    assert.equal(await readKnownFrom(bench.database.pool, "OTHER", "r"), null);
  });

  test("the state is unchanged, and a replay uses what remains", async () => {
    const report = await runReplay();
    assert.deepEqual(report.live, digestBefore);
    assert.deepEqual(report.rebuilt, digestBefore);
    assert.notEqual(report.derivedFrom, null);
    assert.ok(report.parts === 0, `${report.parts} parts`);
  });

  test("current records can be sent again, and earlier versions are still stale", async () => {
    assert.equal(await bench.acceptAndApply([reservation("R2", at(1), "stays")]), "d");
    assert.equal(await bench.acceptAndApply([reservation("R2", at(4), "stays")]), "u");
    assert.equal(await bench.acceptAndApply([reservation("R1", at(1), "old")]), "d");
    assert.equal(await bench.acceptAndApply([reservation("R1", at(2), "never seen")]), "s");
    const [found] = await bench.rows<{ request_id: string }>(
      "select request_id from bellhop_state.current_record where key = 'R1'",
    );
    assert.equal(found?.request_id, idOf("second"));
  });

  test("a quarantined record can be released from the remaining part of its batch", async () => {
    const [quarantined] = await findQuarantined(bench.database.pool, idOf("first"), 4);
    const entry = await bench.log.appendResolution({
      kind: "release",
      operator: "tester",
      bucket: quarantined?.bucket ?? -1,
      resource: "r",
      requestId: idOf("first"),
      index: 4,
    });
    assert.equal(await bench.outcomesOf(entry), "a");
    const report = await runReplay(true);
    assert.deepEqual(report.rebuilt, report.live);
    assert.equal(report.swapped, true);
    assert.equal((await currentPayloads()).length, currentBefore.length + 1);
    assert.equal(await bench.acceptAndApply([reservation("R9", at(1), "after the swap")]), "a");
    assert.equal((await runReplay()).equal, true);
  });

  test("accepted but unapplied data keeps its window", async () => {
    await bench.stopApplier();
    await past.close();
    past = await AcceptLog.open(bench.database.clientConfig, 1, {}, new PastStamp(100 * MINUTE_MS));
    const { requestId } = await past.append(submissionOf([reservation("R3", at(1), "waits")]));
    assert.deepEqual((await run()).expired, []);
    bench.startApplier();
    assert.equal(await bench.outcomesOf(requestId), "a");
    assert.equal((await run()).expired.length > 0, true);
    assert.equal((await runReplay()).equal, true);
  });

  test("a new client code has no data in windows that were already processed", async () => {
    assert.equal(
      await bench.acceptAndApply([{ ...reservation("N1", at(1), "new"), clientCode: "NEW" }]),
      "a",
    );
    assert.deepEqual((await run()).due, []);
  });

  test("leftovers of a killed run are removed once a node runs", async () => {
    const stray = "bellhop.accept_log_20200106_killed";
    await bench.rows(`create table ${stray} (like bellhop.accept_log)`);
    const unheard = () => assert.fail("Nothing was due.");
    const kept = keepRetention(bench.database, 7 * 24 * HOUR_MS, {
      ran: unheard,
      failed: unheard,
      progress: unheard,
      copying: unheard,
      roomBytes: async () => 0,
    });
    const left = `select from pg_class where oid = to_regclass('${stray}')
      union all select from pg_stat_activity where application_name = 'bellhop retention' and datname = current_database()`;
    await until(async () => (await bench.rows(left)).length === 0, 60_000);
    await kept.stop();
  });

  test("one run at a time, and none beside a replay", async () => {
    const replaying = await bench.database.pool.connect();
    try {
      await withExclusiveWork(replaying, async () => assert.equal((await run()).state, "busy"));
    } finally {
      replaying.release();
    }
    assert.equal((await run()).state, "done");
    assert.ok(lowestIdAt(Date.now()) > idOf("first"));
  });

  test("a backup holds the state, of which the log is not whole any more, and is restored with its windows", async () => {
    const directory = await temporaryDirectory("retained");
    const restored = await createEmptyTestDatabase();
    const windowsOf = async ({ pool }: Pick<ApplyBench["database"], "pool">) =>
      (
        await pool.query<{ relname: string; stored: string[] | null }>(
          `select relname, reloptions as stored, pg_get_expr(relpartbound, oid) as bounds from pg_class
          where relispartition and relkind = 'r' and relnamespace::regnamespace::text in ('bellhop', 'bellhop_state') order by 1`,
        )
      ).rows;
    try {
      const sink = await openBackupFile(join(directory, "retained.tar"), Date.now());
      const { clientConfig } = bench.database;
      const { header } = await writeBackup({ clientConfig, withState: false, sink });
      assert.equal(header.withState, true);
      const { equal } = await restore({
        path: sink.name,
        clientConfig: restored.clientConfig,
        pool: restored.pool,
        log: silentLog,
        cipher: createSecretCipher(undefined),
        acceptDifference: false,
        nothingLost: false,
      });
      assert.equal(equal, true);
      const windows = await windowsOf(bench.database);
      for (const { relname, stored } of windows)
        assert.deepEqual(
          stored,
          relname.startsWith("accept_log") ? ["toast_tuple_target=4080"] : null,
          relname,
        );
      assert.deepEqual(await windowsOf(restored), windows);
    } finally {
      await restored.drop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
