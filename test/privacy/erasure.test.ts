import assert from "node:assert/strict";
import { hash, randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { digestState, STATE_SCHEMA } from "../../src/apply/state/state-schema.ts";
import { readConfig } from "../../src/config.ts";
import { recordAudit } from "../../src/identity/audit.ts";
import { examine } from "../../src/operations/doctor/examine.ts";
import { readToEnd } from "../support/change-fixture.ts";
import { at, ottilie, run, WORDS } from "../support/erasure-fixture.ts";
import { insightItems } from "../support/insight-fixture.ts";
import { groupRecord, type LooseRecord, reservationRecord } from "../support/records.ts";
import { searchEverywhere } from "../support/search-everywhere.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

const WAIT_MS = 60_000;

const others = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) =>
    reservationRecord({
      reservationId: `R-${from + n}`,
      profiles: [{ id: `P-${from + n}`, name: `Guest ${from + n}` }],
      remark: "x".repeat(200),
    }),
  );

describe("an erasure", () => {
  let service: TestService;
  let receiver: WebhookReceiver;
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "bellhop-erasure-"));
    receiver = await startWebhookReceiver();
    // What it receives waits to be sent again; it answers with a name that it received.
    receiver.answer = ({ body }, response) =>
      response.writeHead(500).end(`sorry, ${/Ottilie Grünwald/.exec(body)?.[0]}`);
    service = await startTestService({ webhookAllowedNetworks: ["127.0.0.0/8"] });
    for (const event of ["changes.available", "request.applied"]) {
      const webhook = { url: `http://127.0.0.1:${receiver.port}/hooks`, events: [event] };
      const created = await service.send("POST", "/api/public/v1/webhooks", { body: webhook });
      assert.equal(created.status, 201, created.text);
    }
  });
  after(async () => {
    await service.stop();
    await receiver.stop();
    await rm(directory, { recursive: true });
  });

  const outcomesOf = (requestId: string) =>
    untilFound(async () => {
      const { rows } = await service.pool.query<{ outcomes: string }>(
        "select outcomes from bellhop.request_outcome where request_id = $1",
        [requestId],
      );
      return rows[0]?.outcomes;
    }, WAIT_MS);
  async function push(records: readonly unknown[], resource = "reservations", headers = {}) {
    const answer = await service.post(resource, JSON.stringify(records), { headers });
    assert.equal(answer.status, 202, answer.text);
    const requestId = String(answer.json()["requestId"]);
    return { requestId, outcomes: await outcomesOf(requestId) };
  }

  /** All that must not change: every row's outcome, every count, every figure, and what readers are answered but for the payload. */
  async function figures() {
    const { pool } = service;
    const outcomes = await pool.query(
      "select bucket, request_id, outcomes, warned_count from bellhop.request_outcome order by request_id, bucket",
    );
    const log = await pool.query(
      `select bucket, log_writer_id, request_id, kind, record_count, batch_record_count, json_array_length(rejections) as rejected
      from bellhop.accept_log order by request_id, bucket`,
    );
    const versions = await pool.query(
      `select bucket, property_id, key, source_time, request_id, record_index, outcome, change_no, status
      from bellhop_state.reservation_version
      union all select bucket, property_id, key, source_time, request_id, record_index, outcome, change_no, status
      from bellhop_state.group_version order by 1, 2, 3, 4, 5, 6`,
    );
    const { nights, nightsHash, blocks, blocksHash, currentRecords } = await digestState(
      pool as never,
      STATE_SCHEMA,
    );
    const range = { clientCode: "ACME", propertyCode: "LON01", from: "2026-03-01", to: "2026-03-31" };
    const books = await insightItems(service, "on-the-books", range);
    const { changes } = await readToEnd(service);
    const reported = changes.map(({ record, cursor, ...rest }) => rest);
    return {
      outcomes: outcomes.rows,
      log: log.rows,
      versions: versions.rows,
      books,
      reported,
      nights,
      nightsHash,
      blocks,
      blocksHash,
      currentRecords,
    };
  }

  const placesOf = (words: readonly string[]) => searchEverywhere(service.pool, words);

  let erasureId = "";

  test("removes the guest's name everywhere, and changes no count, outcome or figure", async () => {
    // Written first, spelled anew, sent again, late, twice, in a large batch, and held until it was released.
    assert.equal((await push([ottilie(at(10))])).outcomes, "a");
    const [first, second] = ottilie(at(11))["profiles"] as LooseRecord[];
    const misspelled = { profiles: [{ ...first, name: "Otilie Grunwaldt" }, second] };
    assert.equal((await push([ottilie(at(11), misspelled)])).outcomes, "a");
    assert.equal(
      (await push([...others(1, 400), ottilie(at(12)), ...others(500, 100)])).outcomes,
      "a".repeat(501),
    );
    assert.equal((await push([ottilie(at(13))])).outcomes, "u");
    // Two contents of one source time that differ in the name alone, and the first of them again.
    assert.equal((await push([ottilie(at(12), misspelled)])).outcomes, "s");
    assert.equal((await push([ottilie(at(12), misspelled)])).outcomes, "d");
    assert.equal((await push([ottilie(at(9), { status: "TENTATIVE" })])).outcomes, "s");
    assert.equal((await push([ottilie(at(12))])).outcomes, "d");
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    assert.equal((await push([ottilie(ahead, { numberOfRooms: 2 })])).outcomes, "q");
    const refused = { ...ottilie(at(14)), roomStays: [], "Ottilie Grünwald": 1 };
    const escaped = JSON.stringify({ ...ottilie(at(15)), status: 7 }).replaceAll("ü", "\\u00fc");
    const mixed = `[${JSON.stringify(others(900, 1)[0])},${JSON.stringify(refused)},${escaped}]`;
    const lenient = await service.post("reservations", mixed, { headers: { prefer: "handling=lenient" } });
    assert.equal(lenient.status, 202, lenient.text);
    assert.equal(await outcomesOf(String(lenient.json()["requestId"])), "a");
    const group = {
      groupCode: "G-OTTI",
      name: "Wedding of Ottilie",
      description: "Ottilie & Karl",
      salesPerson: "S.",
    };
    assert.equal(
      (await push([groupRecord(group)], "groups", { "x-correlation-id": "Ottilie-1" })).outcomes,
      "a",
    );
    await recordAudit(service.pool, {
      who: "cli:x",
      what: "note",
      detail: { why: 'asked by "Ottilie Grünwald"' },
    });
    await until(async () => {
      const { rows } = await service.pool.query(
        "select from bellhop.webhook_attempt where answer like '%Ottilie%'",
      );
      return rows.length > 0;
    }, WAIT_MS);

    const before = await placesOf(WORDS);
    for (const place of [
      "inflated",
      "reservation_version",
      "group_version",
      "webhook_message",
      "webhook_attempt",
    ])
      assert.ok(
        before.some((one) => one.includes(place)),
        `not in ${place}: ${before.join("\n")}`,
      );
    const was = await figures();

    const { code, out, err } = await run(
      ...[service.database, "run", "--reservation", "ACME/LON01/R-7001", "--group", "ACME/LON01/G-OTTI"],
      ...["--reason", "Art. 17, ticket 4", "--json"],
    );
    assert.equal(code, 0, err);
    const report = JSON.parse(out) as { erasureId: string; redacted: Record<string, number> };
    erasureId = report.erasureId;

    assert.deepEqual(await placesOf(WORDS), []);
    assert.deepEqual(await figures(), was);
    assert.equal(report.redacted["logRecords"], 10);
    assert.equal(report.redacted["rejectedRecords"], 2);
  });

  test("readers of the record see that its texts are gone and its figures remain", async () => {
    const historyOf = (id: string) =>
      service.get(
        `/api/public/v1/reservations/history?clientCode=ACME&propertyCode=LON01&reservationId=${id}`,
      );
    const { text } = await historyOf("R-7001");
    assert.match(text, /"profiles":\[\{"id":"\[erased\]","name":"\[erased\]","profileType":"GUEST"/);
    assert.match(text, /"netRoomRevenue":"180.00"/);
    const other = await historyOf("R-17");
    assert.match(other.text, /"name":"Guest 17"/);
  });

  test("is not undone by a replay, which reproduces the state", async () => {
    const { clientConfig, pool } = service.database;
    const report = await replay({ clientConfig, pool, swap: true });
    assert.equal(report.equal, true, JSON.stringify(report));
    assert.equal(report.corrected, 0);
    assert.deepEqual(await placesOf(WORDS), []);
  });

  test("applies when the hotel sends the guest again: unchanged, and redacted before it is stored", async () => {
    assert.equal((await push([ottilie(at(16))])).outcomes, "u");
    assert.equal((await push([ottilie(at(17), { numberOfRooms: 3 })])).outcomes, "a");
    const refused = JSON.stringify([{ ...ottilie(at(18)), status: 7 }, ...others(910, 1)]);
    const answer = await service.post("reservations", refused, { headers: { prefer: "handling=lenient" } });
    assert.equal(answer.status, 202, answer.text);
    assert.equal(await outcomesOf(String(answer.json()["requestId"])), "a");
    assert.deepEqual(await placesOf(WORDS), []);
  });

  test("includes the former state after a replay's swap", async () => {
    assert.equal(
      (await push([reservationRecord({ reservationId: "R-8", confirmationNumber: "CNF-HUGO" })])).outcomes,
      "a",
    );
    const { clientConfig, pool } = service.database;
    await replay({ clientConfig, pool, swap: true });
    // PostgreSQL does so by itself some time: common values of facts stand in its statistics, too.
    await pool.query("analyze");
    const before = await searchEverywhere(pool, "CNF-HUGO");
    for (const kept of [/^(?!pg_).*_former/, /^pg_.*_former/])
      assert.ok(
        before.some((place) => kept.test(place)),
        `${kept}: ${before.join("\n")}`,
      );
    const done = await run(service.database, "run", "--reservation", "ACME/LON01/R-8", "--reason", "x");
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(await searchEverywhere(pool, "CNF-HUGO"), []);
  });

  test("has a certificate that names no guest, and is noted in the audit", async () => {
    const { code, out } = await run(service.database, "certificate", erasureId);
    assert.equal(code, 0);
    const certificate = JSON.parse(out) as { records: { key: string }[]; leftAfterwards: number };
    assert.deepEqual(certificate.records.map(({ key }) => key).toSorted(), ["G-OTTI", "R-7001"]);
    assert.equal(certificate.leftAfterwards, 0);
    const { rows } = await service.pool.query<{ detail: { certificateHash: string } }>(
      "select detail from bellhop.audit_entry where what = 'erase' and detail ->> 'erasureId' = $1",
      [erasureId],
    );
    const { rows: kept } = await service.pool.query<{ hash: string; salt: Buffer | null }>(
      "select encode(sha256(certificate::bytea), 'hex') as hash, salt from bellhop.erasure where erasure_id = $1",
      [erasureId],
    );
    assert.deepEqual(kept, [{ hash: rows[0]?.detail.certificateHash, salt: null }]);
    assert.equal(hash("sha256", `${out}\n`), kept[0]?.hash, "as a file of what was printed sums up");
    assert.match((await run(service.database, "list")).out, /Art\. 17, ticket 4/);
  });

  test("finds profiles and names, and for a profile erases every reservation, including later ones", async () => {
    const hugo = (id: string, propertyCode: string) =>
      reservationRecord({
        propertyCode,
        reservationId: id,
        profiles: [{ id: "P-HUGO", name: "Hugo Habicht" }],
      });
    await push([hugo("R-1001", "LON01"), hugo("R-1002", "PAR01")]);
    const found = await run(service.database, "find", "--name", "habicht", "--json");
    const { items } = JSON.parse(found.out) as { items: { key: string; profileIds: string[] }[] };
    assert.deepEqual(items.map(({ key }) => key).toSorted(), ["R-1001", "R-1002"]);
    assert.deepEqual(items[0]?.profileIds, ["P-HUGO"]);
    assert.equal(
      (await run(service.database, "find", "--profile-id", "P-HUGO", "--client", "OTHER")).code,
      1,
    );
    const of = ["--profile-id", "P-HUGO", "--client", "ACME", "--reason", "x"];
    assert.equal((await run(service.database, "run", ...of)).code, 0);
    assert.deepEqual(await placesOf(["Habicht", "P-HUGO"]), []);
    await push([hugo("R-1003", "BER01")]);
    await push([{ ...hugo("R-1001", "LON01"), lastModifiedDateTime: at(20), numberOfRooms: 4 }]);
    assert.deepEqual(await placesOf(["Habicht"]), []);
  });

  test("is found by a part of a name in any spelling of case, accents and spaces, also of a group block", async () => {
    const profiles = [{ id: "P-ZOE", name: "Zo\u00eb  de la Pe\u00f1a" }];
    await push([reservationRecord({ reservationId: "R-1151", profiles })]);
    await push([groupRecord({ groupCode: "PENA", name: "Hochzeit Zoe\u0308 de la Pen\u0303a" })], "groups");
    const found = await run(service.database, "find", "--name", "ZOE de la pena", "--json");
    const { items } = JSON.parse(found.out) as { items: { key: string; names: string[] }[] };
    assert.deepEqual(
      items.map(({ key, names }) => [key, names]),
      [
        ["R-1151", ["Zo\u00eb  de la Pe\u00f1a"]],
        ["PENA", ["Hochzeit Zoe\u0308 de la Pen\u0303a"]],
      ],
    );
  });

  test("of a profile keeps versions of the same reservation that name another person", async () => {
    const version = (hour: number, id: string, name: string) =>
      reservationRecord({
        reservationId: "R-1101",
        confirmationNumber: "CNF-1101",
        lastModifiedDateTime: at(hour),
        profiles: [{ id, name }],
      });
    assert.equal((await push([version(8, "P-JANE", "Jane Jaeger")])).outcomes, "a");
    assert.equal((await push([version(9, "P-JOHN", "John Roehrig")])).outcomes, "a");
    const current = async () =>
      (await service.pool.query("select * from bellhop_state.current_record where key = 'R-1101'")).rows;
    const [was, before] = [await current(), await figures()];
    const of = ["--profile-id", "P-JANE", "--client", "ACME", "--reason", "x"];
    assert.equal((await run(service.database, "run", ...of)).code, 0);
    assert.deepEqual(await placesOf(["Jaeger", "P-JANE"]), []);
    assert.ok((await placesOf(["Roehrig"])).length > 0);
    assert.deepEqual(await current(), was);
    assert.deepEqual(await figures(), before);
    const { clientConfig, pool } = service.database;
    const replayed = await replay({ clientConfig, pool, swap: false });
    assert.equal(replayed.equal, true, JSON.stringify(replayed));
    assert.equal((await push([version(10, "P-JOHN", "John Roehrig")])).outcomes, "u");
  });

  test("redacts words only in free text: not equal numbers of the service or names of members", async () => {
    await push([
      reservationRecord({
        reservationId: "R-2001",
        confirmationNumber: "200",
        profiles: [{ id: "true", name: "request \u0906\u093e" }],
      }),
    ]);
    const kept = { request: 200, true: [true], id: "c2001-d200", limit: "200000" };
    const detail = { ...kept, text: 'call 200, "request \u0906\u093e", back' };
    await recordAudit(service.pool, { who: "cli:x", what: "note-number", detail });
    await recordAudit(service.pool, { who: "cli:x", what: "note-line", detail: { text: "call\n200\n" } });
    const of = ["--reservation", "ACME/LON01/R-2001", "--reason", "x"];
    const { code, err } = await run(service.database, "run", ...of);
    assert.equal(code, 0, err);
    const { rows } = await service.pool.query(
      "select detail from bellhop.audit_entry where what in ('note-number', 'note-line') order by what desc",
    );
    assert.deepEqual(rows, [
      { detail: { ...kept, text: 'call [erased], "[erased]", back' } },
      { detail: { text: "call\n[erased]\n" } },
    ]);
  });

  test("searches for any number of names, of any length", async () => {
    const profiles = Array.from({ length: 4_000 }, (_, n) => ({
      id: `P-party-${n}`,
      name: `Party of ${n * 7_919} (${n})`,
    }));
    const long = `${"Very ".repeat(800)}long`;
    await push([
      reservationRecord({ reservationId: "R-2101", profiles: [...profiles, { id: "P-long", name: long }] }),
    ]);
    const text = `call ${profiles.at(-1)?.name} or ${long}`;
    await recordAudit(service.pool, { who: "cli:x", what: "note-party", detail: { text } });
    const { code, err } = await run(
      service.database,
      "run",
      "--reservation",
      "ACME/LON01/R-2101",
      "--reason",
      "x",
    );
    assert.equal(code, 0, err);
    const { rows } = await service.pool.query(
      "select detail from bellhop.audit_entry where what = 'note-party'",
    );
    assert.deepEqual(rows, [{ detail: { text: "call [erased] or [erased]" } }]);
  });

  test("leaves other tenants' data and whom entries are about, whatever words the guest's names are", async () => {
    const { pool } = service;
    const other = await service.newClient({
      name: "Night audit",
      grants: [{ clientCode: "OTHER", propertyCode: "*" }],
    });
    const rejected = { ...reservationRecord({ clientCode: "OTHER", reservationId: "R-2" }), status: 7 };
    const answer = await service.post(
      "reservations",
      JSON.stringify([reservationRecord({ clientCode: "OTHER", reservationId: "R-1" }), rejected]),
      { as: other, headers: { prefer: "handling=lenient", "x-correlation-id": "night-1" } },
    );
    assert.equal(answer.status, 202, answer.text);
    const requestId = String(answer.json()["requestId"]);
    await outcomesOf(requestId);
    const detail = { clientCode: "ACME", propertyCode: "night", why: "night call" };
    await recordAudit(pool, { who: "cli:x", what: "note-night", detail });
    const ofOther = async () => {
      const log = await pool.query(
        "select correlation_id, rejections, layout, body from bellhop.accept_log where request_id = $1",
        [requestId],
      );
      const audit = await pool.query(
        "select detail from bellhop.audit_entry where client_id = $1 or detail ->> 'clientCode' = 'OTHER'",
        [other.clientId],
      );
      return [log.rows, audit.rows];
    };
    const before = await ofOther();
    assert.ok(before[1]?.length);
    const profiles = ["clientCode", "OTHER", "night", "ACME"].map((name) => ({ id: `P-${name}`, name }));
    await push([reservationRecord({ reservationId: "R-2201", profiles })]);
    const { code, err } = await run(
      service.database,
      "run",
      "--reservation",
      "ACME/LON01/R-2201",
      "--reason",
      "x",
    );
    assert.equal(code, 0, err);
    assert.deepEqual(await ofOther(), before);
    const { rows } = await pool.query("select detail from bellhop.audit_entry where what = 'note-night'");
    assert.deepEqual(rows, [{ detail: { ...detail, why: "[erased] call" } }]);
  });

  test("of a profile includes records that were rejected, even if no accepted one names it", async () => {
    // Of a client code without erased profiles: otherwise rejected records are reduced when they arrive.
    const as = await service.newClient({ grants: [{ clientCode: "FIRST", propertyCode: "*" }] });
    const name = 'Regina "Gina" Recusata';
    const of = { clientCode: "FIRST", reservationId: "R-1", profiles: [{ id: "P-REGINA", name }] };
    const batch = JSON.stringify(
      [{ ...reservationRecord(of), status: 7 }, others(950, 1)[0]].map((one) => ({
        ...one,
        clientCode: "FIRST",
      })),
    );
    const answer = await service.post("reservations", batch, { as, headers: { prefer: "handling=lenient" } });
    assert.equal(answer.status, 202, answer.text);
    await outcomesOf(String(answer.json()["requestId"]));
    await recordAudit(service.pool, { who: "cli:x", what: "note", detail: { text: `call ${name}` } });
    assert.ok((await placesOf(["Recusata"])).length > 1);
    const erased = await run(
      service.database,
      "run",
      "--profile-id",
      "P-REGINA",
      "--client",
      "FIRST",
      "--reason",
      "x",
    );
    assert.equal(erased.code, 0, erased.err);
    assert.deepEqual(await placesOf(["Recusata", "P-REGINA"]), []);
    const rejections = await service.pool.query(
      "select rejections -> 0 as of from bellhop.accept_log where client_id = $1 and rejections is not null",
      [as.clientId],
    );
    const { violations, ...kept } = rejections.rows[0].of;
    assert.deepEqual(kept, { index: 0, violationTotal: 1, clientCode: "FIRST", propertyCode: "LON01" });
    assert.deepEqual(violations, [{ pointer: "/0", code: "type", message: "[erased]" }]);
  });

  test("is not kept from its end by any text or number of members in rejected records", async () => {
    const as = await service.newClient({ grants: [{ clientCode: "SECOND", propertyCode: "*" }] });
    const long = `Longina ${"lang ".repeat(20_000)}`;
    const rejected = [
      { profiles: [{ id: "P-SECOND", name: "Nora\0Null" }] },
      { profiles: [{ id: "P-SECOND", name: long }] },
      {
        profiles: [{ id: "P-SECOND", name: "Nora Namenlos" }],
        ...Object.fromEntries(Array.from({ length: 150_000 }, (_, n) => [`member${n}`, 0])),
      },
    ].map((of, n) => ({
      ...reservationRecord({ clientCode: "SECOND", reservationId: `R-${n}` }),
      ...of,
      status: 7,
    }));
    const batch = [reservationRecord({ clientCode: "SECOND", reservationId: "R-3" }), ...rejected];
    const answer = await service.post("reservations", JSON.stringify(batch), {
      as,
      headers: { prefer: "handling=lenient" },
    });
    assert.equal(answer.status, 202, answer.text);
    await outcomesOf(String(answer.json()["requestId"]));
    const texts = [`call ${long}`, "call Nora Namenlos"];
    await recordAudit(service.pool, { who: "cli:x", what: "note-second", detail: { texts } });
    const of = ["--profile-id", "P-SECOND", "--client", "SECOND", "--reason", "x"];
    const { code, err } = await run(service.database, "run", ...of);
    assert.equal(code, 0, err);
    assert.deepEqual(await placesOf(["Longina", "Nora", "Namenlos", "P-SECOND"]), []);
    const { rows } = await service.pool.query(
      "select coalesce(lists, detail) as detail from bellhop.audit_entry where what = 'note-second'",
    );
    assert.deepEqual(rows, [{ detail: { texts: ["call [erased]", "call [erased]"] } }]);
  });

  test("drops what a killed replay and a killed retention run left", async () => {
    const { pool } = service;
    await push([reservationRecord({ reservationId: "R-2401", confirmationNumber: "CNF-LEFTOVER" })]);
    await pool.query(`create schema bellhop_replay_left;
      create table bellhop_replay_left.reservation_version as select * from bellhop_state.reservation_version;
      create table bellhop.accept_log_19700101 as select * from bellhop.accept_log`);
    const of = ["--reservation", "ACME/LON01/R-2401", "--reason", "x"];
    assert.equal((await run(service.database, "run", ...of)).code, 0);
    assert.deepEqual(await placesOf(["CNF-LEFTOVER"]), []);
    const left = await pool.query("select to_regclass('bellhop.accept_log_19700101') as log");
    assert.deepEqual(left.rows, [{ log: null }]);
  });

  test("is refused while a replay runs, without a subject, and without a reason", async () => {
    assert.equal((await run(service.database, "run", "--reservation", "ACME/LON01/R-1")).code, 2);
    assert.equal((await run(service.database, "run", "--reason", "x")).code, 2);
    assert.equal((await run(service.database, "run", "--profile-id", "X", "--reason", "x")).code, 2);
    assert.equal((await run(service.database, "run", "--reservation", "R-1", "--reason", "x")).code, 2);
    assert.equal((await run(service.database, "certificate", randomUUID())).code, 1);
    const holder = await service.pool.connect();
    await holder.query("select pg_advisory_lock(7302021)");
    const { code, err } = await run(service.database, "run", "--reservation", "A/B/C", "--reason", "x");
    await holder.query("select pg_advisory_unlock(7302021)");
    holder.release();
    assert.equal(code, 1);
    assert.match(err, /is running/);
  });

  test("under traffic refuses nothing and leaves nothing", async () => {
    const karl = (hour: number, rooms: number) =>
      reservationRecord({
        reservationId: "R-KARL",
        lastModifiedDateTime: at(hour),
        numberOfRooms: rooms,
        profiles: [{ name: "Karl Kranich" }],
      });
    await push([karl(1, 1)]);
    let isOver = false;
    const traffic = (async () => {
      for (let rooms = 2; !isOver; rooms += 1) await push([karl(2, rooms), ...others(3_000 + rooms, 1)]);
    })();
    const done = await run(service.database, "run", "--reservation", "ACME/LON01/R-KARL", "--reason", "x");
    isOver = true;
    await traffic;
    assert.equal(done.code, 0, done.err);
    const { clientConfig, pool } = service.database;
    // Before version 18 statistics may hold what came before the node had heard of the erasure (docs/privacy.md).
    const version = await pool.query<{ number: number }>(
      "select current_setting('server_version_num')::int as number",
    );
    if ((version.rows[0]?.number ?? 0) < 180_000) await pool.query("analyze bellhop.accept_log");
    assert.deepEqual(await placesOf(["Kranich"]), []);
    assert.equal((await replay({ clientConfig, pool, swap: false })).equal, true);
  });

  test("goes out as a file that only its owner reads", async () => {
    const exported = async () => {
      const settings = { DATABASE_URL: service.database.url, NODE_ENV: "test" };
      const findings = await examine({ readConfig: () => readConfig(settings), explain: String });
      return findings.find(({ id }) => id === "erasures.exported")?.severity;
    };
    assert.equal(await exported(), "warning");
    const file = join(directory, "erasures.jsonl");
    assert.equal((await run(service.database, "export", file)).code, 0);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(await exported(), "ok");
    const list = await readFile(file, "utf8");
    for (const word of [...WORDS, "P-HUGO", "Habicht"]) assert.ok(!list.includes(word));
    assert.match(list, /"key":"R-7001"/);
    assert.equal((await run(service.database, "export", file)).code, 0, "in the place of the former one");
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.includes("partial")),
      [],
    );
  });

  test("is not forgotten by an export of a database that does not know of it, nor is another file lost", async () => {
    const file = join(directory, "of-another.jsonl");
    assert.equal((await run(service.database, "export", file)).code, 0);
    const [head = "", first = "", ...rest] = (await readFile(file, "utf8")).trimEnd().split("\n");
    const lines = [
      JSON.stringify({ ...JSON.parse(head), erasures: rest.length + 2 }),
      JSON.stringify({ ...JSON.parse(first), erasureId: randomUUID() }),
      first,
      ...rest,
    ];
    for (const [text, said] of [
      [`${lines.join("\n")}\n`, /lists 1 erasure that this database does not know, and is not replaced/],
      ["a file of somebody's own", /exists and is not replaced/],
    ] as const) {
      await writeFile(file, text);
      const { code, err } = await run(service.database, "export", file);
      assert.equal(code, 1);
      assert.match(err, said);
      assert.equal(await readFile(file, "utf8"), text);
    }
    const unread = await run(service.database, "import", join(directory, "nowhere"));
    assert.deepEqual([unread.code, unread.out], [1, ""]);
    assert.match(unread.err, /^bellhop: The erasure list \S+nowhere cannot be read \(ENOENT\)\.$/);
  });

  test("reports if no stored record matches", async () => {
    const never = ["--reservation", "ACME/PAR01/R-NEVER", "--reason", "asked", "--yes"];
    const { code, out } = await run(service.database, "run", ...never);
    assert.equal(code, 0);
    assert.match(out, /\nNo stored record matches\. Check the code with: bellhop erasure find\. /);
  });
});
