import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { Applier } from "../../src/apply/applier.ts";
import { PropertyDirectory } from "../../src/apply/backlog.ts";
import { applySessions } from "../../src/apply/postgres-apply-session.ts";
import { replay } from "../../src/apply/replay.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { PropertyRegister } from "../../src/ingest/log/property-register.ts";
import { type Database, openDatabase } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { loadRecords } from "../../src/query/load-records.ts";
import { reservation, submissionOf } from "../support/apply-bench.ts";
import { createEmptyDatabase } from "../support/database.ts";
import { untilFound } from "../support/until.ts";

/** What an operator may have set for the database or the role, for other programs' sake. */
const DEFAULTS = {
  DateStyle: "'SQL, DMY'",
  TimeZone: "'Pacific/Apia'",
  IntervalStyle: "'sql_standard'",
  search_path: "''",
  standard_conforming_strings: "off",
  bytea_output: "'escape'",
  extra_float_digits: "-8",
  array_nulls: "off",
  quote_all_identifiers: "on",
  default_transaction_isolation: "'serializable'",
  default_transaction_deferrable: "on",
  synchronous_commit: "off",
  statement_timeout: "'20ms'",
  lock_timeout: "'20ms'",
  idle_in_transaction_session_timeout: "'20ms'",
  client_encoding: "'LATIN1'",
} as const;

describe("a database with its own default settings", () => {
  let empty: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let database: Database;
  let log: AcceptLog;
  let applier: Applier;
  const failures: unknown[] = [];
  before(async () => {
    empty = await createEmptyDatabase();
    const name = new URL(empty.url).pathname.slice(1);
    const client = new pg.Client({ connectionString: empty.url });
    await client.connect();
    for (const [setting, value] of Object.entries(DEFAULTS))
      await client.query(`alter database ${name} set ${setting} = ${value}`);
    await client.end();
    database = await openDatabase(
      { databaseUrl: empty.url, dataDir: "", allowUnsafeDurability: true },
      createLogger({ level: "silent", pretty: false }),
    );
    log = await AcceptLog.open(database.clientConfig, 1, { failed: (error) => failures.push(error) });
    applier = new Applier({
      openSession: applySessions({
        clientConfig: database.clientConfig,
        pool: database.pool,
        properties: new PropertyDirectory(database.pool),
      }),
      owner: "test",
      pollMs: 20,
      events: { failed: (error) => failures.push(error) },
    });
    applier.start();
  });
  after(async () => {
    await applier?.stop();
    await log?.close();
    await database?.close();
    await empty.drop();
  });

  test("is migrated, accepts, applies, gives back and replays as any other", async () => {
    const sent = [
      reservation("A", "2026-01-01T00:00:01.100Z", "naïve \\' \u{1f600}"),
      reservation("A", "2026-01-01T00:00:01.1Z".replace(".1Z", ".100000Z"), "naïve \\' \u{1f600}"),
      reservation("A", "0001-01-01T00:00:00Z", "first"),
      reservation("B", "2026-02-01T00:00:00.000001Z", "x"),
    ];
    const submission = submissionOf(sent);
    await new PropertyRegister(database.pool, 10).register("tester", submission.records);
    const { requestId } = await log.append(submission);
    const part = await untilFound(async () => {
      const { rows } = await database.pool.query<{ bucket: number; outcomes: string }>(
        "select bucket, outcomes from bellhop.request_outcome where request_id = $1",
        [requestId],
      );
      return rows[0];
    });
    assert.equal(part.outcomes, "adsa");
    const read: unknown[] = [];
    for await (const bytes of loadRecords(
      database.pool,
      sent.map((_, index) => ({ bucket: part.bucket, requestId, index })),
    ))
      read.push(JSON.parse(bytes.toString("utf8")));
    assert.deepEqual(read, sent);
    const report = await replay({
      clientConfig: database.clientConfig,
      pool: database.pool,
      swap: true,
    });
    assert.equal(report.equal, true);
    assert.equal(report.live.versions, 3);
    assert.deepEqual(failures.map(String), []);
  });

  test("ends the sessions of a node that vanished within about half a minute", async () => {
    // On the Unix socket of a test server they have no effect, so what the session asked for is looked at.
    const { rows } = await database.pool.query<{ name: string; value: number }>(
      `select name, reset_val::integer as value from pg_settings
      where name like 'tcp\\_%' and source = 'client' order by name`,
    );
    const value = new Map(rows.map((row) => [row.name, row.value]));
    const of = (name: string) => value.get(`tcp_keepalives_${name}`) ?? Number.NaN;
    assert.ok(of("idle") + of("interval") * of("count") <= 30, JSON.stringify(rows));
    assert.equal(value.get("tcp_user_timeout"), 30_000);
  });
});
