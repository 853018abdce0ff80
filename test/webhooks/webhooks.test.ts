import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { updateClient } from "../../src/identity/client-admin.ts";
import { ChangeCursors } from "../../src/query/changes/change-cursor.ts";
import type {
  WebhookAnswer,
  WebhookSecretAnswer,
  WebhooksAnswer,
} from "../../src/webhooks/console-answers.ts";
import { ChangeNoticer } from "../../src/webhooks/notice-changes.ts";
import { SHARDS } from "../../src/webhooks/queue.ts";
import { bellhop } from "../support/command.ts";
import { logInAsNew } from "../support/console-session.ts";
import { groupRecord, inventoryRecord, type LooseRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import {
  accept,
  type ReceivedMessage,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../support/webhook-receiver.ts";

const LOOPBACK = ["127.0.0.0/8"];
const API = "/api/public/v1/webhooks";

let service: TestService;
let receiver: WebhookReceiver;
before(async () => {
  receiver = await startWebhookReceiver();
  service = await startTestService({ webhookAllowedNetworks: LOOPBACK });
});
after(async () => {
  await service.stop();
  await receiver.stop();
});

/** Runs `bellhop webhook …`. */
function run(...args: string[]) {
  const environment = { DATABASE_URL: service.database.url, WEBHOOK_ALLOWED_NETWORKS: LOOPBACK.join() };
  return bellhop(["webhook", ...args], environment);
}

async function create(as: TestClient, url: string, ...events: string[]) {
  const answer = await service.send("POST", API, { as, body: { url, events } });
  assert.equal(answer.status, 201, answer.text);
  const { endpointId, secret } = answer.json();
  return { endpointId: String(endpointId), secret: String(secret) };
}

const verified = (secret: string, { body, headers }: ReceivedMessage) =>
  new Webhook(secret).verify(body, headers as Record<string, string>) as {
    readonly type: string;
    readonly timestamp: string;
    readonly data: Record<string, unknown>;
  };
const at = (path: string) => receiver.received.filter((message) => message.path === path);
const addressOf = (path: string) => `http://127.0.0.1:${receiver.port}${path}`;

describe("bellhop webhook", () => {
  test("creates an endpoint and tests it: the published library verifies what arrives", async () => {
    const url = addressOf("/by-command");
    const line = ["--client-id", service.client.clientId, "--url", url, "--event", "request.applied"];
    const made = await run("create", ...line, "--json");
    assert.equal(made.code, 0, made.err);
    const { endpointId, secret, state } = JSON.parse(made.out) as Record<string, string>;
    assert.equal(state, "active");
    const tested = await run("test", String(endpointId));
    assert.equal(tested.code, 0, tested.err);
    assert.match(tested.out, /^Delivered in \d+ ms \(status 204\)\.$/);
    const [message] = at("/by-command");
    assert.ok(message !== undefined);
    const { type, data } = verified(String(secret), message);
    assert.deepEqual([type, data["endpointId"]], ["webhook.test", endpointId]);
    const listed = await run("list");
    assert.match(listed.out, /active/);
    assert.ok(!(await run("show", String(endpointId), "--json")).out.includes(String(secret)));
    assert.equal((await run("remove", String(endpointId))).code, 0);
    const gone = await run("show", String(endpointId));
    assert.deepEqual([gone.code, gone.err], [1, "bellhop: No webhook endpoint has this id."]);
  });
});

describe("a client's own endpoints", () => {
  test("require the scope webhooks; those of other clients cannot be seen, changed or detected", async () => {
    const reader = await service.newClient({ scopes: ["read"] });
    assert.equal((await service.send("GET", API, { as: reader })).status, 403);
    const [one, other] = [await service.newClient(), await service.newClient()];
    const { endpointId } = await create(one, addressOf("/of-one"), "request.applied");
    assert.deepEqual((await service.get(API, { as: other })).json()["items"], []);
    const paths = ["", "/attempts", "/dead-letters"].map((more) => ["GET", more] as const);
    const verbs = ["update", "pause", "resume", "remove", "test", "rotate-secret", "redrive"];
    const nobody = "00000000-0000-0000-0000-000000000000";
    for (const [method, more] of [...paths, ...verbs.map((verb) => ["POST", `/${verb}`] as const)]) {
      const foreign = await service.send(method, `${API}/${endpointId}${more}`, { as: other });
      const absent = await service.send(method, `${API}/${nobody}${more}`, { as: other });
      assert.deepEqual(
        [foreign.status, foreign.json()["exception"]],
        [404, "bellhop.webhook.NotFound"],
        more,
      );
      assert.deepEqual(absent.json()["message"], foreign.json()["message"]);
    }
    assert.equal((await service.get(`${API}/${endpointId}`, { as: one })).json()["state"], "active");
  });

  test("are changed, paused, resumed and removed", async () => {
    const as = await service.newClient();
    const { endpointId } = await create(as, addressOf("/changed"), "request.applied");
    const post = async (verb: string, body?: object) =>
      (
        await service.send("POST", `${API}/${endpointId}/${verb}`, {
          as,
          ...(body === undefined ? {} : { body }),
        })
      ).json();
    const changed = await post("update", {
      events: ["changes.available"],
      resource: "groups",
      clientCode: "ACME",
    });
    assert.deepEqual(
      [changed["events"], changed["resource"], changed["clientCode"], changed["url"]],
      [["changes.available"], "groups", "ACME", addressOf("/changed")],
    );
    const paused = await post("pause", { reason: "moving house" });
    assert.deepEqual(
      [paused["state"], paused["pausedBy"], paused["pauseReason"]],
      ["paused", "client", "moving house"],
    );
    assert.equal((await post("resume"))["state"], "active");
    assert.equal((await post("remove"))["removed"], true);
    assert.equal((await service.get(`${API}/${endpointId}`, { as })).status, 404);
    const { rows } = await service.pool.query<{ what: string }>(
      "select what from bellhop.audit_entry where client_id = $1 and what like '%webhook%' order by audit_id",
      [as.clientId],
    );
    assert.deepEqual(
      rows.map(({ what }) => what),
      ["create-webhook", "update-webhook", "pause-webhook", "resume-webhook", "remove-webhook"],
    );
  });

  test("are limited to ten, and invalid definitions are explained", async () => {
    const as = await service.newClient();
    const body = { url: addressOf("/many"), events: ["request.applied"] };
    const wrong: [object, RegExp][] = [
      [{ ...body, url: "https://10.0.0.1/" }, /public/],
      [{ ...body, events: ["request.lost"] }, /changes\.available, request\.applied/],
      [{ ...body, events: [] }, /at least one/],
      [{ ...body, events: Array(3).fill("request.applied") }, /at most 2 entries/],
      [{ ...body, propertyCode: "LON01" }, /clientCode/],
      [{ ...body, clientCode: "ACEM" }, /^The client has no grant for ACEM\.$/],
      [{ ...body, clientCode: "ACEM", propertyCode: "LON01" }, /^The client has no grant for ACEM\/LON01\.$/],
      [{ ...body, resource: "guests" }, /inventories, reservations, groups/],
    ];
    for (const [form, message] of wrong) {
      const answer = await service.send("POST", API, { as, body: form });
      assert.equal(answer.status, 422, answer.text);
      assert.match(String(answer.json()["message"]), message);
    }
    for (const form of ["[]", "{", '{"url":1,"unknown":2}'])
      assert.equal((await service.send("POST", API, { as, body: form })).status, 400, form);
    for (let made = 0; made < 10; made += 1) await create(as, body.url, "request.applied");
    assert.equal((await service.send("POST", API, { as, body })).status, 422);
    const writer = await service.newClient({ scopes: ["groups:write", "webhooks"] });
    const changes = { ...body, events: ["changes.available"] };
    assert.equal((await service.send("POST", API, { as: writer, body: changes })).status, 422);
  });

  test("are signed with both secrets while a rotation overlaps, and with the new one alone after it", async () => {
    const as = await service.newClient();
    const { endpointId, secret } = await create(as, addressOf("/rotated"), "request.applied");
    const rotate = async (overlapSeconds?: number) => {
      const body = overlapSeconds === undefined ? {} : { overlapSeconds };
      return String(
        (await service.send("POST", `${API}/${endpointId}/rotate-secret`, { as, body })).json()["secret"],
      );
    };
    const testOnce = async (count: number) => {
      assert.equal((await service.send("POST", `${API}/${endpointId}/test`, { as })).status, 202);
      await until(() => at("/rotated").length === count, 60_000);
      return at("/rotated")[count - 1] as ReceivedMessage;
    };
    const second = await rotate();
    const overlapped = await testOnce(1);
    for (const known of [secret, second]) assert.equal(verified(known, overlapped).type, "webhook.test");
    const third = await rotate(0);
    const alone = await testOnce(2);
    assert.equal(verified(third, alone).type, "webhook.test");
    for (const ended of [secret, second]) assert.throws(() => verified(ended, alone));
  });
});

describe("operators at the console", () => {
  test("can be listed, created, tested, checked and managed", async () => {
    const session = await logInAsNew(service, "anna");
    const { clientId } = await service.newClient();
    const form = { clientId, url: addressOf("/by-operator"), events: ["request.applied"] };
    const { endpointId, secret } = await session.change<WebhookSecretAnswer>("webhooks", form);
    const path = `webhooks/${endpointId}`;
    await session.change<WebhookAnswer>(`${path}/test`);
    await until(async () => (await session.read<WebhookAnswer>(path)).attempts.length === 1, 60_000);
    assert.equal(verified(secret, at("/by-operator")[0] as ReceivedMessage).type, "webhook.test");
    const shown = await session.read<WebhookAnswer>(path);
    assert.deepEqual(
      [shown.attempts[0]?.status, shown.attempts[0]?.failure, shown.state],
      [204, null, "active"],
    );
    const { items } = await session.read<WebhooksAnswer>(`webhooks?clientId=${clientId}`);
    assert.deepEqual(
      items.map((item) => item.endpointId),
      [endpointId],
    );
    assert.ok(!JSON.stringify([shown, items]).includes(secret));
    const paused = await session.change<WebhookAnswer>(`${path}/pause`, { reason: "their wish" });
    assert.deepEqual(
      [paused.state, paused.pausedBy, paused.pauseReason],
      ["paused", "console:anna", "their wish"],
    );
    assert.equal((await session.change<WebhookAnswer>(`${path}/resume`)).state, "active");
    const rotated = await session.change<WebhookSecretAnswer>(`${path}/rotate`, { overlapSeconds: 3_600 });
    assert.ok(rotated.secret !== secret && rotated.previousExpiresAt !== null);
    assert.equal((await session.post(`${path}/redrive`, { messageId: "msg_none" })).status, 404);
    assert.equal((await session.post("webhooks", { ...form, url: "https://127.0.0.2:22/" })).status, 422);
    await session.change(`${path}/remove`);
    assert.equal((await session.get(path)).status, 404);
    const { rows } = await service.pool.query<{ who: string }>(
      "select distinct who from bellhop.audit_entry where client_id = $1 and what like '%webhook%'",
      [clientId],
    );
    assert.deepEqual(rows, [{ who: "console:anna" }]);
  });
});

describe("request.applied", () => {
  test("reports each batch once, when all of its parts are applied, with the counts of their outcomes", async () => {
    const as = await service.newClient();
    const { secret } = await create(as, addressOf("/applied"), "request.applied");
    const properties = Array.from({ length: 12 }, (_, number) => `APPLIED${number}`);
    const batch = properties.map((propertyCode) => inventoryRecord({ propertyCode }));
    const sent = new Map<string, number>();
    for (let round = 0; round < 3; round += 1) {
      const { requestId } = (await service.post("inventories", batch, { as })).json();
      sent.set(String(requestId), round);
    }
    await until(() => at("/applied").length >= 3, 60_000);
    // One more, which is reported after them: what would have come twice has come.
    await service.post("groups", [groupRecord()], { as });
    await until(() => at("/applied").length >= 4, 60_000);
    const reported = at("/applied").map((message) => verified(secret, message).data);
    assert.equal(reported.length, 4);
    for (const [requestId, round] of sent) {
      const [data, ...more] = reported.filter((one) => one["requestId"] === requestId);
      assert.equal(more.length, 0);
      assert.ok(data !== undefined);
      const { applied, duplicate, pending } = data["counts"] as Record<string, number>;
      assert.deepEqual(
        { applied, duplicate, pending },
        { applied: round === 0 ? 12 : 0, duplicate: round === 0 ? 0 : 12, pending: 0 },
      );
      assert.equal(data["status"], "applied");
    }
    const { rows } = await service.pool.query("select from bellhop.applied_part");
    assert.equal(rows.length, 0);
  });

  test("reports neither other clients' batches, nor those applied before the endpoint existed", async () => {
    const [as, other] = [await service.newClient(), await service.newClient()];
    const before = await service.post("groups", [groupRecord({ groupCode: "BEFORE" })], { as });
    const path = before.headers.get("location") ?? assert.fail("no Location");
    await until(async () => (await service.get(path, { as })).json()["status"] === "applied", 60_000);
    const { rows } = await service.pool.query("select from bellhop.applied_part where client_id = $1", [
      as.clientId,
    ]);
    assert.equal(rows.length, 0);
    await create(as, addressOf("/mine"), "request.applied");
    await service.post("groups", [groupRecord({ groupCode: "OTHER" })], { as: other });
    const { requestId } = (await service.post("groups", [groupRecord({ groupCode: "MINE" })], { as })).json();
    await until(() => at("/mine").length > 0, 60_000);
    const ids = at("/mine").map(
      ({ body }) => (JSON.parse(body) as { data: { requestId: string } }).data.requestId,
    );
    assert.deepEqual(ids, [requestId]);
  });

  test("waits while its endpoint is paused, and is sent when it is resumed", async () => {
    const as = await service.newClient();
    const { endpointId } = await create(as, addressOf("/paused"), "request.applied");
    const verb = (name: string) => service.send("POST", `${API}/${endpointId}/${name}`, { as });
    await verb("pause");
    await service.post("groups", [groupRecord({ groupCode: "WAITS" })], { as });
    const waiting = async () => (await service.get(`${API}/${endpointId}`, { as })).json()["waiting"];
    await until(async () => (await waiting()) === 1, 60_000);
    // A test goes through all the same.
    await verb("test");
    await until(() => at("/paused").length === 1, 60_000);
    assert.equal((JSON.parse(at("/paused")[0]?.body ?? "") as { type: string }).type, "webhook.test");
    await verb("resume");
    await until(() => at("/paused").length === 2, 60_000);
  });
});

describe("ReplyTo", () => {
  test("is notified of its request where the operator has listed the origin, and nowhere else", async () => {
    const origin = `http://127.0.0.1:${receiver.port}`;
    const as = await service.newClient({ replyToOrigins: [origin] });
    const push = async (replyTo: string, groupCode: string) => {
      const headers = { replyto: replyTo };
      return String(
        (await service.post("groups", [groupRecord({ groupCode })], { as, headers })).json()["requestId"],
      );
    };
    const unlisted = await push(`http://127.0.0.2:${receiver.port}/reply/unlisted`, "R1");
    const first = await push(`${origin}/reply/first?of=1`, "R2");
    const second = await push(`${origin}/reply/second`, "R3");
    await until(() => at("/reply/first?of=1").length + at("/reply/second").length === 2, 60_000);
    const [endpoint, ...more] = (await service.get(API, { as })).json()["items"] as Record<string, unknown>[];
    assert.deepEqual([endpoint?.["kind"], endpoint?.["url"], more.length], ["reply-to", origin, 0]);
    // Its secret is had by rotating it: nobody has seen the first.
    const rotated = await service.send("POST", `${API}/${endpoint?.["endpointId"]}/rotate-secret`, {
      as,
      body: { overlapSeconds: 0 },
    });
    const third = await push(`${origin}/reply/third`, "R4");
    await until(() => at("/reply/third").length === 1, 60_000);
    const message = at("/reply/third")[0] as ReceivedMessage;
    assert.equal(verified(String(rotated.json()["secret"]), message).data["requestId"], third);
    const reported = receiver.received.filter(({ path }) => path.startsWith("/reply/"));
    const ids = reported.map(
      ({ body }) => (JSON.parse(body) as { data: { requestId: string } }).data.requestId,
    );
    assert.deepEqual(ids.sort(), [first, second, third].sort());
    assert.ok(!ids.includes(unlisted));
  });

  test("gets no messages once its origin is no longer allowed", async () => {
    const origin = `http://127.0.0.1:${receiver.port}`;
    const as = await service.newClient({ replyToOrigins: [origin] });
    receiver.answer = (message, response) =>
      message.path === "/reply-off" ? response.writeHead(500).end() : accept(message, response);
    await service.post("groups", [groupRecord({ groupCode: "OFF" })], {
      as,
      headers: { replyto: `${origin}/reply-off` },
    });
    await until(() => at("/reply-off").length === 1, 60_000);
    await updateClient({ internals: service.service.authenticator.internals, who: "cli:test" }, as.clientId, {
      replyToOrigins: [],
    });
    receiver.answer = accept;
    await service.pool.query(
      "update bellhop.webhook_message set next_try_at = clock_timestamp() where endpoint_id in (select endpoint_id from bellhop.webhook_endpoint where client_id = $1)",
      [as.clientId],
    );
    // Another client's request, reported after this one was due.
    const other = await service.newClient();
    await create(other, addressOf("/after-off"), "request.applied");
    await service.post("groups", [groupRecord({ groupCode: "AFTER" })], { as: other });
    await until(() => at("/after-off").length === 1, 60_000);
    assert.equal(at("/reply-off").length, 1);
  });
});

describe("changes.available", () => {
  interface ChangesMessage {
    readonly from: string;
    readonly to: string;
    readonly caughtUp: boolean;
    readonly changes: readonly {
      resource: string;
      propertyCode: string;
      key: string;
      change: string;
      record: LooseRecord;
    }[];
  }
  const changesAt = (path: string, secret: string) =>
    at(path).map((message) => verified(secret, message).data as unknown as ChangesMessage);
  const groups = (from: number, count: number, more: LooseRecord = {}) =>
    Array.from({ length: count }, (_, number) => groupRecord({ groupCode: `C${from + number}`, ...more }));

  test("reports each change once, in order, in messages of at most 100, whose cursors continue in the feed", async () => {
    const as = await service.newClient();
    await service.post("groups", groups(0, 3, { propertyCode: "EARLIER" }), { as });
    await until(
      async () =>
        (await service.get("/api/public/v1/requests", { as })).text.includes('"applied","resource"'),
      60_000,
    );
    const { secret } = await create(as, addressOf("/changes"), "changes.available");
    for (const propertyCode of ["CHG1", "CHG2"])
      await service.post("groups", groups(0, 150, { propertyCode }), { as });
    // Unchanged: no change.
    await service.post(
      "groups",
      groups(0, 150, { propertyCode: "CHG1", lastModifiedDateTime: "2026-03-01T11:00:00Z" }),
      { as },
    );
    const newer = { propertyCode: "CHG2", lastModifiedDateTime: "2026-03-01T12:00:00Z", name: "Newer" };
    await service.post("groups", groups(7, 1, newer), { as });
    const all = () => changesAt("/changes", secret).flatMap(({ changes }) => changes);
    await until(() => all().some(({ record }) => record["name"] === "Newer"), 60_000);
    await until(() => all().length >= 301, 60_000);
    assert.equal(all().length, 301);
    for (const { changes } of changesAt("/changes", secret)) assert.ok(changes.length <= 100);
    const of = all().filter(({ key, propertyCode }) => key === "C7" && propertyCode === "CHG2");
    assert.deepEqual(
      of.map(({ change }) => change),
      ["created", "updated"],
    );
    assert.equal(
      new Set(all().map(({ propertyCode, key, change }) => `${propertyCode}/${key}/${change}`)).size,
      301,
    );
    const reported = changesAt("/changes", secret);
    const key = await service.service.authenticator.internals.cursorKey();
    const cursors = new ChangeCursors({ key, epoch: 0 }, { clientId: as.clientId, filters: "[]" });
    for (const [at, { from }] of reported.slice(1).entries())
      assert.deepEqual(cursors.read(from), cursors.read(reported[at]?.to ?? ""));
    const [first] = reported;
    const next = await service.get(`/api/public/v1/changes?cursor=${first?.from}&limit=1000`, { as });
    assert.equal(next.status, 200, next.text);
    assert.equal(next.text.trim().split("\n").length, 302);
  });

  test("reports each change once and in order, also while several nodes believe that the endpoint is theirs", async () => {
    const as = await service.newClient();
    const { secret } = await create(as, addressOf("/raced"), "changes.available");
    const shards = Array.from({ length: SHARDS }, (_, shard) => shard);
    let isOver = false;
    const racers = Array.from({ length: 4 }, async () => {
      const noticer = new ChangeNoticer(service.pool, async () => ({ key: Buffer.alloc(32), epoch: 0 }));
      while (!isOver) await noticer.notice(shards);
    });
    for (const from of [0, 130])
      await service.post("groups", groups(from, 130, { propertyCode: "RACED" }), { as });
    const keys = () => changesAt("/raced", secret).flatMap(({ changes }) => changes.map(({ key }) => key));
    await until(() => keys().includes("C259"), 60_000);
    isOver = true;
    await Promise.all(racers);
    assert.deepEqual(
      keys(),
      groups(0, 260).map(({ groupCode }) => groupCode),
    );
  });

  test("reports only what its filters name and its client may read", async () => {
    const as = await service.newClient({ grants: [{ clientCode: "ACME", propertyCode: "MINE" }] });
    const other = await service.newClient();
    const body = { url: addressOf("/filtered"), events: ["changes.available"], resource: "groups" };
    const { secret } = (await service.send("POST", API, { as, body })).json();
    await service.post("groups", groups(0, 2, { propertyCode: "THEIRS" }), { as: other });
    await service.post("inventories", [inventoryRecord({ propertyCode: "MINE" })], { as });
    await service.post("groups", groups(0, 2, { propertyCode: "MINE" }), { as });
    const all = () => changesAt("/filtered", String(secret)).flatMap(({ changes }) => changes);
    await until(() => all().length >= 2, 60_000);
    assert.deepEqual(
      all().map(({ propertyCode, key, resource }) => [propertyCode, key, resource]),
      [
        ["MINE", "C0", "groups"],
        ["MINE", "C1", "groups"],
      ],
    );
  });

  test("contains at each attempt only what its client may read then, and nothing without the scope read", async () => {
    const granted = ["HELD", "LOST"].map((propertyCode) => ({ clientCode: "ACME", propertyCode }));
    const as = await service.newClient({ grants: granted });
    const { endpointId, secret } = await create(as, addressOf("/withdrawn"), "changes.available");
    const post = (verb: string) => service.send("POST", `${API}/${endpointId}/${verb}`, { as });
    const change = (settings: Parameters<typeof updateClient>[2]) =>
      updateClient(
        { internals: service.service.authenticator.internals, who: "cli:test" },
        as.clientId,
        settings,
      );
    const arrived = () => at("/withdrawn").map((message) => verified(secret, message));
    const lastProperties = () =>
      changesAt("/withdrawn", secret)
        .at(-1)
        ?.changes.map(({ propertyCode }) => propertyCode)
        .sort();
    const push = async (groupCode: string, ...codes: string[]) => {
      const records = codes.map((propertyCode) => JSON.stringify(groupRecord({ groupCode, propertyCode })));
      const body = records.map((record) => `${record.slice(0, -1)},"rate":1.10}`);
      const sent = await service.post("groups", `[${body}]`, { as });
      const path = sent.headers.get("location") ?? assert.fail(sent.text);
      await until(async () => (await service.get(path, { as })).json()["status"] === "applied", 60_000);
    };
    receiver.answer = (message, response) =>
      message.path === "/withdrawn" ? response.writeHead(500).end() : accept(message, response);
    await post("pause");
    await push("W1", "HELD", "LOST");
    await post("resume");
    await until(() => arrived().length === 1, 60_000);
    assert.deepEqual(lastProperties(), ["HELD", "LOST"]);

    await change({
      editGrants: { added: [], removed: granted.slice(1) },
      scopes: ["groups:write", "webhooks"],
    });
    receiver.answer = accept;
    await post("resume");
    await post("test");
    await until(() => arrived().at(-1)?.type === "webhook.test", 60_000);
    assert.equal(arrived().filter(({ type }) => type === "changes.available").length, 1);
    await service.pool.query(
      "update bellhop.webhook_message set dead_at = clock_timestamp() where endpoint_id = $1",
      [endpointId],
    );
    assert.equal((await post("redrive")).json()["redriven"], 1);
    await post("test");
    await until(() => arrived().length === 3, 60_000);
    assert.equal(arrived()[2]?.type, "webhook.test");

    await change({ scopes: ["groups:write", "read", "webhooks"] });
    await until(() => arrived().length === 4, 60_000);
    assert.deepEqual(lastProperties(), ["HELD"]);
    assert.equal(at("/withdrawn")[3]?.headers["webhook-id"], at("/withdrawn")[0]?.headers["webhook-id"]);
    assert.ok(at("/withdrawn")[3]?.body.includes('"rate":1.10}'), "the other change keeps its bytes");
    await push("W2", "HELD");
    await until(() => arrived().length === 5, 60_000);
    assert.deepEqual(lastProperties(), ["HELD"]);
  });

  test("continues after changes whose record is deleted, and repeats none after them", async () => {
    const as = await service.newClient();
    const { endpointId, secret } = await create(as, addressOf("/kept"), "changes.available");
    await service.send("POST", `${API}/${endpointId}/pause`, { as });
    const long = (groupCode: string) =>
      groupRecord({ groupCode, propertyCode: "KEPT", note: "x".repeat(200_000) });
    const sent = await service.post("groups", groups(0, 1, { propertyCode: "KEPT" }), { as });
    const { requestId } = sent.json();
    await service.post("groups", [long("LONG1"), long("LONG2")], { as });
    const requests = async () => (await service.get("/api/public/v1/requests", { as })).json()["items"];
    await until(
      async () => ((await requests()) as { status: string }[]).every(({ status }) => status === "applied"),
      60_000,
    );
    await service.pool.query("delete from bellhop.accept_log where request_id = $1", [requestId]);
    await service.pool.query(
      "insert into bellhop.retention_horizon values ('ACME', 'g', 'payloads', clock_timestamp())",
    );
    await service.send("POST", `${API}/${endpointId}/resume`, { as });
    const keys = () => changesAt("/kept", secret).flatMap(({ changes }) => changes.map(({ key }) => key));
    await until(() => keys().includes("LONG2"), 60_000);
    assert.deepEqual(keys(), ["LONG1", "LONG2"]);
  });

  test("omits a record that is too large for a message, and continues after it", async () => {
    const as = await service.newClient();
    const { secret } = await create(as, addressOf("/long"), "changes.available");
    const long = groupRecord({ groupCode: "LONG", propertyCode: "LONG", note: 'x,"record":'.repeat(30_000) });
    await service.post("groups", [long, ...groups(0, 2, { propertyCode: "LONG" })], { as });
    const all = () => changesAt("/long", secret).flatMap(({ changes }) => changes);
    await until(() => all().length >= 3, 60_000);
    assert.deepEqual(
      all().map(({ key, record }) => [key, record?.["groupCode"] ?? null]),
      [
        ["LONG", null],
        ["C0", "C0"],
        ["C1", "C1"],
      ],
    );
    assert.ok(at("/long").every(({ body }) => Buffer.byteLength(body) < 300_000));
  });
});
