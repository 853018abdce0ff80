import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** More than a thread has connections. */
const REQUESTS = 40;
/** A request that finds no connection has failed by then. */
const ANSWER_MS = 5_000;

let service: TestService;
let operator: ConsoleSession;
before(async () => {
  service = await startTestService({ webhookAllowedNetworks: ["127.0.0.0/8"] });
  operator = await logInAsNew(service, "anna");
});
after(() => service.stop());

/** Asks for a token by the client's secret, which its limit or else may refuse. */
const askToken = ({ clientId, clientSecret }: TestClient): Promise<Response> =>
  fetch(new URL("/api/oauth2/token", service.address), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });

/** Sends requests of a client that wait for a row which is locked meanwhile, and expects others to be answered. */
async function expectOthersServed(lock: string, clientId: string, sql: string, send: () => Promise<unknown>) {
  const other = await service.newClient();
  const holder = await service.pool.connect();
  const sent: Promise<unknown>[] = [];
  try {
    await holder.query("begin");
    await holder.query(lock, [clientId]);
    for (let at = 0; at < REQUESTS; at += 1) sent.push(send());
    await until(async () => (await waitingForLock(service.pool, sql)) > 0, ANSWER_MS);
    const begun = performance.now();
    assert.equal((await askToken(other)).status, 200);
    assert.equal((await operator.get("clients")).status, 200);
    assert.equal((await service.get("/api/public/v1/requests", { as: other })).status, 200);
    assert.ok(performance.now() - begun < ANSWER_MS, `${performance.now() - begun} ms`);
  } finally {
    await holder.query("rollback");
    holder.release();
    await Promise.all(sent);
  }
}

test("a client that asks for many tokens at once leaves connections to others", async () => {
  const client = await service.newClient({ tokenBurst: 3 });
  assert.equal((await askToken(client)).status, 200);
  const statuses = new Map<number, number>();
  const lock = "select from bellhop.token_bucket where client_id = $1 for update";
  await expectOthersServed(lock, client.clientId, "%token_bucket%", async () => {
    const { status } = await askToken(client);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  assert.deepEqual(Object.fromEntries(statuses), { 200: 2, 429: REQUESTS - 2 });
});

test("so does one that changes its webhooks many times at once", async () => {
  const client = await service.newClient();
  const path = "/api/public/v1/webhooks";
  const body = { url: "http://127.0.0.1:9999/hooks", events: ["request.applied"] };
  const made = await service.send("POST", path, { as: client, body });
  assert.equal(made.status, 201, made.text);
  const pause = `${path}/${made.json()["endpointId"]}/pause`;
  const lock = "select from bellhop.client where client_id = $1 for update";
  await expectOthersServed(lock, client.clientId, "%bellhop.client %", async () => {
    const answer = await service.send("POST", pause, { as: client, body: { reason: "maintenance" } });
    assert.equal(answer.status, 200, answer.text);
  });
});
