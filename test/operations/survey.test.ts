import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { lowestIdAt } from "../../src/ingest/log/part-name.ts";
import { startSurvey } from "../../src/operations/metrics/survey.ts";
import { inventoryRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";

const WAIT_MS_MAX = 60_000;
const HOUR_MS = 3_600_000;

describe("what the installation is like as a whole", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
    assert.equal((await service.post("inventories", [inventoryRecord()])).status, 202);
    assert.equal((await service.post("reservations", [reservationRecord()])).status, 202);
    await until(async () => {
      const { rowCount } = await service.pool.query("select from bellhop.feed_arrival");
      return rowCount === 2;
    }, WAIT_MS_MAX);
  });
  after(() => service.stop());

  /** A value of a metric (its name and labels as they are scraped), once a survey says so. */
  async function seen(metric: string, wanted: (value: number) => boolean): Promise<number> {
    const failures: unknown[] = [];
    const survey = startSurvey({
      on: service.pool,
      dataDirectory: process.cwd(),
      failed: (error) => void failures.push(error),
      pace: { first: 1, often: 20, seldom: 20, restPerWork: 1 },
    });
    try {
      return await untilFound(async () => {
        assert.deepEqual(failures, []);
        for (const { name, values } of await survey.metrics()) {
          for (const { value, labels } of values) {
            const [[label, of] = []] = Object.entries(labels);
            const shown = label === undefined ? name : `${name}{${label}="${of}"}`;
            if (shown === metric && wanted(value)) return value;
          }
        }
        return undefined;
      }, WAIT_MS_MAX);
    } finally {
      survey.stop();
    }
  }

  test("a running service collects metrics automatically, and its scrape has all of them", async () => {
    const wanted = [
      /\nbellhop_oldest_unapplied_seconds \d/,
      /\nbellhop_buckets_unowned \d/,
      /\nbellhop_log_writers\{state="open"\} [1-9]/,
      /\nbellhop_feeds\{resource="reservations"\} \d/,
      /\nbellhop_log_partitions [1-9]/,
      /\nbellhop_database_bytes [1-9]/,
      /\nbellhop_wal_since_checkpoint_bytes \d/,
    ];
    // What the first one saw at its start may be of before the records; it would look again after a minute.
    const another = await startTestService({}, { database: service.database });
    let text = "";
    try {
      await until(async () => {
        ({ text } = await another.get("/metrics"));
        return wanted.every((shape) => shape.test(text));
      }, WAIT_MS_MAX);
    } finally {
      await another.stop();
    }
    // The disk of a database that is not ours is not ours to see, and no space left would be a false alarm.
    assert.doesNotMatch(text, /\nbellhop_disk_free_bytes /);
  });

  test("a feed is silent by its property's cadence, else its client code's, else the default; of none nothing is expected", async () => {
    const { pool } = service;
    const cadence = async (property: string | null, hours: string) => {
      await pool.query(
        `insert into bellhop.property_setting (client_code, property_code, name, value) values ('ACME', $1, 'cadence.inventories', $2)`,
        [property, hours],
      );
    };
    await pool.query("update bellhop.feed_arrival set last_request_id = $1 where resource = 'i'", [
      lowestIdAt(Date.now() - 30 * HOUR_MS),
    ]);
    const silent = (count: number) =>
      seen('bellhop_feeds_silent{resource="inventories"}', (value) => value === count);
    await silent(1);
    const seconds = await seen(
      'bellhop_feed_silence_longest_seconds{resource="inventories"}',
      (value) => value > 0,
    );
    // 30 hours ago, 24 expected.
    assert.ok(Math.abs(seconds - 6 * 3600) < 600, `${seconds} s`);
    assert.equal(await seen('bellhop_feeds_silent{resource="reservations"}', () => true), 0);
    await cadence(null, "48");
    await silent(0);
    await cadence("LON01", "1");
    await silent(1);
    await pool.query("update bellhop.property_setting set value = 'none' where property_code = 'LON01'");
    await silent(0);
    assert.equal(await seen('bellhop_feeds{resource="inventories"}', () => true), 0);
  });

  test("unapplied batches are reported with their age, and quarantined records", async () => {
    const holder = await service.pool.connect();
    try {
      await holder.query(
        "begin; set local idle_in_transaction_session_timeout = 0; update bellhop.bucket_lease set epoch = epoch",
      );
      const late = inventoryRecord({ createDateTime: "2099-01-01T00:00:00Z" });
      const { status } = await service.post("inventories", [late]);
      assert.equal(status, 202);
      await seen("bellhop_buckets_behind", (count) => count === 1);
      await seen("bellhop_oldest_unapplied_seconds", (age) => age > 0);
      await seen("bellhop_oldest_transaction_seconds", (age) => age > 0);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    await seen("bellhop_buckets_behind", (count) => count === 0);
    await seen("bellhop_quarantine_held_records", (count) => count === 1);
  });

  test("disk metrics are reported if the disk is local", async () => {
    await seen("bellhop_disk_free_bytes", (bytes) => bytes > 0);
    await seen("bellhop_wal_files_bytes", (bytes) => bytes > 0);
    await seen("bellhop_log_bytes", (bytes) => bytes > 0);
  });
});
