import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { access, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { digestState, STATE_SCHEMA } from "../../src/apply/state/state-schema.ts";
import { openBackupFile } from "../../src/operations/backup/backup-file.ts";
import { move } from "../../src/operations/backup/move.ts";
import { restore } from "../../src/operations/backup/restore.ts";
import { writeBackup } from "../../src/operations/backup/write-backup.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { openDatabase } from "../../src/platform/db/open-database.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { exportErasures } from "../../src/privacy/erasure/erasure-list.ts";
import { runErasure } from "../../src/privacy/erasure/run-erasure.ts";
import { BACKFILLS } from "../support/backfill-fixture.ts";
import {
  createEmptyTestDatabase,
  createJoinedDatabase,
  createTestDatabase,
  isOnCitus,
  type TestDatabase,
} from "../support/database.ts";
import { reservationRecord } from "../support/records.ts";
import { searchEverywhere } from "../support/search-everywhere.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { unappliedParts } from "../support/unapplied-parts.ts";
import { until } from "../support/until.ts";
import { HeldProcess, sendOneOfEach } from "./backup-fixture.ts";

const WAIT_MS = 60_000;
const log = createLogger({ level: "silent", pretty: false });
const module = (path: string) => new URL(`../../src/${path}`, import.meta.url).href;
const GUEST = "Zoë Unvergessen";
const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

let service: TestService;
let directory: string;
let backup: string;
before(async () => {
  directory = await temporaryDirectory("move");
  service = await startTestService();
  await sendOneOfEach(service);
  const named = reservationRecord({ reservationId: "NAMED", profiles: [{ id: "P-ZOE", name: GUEST }] });
  assert.equal((await service.post("reservations", [named])).status, 202);
  await until(async () => (await unappliedParts(service.database)) === 0, WAIT_MS);
  const sink = await openBackupFile(join(directory, "before.tar"), Date.now());
  await writeBackup({ clientConfig: service.database.clientConfig, withState: true, sink });
  backup = sink.name;
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

const moveFrom = (from: TestDatabase, to: TestDatabase, rehearsal = false) =>
  move({ from: from.clientConfig, to: to.clientConfig, toName: "elsewhere/bellhop", rehearsal, log });
/** Until the servers have noticed that a move was killed. */
const movesEnded = (...databases: readonly TestDatabase[]) =>
  until(async () => {
    const sessions = await Promise.all(
      databases.map(({ pool }) =>
        pool.query(
          "select from pg_stat_activity where datname = current_database() and application_name = 'bellhop move'",
        ),
      ),
    );
    return sessions.every(({ rowCount }) => rowCount === 0);
  }, WAIT_MS);
const open = (database: TestDatabase) => openDatabase({ ...service.config, databaseUrl: database.url }, log);
const digestOf = async ({ pool }: TestDatabase) => {
  const client = await pool.connect();
  try {
    return await digestState(client, STATE_SCHEMA);
  } finally {
    client.release();
  }
};

describe("bellhop move", () => {
  let from: TestDatabase;
  before(async () => {
    from = await createEmptyTestDatabase();
    const { clientConfig, pool } = from;
    const cipher = createSecretCipher(undefined);
    await restore({
      path: backup,
      clientConfig,
      pool,
      log,
      cipher,
      acceptDifference: false,
      nothingLost: true,
    });
  });
  after(() => from.drop());

  test("is refused while a service runs, which continues", async () => {
    const to = await createEmptyTestDatabase();
    await assert.rejects(moveFrom(service.database, to), /The service is running/);
    await (await open(service.database)).close();
    await to.drop();
  });

  test("leaves the former one in use when it is a rehearsal, whose copy nothing starts on and the next move replaces", async () => {
    const to = await createEmptyTestDatabase();
    await moveFrom(from, to, true);
    await (await open(from)).close();
    await assert.rejects(open(to), /copy made by bellhop move --rehearsal/);
    await moveFrom(from, to, true);
    await to.drop();
  });

  test("takes nothing into a database that is not empty", async () => {
    const to = await createTestDatabase();
    await assert.rejects(moveFrom(from, to), /contains a Bellhop installation/);
    await (await open(from)).close();
    await to.drop();
  });

  test("after a kill it can be run again, and then nothing starts on the previous database", async () => {
    const to = await createEmptyTestDatabase();
    const digest = await digestOf(from);
    const held = new HeldProcess(KILLED_MOVE, { from: from.url, to: to.url });
    assert.equal(await held.said(), "amid");
    await held.kill();
    await assert.rejects(open(from), /was interrupted: run it again/);
    await assert.rejects(open(to), /run it again/);
    await movesEnded(from, to);
    const { tables } = await moveFrom(from, to);
    assert.ok(tables.some(({ table, rows }) => table === "bellhop_state.current_record" && rows > 0));
    assert.deepEqual(await digestOf(to), digest);
    await (await open(to)).close();
    await assert.rejects(open(from), /was moved to elsewhere\/bellhop: use that one\. .*drop schema/);
    await from.pool.query("drop schema bellhop_unfinished cascade");
    await (await open(from)).close();
    await to.drop();
  });
});

describe("bellhop move --accept-early", () => {
  let from: TestDatabase;
  let to: TestDatabase;
  let other: TestDatabase;
  /** Where the tests are on Citus, it goes from one PostgreSQL to that. */
  let shards: number | undefined;
  before(async () => {
    from = await createEmptyTestDatabase();
    other = await createEmptyTestDatabase();
    const joined = await createJoinedDatabase();
    to = joined?.open() ?? (await createEmptyTestDatabase());
    shards = joined === undefined ? undefined : 4;
  });
  after(async () => {
    for (const database of [from, to, other]) await database.drop();
  });

  const keyed = { headers: { "idempotency-key": "once" } };
  const early = (target: TestDatabase, toName: string, rehearsal = false) =>
    move({
      from: from.clientConfig,
      to: target.clientConfig,
      toName,
      shards,
      rehearsal,
      acceptEarly: true,
      log,
    });
  const findKeys = async ({ pool }: TestDatabase) => {
    const { rows } = await pool.query<{ key: string }>(
      "select key from bellhop_state.current_record where resource = 'r' order by key",
    );
    return rows.map(({ key }) => key);
  };

  test("waits for the service to stop; batches accepted from then on survive a kill and are present at the end", async (t) => {
    const running = new Set<TestService>();
    const start = async (database: TestDatabase, roles: TestService["config"]["roles"]) => {
      const node = await startTestService({ roles }, { database });
      running.add(node);
      return node;
    };
    const stop = async (node: TestService) => {
      running.delete(node);
      await node.stop();
    };
    t.after(async () => {
      for (const node of running) await stop(node);
    });
    const former = await start(from, ["accept", "apply", "read"]);
    const first = await former.post("reservations", [reservationRecord({ reservationId: "BEFORE" })], keyed);
    assert.equal(first.status, 202, first.text);
    await until(async () => (await unappliedParts(from)) === 0, WAIT_MS);
    const opened = await former.send("POST", BACKFILLS, {
      body: {
        clientCode: "ACME",
        propertyCode: "LON01",
        resources: [{ resource: "groups", from: "2026-01-01", to: "2026-01-31" }],
      },
    });
    assert.equal(opened.status, 201, opened.text);
    const backfill = `${BACKFILLS}/${opened.json()["backfillId"]}`;
    const held = new HeldProcess(KILLED_MOVE, { from: from.url, to: to.url, shards, acceptEarly: true });
    t.after(() => held.kill());
    assert.match(await held.said(), /stop every node of the service now/);
    const late = await former.post("reservations", [reservationRecord({ reservationId: "LATE" })]);
    assert.equal(late.status, 202, "the service goes on until it is stopped");
    await from.pool.query(
      `create table bellhop.accept_log_later partition of bellhop.accept_log
      for values from ('f0000000-0000-7000-8000-000000000000') to ('f1000000-0000-7000-8000-000000000000')`,
    );
    await assert.rejects(open(from), /is running or was interrupted/);
    // As if it hung: to whoever looks it is gone.
    await from.pool.query("delete from bellhop.presence");
    assert.match(await held.said(), /start nodes with ROLE=accept/);
    const left = await former.post("reservations", [reservationRecord({ reservationId: "LEFT" })]);
    assert.equal(left.status, 503, "it would be left behind");
    await stop(former);
    const accepting = await start(to, ["accept"]);
    const post = async (reservationId: string) => {
      const answer = await accepting.post("reservations", [reservationRecord({ reservationId })]);
      assert.equal(answer.status, 202, answer.text);
    };
    await post("AMID");
    assert.equal(await held.said(), "amid");
    for (const table of ["closed_timestamp", "bucket_closed_timestamp"]) {
      const lower = await to.pool.query(`select from bellhop.${table} where promised < $1`, [
        late.json()["requestId"],
      ]);
      assert.equal(lower.rowCount, 0, "whatever the clock says, no id is lower than those of the former log");
    }
    const closed = await accepting.send("POST", `${backfill}/close`, { as: former.client });
    assert.equal(closed.json()["exception"], "bellhop.backfill.NotReady", closed.text);
    await held.kill();
    await post("AFTER-KILL");
    await assert.rejects(open(from), /elsewhere already accepts batches: run the same command again/);
    await assert.rejects(open(to), /until it ends, only nodes with ROLE=accept start here/);
    await movesEnded(from, to);
    await assert.rejects(early(other, "another"), /elsewhere already accepts batches/);
    await assert.rejects(early(to, "elsewhere", true), /run the command that began the move/);
    await assert.rejects(moveFrom(service.database, to), /run the command that began the move/);

    await early(to, "elsewhere");
    await assert.rejects(open(from), /was moved to elsewhere/);
    const again = await accepting.post("reservations", [reservationRecord({ reservationId: "BEFORE" })], {
      ...keyed,
      as: former.client,
    });
    assert.equal(again.json()["requestId"], first.json()["requestId"], "the key is remembered");
    const differing = await accepting.post("reservations", [reservationRecord({ reservationId: "OTHER" })], {
      ...keyed,
      as: former.client,
    });
    assert.equal(differing.status, 422, "for this batch alone");
    await stop(accepting);

    await start(to, ["accept", "apply", "read"]);
    await until(async () => (await unappliedParts(to)) === 0, WAIT_MS);
    assert.deepEqual(await findKeys(to), ["AFTER-KILL", "AMID", "BEFORE", "LATE"]);
  });
});

test("from Citus to one server an Idempotency-Key is remembered", async (t) => {
  if (!(await isOnCitus())) return t.skip("The database that is left would have to be on Citus.");
  const [from, to] = [await createTestDatabase(), await createEmptyTestDatabase()];
  const keyed = { headers: { "idempotency-key": "once" } };
  const send = (node: TestService, reservationId: string, as = node.client) =>
    node.post("reservations", [reservationRecord({ reservationId })], { ...keyed, as });
  const former = await startTestService({}, { database: from });
  const first = await send(former, "ONE");
  await former.stop();
  await moveFrom(from, to);
  const node = await startTestService({}, { database: to });
  try {
    assert.equal((await send(node, "ONE", former.client)).text, first.text);
    assert.equal((await send(node, "OTHER", former.client)).status, 422);
  } finally {
    await node.stop();
  }
  await from.drop();
  await to.drop();
});

/** Moves, and hangs amid its tables. */
const KILLED_MOVE = `const { from, to, shards, acceptEarly } = JSON.parse(process.argv[1]);
  const { move } = await import("${module("operations/backup/move.ts")}");
  const { clientConfig } = await import("${module("platform/db/connection.ts")}");
  const { createLogger } = await import("${module("platform/telemetry/log.ts")}");
  const { writeSync } = await import("node:fs");
  const config = (connectionString) => clientConfig({ connectionString }, "on");
  const say = (line) => writeSync(1, line + "\\n");
  await move({ from: config(from), to: config(to), toName: "elsewhere", rehearsal: false, shards,
    acceptEarly, say,
    log: createLogger({ level: "silent", pretty: false }),
    onStep(now) {
      if (!now.startsWith("copying bellhop.quarantine,")) return;
      say("amid");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    } });`;

/** Runs `bellhop …` on a data directory of its own. */
async function bellhop(dataDir: string, ...args: string[]) {
  const environment = { PATH: process.env["PATH"], DATA_DIR: dataDir };
  const child = spawn(process.execPath, [main, ...args], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once("close", resolve)),
  ]);
  return { out, err, code };
}

/** Erases the guest, who is in the backup, from the first service; answers the path of the list. */
async function eraseGuest(): Promise<string> {
  const subject = {
    resource: "reservations",
    clientCode: "ACME",
    propertyCode: "LON01",
    key: "NAMED",
  } as const;
  const list = join(directory, "erasures");
  const client = new pg.Client(service.database.clientConfig);
  await client.connect();
  try {
    await runErasure(client, { subjects: [subject], reason: "ticket 1", who: "cli:test" });
    await writeFile(list, await exportErasures(client));
  } finally {
    await client.end();
  }
  return list;
}

test("from a file to an embedded database, from that to a file, and from that to an external one, by commands; erased guests stay erased", async () => {
  const dataDir = join(directory, "data");
  const to = await createEmptyTestDatabase();
  assert.notDeepEqual(await searchEverywhere(service.pool, GUEST), []);
  const list = await eraseGuest();
  try {
    const nothing = await bellhop(dataDir, "backup", `${directory}/`);
    assert.equal(nothing.code, 1, "an empty installation is not made, to be backed up");
    assert.match(
      nothing.err,
      /^bellhop: \S+ contains no Bellhop installation: start the service there first/,
    );
    await assert.rejects(access(dataDir));
    const opened = openDatabase({ ...service.config, databaseUrl: to.url }, log, { existing: true });
    await assert.rejects(opened, /contains no Bellhop installation/);
    const unsaid = await bellhop(dataDir, "restore", backup);
    assert.equal(unsaid.code, 2, unsaid.err);
    assert.match(unsaid.err, /--without-erasures/);
    const another = join(directory, "erasures-of-another-installation");
    const ours = await readFile(list, "utf8");
    await writeFile(another, ours.replace(/"profileKey":"\w+"/, `"profileKey":"${"0".repeat(64)}"`));
    const refused = await bellhop(dataDir, "restore", backup, "--erasures", another);
    assert.equal(refused.code, 1, refused.out);
    assert.match(refused.err, /The erasure list belongs to another installation than the backup/);
    const restored = await bellhop(dataDir, "restore", backup, "--erasures", list);
    assert.equal(restored.code, 0, restored.err);
    assert.match(restored.out, /equal to the state that was backed up/);
    const taken = await bellhop(dataDir, "backup", `${directory}/`, "--verify", "--json");
    assert.equal(taken.code, 0, taken.err);
    const { file, state } = JSON.parse(taken.out) as { file: string; state: object };
    assert.match(file, /\/bellhop-\d{8}T\d{6}Z\.tar$/);
    const checked = await bellhop(dataDir, "restore", file, "--check", "--json");
    assert.deepEqual((JSON.parse(checked.out) as { state: object }).state, state);
    const target = new URL(to.url);
    // A server that trusts this machine asks for none.
    target.password ||= "said-to-nobody";
    const moved = await bellhop(dataDir, "move", "--to", target.href);
    assert.equal(moved.code, 0, moved.err);
    assert.match(moved.out, /counts and digests of all tables are equal/);
    assert.ok(!moved.out.includes(target.password));
    assert.deepEqual(await digestOf(to), state);
    assert.deepEqual(await searchEverywhere(to.pool, GUEST), []);
    const listed = await to.pool.query("select reason from bellhop.erasure");
    assert.deepEqual(listed.rows, [{ reason: "ticket 1" }]);
    const former = await bellhop(dataDir, "client", "list");
    assert.equal(former.code, 1);
    assert.match(former.err, /^bellhop: This database was moved to /m);
    const doctor = await bellhop(dataDir, "doctor");
    assert.equal(doctor.code, 2);
    assert.match(doctor.out, /^error {4}database\.unfinished: This database was moved to /);
  } finally {
    await to.drop();
  }
});
