import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, mock, test } from "node:test";
import { readConfig } from "../../src/config.ts";
import { recordAudit } from "../../src/identity/audit.ts";
import { knowledgeOfAddresses } from "../../src/identity/key-admin.ts";
import { retirePepper, rotatePepper } from "../../src/identity/pepper-admin.ts";
import { makePayloadKey } from "../../src/ingest/log/payload-keys.ts";
import { examine } from "../../src/operations/doctor/examine.ts";
import type { Finding, Severity } from "../../src/operations/doctor/finding.ts";
import {
  askOldestTransactions,
  certificateFinding,
  checkpointFinding,
  READ_CONNECTIONS,
  replicaFinding,
} from "../../src/operations/doctor/server-checks.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { createPool } from "../../src/platform/db/connection.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { runRetention } from "../../src/retention/run-retention.ts";
import { enterNode } from "../../src/service/node-presence.ts";
import { bellhop } from "../support/command.ts";
import {
  createEmptyDatabase,
  createTestDatabase,
  isOnCitus,
  type TestDatabase,
} from "../support/database.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";

const KEY = randomBytes(32).toString("base64");

/** A laptop's command beside the database, with these settings changed. */
function look(url: string, settings: Readonly<Record<string, string>> = {}): Promise<readonly Finding[]> {
  const environment = {
    DATABASE_URL: url,
    NODE_ENV: "test",
    HTTP_THREADS: "1",
    APPLY_WRITERS: "1",
    ...settings,
  };
  return examine({ readConfig: () => readConfig(environment), explain: String });
}

/** A node that only says that it is there. */
const openNode = (clientConfig: TestDatabase["clientConfig"], baseUrl: string) =>
  enterNode({
    clientConfig,
    owner: "elsewhere/1",
    roles: ["read"],
    knowledge: [knowledgeOfAddresses({ baseUrl, authUrl: undefined })],
    counted: () => undefined,
    failed: () => undefined,
  });

const severityOf = (findings: readonly Finding[], id: string): Severity | undefined =>
  findings.find((finding) => finding.id === id)?.severity;

const saysOf = (findings: readonly Finding[], id: string): string =>
  findings.find((finding) => finding.id === id)?.says ?? assert.fail(`nothing was found of ${id}`);

test("the certificate of the server is judged by the days that it has left", () => {
  const now = Date.UTC(2027, 0, 10);
  const judged = (day: string) => certificateFinding(Date.parse(day), now);
  assert.equal(judged("2027-03-01").severity, "ok");
  const soon = judged("2027-01-20");
  assert.equal(soon.severity, "warning");
  assert.match(soon.says, /ends on 2027-01-20, in 10 days/);
  assert.equal(judged("2027-01-09").severity, "error");
});

test("checkpoints that follow each other because of the write-ahead log are a warning", () => {
  const judged = (timed: number, requested: number, hours: number) =>
    checkpointFinding({ timed, requested, seconds: hours * 3_600, maxWalMib: 1_024 });
  assert.equal(judged(12, 9, 0.1).severity, "ok");
  assert.equal(judged(288, 40, 24).severity, "ok");
  assert.equal(judged(0, 200, 24).severity, "ok");
  const often = judged(3, 120, 2);
  assert.equal(often.severity, "warning");
  assert.match(often.says, /^120 checkpoints by request or write-ahead log, one every 60 s|1 min/);
  assert.match(often.advice ?? "", /max_wal_size \(now 1/);
});

test("one finding is not several", async () => {
  const { code, out } = await bellhop(["doctor"], { KEY_ENCRYPTION_KEY: "short" });
  assert.equal(code, 2);
  assert.match(out, /^1 finding: 0 ok, 0 warnings, 1 error\.$/m);
});

describe("beside a running service", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test("one that is well has no failure, and every area has been looked at", async () => {
    // The service is ready before its applier says that it is there; until then no bucket needs an owner.
    const findings = await untilFound(async () => {
      const found = await look(service.database.url);
      return ["nodes.present", "buckets.owned"].every((id) => severityOf(found, id) === "ok")
        ? found
        : undefined;
    }, 60_000);
    assert.deepEqual(
      findings.filter(({ severity }) => severity === "error"),
      [],
    );
    const areas = new Set(findings.map(({ id }) => id.split(".")[0]));
    assert.deepEqual(
      [
        ..."apply backups buckets clock database deliveries disk erasures keys log-writers leftovers nodes partitions quarantine replication retention rights secrets settings tables webhooks".split(
          " ",
        ),
      ].filter((area) => !areas.has(area)),
      [],
    );
    for (const id of [
      "nodes.present",
      "apply.lag",
      "keys.active",
      "partitions.ahead",
      "database.durability",
      "rights.schema",
    ])
      assert.equal(severityOf(findings, id), "ok", id);
  });

  test("nodes of another installation are reported by their addresses", async () => {
    const { url } = service.database;
    assert.equal(severityOf(await look(url), "nodes.addresses"), "ok");
    const findings = await look(url, { BASE_URL: "https://other.example" });
    assert.match(saysOf(findings, "nodes.addresses"), /^1 node has another BASE_URL or AUTH_URL/);
    const node = await openNode(service.database.clientConfig, "https://other.example");
    try {
      assert.equal(
        severityOf(await look(url, { BASE_URL: "https://other.example" }), "nodes.addresses"),
        "error",
      );
      assert.match(saysOf(await look(url), "nodes.addresses"), /: elsewhere\/1, and 1 of 2 have the same\.$/);
    } finally {
      await node.stop();
    }
    assert.equal(severityOf(await look(url), "nodes.addresses"), "ok");
  });

  test("the server's time zones agree with Node's", async () => {
    const { pool, url } = service.database;
    await pool.query(
      `insert into bellhop.property_setting (client_code, property_code, name, value)
      select 'ZONES', zone, 'timeZone', zone from unnest($1::text[]) as zone`,
      [
        [
          "Europe/Paris",
          "America/New_York",
          "Asia/Kolkata",
          "Australia/Lord_Howe",
          "Pacific/Auckland",
          "Etc/GMT+2",
        ],
      ],
    );
    assert.match(saysOf(await look(url), "database.time-zones"), /agree on the 6 time zones/);
    await pool.query("delete from bellhop.property_setting where client_code = 'ZONES'");
  });

  test("a bucket has an owner though its session is hidden from whoever looks", async (t) => {
    if (await isOnCitus()) return t.skip("Who looks would have to log in to the workers.");
    await service.pool.query(
      `grant usage on schema bellhop, bellhop_state to pg_read_all_settings;
      grant select on all tables in schema bellhop, bellhop_state to pg_read_all_settings`,
    );
    const url = new URL(service.database.url);
    url.searchParams.set("options", "-c role=pg_read_all_settings");
    assert.match(saysOf(await look(url.href), "buckets.owned"), /^All 64 buckets have an owner/);
  });

  test("every problem is reported with its consequence and remedy", async () => {
    const findings = await look(service.database.url, { NODE_ENV: "production" });
    const ids = findings.filter(({ severity }) => severity !== "ok").map(({ id }) => id);
    assert.ok(ids.includes("settings.key-encryption") && ids.includes("settings.addresses"), ids.join());
    for (const { id, severity, means, advice } of findings)
      assert.equal(severity !== "ok", means !== undefined && advice !== undefined, id);
  });

  test("a record that is quarantined is counted with its reason", async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
    assert.equal(
      (await service.post("inventories", [inventoryRecord({ createDateTime: tomorrow })])).status,
      202,
    );
    await until(
      async () => severityOf(await look(service.database.url), "quarantine.records") === "warning",
      60_000,
    );
    assert.match(
      saysOf(await look(service.database.url), "quarantine.records"),
      /^1 record is quarantined \(1 time\.future\)/,
    );
  });

  test("an abandoned erasure is reported with what it delays, and not listed as running", async () => {
    const { url, pool } = service.database;
    await pool.query(
      `insert into bellhop.erasure (erasure_id, reason, requested_by, started_at)
      values (gen_random_uuid(), 'ticket 1', 'cli:test', clock_timestamp() - interval '2 hours')`,
    );
    const found = (await look(url)).find(({ id }) => id === "erasures.finished");
    assert.equal(found?.severity, "warning");
    assert.match(found?.means ?? "", /responses to webhooks with records are not stored/);
    const listed = await bellhop(["erasure", "list"], { DATABASE_URL: url });
    assert.match(listed.out, / unfinished .* ticket 1/);
    const exported = async () => severityOf(await look(url), "erasures.exported");
    assert.equal(await exported(), "warning");
    await pool.query(
      `insert into bellhop.audit_entry (who, what, detail)
      select 'cli:test', 'apply-erasure-list', jsonb_build_object('erasureIds', array_agg(erasure_id)) from bellhop.erasure`,
    );
    assert.equal(await exported(), "ok", "a list that it was imported from has it");
    await pool.query("delete from bellhop.erasure");
  });

  test("unencrypted secrets are reported if a key is set, and a key that does not decrypt them is an error", async () => {
    const { url } = service.database;
    assert.equal(severityOf(await look(url), "keys.encryption"), "ok");
    assert.equal(severityOf(await look(url, { KEY_ENCRYPTION_KEY: KEY }), "keys.encryption"), "warning");
  });

  test("a wrong KEY_ENCRYPTION_KEY is one error, and what needs no key is looked at", async () => {
    const { pool } = service;
    const { rows } = await pool.query<{ value: string }>(
      "select value from bellhop.instance where name = 'auth.pepper'",
    );
    const set = "update bellhop.instance set value = $1 where name = 'auth.pepper'";
    await pool.query(set, ["aes256gcm:AAAA:AAAA:AAAA"]);
    const findings = await look(service.database.url, { KEY_ENCRYPTION_KEY: KEY });
    await pool.query(set, [rows[0]?.value]);
    assert.deepEqual(
      findings.filter(({ severity }) => severity === "error").map(({ id }) => id),
      ["keys.encryption"],
    );
    assert.equal(severityOf(findings, "secrets.pepper"), "ok");
  });

  test("a rotation of the pepper that is not over is reported, and batches that are to be encrypted and are not", async () => {
    const { url, pool } = service.database;
    const severities = async (settings: Readonly<Record<string, string>> = {}) => {
      const findings = await look(url, settings);
      return ["secrets.pepper", "secrets.payloads"].map((id) => severityOf(findings, id));
    };
    const encrypted = { KEY_ENCRYPTION_KEY: KEY, ENCRYPT_PAYLOADS: "yes" };
    assert.deepEqual(await severities(), ["ok", "ok"]);
    assert.deepEqual(await severities(encrypted), ["ok", "warning"]);
    const admin = { internals: service.service.authenticator.internals, who: "cli:test" };
    await rotatePepper(admin);
    await makePayloadKey(pool, createSecretCipher(KEY));
    assert.deepEqual(await severities(), ["warning", "warning"]);
    assert.deepEqual(await severities(encrypted), ["warning", "ok"]);
    await pool.query("update bellhop.payload_key set created_at = created_at - interval '94 days'");
    await retirePepper(admin, { force: true });
    assert.deepEqual(await severities(encrypted), ["ok", "warning"]);
    await pool.query("delete from bellhop.payload_key");
  });

  test("data that is invisible without pg_monitor is reported as such", async (t) => {
    const client = await service.pool.connect();
    try {
      await client.query("set role pg_read_all_settings");
      const { rows } = await client.query<{ used: number; databaseUsed: number }>(READ_CONNECTIONS);
      const [{ used, databaseUsed } = assert.fail()] = rows;
      assert.ok(databaseUsed > 1 && used >= databaseUsed, `${used} of the server, ${databaseUsed} here`);
    } finally {
      client.release(true);
    }
    const hidden = { name: "standby", isSynchronous: null, lagSeconds: null, lagBytes: null };
    const { severity, says } = replicaFinding({
      synchronousNames: "standby",
      replicas: [hidden],
      slots: [],
      archivingFails: false,
    });
    assert.deepEqual([severity, says], ["warning", "How far 1 standby is behind: not visible to this role."]);
    if (await isOnCitus()) return t.skip("Who looks would have to log in to the workers.");
    const url = new URL(service.database.url);
    assert.equal(severityOf(await look(url.href), "database.transactions"), "ok");
    url.searchParams.set("options", "-c role=pg_read_all_settings");
    const ofOrdinary = await look(url.href);
    assert.equal(severityOf(ofOrdinary, "database.transactions"), "warning");
    assert.equal(
      saysOf(ofOrdinary, "database.transactions"),
      "Transactions of other roles: not visible to this role.",
    );
  });

  test("a long transaction is reported with its session", async () => {
    const client = await service.pool.connect();
    try {
      await client.query("begin");
      await client.query("set local application_name = 'an analyst'");
      const { rows: open } = await service.pool.query<{ program: string }>(askOldestTransactions(0));
      const [oldest] = open;
      assert.ok(oldest !== undefined);
      const programs = open.map(({ program }) => program);
      assert.ok(programs.includes("an analyst"), programs.join());
    } finally {
      await client.query("rollback");
      client.release();
    }
  });
});

describe("where no service runs", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());
  const say = async (id: string) => severityOf(await look(database.url), id);

  test("before the first start, missing nodes and keys are not errors, and buckets need no owner", async () => {
    const findings = await look(database.url);
    assert.equal(saysOf(findings, "nodes.present"), "No node is running on this database.");
    assert.equal(severityOf(findings, "keys.active"), "warning");
    assert.equal(severityOf(findings, "buckets.owned"), "ok");
  });

  interface Fault {
    readonly what: string;
    plant(): Promise<unknown> | unknown;
    cure(): Promise<unknown> | unknown;
    readonly id: string;
    readonly says: RegExp;
    readonly advice: RegExp;
  }
  const sql = (statement: string) => () => database.pool.query(statement);
  const name = () => new URL(database.url).pathname.slice(1);
  const ofDatabase = (change: string) => () => database.pool.query(`alter database "${name()}" ${change}`);
  const INDEX = "create index accept_log_client on only bellhop.accept_log (client_id, request_id)";
  const FAULTS: readonly Fault[] = [
    {
      what: "a dropped index",
      plant: sql("drop index bellhop.accept_log_client"),
      cure: sql(INDEX),
      id: "tables.indexes",
      says: /^1 index cannot be used: bellhop\.accept_log_client is missing\.$/,
      advice: /create index/,
    },
    {
      what: "a server that ends idle sessions",
      plant: ofDatabase("set idle_session_timeout = '5min'"),
      cure: ofDatabase("reset idle_session_timeout"),
      id: "database.idle-session-timeout",
      says: /300000 ms/,
      advice: /idle_session_timeout = 0/,
    },
    {
      what: "few connections",
      plant: ofDatabase("connection limit 12"),
      cure: ofDatabase("connection limit -1"),
      id: "database.connections",
      says: /of 12 connections of the database are in use/,
      advice: /max_connections/,
    },
    {
      what: "a clock ten minutes away",
      plant: () => mock.method(Date, "now", () => performance.timeOrigin + performance.now() + 600_000),
      cure: () => mock.restoreAll(),
      id: "clock.difference",
      says: /9 min 59 s|10 min/,
      advice: /NTP/,
    },
    {
      what: "a property in a time zone that the server does not know",
      plant: sql(
        "insert into bellhop.property_setting (client_code, property_code, name, value) values ('ACME', 'P9', 'timeZone', 'Mars/Olympus')",
      ),
      cure: sql("delete from bellhop.property_setting where value = 'Mars/Olympus'"),
      id: "database.time-zones",
      says: /does not know 1 time zone of properties: Mars\/Olympus/,
      advice: /tzdata/,
    },
    {
      what: "a schema of a replay that was left",
      plant: sql("create schema bellhop_replay_left create table part (id bigint)"),
      cure: sql("drop schema bellhop_replay_left cascade"),
      id: "leftovers.schemas",
      says: /bellhop_replay_left/,
      advice: /./,
    },
  ];

  test("names cause and cure of planted faults, and none of them before and after", async () => {
    for (const { what, plant, cure, id, says, advice } of FAULTS) {
      const found = async () =>
        (await look(database.url)).find((one) => one.id === id && one.severity !== "ok");
      assert.equal(await found(), undefined, `${what}: before`);
      await plant();
      try {
        const finding = await found();
        assert.match(finding?.says ?? "nothing", says, what);
        assert.match(finding?.advice ?? "", advice, what);
      } finally {
        await cure();
      }
      assert.equal(await found(), undefined, `${what}: after`);
    }
  });

  test("partitions that end soon are a warning, and a missing current one is an error", async () => {
    // A database has none until a node makes them.
    await database.pool.query(
      `create table bellhop.accept_log_old partition of bellhop.accept_log
        for values from ('00000000-0000-7000-8000-000000000000') to ('019a0000-0000-7000-8000-000000000000')`,
    );
    assert.equal(await say("partitions.ahead"), "error");
  });

  test("expired data that is still stored is reported, except under terms set today", async () => {
    const { pool } = database;
    assert.equal(
      saysOf(await look(database.url), "retention.expired"),
      "No term is set: everything is kept forever.",
    );
    await pool.query(
      "insert into bellhop.property (client_code, property_code, bucket, created_by) values ('ACME', 'P1', 0, 'c1')",
    );
    await setTerm(pool, { clientCode: "*", kind: "payloads", resource: undefined }, 86_400_000);
    assert.equal(await say("retention.expired"), "ok");
    await pool.query("update bellhop.property_setting set changed_at = changed_at - interval '4 hours'");
    assert.match(
      saysOf(await look(database.url), "retention.expired"),
      /^1 window has expired data; the oldest \(accept_log_old\) ends at 2025-/,
    );
    assert.equal((await runRetention({ clientConfig: database.clientConfig })).state, "done");
    assert.equal(saysOf(await look(database.url), "retention.expired"), "Expired data is deleted.");
    await setTerm(pool, { clientCode: "*", kind: "versions", resource: "groups" }, 86_400_000);
    await pool.query("update bellhop.property_setting set changed_at = changed_at - interval '4 hours'");
    assert.match(
      saysOf(await look(database.url), "retention.expired"),
      /group_version has no windows yet\.$/,
    );
  });

  test("an old or missing backup is reported, and one from before a restore does not count", async () => {
    const { pool } = database;
    const reported = async () => {
      const findings = await look(database.url);
      return [severityOf(findings, "backups.taken"), saysOf(findings, "backups.taken")] as const;
    };
    assert.equal((await reported())[0], "ok");
    await pool.query("update bellhop_migration.applied set applied_at = applied_at - interval '8 days'");
    assert.match(
      (await reported()).join(),
      /^warning,No backup has been taken since this database was created 8(\.\d)? days ago/,
    );
    await recordAudit(pool, { who: "cli:test", what: "backup" });
    assert.match((await reported()).join(), /^ok,The last backup was taken /);
    await pool.query("update bellhop.audit_entry set occurred_at = occurred_at - interval '9 days'");
    assert.match((await reported()).join(), /^warning,The last backup was taken 9 days ago/);
    await recordAudit(pool, { who: "cli:test", what: "backup" });
    await recordAudit(pool, { who: "cli:test", what: "restore" });
    assert.match((await reported()).join(), /^warning,No backup has been taken/);
  });

  test("dead letters, paused receivers, old backfills and leftovers of a replay are reported", async () => {
    await database.pool.query(
      `insert into bellhop.client (client_id, name, scopes, changed_epoch) values ('c1', 'sandbox', '{}', 0);
      insert into bellhop.client_grant values ('c1', 'DEMO', '*');
      insert into bellhop.webhook_endpoint (endpoint_id, client_id, url, events, shard, paused_at, pause_reason)
        values ('019a0000-0000-7000-8000-000000000001', 'c1', 'https://a.example', '{}', 0, now(), 'silent for 72 hours');
      insert into bellhop.webhook_message (message_id, endpoint_id, event, body, dead_at)
        values ('019a0000-0000-7000-8000-000000000002', '019a0000-0000-7000-8000-000000000001', 'request.applied', '{}', now());
      insert into bellhop.backfill (backfill_id, client_id, client_code, property_code, bucket, manifest, opened_at)
        values ('019a0000-0000-7000-8000-000000000003', 'c1', 'ACME', 'P1', 0, '{}', now() - interval '8 days');
      insert into bellhop.operator (name, role, grants) values ('anna', 'revenue', '{ACME/*}');
      insert into bellhop.subscription (subscription_id, operator_name, kind)
        values ('019a0000-0000-7000-8000-000000000004', 'anna', 'alerts');
      insert into bellhop.subscription_message (message_id, subscription_id, occasion, state, settled_at, next_try_at)
        values ('019a0000-0000-7000-8000-000000000005', '019a0000-0000-7000-8000-000000000004', 'a', 'failed', now(), now()),
          ('019a0000-0000-7000-8000-000000000006', '019a0000-0000-7000-8000-000000000004', 'b', 'waiting', null, now() - interval '1 hour');
      create schema bellhop_replay_abc; create table bellhop_replay_abc.t as select 1;`,
    );
    const findings = await look(database.url);
    for (const id of [
      "webhooks.receivers",
      "webhooks.dead-letters",
      "deliveries.failed",
      "deliveries.late",
      "leftovers.backfills",
      "leftovers.schemas",
    ])
      assert.equal(severityOf(findings, id), "warning", id);
    assert.equal(severityOf(findings, "leftovers.sandbox"), "error");
  });

  test("a migration of a newer version and one that is not made yet are reported", async () => {
    const { pool } = database;
    await pool.query(
      "insert into bellhop_migration.applied (name, checksum) values ('9999-do-more.sql', '')",
    );
    assert.match(saysOf(await look(database.url), "database.migrations"), /the first: 9999-do-more\.sql/);
    await pool.query("delete from bellhop_migration.applied where name >= '0001'");
    assert.match(
      saysOf(await look(database.url), "database.migrations"),
      /lacks .* \(the first: 0001-create-schema\.sql\)/,
    );
  });

  test("a role that cannot create schemas is an error, and data that it cannot read is reported as unknown", async (t) => {
    const { pool, name, url } = database;
    const { rows } = await pool.query("select from pg_roles where rolname = current_user and rolsuper");
    if (rows.length > 0) return t.skip("The tests run as a superuser, who may do everything.");
    // Rights that an owner takes from itself.
    await pool.query(
      `revoke create on database ${name} from current_user; revoke select on bellhop.signing_key from current_user`,
    );
    const findings = await look(url);
    assert.equal(severityOf(findings, "rights.schema"), "error");
    assert.equal(severityOf(findings, "keys.look"), "warning");
    assert.ok(severityOf(findings, "clock.difference") !== undefined);
    await pool.query(
      `grant create on database ${name} to current_user; grant select on bellhop.signing_key to current_user`,
    );
    assert.equal(severityOf(await look(url), "rights.schema"), "ok");
  });
});

test("an empty database is looked at without being migrated", async () => {
  const { url, drop } = await createEmptyDatabase();
  const findings = await look(url);
  assert.equal(severityOf(findings, "database.migrations"), "warning");
  assert.equal(severityOf(findings, "keys.active"), undefined);
  const pool = createPool({ connectionString: url }, createLogger({ level: "silent", pretty: false }), 1);
  const { rows } = await pool.query("select from pg_namespace where nspname like 'bellhop%'");
  assert.equal(rows.length, 0);
  await pool.end();
  await drop();
});

test("a database that cannot be reached, a DATA_DIR without one and a wrong setting are findings", async () => {
  const unreachable = await look("postgresql://127.0.0.1:1/none");
  assert.equal(severityOf(unreachable, "database.reach"), "error");
  const nowhere = await examine({
    readConfig: () => readConfig({ DATA_DIR: "/nonexistent/bellhop" }),
    explain: String,
  });
  assert.equal(severityOf(nowhere, "database.reach"), "warning");
  const file = await examine({ readConfig: () => readConfig({ DATA_DIR: "/dev/null" }), explain: String });
  assert.equal(severityOf(file, "database.reach"), "error");
  const wrong = await examine({ readConfig: () => readConfig({ PORT: "no" }), explain: String });
  assert.deepEqual(
    wrong.map(({ id, severity }) => [id, severity]),
    [["settings.readable", "error"]],
  );
});
