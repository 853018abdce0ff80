import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { rotateSecret } from "../../src/identity/client-admin.ts";
import { listPeppers, retirePepper, rotatePepper } from "../../src/identity/pepper-admin.ts";
import { bellhop } from "../support/command.ts";
import {
  type AuthNode,
  newTestClient,
  requestToken,
  startAuthNode,
  startAuthService,
  takeToken,
} from "./auth-service.ts";

describe("the pepper of clients' secrets", () => {
  let service: Awaited<ReturnType<typeof startAuthService>>;
  let other: AuthNode;
  before(async () => {
    service = await startAuthService();
    other = await startAuthNode(service.database);
  });
  after(async () => {
    await other.stop();
    await service.stop();
  });

  const pepperOf = async (clientId: string): Promise<number[]> => {
    const { rows } = await service.pool.query<{ pepper: number }>(
      "select pepper from bellhop.client_secret where client_id = $1 order by slot",
      [clientId],
    );
    return rows.map(({ pepper }) => pepper);
  };
  const secretsUnder = async (): Promise<number[][]> =>
    (await listPeppers(service.pool)).map(({ number, secrets }) => [number, secrets]);
  const statusOf = async (node: AuthNode, client: { clientId: string; clientSecret: string }) =>
    (await requestToken(node.url, client)).status;

  it("is replaced while every secret stays valid; each moves to the new one when it is next used, on any node", async () => {
    const [used, idle] = [await newTestClient(service.admin), await newTestClient(service.admin)];
    await assert.rejects(retirePepper(service.admin), /only one pepper/);
    assert.deepEqual(await rotatePepper(service.admin), { number: 2 });
    await assert.rejects(rotatePepper(service.admin), /Two peppers are already valid/);
    assert.deepEqual(await secretsUnder(), [
      [2, 0],
      [1, 2],
    ]);
    // The first to be asked is the node that was not notified.
    const rotated = await rotateSecret(service.admin, used.clientId);
    assert.deepEqual(await pepperOf(used.clientId), [1, 2]);
    assert.equal(
      await statusOf(other, rotated),
      200,
      "a node that has not heard of the pepper takes its digests",
    );
    assert.equal(await statusOf(other, used), 200);
    assert.deepEqual(await pepperOf(used.clientId), [2, 2]);
    assert.equal(await statusOf(service, used), 200);
    assert.deepEqual(await pepperOf(idle.clientId), [1]);
    await assert.rejects(retirePepper(service.admin), new RegExp(`1 secret was .*${idle.clientId}`));
    assert.equal(await statusOf(service, idle), 200);
    assert.deepEqual(await retirePepper(service.admin), { number: 1, endedSecrets: 0 });
    for (const node of [service, other])
      for (const client of [used, rotated, idle]) assert.equal(await statusOf(node, client), 200);
    assert.deepEqual(await secretsUnder(), [[2, 3]]);
  });

  it("a forced retirement ends exactly the secrets that use it", async () => {
    const [used, idle] = [await newTestClient(service.admin), await newTestClient(service.admin)];
    const { number } = await rotatePepper(service.admin);
    assert.equal(await statusOf(service, used), 200);
    const run = async (...args: string[]) => {
      const { code, out, err } = await bellhop(["pepper", ...args], {}, service.admin);
      return { code, said: out + err };
    };
    assert.deepEqual((await run("retire")).code, 1);
    const { code, said } = await run("retire", "--force", "--json");
    assert.equal(code, 0, said);
    assert.equal((JSON.parse(said) as { number: number }).number, number - 1);
    assert.deepEqual([await statusOf(service, used), await statusOf(other, used)], [200, 200]);
    assert.deepEqual([await statusOf(service, idle), await statusOf(other, idle)], [401, 401]);
    const again = await rotateSecret(service.admin, idle.clientId);
    assert.equal(await statusOf(other, again), 200);
    assert.match((await run("status")).said, new RegExp(`^${number} +current`, "m"));
  });

  it("is current at the first use on an idle node", async (t) => {
    const client = await newTestClient(service.admin);
    await takeToken(other.url, client);
    const { number } = await rotatePepper(service.admin);
    const now = performance.now.bind(performance);
    // A second is how old a node's knowledge may be.
    t.mock.method(performance, "now", () => now() + 1_000);
    assert.equal(await statusOf(other, client), 200);
    assert.deepEqual(await pepperOf(client.clientId), [number]);
    await retirePepper(service.admin, { force: true });
  });

  it("no start creates another one, least of all the first again", async (t) => {
    const before = await listPeppers(service.pool);
    const client = await newTestClient(service.admin);
    const restarted = await startAuthNode(service.database);
    t.after(restarted.stop);
    await takeToken(restarted.url, client);
    assert.deepEqual(
      (await listPeppers(service.pool)).map(({ number }) => number),
      before.map(({ number }) => number),
    );
  });

  it("does not affect the key of cursors, on any node or start", async (t) => {
    const installation = await startAuthService();
    t.after(installation.stop);
    const key = await installation.authenticator.internals.cursorKey();
    assert.equal(key.length, 32);
    await rotatePepper(installation.admin);
    await retirePepper(installation.admin);
    const later = await startAuthNode(installation.database);
    t.after(later.stop);
    assert.deepEqual(await later.authenticator.internals.cursorKey(), key);
  });

  it("leaves an audit entry of each step, without a secret", async () => {
    const { rows } = await service.pool.query<{ what: string; detail: Record<string, unknown> }>(
      "select what, detail from bellhop.audit_entry where what like '%pepper' order by audit_id limit 2",
    );
    assert.deepEqual(rows, [
      { what: "rotate-pepper", detail: { number: 2 } },
      { what: "retire-pepper", detail: { number: 1, endedSecrets: 0 } },
    ]);
  });
});
