import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import type pg from "pg";
import { replay } from "../../src/apply/replay.ts";
import { recordAudit } from "../../src/identity/audit.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { withSession } from "../../src/platform/db/connection.ts";
import { readListFile } from "../../src/privacy/erasure/erasure-list.ts";
import { carryOutList, type ErasureOrder, runErasure } from "../../src/privacy/erasure/run-erasure.ts";
import { rewritePart } from "../../src/retention/rewrite-log.ts";
import { AddressRules } from "../../src/webhooks/address-rules.ts";
import { addWebhook } from "../../src/webhooks/administration.ts";
import { deliverOnce } from "../../src/webhooks/deliver-once.ts";
import { resolveByDns } from "../../src/webhooks/endpoint-address.ts";
import { ChangeNoticer } from "../../src/webhooks/notice-changes.ts";
import { SHARDS } from "../../src/webhooks/queue.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { createTestDatabase } from "../support/database.ts";
import { at, ottilie, run, WORDS } from "../support/erasure-fixture.ts";
import { searchEverywhere } from "../support/search-everywhere.ts";
import { until } from "../support/until.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

const WAIT_MS = 60_000;
const EVERY_SHARD = Array.from({ length: SHARDS }, (_, shard) => shard);
const cipher = createSecretCipher(randomBytes(32).toString("base64"));
const rules = new AddressRules(["127.0.0.0/8"]);

/** A pool whose transactions begin when they are let; `begins` is kept when the first of them is about to. */
function gated(pool: pg.Pool): { readonly pool: pg.Pool; readonly begins: Promise<void>; let(): void } {
  const [begin, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const connect = async () => {
    begin.resolve();
    await open.promise;
    return pool.connect();
  };
  // A statement by itself takes its connection with a callback.
  const query = pool.query.bind(pool);
  const gatedPool = Object.create(pool, { connect: { value: connect }, query: { value: query } }) as pg.Pool;
  return { pool: gatedPool, begins: begin.promise, let: open.resolve };
}

/** Where a run is cut off, by the names of its statements so far. */
const PLACES = {
  "before a bucket": (names) => names.at(-1) === "find-rejecting-parts",
  "within a bucket": (names) => names.at(-1) === "read-details",
  "behind a bucket": (names) => names.includes("read-details") && names.at(-2) === "commit",
  "at the end": (names) => names.at(-1) === "finish-erasure",
} as const satisfies Record<string, (names: readonly string[]) => boolean>;

/** Runs work on a session each of whose statements waits for `before`, which gets the names of all so far. */
async function watched<Result>(
  { database }: ApplyBench,
  before: (names: readonly string[]) => Promise<void>,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  return withSession(database.clientConfig, "watched", async (client) => {
    const query = client.query.bind(client) as (...asked: unknown[]) => Promise<unknown>;
    const names: string[] = [];
    const watchedQuery = async (...asked: unknown[]) => {
      const [statement] = asked as [string | { readonly name?: string }];
      names.push(typeof statement === "string" ? statement : (statement.name ?? ""));
      await before(names);
      return query(...asked);
    };
    Object.assign(client, { query: watchedQuery });
    return work(client);
  });
}

/** Runs work whose session is lost at a place; `meanwhile` comes before its first bucket is redacted. */
async function cutOff(
  bench: ApplyBench,
  place: keyof typeof PLACES,
  work: (client: pg.Client) => Promise<unknown>,
  meanwhile?: () => Promise<unknown>,
): Promise<void> {
  const lost = new Error("the session was lost");
  let isLost = false;
  const before = async (names: readonly string[]) => {
    isLost ||= PLACES[place](names);
    if (isLost) throw lost;
    if (names.at(-1) === "end-lease") await meanwhile?.();
  };
  await assert.rejects(watched(bench, before, work), lost);
}

const orderOf = (key: string): ErasureOrder => ({
  subjects: [{ clientCode: "ACME", propertyCode: "LON01", resource: "reservations", key }],
  reason: "x",
  who: "cli:x",
});

describe("an erasure beside data that others have read or stored", () => {
  let bench: ApplyBench;
  let receiver: WebhookReceiver;
  let endpointId: string;
  const clientId = "listener";
  before(async () => {
    receiver = await startWebhookReceiver();
    bench = await ApplyBench.open();
    bench.startApplier();
    const { pool } = bench.database;
    await pool.query(
      `with client as (insert into bellhop.client (client_id, name, scopes, changed_epoch) values ($1, 'Listener', '{read}', 0))
      insert into bellhop.client_grant (client_id, client_code, property_code) values ($1, 'ACME', '*')`,
      [clientId],
    );
    const admin = { pool, cipher, rules, clientId: null, who: "cli:test" };
    const { endpoint } = await addWebhook(admin, clientId, {
      url: receiver.url,
      events: ["changes.available"],
    });
    endpointId = endpoint.endpointId;
  });
  after(async () => {
    await bench.close();
    await receiver.stop();
  });

  afterEach(() => bench.database.pool.query("delete from bellhop.webhook_message"));

  const placesOf = (word: string) => searchEverywhere(bench.database.pool, word);
  const erase = async (key: string) => {
    const done = await run(bench.database, "run", "--reservation", `ACME/LON01/${key}`, "--reason", "x");
    assert.equal(done.code, 0, done.err);
  };
  const noticer = (pool: pg.Pool) =>
    new ChangeNoticer(pool, async () => ({ key: Buffer.alloc(32), epoch: 0 }));
  const deliver = (messageId: string) =>
    deliverOnce(
      {
        pool: bench.database.pool,
        cipher,
        send: { rules, resolve: resolveByDns, stopping: new AbortController().signal },
        plan: { messageSeconds: [60], endpointSeconds: [60], pauseAfterSeconds: 3_600 },
      },
      { messageId, endpointId, clientId, failures: 0 },
    );
  const messages = () =>
    bench.rows<{ messageId: string; body: string }>(
      `select message_id as "messageId", body from bellhop.webhook_message`,
    );

  test("is not undone by a webhook message made from data read before", async () => {
    const { pool } = bench.database;
    await bench.acceptAndApply([{ ...reservation("R-11", at(1), "x"), confirmationNumber: "CNF-FRITZ" }]);
    const late = gated(pool);
    const noticing = noticer(late.pool).notice(EVERY_SHARD);
    await late.begins;
    await erase("R-11");
    late.let();
    assert.equal(await noticing, false);
    assert.deepEqual(await placesOf("CNF-FRITZ"), []);
    assert.equal(await noticer(pool).notice(EVERY_SHARD), true);
    const [message] = await messages();
    assert.match(message?.body ?? "", /"key":"R-11".*"confirmationNumber":"\[erased\]"/);
  });

  test("waits for a message that is being queued, and redacts it", async () => {
    const { pool } = bench.database;
    await bench.acceptAndApply([{ ...reservation("R-12", at(1), "x"), confirmationNumber: "CNF-GRETE" }]);
    const holder = await pool.connect();
    let isOver = false;
    const waiting = async () =>
      (
        await bench.rows(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).length;
    try {
      // A message is queued by moving the position first.
      await holder.query("begin; select from bellhop.webhook_endpoint for update");
      const noticing = noticer(pool).notice(EVERY_SHARD);
      await until(async () => (await waiting()) >= 1, WAIT_MS);
      const erasing = erase("R-12").finally(() => {
        isOver = true;
      });
      await until(async () => isOver || (await waiting()) >= 2, WAIT_MS);
      await holder.query("commit");
      assert.equal(await noticing, true);
      await erasing;
    } finally {
      holder.release(true);
    }
    assert.deepEqual(await placesOf("CNF-GRETE"), []);
    assert.equal((await messages()).length, 1);
  });

  test("leaves nothing of a receiver's answer that was on its way", async () => {
    const { pool } = bench.database;
    await bench.acceptAndApply([{ ...reservation("R-13", at(1), "x"), confirmationNumber: "CNF-HANNES" }]);
    assert.equal(await noticer(pool).notice(EVERY_SHARD), true);
    const [message] = await messages();
    const asked = Promise.withResolvers<ServerResponse>();
    receiver.answer = (_message, response) => asked.resolve(response);
    const trying = deliver(message?.messageId ?? "");
    const response = await asked.promise;
    await erase("R-13");
    response.writeHead(500).end("no room for CNF-HANNES");
    await once(response, "close");
    assert.equal((await trying)?.failure, "NotAccepted");
    assert.deepEqual(await placesOf("CNF-HANNES"), []);
  });

  test("leaves nothing of an answer to a message that was sent just before it was redacted", async () => {
    await bench.acceptAndApply([{ ...reservation("R-14", at(1), "x"), confirmationNumber: "CNF-JULE" }]);
    const asked = Promise.withResolvers<ServerResponse>();
    receiver.answer = (_message, response) => asked.resolve(response);
    let trying: ReturnType<typeof deliver> | undefined;
    const before = async (names: readonly string[]) => {
      if (names.at(-1) === "end-lease")
        assert.equal(await noticer(bench.database.pool).notice(EVERY_SHARD), true);
      if (names.at(-1) !== "find-change-messages" || !names.includes("end-lease")) return;
      const [message] = await messages();
      trying = deliver(message?.messageId ?? "");
      await asked.promise;
    };
    await watched(bench, before, (client) => runErasure(client, orderOf("R-14")));
    (await asked.promise).writeHead(500).end("no room for CNF-JULE");
    assert.equal((await trying)?.failure, "NotAccepted");
    assert.deepEqual(await placesOf("CNF-JULE"), []);
  });

  /** Takes the records of a request out of the log, as retention does. */
  async function expire(requestId: string) {
    const client = await bench.database.pool.connect();
    const [part] = await bench.rows<{ bucket: number; logWriterId: string }>(
      `select bucket, log_writer_id::text as "logWriterId" from bellhop.accept_log where request_id = $1`,
      [requestId],
    );
    assert.ok(part !== undefined);
    assert.equal(await rewritePart(client, { ...part, requestId }, () => "drop"), true);
    client.release();
  }

  test("reaches what versions alone know any more, as their records in the log have expired", async () => {
    const requestId = await bench.accept([
      { ...reservation("R-1", at(1), "x"), confirmationNumber: "CNF-EMIL" },
    ]);
    assert.equal(await bench.outcomesOf(requestId), "a");
    await expire(requestId);
    const currentRow = async () =>
      (
        await bench.rows<{ hash: string; nights: string | null }>(
          `select encode(content_hash, 'hex') as hash, encode(compact_nights, 'hex') as nights
          from bellhop_state.current_record where key = 'R-1'`,
        )
      )[0];
    assert.match((await placesOf("CNF-EMIL")).join(), /reservation_version/);
    const was = await currentRow();
    assert.ok(was?.nights?.startsWith(was.hash.slice(0, 12)));
    await erase("R-1");
    assert.deepEqual(await placesOf("CNF-EMIL"), []);
    const is = await currentRow();
    assert.notEqual(is?.hash, was?.hash);
    // Nor is the former hash disclosed, by which a name could be guessed.
    assert.equal(is?.nights, null);
  });

  test("of a profile includes versions whose records have expired, because their names are unknown", async () => {
    const version = (hour: number, id: string) => ({
      ...reservation("R-2", at(hour), String(hour)),
      confirmationNumber: `CNF-${hour}-IDA`,
      profiles: [{ id }],
    });
    const expired = await bench.accept([version(1, "P-IDA")]);
    assert.equal(await bench.outcomesOf(expired), "a");
    assert.equal(await bench.acceptAndApply([version(2, "P-IDA")]), "a");
    assert.equal(await bench.acceptAndApply([version(3, "P-JO")]), "a");
    await expire(expired);
    const of = ["--profile-id", "P-IDA", "--client", "ACME", "--reason", "x"];
    const done = await run(bench.database, "run", ...of);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(await placesOf("CNF-1-IDA"), []);
    assert.deepEqual(await placesOf("CNF-2-IDA"), []);
    assert.match((await placesOf("CNF-3-IDA")).join(), /reservation_version/);
  });

  for (const [number, place] of (Object.keys(PLACES) as (keyof typeof PLACES)[]).entries())
    test(`that is cut off ${place} and resumed leaves nothing that mentions the guest`, async () => {
      const { pool } = bench.database;
      const [key, name] = [`R-3${number}`, `Konrad Kiebitz ${number}`];
      await bench.acceptAndApply([{ ...reservation(key, at(1), "x"), profiles: [{ name }] }]);
      const batch = submissionOf([reservation("R-39", at(1), "x"), { remark: `as ${name}` }]);
      const [accepted, refused] = batch.records;
      assert.ok(accepted !== undefined && refused !== undefined);
      const violations = [{ pointer: "/1/remark", code: "type", message: `not ${name}` }];
      const { requestId } = await bench.log.append({
        ...batch,
        lenient: true,
        correlationId: `for ${name}`,
        records: [accepted],
        rejected: [{ ...refused, violations, violationTotal: 1 }],
      });
      await bench.outcomesOf(requestId);
      await recordAudit(pool, { who: "cli:x", what: "note", detail: { why: `asked by ${name}` } });
      receiver.answer = (_message, response) => response.writeHead(500).end(`no room for ${name}`);
      await cutOff(
        bench,
        place,
        (client) => runErasure(client, orderOf(key)),
        async () => {
          assert.equal(await noticer(pool).notice(EVERY_SHARD), true);
          for (const { messageId } of await messages())
            assert.equal((await deliver(messageId))?.failure, "NotAccepted");
        },
      );
      const [cut] = await bench.rows<{ id: string }>(
        "select erasure_id as id from bellhop.erasure where finished_at is null",
      );
      const resumed = await run(bench.database, "resume", cut?.id ?? "");
      assert.equal(resumed.code, 0, resumed.err);
      assert.deepEqual(await placesOf(name), []);
    });
});

test("an erasure is repeated by the list in another database that accepted the same records", async () => {
  const bench = await ApplyBench.open();
  const listed = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), "bellhop-erasure-"));
  try {
    bench.startApplier();
    await bench.acceptAndApply([ottilie(at(10)), reservation("R-2", at(10), "x")]);
    await bench.acceptAndApply([ottilie(at(11))]);
    assert.ok((await searchEverywhere(bench.database.pool, "Ottilie")).length > 0);
    const subjects = ["--reservation", "ACME/LON01/R-7001", "--profile-id", "P-HUGO", "--client", "ACME"];
    assert.equal((await run(listed, "run", ...subjects, "--reason", "x")).code, 0);
    const file = join(directory, "list.jsonl");
    assert.equal((await run(listed, "export", file)).code, 0);
    const detail = { why: "asked by Ottilie Grünwald" };
    await recordAudit(bench.database.pool, { who: "cli:x", what: "note", detail });
    const list = await readListFile(file);
    const carryOut = (client: pg.Client) => carryOutList(client, list, "cli:x");
    await cutOff(bench, "within a bucket", carryOut);
    await cutOff(bench, "behind a bucket", carryOut);
    const { code, out, err } = await run(bench.database, "import", file);
    assert.equal(code, 0, err);
    assert.match(out, /1 erasure imported, 0 of them new; 0 copies of records redacted/);
    assert.deepEqual(await searchEverywhere(bench.database.pool, WORDS), []);
    // Accepted by one who does not know of the list, as this log does not: redacted when it is applied.
    assert.equal(await bench.acceptAndApply([ottilie(at(12), { numberOfRooms: 2 })]), "a");
    assert.equal(await bench.acceptAndApply([ottilie(at(13), { numberOfRooms: 2 })]), "u");
    assert.deepEqual(await searchEverywhere(bench.database.pool, "Ottilie"), []);
    const { clientConfig, pool } = bench.database;
    assert.equal((await replay({ clientConfig, pool, swap: false })).equal, true);
    assert.deepEqual(bench.failuresWithinLeases, []);
  } finally {
    await bench.close();
    await listed.drop();
    await rm(directory, { recursive: true });
  }
});

test("a version redacted while it is applied, after the erasure searched the log, has the same hash as in a replay", async () => {
  const bench = await ApplyBench.open();
  try {
    const requestId = await bench.accept([ottilie(at(8))]);
    let isApplied = false;
    const before = async (names: readonly string[]) => {
      if (isApplied || names.at(-1) !== "lock-buckets") return;
      isApplied = true;
      bench.startApplier();
      assert.equal(await bench.outcomesOf(requestId), "a");
      await bench.stopApplier();
    };
    await watched(bench, before, (client) => runErasure(client, orderOf("R-7001")));
    assert.ok(isApplied);
    assert.deepEqual(await searchEverywhere(bench.database.pool, "Ottilie"), []);
    const { clientConfig, pool } = bench.database;
    const replayed = await replay({ clientConfig, pool, swap: false });
    assert.equal(replayed.equal, true, JSON.stringify(replayed));
  } finally {
    await bench.close();
  }
});
