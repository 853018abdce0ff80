import assert from "node:assert/strict";
import { copyFile, open, readdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { DamagedBackupError } from "../../src/operations/backup/archive.ts";
import { openBackupFile } from "../../src/operations/backup/backup-file.ts";
import { verifyBackup } from "../../src/operations/backup/read-backup.ts";
import { type RestoreOptions, restore } from "../../src/operations/backup/restore.ts";
import { TABLE_CLASSES, tablesOf } from "../../src/operations/backup/table-class.ts";
import { writeBackup } from "../../src/operations/backup/write-backup.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { openDatabase } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { CHANGES, readToEnd } from "../support/change-fixture.ts";
import { createEmptyTestDatabase, isOnCitus, type TestDatabase } from "../support/database.ts";
import { reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { unappliedParts } from "../support/unapplied-parts.ts";
import { until } from "../support/until.ts";
import { HeldProcess, Load, sendOneOfEach } from "./backup-fixture.ts";

const WAIT_MS = 60_000;
const log = createLogger({ level: "silent", pretty: false });
const cipher = createSecretCipher(undefined);
const module = (path: string) => new URL(`../../src/${path}`, import.meta.url).href;

/** What may stand in a binary COPY: types whose bytes have been the same in every PostgreSQL since 8.4. */
const STABLE_TYPES = new Set([
  "smallint",
  "integer",
  "bigint",
  "boolean",
  "uuid",
  "text",
  "bytea",
  "json",
  "date",
  "numeric",
  '"char"',
  "timestamp with time zone",
  "bigint[]",
  "text[]",
  "bytea[]",
  "timestamp with time zone[]",
]);

let service: TestService;
let directory: string;
let copies = 0;
before(async () => {
  directory = await temporaryDirectory("backup");
  service = await startTestService();
  await sendOneOfEach(service);
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

/** A backup of the service's database; answers the path of its file. */
async function backUp(withState = false): Promise<string> {
  copies += 1;
  const sink = await openBackupFile(join(directory, `copy-${copies}.tar`), Date.now());
  await writeBackup({ clientConfig: service.database.clientConfig, withState, sink });
  return sink.name;
}

const restoreInto = (
  { clientConfig, pool }: TestDatabase,
  path: string,
  options: Partial<RestoreOptions> = {},
) =>
  restore({ path, clientConfig, pool, log, cipher, acceptDifference: false, nothingLost: false, ...options });

/** Restores into an empty database for `work`, and drops it. */
async function withRestored(
  path: string,
  options: Partial<RestoreOptions>,
  work: (database: TestDatabase) => Promise<void>,
): Promise<void> {
  const database = await createEmptyTestDatabase();
  try {
    const report = await restoreInto(database, path, options);
    assert.ok(report.equal && report.finished);
    await work(database);
  } finally {
    await database.drop();
  }
}

async function rowsOf<Row>({ pool }: Pick<TestDatabase, "pool">, sql: string): Promise<Row[]> {
  return (await pool.query(sql)).rows as Row[];
}

/** The first service's client, whose secret is in the backup too. */
async function sameClient(node: TestService): Promise<TestService["client"]> {
  const { clientId, clientSecret } = service.client;
  const answer = await node.send("POST", "/api/oauth2/token", {
    as: null,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }).toString(),
  });
  const token = String(answer.json()["access_token"]);
  return { clientId, clientSecret, token: async () => token };
}

/** The parts that are reported as applied, and when. */
const REPORTED =
  "select bucket, request_id::text, applied_at::text from bellhop.request_outcome order by request_id, bucket";
/** A request that is reported as applied as a whole. */
const FINISHED = `select request_id::text as id from bellhop.accept_log as log join bellhop.request_outcome using (bucket, request_id)
  where log.kind = 'b' group by request_id having count(*) = min(log.batch_part_count) order by request_id desc limit 1`;

const SCHEMAS = "select nspname from pg_namespace where nspname like 'bellhop%' or nspname = 'analytics'";

describe("the tables in a backup", () => {
  test("every table of the schema has its class, and no other", async () => {
    const tables = await rowsOf<{ name: string }>(
      service.database,
      `select format('%s.%s', nspname, relname) as name from pg_class join pg_namespace as n on n.oid = relnamespace
      where relkind in ('r', 'p') and not relispartition and nspname like 'bellhop%'`,
    );
    assert.deepEqual(tables.map(({ name }) => name).sort(), Object.keys(TABLE_CLASSES).sort());
  });

  test("every column in a backup has a type with the same binary format in every PostgreSQL version", async () => {
    const columns = await rowsOf<{ name: string; type: string }>(
      service.database,
      `select format('%s.%s.%s', nspname, relname, attname) as name, format_type(atttypid, atttypmod) as type
      from pg_attribute join pg_class on pg_class.oid = attrelid join pg_namespace as n on n.oid = relnamespace
      where attnum > 0 and not attisdropped
        and format('%s.%s', nspname, relname) in (${tablesOf("kept", "state", "moved").map((name) => `'${name}'`)})`,
    );
    assert.ok(columns.length > 100);
    assert.deepEqual(
      columns.filter(({ type }) => !STABLE_TYPES.has(type)),
      [],
    );
  });
});

describe("a backup taken under load", () => {
  let path: string;
  let restored: TestDatabase;
  let load: Load;
  let reported: object[];
  let finished: string;
  before(async () => {
    const { send, client } = service;
    const webhook = { url: "https://partner.example/hooks", events: ["changes.available"] };
    assert.equal((await send("POST", "/api/public/v1/webhooks", { body: webhook, as: client })).status, 201);
    load = new Load(service);
    await until(async () => {
      const [applied] = await rowsOf<{ count: number }>(
        service.database,
        "select count(*)::integer as count from bellhop_state.reservation_version",
      );
      return (applied?.count ?? 0) > 100;
    }, WAIT_MS);
    [{ id: finished } = assert.fail()] = await rowsOf<{ id: string }>(service.database, FINISHED);
    reported = await rowsOf<object>(service.database, REPORTED);
    path = await backUp();
    await load.stop();
    restored = await createEmptyTestDatabase();
  });
  after(() => restored.drop());

  test("is restored elsewhere to the state of the snapshot, to the bit", async () => {
    const { manifest } = await verifyBackup(path);
    const report = await restoreInto(restored, path);
    assert.deepEqual(report.rebuilt, manifest.state);
    assert.equal(report.equal, true);
    assert.equal(report.finished, true);
    assert.ok(manifest.state.versions > 100, `only ${manifest.state.versions} versions`);
    for (const { table, rows } of manifest.tables) {
      const [found] = await rowsOf<{ count: number }>(
        restored,
        `select count(*)::integer as count from ${table}`,
      );
      // The epoch of cursors is the restore's own.
      assert.equal(found?.count, table === "bellhop.instance" ? rows + 1 : rows, table);
    }
    assert.equal((await rowsOf(restored, SCHEMAS)).length, 4, "what the restore used is gone");
  });

  test("is of one instant: it contains everything reported before it, and a prefix of the accepted batches", async () => {
    const kept = new Set((await rowsOf<object>(restored, REPORTED)).map((row) => JSON.stringify(row)));
    assert.deepEqual(
      reported.filter((row) => !kept.has(JSON.stringify(row))),
      [],
    );
    const log = await rowsOf<{ id: string }>(
      restored,
      "select distinct request_id::text as id from bellhop.accept_log",
    );
    const logged = new Set(log.map(({ id }) => id));
    const before = load.accepted.filter((id) => logged.has(id));
    assert.deepEqual(before, load.accepted.slice(0, before.length));
  });

  test("a service continues from it: the backlog is applied, and reported outcomes are found", async () => {
    const node = await startTestService({}, { database: restored });
    try {
      await until(async () => (await unappliedParts(restored)) === 0, WAIT_MS);
      const request = `/api/public/v1/requests/${finished}`;
      assert.deepEqual(
        (await node.get(request, { as: await sameClient(node) })).json(),
        (await service.get(request)).json(),
      );
      const posted = await node.post("reservations", [reservationRecord({ propertyCode: "NEW" })]);
      assert.equal(posted.status, 202, posted.text);
      await until(async () => (await unappliedParts(restored)) === 0, WAIT_MS);
      const { equal } = await replay({ ...restored, swap: false });
      assert.equal(equal, true);
    } finally {
      await node.stop();
    }
  });

  test("invalidates every cursor of the feed, and restarts it with current records", async () => {
    const former = await readToEnd(service);
    const node = await startTestService({}, { database: restored });
    try {
      const as = await sameClient(node);
      const refused = await node.get(`${CHANGES}?cursor=${former.cursor}`, { as });
      assert.equal(refused.status, 410, refused.text);
      const anew = await readToEnd(node, "", undefined, { as });
      const [current] = await rowsOf<{ count: number }>(
        restored,
        "select count(*)::integer as count from bellhop_state.current_record",
      );
      const keys = new Set(
        anew.changes.map(({ resource, propertyCode, key }) => `${resource} ${propertyCode} ${key}`),
      );
      assert.equal(keys.size, current?.count);
      assert.equal((await node.get(`${CHANGES}?cursor=${anew.cursor}`, { as })).status, 200);
      const [endpoint] = await rowsOf<{ positions: string | null; paused_by: string; pause_reason: string }>(
        restored,
        "select positions, paused_by, pause_reason from bellhop.webhook_endpoint where kind = 'w'",
      );
      assert.equal(endpoint?.positions, null);
      assert.equal(endpoint?.paused_by, "restore");
      assert.match(endpoint?.pause_reason ?? "", /restored from a backup/);
    } finally {
      await node.stop();
    }
  });
});

test("a batch that is not in a backup was received at the time that it is as of, or later", async (t) => {
  if (await isOnCitus()) return t.skip("A snapshot waits until what workers write is written.");
  const { pool, client } = service;
  const holder = await pool.connect();
  try {
    await holder.query("begin");
    await holder.query(
      `insert into bellhop.idempotency_key (client_id, key, bucket, request_id, fingerprint, created_at)
      values ($1, 'held', 0, '00000000-0000-7000-8000-000000000000', '', clock_timestamp())`,
      [client.clientId],
    );
    const headers = { "idempotency-key": "held" };
    const answering = service.post("reservations", [reservationRecord()], { headers });
    const isFlushing = async () =>
      (
        await rowsOf(
          service.database,
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
      ).length > 0;
    await until(isFlushing, WAIT_MS);
    const { header } = await verifyBackup(await backUp());
    await holder.query("rollback");
    const answer = await answering;
    assert.equal(answer.status, 202, answer.text);
    const { rows } = await pool.query<{ is_later: boolean }>(
      "select received_at >= $2::timestamptz as is_later from bellhop.accept_log where request_id = $1",
      [answer.json()["requestId"], header.takenAt],
    );
    assert.deepEqual(rows, [{ is_later: true }]);
    // A flush on Citus is several statements, each of which may take as long as one may.
    assert.ok(Date.parse(header.takenAt) <= Date.now() - 5 * 60_000, header.takenAt);
  } finally {
    holder.release(true);
  }
});

describe("a backup with the state", () => {
  const NUMBERED = `select bucket, property_id, key, source_time::text, outcome, change_no, is_update
    from bellhop_state.reservation_version order by 1, 2, 3, 4, change_no`;

  test("keeps change numbers, and cursors where nothing was lost", async () => {
    await until(async () => (await unappliedParts(service.database)) === 0, WAIT_MS);
    const { cursor } = await readToEnd(service);
    await withRestored(await backUp(true), { nothingLost: true }, async (database) => {
      assert.deepEqual(await rowsOf(database, NUMBERED), await rowsOf(service.database, NUMBERED));
      const node = await startTestService({}, { database });
      const answer = await node.get(`${CHANGES}?cursor=${cursor}`, { as: await sameClient(node) });
      await node.stop();
      assert.equal(answer.status, 200, answer.text);
    });
  });

  test("is refused as one from which nothing was lost where it has no state", async () => {
    const database = await createEmptyTestDatabase();
    try {
      await assert.rejects(restoreInto(database, await backUp(), { nothingLost: true }), /--with-state/);
      assert.deepEqual(await rowsOf(database, SCHEMAS), []);
    } finally {
      await database.drop();
    }
  });
});

describe("a restore refuses", () => {
  test("what only a newer version can read", async () => {
    const { pool } = service;
    await pool.query(
      "insert into bellhop_migration.applied (name, checksum, oldest) values ('9999-add-holograms.sql', '', '99.0.0')",
    );
    const path = await backUp();
    await pool.query("delete from bellhop_migration.applied where name = '9999-add-holograms.sql'");
    const database = await createEmptyTestDatabase();
    try {
      await assert.rejects(
        restoreInto(database, path),
        /the migration 9999-add-holograms\.sql, which this version of Bellhop does not have/,
      );
      assert.deepEqual(await rowsOf(database, SCHEMAS), []);
    } finally {
      await database.drop();
    }
  });

  test("a database with a Bellhop installation, without changing it", async () => {
    const before = await rowsOf(service.database, "select count(*) from bellhop.accept_log");
    await assert.rejects(restoreInto(service.database, await backUp()), /contains a Bellhop installation/);
    assert.deepEqual(await rowsOf(service.database, "select count(*) from bellhop.accept_log"), before);
  });

  test("a file in which any one byte is another, before it writes anything", async () => {
    const path = await backUp();
    const { size } = await stat(path);
    const damaged = join(directory, "damaged.tar");
    await copyFile(path, damaged);
    const file = await open(damaged, "r+");
    const byte = Buffer.alloc(1);
    try {
      for (let at = 0; at < size; at += Math.ceil(size / 150)) {
        await file.read(byte, 0, 1, at);
        await file.write(Buffer.from([(byte[0] ?? 0) ^ 0xff]), 0, 1, at);
        await assert.rejects(verifyBackup(damaged), DamagedBackupError, `the byte at ${at} of ${size}`);
        await file.write(byte, 0, 1, at);
      }
      await verifyBackup(damaged);
      await truncate(damaged, size - 700);
      const database = await createEmptyTestDatabase();
      await assert.rejects(restoreInto(database, damaged), /truncated|incomplete/);
      assert.deepEqual(await rowsOf(database, SCHEMAS), []);
      await database.drop();
    } finally {
      await file.close();
    }
    await assert.rejects(verifyBackup(new URL(import.meta.url).pathname), DamagedBackupError);
    await assert.rejects(verifyBackup(join(directory, "none")), /cannot be read \(ENOENT\)/);
  });

  test("to finish where the state is not the one that was backed up, unless it is forced to", async () => {
    const spoil = (sign: string) =>
      service.pool.query(
        `update bellhop_state.current_record set record_index = record_index ${sign} 7 where key = 'SHARED'`,
      );
    await spoil("+");
    const path = await backUp();
    await spoil("-");
    const database = await createEmptyTestDatabase();
    try {
      const report = await restoreInto(database, path);
      assert.deepEqual([report.equal, report.finished], [false, false]);
      await assert.rejects(
        openDatabase({ ...service.config, databaseUrl: database.url }, log),
        /run it again/,
      );
      const again = await restoreInto(database, path, { acceptDifference: true });
      assert.deepEqual([again.equal, again.finished], [false, true]);
    } finally {
      await database.drop();
    }
  });
});

/** Restores, and hangs when the step begins that it was given. */
const KILLED_RESTORE = `const { path, url, step } = JSON.parse(process.argv[1]);
  const { restore } = await import("${module("operations/backup/restore.ts")}");
  const { clientConfig, createPool } = await import("${module("platform/db/connection.ts")}");
  const { createLogger } = await import("${module("platform/telemetry/log.ts")}");
  const { createSecretCipher } = await import("${module("platform/crypto/secret-cipher.ts")}");
  const { writeSync } = await import("node:fs");
  const log = createLogger({ level: "silent", pretty: false });
  const config = clientConfig({ connectionString: url }, "on");
  await restore({ path, clientConfig: config, pool: createPool(config, log, 2), log, cipher: createSecretCipher(undefined),
    acceptDifference: false, nothingLost: false,
    onStep(now) {
      if (!now.startsWith(step)) return;
      writeSync(1, "amid\\n");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    } });`;

/** Whether a restore's session lives yet. */
async function isHeld(database: TestDatabase): Promise<boolean> {
  const sessions = await rowsOf(
    database,
    "select from pg_stat_activity where datname = current_database() and application_name in ('bellhop restore', 'bellhop replay')",
  );
  return sessions.length > 0;
}

test("of two backups to one file the second one fails, and leaves what the first one wrote", async () => {
  const path = join(directory, "twice.tar");
  const [first, second] = [await openBackupFile(path, 0), await openBackupFile(path, 0)];
  await first.write(Buffer.from("first"));
  await second.write(Buffer.from("second"));
  await first.finish();
  await assert.rejects(second.finish(), /The file \S+twice\.tar exists/);
  await second.abandon();
  assert.equal(await readFile(path, "utf8"), "first");
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.startsWith("twice")),
    ["twice.tar"],
  );
});

describe("killed in the middle", () => {
  test("a backup leaves no file with its name, and the service continues", async () => {
    const path = join(directory, "killed.tar");
    const held = new HeldProcess(
      `const { path, url } = JSON.parse(process.argv[1]);
      const { openBackupFile } = await import("${module("operations/backup/backup-file.ts")}");
      const { writeBackup } = await import("${module("operations/backup/write-backup.ts")}");
      const { clientConfig, createPool } = await import("${module("platform/db/connection.ts")}");
      const sink = await openBackupFile(path, 0);
      const write = sink.write.bind(sink);
      let writes = 0;
      sink.write = async (bytes) => {
        await write(bytes);
        if ((writes += 1) === 4) { console.log("amid"); await new Promise(() => setInterval(() => 0, 1e9)); }
      };
      await writeBackup({ clientConfig: clientConfig({ connectionString: url }, "on"), withState: false, sink });`,
      { path, url: service.database.url },
    );
    assert.equal(await held.said(), "amid");
    await held.kill();
    const left = (await readdir(directory)).filter((name) => name.startsWith("killed.tar"));
    assert.equal(left.length, 1);
    assert.match(left[0] ?? "", /^killed\.tar\.partial-[0-9a-f]{8}$/);
    await assert.rejects(verifyBackup(join(directory, left[0] ?? "")), DamagedBackupError);
    assert.ok((await readFile(join(directory, left[0] ?? ""))).length > 0);
    assert.equal((await service.post("reservations", [reservationRecord()])).status, 202);
  });

  test("a restore leaves a database that no service starts on, and is run again", async () => {
    const path = await backUp();
    const database = await createEmptyTestDatabase();
    try {
      for (const step of ["filling bellhop.quarantine", "replaying bucket 9 of"]) {
        const held = new HeldProcess(KILLED_RESTORE, { path, url: database.url, step });
        assert.equal(await held.said(), "amid");
        await held.kill();
        await assert.rejects(
          openDatabase({ ...service.config, databaseUrl: database.url }, log),
          /run it again/,
        );
        // The server may find out a moment later that the one that held the database is gone.
        await until(async () => !(await isHeld(database)), WAIT_MS);
      }
      const report = await restoreInto(database, path);
      assert.ok(report.equal && report.finished);
    } finally {
      await database.drop();
    }
  });
});
