import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import type { Tracer } from "../../src/platform/telemetry/opentelemetry.ts";
import { readSummariesOf } from "../../src/query/request-summary.ts";
import { AddressRules } from "../../src/webhooks/address-rules.ts";
import {
  addWebhook,
  changeWebhook,
  redriveWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookAdmin,
} from "../../src/webhooks/administration.ts";
import { deliverOnce } from "../../src/webhooks/deliver-once.ts";
import { WebhookDeliverer } from "../../src/webhooks/deliver-webhooks.ts";
import { findEndpoint } from "../../src/webhooks/endpoint.ts";
import { resolveByDns } from "../../src/webhooks/endpoint-address.ts";
import { bodyOf } from "../../src/webhooks/message.ts";
import { noticeApplied } from "../../src/webhooks/notice-applied.ts";
import { enqueueMessages, listAttempts, listDeadLetters, SHARDS } from "../../src/webhooks/queue.ts";
import type { RetryPlan } from "../../src/webhooks/retry-plan.ts";
import { readLiveSecrets } from "../../src/webhooks/secrets.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { bellhop } from "../support/command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { accept, startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

const rules = new AddressRules(["127.0.0.0/8"]);
const cipher = createSecretCipher(randomBytes(32).toString("base64"));
/** As the service's own, in hundredths of a second. */
const QUICK: RetryPlan = {
  messageSeconds: [0.01, 0.02, 0.04],
  endpointSeconds: [0.01],
  pauseAfterSeconds: 3_600,
};

let database: TestDatabase;
let receiver: WebhookReceiver;
let admin: WebhookAdmin;
before(async () => {
  database = await createTestDatabase();
  receiver = await startWebhookReceiver();
  admin = {
    pool: database.pool,
    cipher,
    rules,
    clientId: null,
    who: "cli:test",
  };
});
after(async () => {
  await receiver.stop();
  await database.drop();
});

/** A node that does nothing but deliver. */
function startNode(
  plan: RetryPlan = QUICK,
  owner = "test",
  tryMsMax = 15_000,
): WebhookDeliverer & { failures: unknown[] } {
  const failures: unknown[] = [];
  const node = new WebhookDeliverer({
    clientConfig: database.clientConfig,
    pool: database.pool,
    cipher,
    plan,
    owner,
    cursorSecret: async () => ({ key: Buffer.alloc(32), epoch: 0 }),
    send: { rules, resolve: resolveByDns, tryMsMax },
    events: { tried: () => undefined, failed: (error) => void failures.push(error) },
  });
  return Object.assign(node, { failures });
}

async function newClient(): Promise<string> {
  const clientId = randomUUID();
  await database.pool.query(
    "insert into bellhop.client (client_id, name, scopes, changed_epoch) values ($1, 'Partner', '{read}', 0)",
    [clientId],
  );
  return clientId;
}

async function newEndpoint(path: string, ofClient?: string): Promise<string> {
  const clientId = ofClient ?? (await newClient());
  const url = `http://127.0.0.1:${receiver.port}${path}`;
  return (await addWebhook(admin, clientId, { url, events: ["request.applied"] })).endpoint.endpointId;
}

/** Queues messages, those of several endpoints at once. */
async function enqueue(of: string | readonly string[], count: number): Promise<string[]> {
  const endpointIds = typeof of === "string" ? [of] : of;
  const numbered = endpointIds.flatMap((endpointId) =>
    Array.from({ length: count }, (_, number) => ({ endpointId, number })),
  );
  const messages = numbered.map(({ endpointId, number }) => ({
    messageId: randomUUID(),
    endpointId,
    event: "request.applied" as const,
    cause: String(number),
    url: null,
    body: bodyOf("request.applied", new Date().toISOString(), { number }),
  }));
  await enqueueMessages(database.pool, messages);
  return messages.map(({ messageId }) => messageId);
}

/** Full queues of endpoints that take nothing now would otherwise delay everybody's messages. */
async function assertQueueIsNotRead(endpointId: string): Promise<void> {
  const { pool } = database;
  const set = (table: "endpoint" | "message", to: string) =>
    pool.query(`update bellhop.webhook_${table} set ${to} where endpoint_id = $1`, [endpointId]);
  const statement = await readFile(
    new URL("../../src/webhooks/sql/find-due-messages.sql", import.meta.url),
    "utf8",
  );
  const values = [Array.from({ length: SHARDS }, (_, shard) => shard), [], 4, 256, 16];
  await pool.query("vacuum analyze bellhop.webhook_message");
  const due = async () => {
    const explained = await pool.query({ text: `explain (analyze, format json) ${statement}`, values });
    const removed = JSON.stringify(explained.rows).matchAll(/"Rows Removed by Filter":(\d+)/g);
    assert.ok(
      [...removed].every(([, rows]) => Number(rows) < 100),
      JSON.stringify(explained.rows),
    );
    const { rows } = await pool.query<{ endpointId: string }>({ text: statement, values });
    return rows.filter((row) => row.endpointId === endpointId).length;
  };
  assert.equal(await due(), 4);
  await set("endpoint", "paused_at = now()");
  assert.equal(await due(), 1, "the test");
  await set("endpoint", "paused_at = null, failures = 3, not_before = now() + interval '1 minute'");
  assert.equal(await due(), 1, "the test");
  await set("endpoint", "failures = 0, not_before = null");
  await set("message", "next_try_at = now() + interval '1 minute'");
  assert.equal(await due(), 0);
}

const at = (path: string) => receiver.received.filter((message) => message.path === path);
const stands = (endpointId: string) => findEndpoint(database.pool, null, endpointId);

describe("an applied request", () => {
  test("is reported once, also where another node finds its other parts after the delivery", async () => {
    const bench = await ApplyBench.open();
    try {
      const { pool } = bench.database;
      await pool.query(
        "insert into bellhop.client (client_id, name, scopes, changed_epoch) values ('tester', 'Partner', '{read}', 0)",
      );
      const url = "https://partner.example/applied";
      await addWebhook({ ...admin, pool }, "tester", { url, events: ["request.applied"] });
      bench.startApplier();
      const properties = Array.from({ length: 8 }, (_, number) => `LON${number}`);
      const batch = properties.map((code) => reservation("R", "2026-03-01T10:00:00Z", "once", code));
      const request = { requestId: await bench.accept(batch), clientId: "tester" };
      await until(
        async () => (await readSummariesOf(pool, [request]))[0]?.summary.status === "applied",
        60_000,
      );
      await bench.stopApplier();
      const queued: number[] = [];
      for (let shard = 0; shard < SHARDS; shard += 1) {
        await noticeApplied(pool, cipher, [shard]);
        const { rowCount } = await pool.query("delete from bellhop.webhook_message");
        queued.push(rowCount ?? 0);
      }
      assert.deepEqual(
        queued.filter((count) => count > 0),
        [1],
      );
      assert.equal((await pool.query("select from bellhop.applied_part")).rowCount, 0);
    } finally {
      await bench.close();
    }
  });
});

describe("a message", () => {
  test("is retried with the same id until it is accepted", async () => {
    const node = startNode();
    const endpointId = await newEndpoint("/again");
    receiver.answer = (message, response) => {
      if (at("/again").length < 3) response.writeHead(503).end();
      else accept(message, response);
    };
    await enqueue(endpointId, 1);
    await until(async () => at("/again").length === 3 && (await stands(endpointId)).waiting === 0, 60_000);
    assert.equal(new Set(at("/again").map(({ headers }) => headers["webhook-id"])).size, 1);
    const attempts = await listAttempts(database.pool, endpointId, 10);
    assert.deepEqual(
      attempts.map(({ attempt, status, failure }) => [attempt, status, failure]),
      [
        [3, 204, null],
        [2, 503, "NotAccepted"],
        [1, 503, "NotAccepted"],
      ],
    );
    assert.equal((await stands(endpointId)).state, "active");
    await node.stop();
    assert.deepEqual(node.failures, []);
  });

  test("leaves no span open, also where the database fails before it is sent", async () => {
    const { pool } = database;
    const endpointId = await newEndpoint("/traced");
    const { clientId } = await stands(endpointId);
    const [messageId = ""] = await enqueue(endpointId, 1);
    receiver.answer = accept;
    let open = 0;
    const context = { traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 1 };
    const nothing = () => undefined;
    const end = () => {
      open -= 1;
    };
    const begin = () => {
      open += 1;
      return { spanContext: () => context, setAttributes: nothing, setStatus: nothing, end };
    };
    const tracer = { begin, beginWithin: begin } as unknown as Tracer;
    const send = { rules, resolve: resolveByDns, stopping: new AbortController().signal };
    const deliver = () =>
      deliverOnce(
        { pool, cipher, plan: QUICK, send, tracer },
        { messageId, endpointId, clientId, failures: 0 },
      );
    await pool.query("alter table bellhop.webhook_secret rename to webhook_secret_away");
    try {
      await assert.rejects(deliver(), { code: "42P01" });
    } finally {
      await pool.query("alter table bellhop.webhook_secret_away rename to webhook_secret");
    }
    assert.equal(open, 0);
    assert.equal((await deliver())?.failure, null);
    assert.equal(open, 0);
    assert.equal(at("/traced")[0]?.headers["traceparent"], `00-${context.traceId}-${context.spanId}-01`);
  });

  test("that is never accepted becomes a dead letter, and is delivered after a redrive", async () => {
    const node = startNode();
    const endpointId = await newEndpoint("/dead");
    receiver.answer = (_message, response) => response.writeHead(400).end("what is this?");
    const [first = "", second = ""] = await enqueue(endpointId, 2);
    await until(async () => (await stands(endpointId)).deadLetters === 2, 60_000);
    assert.equal(at("/dead").length, 8);
    const letters = await listDeadLetters(database.pool, endpointId);
    assert.deepEqual(
      letters.map(({ attempts, lastFailure }) => [attempts, lastFailure]),
      [
        [4, "NotAccepted"],
        [4, "NotAccepted"],
      ],
    );
    assert.equal((await listAttempts(database.pool, endpointId, 1))[0]?.answer, "what is this?");
    receiver.answer = accept;
    assert.equal(await redriveWebhook(admin, endpointId, `msg_${first.replaceAll("-", "")}`), 1);
    await until(async () => (await stands(endpointId)).deadLetters === 1 && at("/dead").length === 9, 60_000);
    assert.equal(await redriveWebhook(admin, endpointId, null), 1);
    await until(() => at("/dead").length === 10, 60_000);
    assert.equal(at("/dead")[9]?.headers["webhook-id"], `msg_${second.replaceAll("-", "")}`);
    await assert.rejects(redriveWebhook(admin, endpointId, first), /No dead letter has this id/);
    await node.stop();
  });

  test("is dropped beyond the limit of its queue, and counted", async () => {
    const endpointId = await newEndpoint("/full");
    for (let sent = 0; sent < 10_000; sent += 5_000) await enqueue(endpointId, 5_000);
    await enqueue(endpointId, 3);
    const { waiting, dropped, droppedSince } = await stands(endpointId);
    assert.deepEqual([waiting, dropped], [10_000, 3]);
    assert.ok(droppedSince !== null);
    // A message of changes is the only one, and what it reports is reported by no other.
    await enqueueMessages(database.pool, [
      { messageId: randomUUID(), endpointId, event: "changes.available", cause: "", url: null, body: "{}" },
    ]);
    const { waiting: now, dropped: still } = await stands(endpointId);
    assert.deepEqual([now, still], [10_000 + 1, 3]);
    const test = await testWebhook(admin, endpointId);
    const { rowCount } = await database.pool.query(
      "select from bellhop.webhook_message where message_id = $1",
      [test],
    );
    assert.deepEqual([rowCount, (await stands(endpointId)).dropped], [1, 3]);
    await assertQueueIsNotRead(endpointId);
    await database.pool.query("delete from bellhop.webhook_endpoint where endpoint_id = $1", [endpointId]);
  });
});

describe("an endpoint", () => {
  /** Runs changes of endpoints at once: one of them waits with its audit entry, and the other for it or with its own. */
  async function atOnce<One, Other>(one: () => Promise<One>, other: () => Promise<Other>) {
    const holder = await database.pool.connect();
    try {
      await holder.query("begin; lock table bellhop.audit_entry in share row exclusive mode");
      const both = Promise.allSettled([one(), other()]);
      const waiting =
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      await until(async () => (await database.pool.query(waiting)).rowCount === 2, 60_000);
      await holder.query("rollback");
      return await both;
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  }

  test("that is changed twice at once keeps both changes", async () => {
    const endpointId = await newEndpoint("/at-once");
    await atOnce(
      () => changeWebhook(admin, endpointId, { description: "Night audit" }),
      () => changeWebhook(admin, endpointId, { resource: "groups" }),
    );
    const { description, resource } = await stands(endpointId);
    assert.deepEqual([description, resource], ["Night audit", "groups"]);
  });

  test("with two secrets is signed with both", async () => {
    const endpointId = await newEndpoint("/two-secrets");
    const rotate = () => rotateWebhook(admin, endpointId, undefined);
    const answered = (await atOnce(rotate, rotate)).map(
      (one) => one.status === "fulfilled" && one.value.secret,
    );
    const live = await readLiveSecrets(database.pool, cipher, endpointId);
    assert.deepEqual(answered.sort(), live.sort());
  });

  test("is one of ten at most, also when the last two are made at once", async () => {
    const { clientId } = await stands(await newEndpoint("/many"));
    const add = () => addWebhook(admin, clientId, { url: receiver.url, events: ["request.applied"] });
    for (let made = 1; made < 9; made += 1) await add();
    const made = await atOnce(add, add);
    assert.deepEqual(made.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });

  test("is paused after failing as long as the setting allows, and continues when resumed", async () => {
    const endpointId = await newEndpoint("/failing");
    receiver.answer = (_message, response) => response.writeHead(500).end();
    await enqueue(endpointId, 1);
    const node = startNode({
      messageSeconds: Array.from({ length: 1_000 }, () => 0.01),
      endpointSeconds: [0.01],
      pauseAfterSeconds: 0.05,
    });
    await until(async () => (await stands(endpointId)).pausedAt !== null, 60_000);
    const { pausedBy, pauseReason, waiting } = await stands(endpointId);
    assert.deepEqual([pausedBy, waiting], ["service", 1]);
    assert.match(pauseReason ?? "", /^Every try has failed since \d{4}-/);
    receiver.answer = accept;
    await resumeWebhook(admin, endpointId);
    await until(async () => (await stands(endpointId)).waiting === 0, 60_000);
    assert.equal((await stands(endpointId)).state, "active");
    await node.stop();
  });

  test("that answers 410 wants no more: it is paused at once", async () => {
    const endpointId = await newEndpoint("/gone");
    receiver.answer = (_message, response) => response.writeHead(410).end();
    const node = startNode();
    await enqueue(endpointId, 1);
    await until(async () => (await stands(endpointId)).pausedAt !== null, 60_000);
    assert.equal((await stands(endpointId)).pauseReason, "It answered 410 Gone.");
    assert.equal(at("/gone").length, 1);
    await node.stop();
  });

  test("receives from one node at a time, and from another once that one stops or hangs", async () => {
    receiver.answer = accept;
    const endpointId = await newEndpoint("/taken-over");
    const one = startNode(QUICK, "one");
    const owners = async () => {
      const { rows } = await database.pool.query<{ owner: string; shards: number }>(
        "select owner, count(*)::integer as shards from bellhop.webhook_shard where owner is not null group by owner order by owner",
      );
      return rows.map(({ owner, shards }) => `${owner}:${shards}`).join(" ");
    };
    await until(async () => (await owners()) === "one:16", 60_000);
    const two = startNode(QUICK, "two");
    await until(async () => (await owners()) === "one:8 two:8", 60_000);
    await enqueue(endpointId, 40);
    await until(() => at("/taken-over").length >= 40, 60_000);
    assert.equal(new Set(at("/taken-over").map(({ headers }) => headers["webhook-id"])).size, 40);
    assert.equal(at("/taken-over").length, 40);
    await one.stop();
    await until(async () => (await owners()) === "two:16", 60_000);
    // As if it hung: its lease is over, and its session says nothing of that.
    await two.stop();
    await database.pool.query(
      "update bellhop.webhook_shard as shard set owner = 'hung', backend_pid = me.pid, backend_start = me.backend_start, leased_until = clock_timestamp() + interval '300 ms' from pg_stat_activity as me where me.pid = pg_backend_pid()",
    );
    const three = startNode(QUICK, "three");
    await until(async () => (await owners()) === "three:16", 60_000);
    await enqueue(endpointId, 1);
    await until(() => at("/taken-over").length === 41, 60_000);
    await three.stop();
  });

  test("that is notified of changes is paused when all cursors are voided, which no node may be there for", async () => {
    const endpointId = await newEndpoint("/voided");
    await database.pool.query(
      "update bellhop.webhook_endpoint set events = '{changes.available}' where endpoint_id = $1",
      [endpointId],
    );
    const epoch = async () =>
      (
        await database.pool.query("select value from bellhop.instance where name = 'feed.cursor-epoch'")
      ).rows.map(({ value }) => value);
    const voidCursors = async () =>
      (await bellhop(["void-cursors", "--json"], { DATABASE_URL: database.url })).code;
    const node = startNode();
    const nodes = async () =>
      (await database.pool.query("select from bellhop.webhook_shard where owner = 'test'")).rowCount;
    await until(async () => (await nodes()) === 16, 60_000);
    assert.equal(await voidCursors(), 1);
    assert.deepEqual(await epoch(), []);
    await node.stop();
    await until(async () => (await voidCursors()) === 0, 60_000);
    assert.equal((await epoch()).length, 1);
    const { pausedBy, pauseReason } = await stands(endpointId);
    assert.deepEqual(
      [pausedBy, pauseReason],
      ["recovery", "The database was recovered: read the records again, then resume this endpoint."],
    );
    assert.equal(await voidCursors(), 0);
    const { rows } = await database.pool.query(
      "select detail from bellhop.audit_entry where what = 'void-cursors' order by audit_id",
    );
    assert.deepEqual(rows, [{ detail: { webhooksPaused: 1 } }, { detail: { webhooksPaused: 0 } }]);
  });

  test("has a delivery log and dead letters within bounds", async () => {
    const endpointId = await newEndpoint("/bounded");
    await database.pool.query(
      `insert into bellhop.webhook_attempt (endpoint_id, message_id, event, url, attempt, attempted_at, duration_ms)
      select $1, gen_random_uuid(), 'request.applied', 'u', 1, clock_timestamp(), 1 from generate_series(1, 700)`,
      [endpointId],
    );
    await database.pool.query(
      `insert into bellhop.webhook_message (message_id, endpoint_id, event, body, dead_at)
      select gen_random_uuid(), $1, 'request.applied', '{}', clock_timestamp() - number * interval '1 hour' from generate_series(1, 1200) as number`,
      [endpointId],
    );
    const node = startNode();
    await until(async () => (await listAttempts(database.pool, endpointId, 1_000)).length === 500, 60_000);
    // Of 1,200 in 50 days, those of the last 30.
    await until(async () => (await stands(endpointId)).deadLetters === 719, 60_000);
    await node.stop();
  });
});

describe("one receiver", () => {
  test("a very slow receiver does not delay the others", async () => {
    const stuck = await newEndpoint("/stuck");
    const well = await Promise.all(Array.from({ length: 10 }, (_, number) => newEndpoint(`/well/${number}`)));
    const held: (() => void)[] = [];
    receiver.answer = (message, response) => {
      if (message.path === "/stuck") held.push(() => response.writeHead(204).end());
      else accept(message, response);
    };
    await enqueue(stuck, 100);
    const node = startNode();
    await until(() => at("/stuck").length === 4, 60_000);
    for (const endpointId of well) await enqueue(endpointId, 10);
    await until(() => well.every((_, number) => at(`/well/${number}`).length === 10), 60_000);
    assert.equal(at("/stuck").length, 4, "it has as many tries under way as one endpoint may");
    receiver.answer = accept;
    for (const release of held) release();
    await until(() => at("/stuck").length === 100, 60_000);
    await node.stop();
    assert.deepEqual(node.failures, []);
  });

  test("clients with many stuck endpoints do not delay the others: clients take turns", async () => {
    const held: (() => void)[] = [];
    receiver.answer = (message, response) => {
      if (message.path === "/stuck-client") held.push(() => response.writeHead(204).end());
      else accept(message, response);
    };
    const addStuck = async (clients: number) => {
      const stuck: string[] = [];
      for (let client = 0; client < clients; client += 1) {
        const clientId = await newClient();
        for (let number = 0; number < 10; number += 1)
          stuck.push(await newEndpoint("/stuck-client", clientId));
      }
      await enqueue(stuck, 8);
    };
    const other = await newEndpoint("/other");
    await addStuck(7);
    const node = startNode(QUICK, "test", 120_000);
    await until(() => held.length >= 7 * 16, 60_000);
    await enqueue(other, 1);
    await until(() => at("/other").length === 1, 60_000);
    // Further clients take all that a node tries at once, each at least some.
    await addStuck(13);
    await until(() => held.length >= 256, 60_000);
    const tried = held.length;
    await enqueue(other, 1);
    held.pop()?.();
    await until(() => at("/other").length === 2, 60_000);
    assert.equal(at("/stuck-client").length, tried, "the client with nothing in progress was next");
    receiver.answer = accept;
    for (const release of held) release();
    await node.stop();
    assert.deepEqual(node.failures, []);
  });
});
