import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { revokeClient, updateClient } from "../../src/identity/client-admin.ts";
import { listKeys, revokeKey } from "../../src/identity/key-admin.ts";
import { revokeToken } from "../../src/identity/token-admin.ts";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const admin = () => ({ internals: service.service.authenticator.internals, who: "cli:test" });
const NOTHING = "\nbellhop_body_bytes_in_flight 0\n";
const BATCH = JSON.stringify([inventoryRecord()]);
const WEBHOOK = JSON.stringify({ url: "https://partner.invalid/hook", events: ["request.applied"] });

/** Begins a request and resolves once a part of its body was received. */
async function begin(client: TestClient, path: string, body: string) {
  const connection = await RawConnection.open(service.address);
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(service.address).host}`,
    `Authorization: Bearer ${await client.token()}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  connection.write(`${lines.join("\r\n")}\r\n\r\n${body.slice(0, 10)}`);
  await until(async () => !(await service.get("/metrics", { as: null })).text.includes(NOTHING), 10_000);
  return async () => {
    connection.write(body.slice(10));
    const { status, headers } = await connection.answer();
    connection.destroy();
    return [status, /error="(\w+)"/.exec(headers.get("www-authenticate") ?? "")?.[1]];
  };
}

const batchOf = (client: TestClient) => begin(client, "/api/public/v1/inventories", BATCH);

test("a batch whose client, token or grant is withdrawn while its body arrives is 403 and not stored", async () => {
  const accepted = async () =>
    /^bellhop_accepted_batches_total\{resource="inventories".*$/m.exec(
      (await service.get("/metrics", { as: null })).text,
    )?.[0];
  const before = await accepted();
  const changes: [string, (client: TestClient) => Promise<unknown>][] = [
    ["invalid_token", ({ clientId }) => revokeClient(admin(), clientId)],
    ["invalid_token", async (client) => revokeToken(admin(), await client.token())],
    [
      "insufficient_scope",
      ({ clientId }) => updateClient(admin(), clientId, { grants: [{ clientCode: "B", propertyCode: "*" }] }),
    ],
    ["insufficient_scope", ({ clientId }) => updateClient(admin(), clientId, { scopes: ["read"] })],
  ];
  for (const [error, change] of changes) {
    const client = await service.newClient();
    const finish = await batchOf(client);
    await change(client);
    assert.deepEqual(await finish(), [403, error]);
  }
  assert.equal(await accepted(), before);
});

test("another client's change does not concern a batch, nor does the client's own that leaves it permitted", async () => {
  const client = await service.newClient();
  const finish = await batchOf(client);
  await revokeClient(admin(), (await service.newClient()).clientId);
  await updateClient(admin(), client.clientId, { requestRate: 7 });
  assert.deepEqual(await finish(), [202, undefined]);
});

test("a form is refused alike", async () => {
  const client = await service.newClient();
  const finish = await begin(client, "/api/public/v1/webhooks", WEBHOOK);
  await revokeClient(admin(), client.clientId);
  assert.deepEqual(await finish(), [403, "invalid_token"]);
  const { rows } = await service.pool.query("select from bellhop.webhook_endpoint where client_id = $1", [
    client.clientId,
  ]);
  assert.equal(rows.length, 0);
});

const READ = "/api/public/v1";
const OF_LON01 = "clientCode=ACME&propertyCode=LON01";

/** Asks for a page that waits, because the client's four others hold their turns until the log is unlocked. */
async function waitForTurn(client: TestClient, path: string) {
  const log = await service.pool.connect();
  await log.query("begin; lock table bellhop.accept_log in access exclusive mode");
  const ask = (page: string) => service.get(`${READ}/${page}`, { as: client });
  const others = Array.from({ length: 4 }, () => ask("requests"));
  await until(async () => {
    const waiting =
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'select distinct request_id%'";
    return (await service.pool.query(waiting)).rowCount === 4;
  }, 10_000);
  const page = ask(path);
  // Answered once the page before it has been read and has its place in the queue.
  await service.get(`${READ}/certification`, { as: client });
  return async () => {
    await log.query("rollback");
    log.release();
    await Promise.all(others);
    const { status, headers } = await page;
    return [status, /error="(\w+)"/.exec(headers.get("www-authenticate") ?? "")?.[1]];
  };
}

test("a page that waited for its turn is 403 if its token or grant was withdrawn meanwhile", async () => {
  const pages = [
    `reservations?${OF_LON01}`,
    `groups/history?${OF_LON01}&groupCode=G`,
    `requests?${OF_LON01}`,
  ];
  for (const path of [...pages, `changes?${OF_LON01}&wait=0`]) {
    const client = await service.newClient();
    const finish = await waitForTurn(client, path);
    const grants = [{ clientCode: "B", propertyCode: "*" }];
    await updateClient(admin(), client.clientId, { grants });
    assert.deepEqual(await finish(), [403, "insufficient_scope"], path);
  }
  for (const path of ["requests", "changes?wait=0"]) {
    const client = await service.newClient();
    const finish = await waitForTurn(client, path);
    await revokeToken(admin(), await client.token());
    assert.deepEqual(await finish(), [403, "invalid_token"], path);
  }
});

test("a batch whose key is revoked meanwhile is 403", async () => {
  const client = await service.newClient();
  const finish = await batchOf(client);
  const [key] = await listKeys(admin());
  await revokeKey(admin(), key?.kid ?? "");
  assert.deepEqual(await finish(), [403, "invalid_token"]);
});
