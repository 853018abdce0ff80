import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { nightEntriesOf } from "../../src/apply/state/state-schema.ts";
import { runCommand } from "../../src/cli.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { bellhop } from "../support/command.ts";
import { groupRecord, inventoryRecord } from "../support/records.ts";
import { searchEverywhere } from "../support/search-everywhere.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Another property of the same bucket, so that its records lie in the same part of a batch. */
const NEIGHBOUR = (() => {
  for (let number = 1; ; number += 1)
    if (bucketOf("ACME", `N${number}`) === bucketOf("ACME", "LON01")) return `N${number}`;
})();
const at = (hour: number) => `2026-03-01T${String(hour).padStart(2, "0")}:00:00Z`;

let bench: ApplyBench;
before(async () => {
  bench = await ApplyBench.open();
  bench.startApplier();
});
after(() => bench.close());

const run = (...args: string[]) => bellhop(["delete", ...args], { DATABASE_URL: bench.database.url });

const guest = (id: string, propertyCode: string, hour: number) =>
  ({
    ...reservation(id, at(hour), "x", propertyCode),
    profiles: [{ name: `Guest of ${propertyCode}` }],
  }) as const;
const tables = async () =>
  bench.rows<{ table: string; count: number }>(`
    select 'current' as table, count(*)::integer as count from bellhop_state.current_record
    union all select 'version', count(*)::integer from bellhop_state.reservation_version
    union all select 'night', count(*)::integer from ${nightEntriesOf("bellhop_state")} as entry
    union all select 'log', count(*)::integer from bellhop.accept_log
    union all select 'outcome', count(*)::integer from bellhop.request_outcome order by 1`);

test("a dry run counts what would go, and changes nothing", async () => {
  await bench.acceptAndApply([
    guest("R-1", "LON01", 1),
    guest("R-1", NEIGHBOUR, 1),
    guest("R-2", "LON01", 1),
  ]);
  await bench.acceptAndApply([guest("R-1", "LON01", 2)]);
  await bench.acceptAndApply([inventoryRecord(), inventoryRecord({ propertyCode: NEIGHBOUR })], "i");
  await bench.acceptAndApply([groupRecord()], "g");
  await setSetting(
    bench.database.pool,
    { clientCode: "ACME", propertyCode: "LON01", name: "currency" },
    "EUR",
  );
  await subscribe();
  const was = await tables();
  const { code, out, err } = await run("property", "ACME/LON01", "--dry-run", "--json");
  assert.equal(code, 0, err);
  const report = JSON.parse(out) as { logRecords: number; rows: Record<string, number> };
  assert.equal(report.logRecords, 5);
  assert.equal(report.rows["bellhop_state.current_record"], 4);
  for (const table of ["property_setting", "subscription", "subscription_message", "alert"])
    assert.equal(report.rows[`bellhop.${table}`], 1, table);
  assert.deepEqual(await tables(), was);
});

/** A report of LON01, and an alert of it and one of its neighbour, each in a message of a subscription to both. */
async function subscribe(): Promise<void> {
  const [report, alerts, ...messages] = Array.from({ length: 4 }, () => randomUUID());
  await bench.rows(
    "insert into bellhop.operator (name, role, grants) values ('anna', 'revenue', '{ACME/*}')",
  );
  await bench.rows(
    `insert into bellhop.subscription (subscription_id, operator_name, kind, client_code, property_code, local_time, nights)
    values ($1, 'anna', 'report', 'ACME', 'LON01', '07:00', 30), ($2, 'anna', 'alerts', null, null, null, null)`,
    [report, alerts],
  );
  for (const [at, propertyCode] of ["LON01", NEIGHBOUR].entries()) {
    await bench.rows(
      "insert into bellhop.subscription_message (message_id, subscription_id, occasion) values ($1::uuid, $2, $1::uuid::text)",
      [messages[at], alerts],
    );
    await bench.rows(
      `insert into bellhop.alert (subscription_id, bucket, property_id, condition, detail, began_at, began_message)
      select $1, bucket, property_id, 'silent', '{}', now(), $2 from bellhop.property where property_code = $3`,
      [alerts, messages[at], propertyCode],
    );
  }
}

test("a person at a terminal must confirm, except in a dry run", async () => {
  const was = await tables();
  const asked: string[] = [];
  const answering = async (answer: string, ...words: string[]) => {
    const said: string[] = [];
    const code = await runCommand(
      ["delete", "property", "ACME/LON01", ...words],
      { DATABASE_URL: bench.database.url },
      {
        out: () => undefined,
        err: (line) => void said.push(line),
        ask: async (question) => {
          asked.push(question);
          return answer;
        },
      },
    );
    // On a busy machine a command also reports what it waits for.
    return [code, said.filter((line) => !line.startsWith("bellhop delete property: ")).join("\n")];
  };
  const refused = [1, "bellhop: Not confirmed: nothing was changed."];
  for (const answer of ["", "n", "yesterday"])
    assert.deepEqual(await answering(answer, "--reason", "asked"), refused);
  const question = "All data of ACME/LON01 is deleted. This cannot be undone. Continue? [y/N] ";
  assert.deepEqual(asked.splice(0), [question, question, question]);
  assert.deepEqual(await tables(), was);
  assert.deepEqual(await answering("n", "--dry-run"), [0, ""]);
  assert.deepEqual(asked, []);
});

test("all data of a property is deleted, and none of its neighbour in the same batches", async () => {
  const neighbour = `select * from bellhop_state.reservation_version
    where property_id = (select property_id from bellhop.property where property_code = $1) order by key, source_time`;
  const [was, books] = [await bench.rows(neighbour, [NEIGHBOUR]), await tables()];
  const letters = await bench.rows(
    "select request_id, bucket, outcomes from bellhop.request_outcome order by 1, 2",
  );
  // A retention run was killed while it copied.
  await bench.rows("create table bellhop.accept_log_19700101 as select * from bellhop.accept_log");
  // PostgreSQL does so by itself some time, and notes values of columns.
  await bench.rows("analyze");
  assert.ok((await searchEverywhere(bench.database.pool, "Guest of LON01")).length > 0);
  const ask = () => assert.fail("--yes was given");
  const line = ["delete", "property", "ACME/LON01", "--reason", "contract ended", "--yes"];
  const code = await runCommand(line, { DATABASE_URL: bench.database.url }, { out: () => undefined, ask });
  assert.equal(code, 0);
  assert.deepEqual(await searchEverywhere(bench.database.pool, "Guest of LON01"), []);
  assert.ok((await searchEverywhere(bench.database.pool, `Guest of ${NEIGHBOUR}`)).length > 0);
  assert.deepEqual(await bench.rows(neighbour, [NEIGHBOUR]), was);
  // That batches came, and what became of their records, stays readable.
  assert.deepEqual(
    await bench.rows("select request_id, bucket, outcomes from bellhop.request_outcome order by 1, 2"),
    letters,
  );
  const now = new Map((await tables()).map(({ table, count }) => [table, count]));
  assert.equal(now.get("log"), books.find(({ table }) => table === "log")?.count);
  assert.equal(now.get("current"), 2);
  assert.deepEqual(await bench.rows("select kind from bellhop.subscription"), [{ kind: "alerts" }]);
  for (const table of ["subscription_message", "alert"])
    assert.equal((await bench.rows(`select from bellhop.${table}`)).length, 1, table);
  const [tombstone] = await bench.rows<{ deleted: boolean }>(
    "select deleted_at is not null as deleted from bellhop.property where property_code = 'LON01'",
  );
  assert.deepEqual(tombstone, { deleted: true });
  assert.deepEqual(await bench.rows("select to_regclass('bellhop.accept_log_19700101') as left"), [
    { left: null },
  ]);
});

test("records that were refused go, too, in whoever's part of the log they lie", async () => {
  const guestOf = (propertyCode: string) => ({ ...guest("R-5", propertyCode, 1), status: 7 });
  const refused = JSON.stringify(guestOf("LON01"));
  const accepted = JSON.stringify(guest("R-3", "OTHER1", 1));
  const body = Buffer.from(`[${accepted},${refused}]`);
  const start = accepted.length + 2;
  const violations = [{ pointer: "/1/status", code: "type", message: "status must be a text" }];
  const records = [
    { index: 0, start: 1, end: 1 + accepted.length, clientCode: "ACME", propertyCode: "OTHER1" },
  ];
  await bench.properties.register("tester", records);
  const { requestId } = await bench.log.append({
    clientId: "tester",
    resource: "r",
    body,
    lenient: true,
    correlationId: null,
    replyTo: null,
    idempotency: null,
    records,
    rejected: [{ index: 1, start, end: start + refused.length, violations, violationTotal: 1 }],
  });
  assert.equal(await bench.outcomesOf(requestId), "a");
  assert.ok((await searchEverywhere(bench.database.pool, "Guest of LON01")).length > 0);
  const { code, err } = await run("property", "ACME/LON01", "--reason", "contract ended");
  assert.equal(code, 0, err);
  assert.deepEqual(await searchEverywhere(bench.database.pool, "Guest of LON01"), []);
  const [row] = await bench.rows<{ rejections: { index: number; violationTotal: number }[] }>(
    "select rejections from bellhop.accept_log where request_id = $1",
    [requestId],
  );
  assert.deepEqual(
    row?.rejections.map(({ index, violationTotal }) => [index, violationTotal]),
    [[1, 1]],
  );
});

test("a replay reproduces the state without it; sent again, it starts anew under its number", async () => {
  const { clientConfig, pool } = bench.database;
  assert.equal((await replay({ clientConfig, pool, swap: false })).equal, true);
  assert.equal(await bench.acceptAndApply([guest("R-1", "LON01", 1)]), "a");
  // Movements read the property from there.
  for (const properties of ["bellhop.property", "analytics.property"]) {
    const ids = await bench.rows(`select from ${properties} where property_code = 'LON01'`);
    assert.equal(ids.length, 1, properties);
  }
});

test("a batch of a deleted property is stored again when it is sent again under its key", async () => {
  const records = [guest("K-1", "KEYED", 1), guest("K-1", "KEYED2", 1)];
  const idempotency = { key: "content-hash", fingerprint: "ab".repeat(32) };
  const send = async () => {
    const submission = { ...submissionOf(records), idempotency };
    await bench.properties.register(submission.clientId, submission.records);
    const { requestId } = await bench.log.append(submission);
    const outcomes = "select from bellhop.request_outcome where request_id = $1";
    await until(async () => (await bench.rows(outcomes, [requestId])).length === 2, 20_000);
    return requestId;
  };
  const first = await send();
  assert.equal(await send(), first);
  const dryRun = await run("property", "ACME/KEYED", "--dry-run", "--json");
  const { rows } = JSON.parse(dryRun.out) as { rows: Record<string, number> };
  assert.equal(rows["bellhop.idempotency_key"], 1);
  // Neither property need lie in the bucket that the key lies with.
  for (const property of ["ACME/KEYED", "ACME/KEYED2"]) {
    const before = await send();
    const { code, err } = await run("property", property, "--reason", "contract ended");
    assert.equal(code, 0, err);
    assert.notEqual(await send(), before);
  }
});

test("a batch that retention has removed from the log is stored again, too", async () => {
  const records = [guest("S-1", "SHORT1", 1)];
  const idempotency = { key: "short-term", fingerprint: "cd".repeat(32) };
  const send = async () => {
    const submission = { ...submissionOf(records), idempotency };
    await bench.properties.register(submission.clientId, submission.records);
    return (await bench.log.append(submission)).requestId;
  };
  const first = await send();
  assert.equal(await bench.outcomesOf(first), "a");
  await bench.rows("delete from bellhop.accept_log where request_id = $1", [first]);
  assert.equal(await send(), first);
  const { code, err } = await run("property", "ACME/SHORT1", "--reason", "contract ended");
  assert.equal(code, 0, err);
  const again = await send();
  assert.notEqual(again, first);
  assert.equal(await bench.outcomesOf(again), "a");
});

test("is refused for unapplied or unknown data, or without a reason", async () => {
  assert.equal((await run("property", "ACME/LON01")).code, 2);
  assert.equal((await run("property", "ACME", "--dry-run")).code, 2);
  const unknown = await run("property", "ACME/NOWHERE", "--reason", "x");
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /No batch has named ACME\/NOWHERE/);
  await bench.stopApplier();
  const requestId = await bench.accept([guest("R-9", "LON01", 1)]);
  const { code, err } = await run("property", "ACME/LON01", "--reason", "x");
  assert.equal(code, 1);
  assert.match(err, /ACME\/LON01 has 1 batch that is not applied yet/);
  bench.startApplier();
  assert.equal(await bench.outcomesOf(requestId), "a");
});

test("a client code goes with all its properties, settings and grants", async () => {
  const { pool } = bench.database;
  await bench.rows(
    "insert into bellhop.client (client_id, name, scopes, changed_epoch) values ('p', 'P', '{read}', 0)",
  );
  await bench.rows("insert into bellhop.client_grant values ('p', 'ACME', '*'), ('p', 'OTHER', '*')");
  await setSetting(pool, { clientCode: "ACME", propertyCode: null, name: "timeZone" }, "Europe/Paris");
  await pool.query("analyze");
  const { code, err } = await run("client", "ACME", "--reason", "contract ended");
  assert.equal(code, 0, err);
  // PostgreSQL itself knows the names of time zones.
  assert.deepEqual(await searchEverywhere(pool, ["Guest of", "Europe/Paris"]), []);
  assert.deepEqual(await bench.rows("select client_code from bellhop.client_grant"), [
    { client_code: "OTHER" },
  ]);
  const [left] = await bench.rows<{ count: number }>(
    "select count(*)::integer as count from bellhop_state.current_record",
  );
  assert.equal(left?.count, 0);
  const { clientConfig } = bench.database;
  assert.equal((await replay({ clientConfig, pool, swap: false })).equal, true);
  // An applier may notice late that a deletion ended its lease.
  assert.deepEqual(bench.failuresWithinLeases, []);
});

test("a client code is deleted with batches accepted before all nodes learn of it, and nothing is accepted afterwards", async () => {
  const service = await startTestService();
  const holder = await service.pool.connect();
  try {
    const push = async (propertyCode: string) => {
      const body = JSON.stringify([guest("R-1", propertyCode, 1)]);
      return (await service.post("reservations", body)).status;
    };
    const codeOf = (of: number) => `B${String(of).padStart(5, "0")}`;
    const applied = async () =>
      (await service.pool.query("select from bellhop_state.current_record")).rowCount ?? 0;
    assert.equal(await push("A1"), 202);
    await until(async () => (await applied()) === 1, 20_000);
    // The first property is deleted no sooner than it is let go.
    await holder.query("begin; select from bellhop.property where property_code = 'A1' for update");
    const line = ["delete", "client", "ACME", "--reason", "contract ended", "--json"];
    const deleting = bellhop(line, { DATABASE_URL: service.database.url });
    const accepted = ["A1"];
    let number = 0;
    await until(async () => {
      // While A1 is deleted nothing of its bucket is applied.
      do number += 1;
      while (bucketOf("ACME", codeOf(number)) === bucketOf("ACME", "A1"));
      const propertyCode = codeOf(number);
      const status = await push(propertyCode);
      if (status === 202) accepted.push(propertyCode);
      return status === 403;
    }, 20_000);
    await until(async () => (await applied()) === accepted.length, 20_000);
    await holder.query("commit");
    const { code, out, err } = await deleting;
    assert.equal(code, 0, err);
    const { properties } = JSON.parse(out) as { properties: { propertyCode: string }[] };
    // The refused batch may have registered its property before its permission was checked again.
    assert.deepEqual(
      properties.map(({ propertyCode }) => propertyCode).filter((one) => one !== codeOf(number)),
      accepted,
    );
    assert.equal(await applied(), 0);
    assert.equal(await push("A1"), 403);
  } finally {
    holder.release(true);
    await service.stop();
  }
});
