import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { decodeProtectedHeader } from "jose";
import { listKeys, revokeKey, rotateKey, rotateKeyWhenDue } from "../../src/identity/key-admin.ts";
import { bellhop } from "../support/command.ts";
import { startTestService } from "../support/service.ts";
import {
  type AuthNode,
  newTestClient,
  requestToken,
  startAuthNode,
  startAuthService,
  statusWith,
  takeToken,
  waitUntil,
} from "./auth-service.ts";

/** A node asks once a second; the rest is for a busy machine. */
const SPREAD_MS = 60_000;

describe("signing keys", () => {
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

  const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid);
  const published = async (node: AuthNode): Promise<string[]> => {
    const answer = await fetch(`${node.url}/.well-known/jwks.json`);
    return ((await answer.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  };
  const age = (days: number) =>
    service.pool.query(
      "update bellhop.signing_key set created_at = created_at - make_interval(days => $1) where remove_at is null",
      [days],
    );

  it("that leaked end at once with all that they signed, on every node, and another signs from that moment on", async () => {
    const client = await newTestClient(service.admin);
    const [used, unused] = [await takeToken(service.url, client), await takeToken(other.url, client)];
    assert.deepEqual([await statusWith(service.url, used), await statusWith(other.url, used)], [200, 200]);
    const third = await startAuthNode(service.database);
    const { replacedBy } = await revokeKey(service.admin, kidOf(used));
    assert.equal(await statusWith(service.url, used), 403, "a token that is remembered too");
    const fresh = await takeToken(service.url, client);
    assert.equal(kidOf(fresh), replacedBy);
    assert.equal(await statusWith(service.url, fresh), 200);
    assert.equal(await statusWith(other.url, fresh), 200, "before it has heard of anything by itself");
    assert.equal(
      kidOf(await takeToken(third.url, client)),
      replacedBy,
      "without having met a token of that key",
    );
    await third.stop();
    for (const node of [service, other])
      for (const token of [used, unused])
        await waitUntil(async () => (await statusWith(node.url, token)) === 403, SPREAD_MS);
    for (const node of [service, other]) assert.ok(!(await published(node)).includes(kidOf(used)));
    const restarted = await startAuthNode(service.database);
    assert.deepEqual(
      [await statusWith(restarted.url, used), await statusWith(restarted.url, fresh)],
      [403, 200],
    );
    await restarted.stop();
    const revoked = (await listKeys(service.admin)).find(({ kid }) => kid === kidOf(used));
    assert.deepEqual([revoked?.state, revoked?.privatePart], ["removed", "wiped"]);
    await assert.rejects(revokeKey(service.admin, kidOf(used)), /No key .* has valid tokens/);
    await assert.rejects(revokeKey(service.admin, "nobody's"), /No key/);
  });

  it("a leaked key that no longer signs is revoked alone: tokens of other keys stay valid", async () => {
    const client = await newTestClient(service.admin);
    const before = await takeToken(service.url, client);
    const { kid } = await rotateKey(service.admin, { announceSeconds: 5 });
    await waitUntil(async () => kidOf(await takeToken(service.url, client)) === kid, SPREAD_MS);
    const fresh = await takeToken(service.url, client);
    const { code, out, err } = await bellhop(
      ["key", "revoke", "--json", "--", kidOf(before)],
      {},
      service.admin,
    );
    assert.equal(code, 0, err);
    assert.deepEqual(JSON.parse(out), { kid: kidOf(before), replaced_by: null });
    assert.deepEqual(
      [await statusWith(service.url, before), await statusWith(service.url, fresh)],
      [403, 200],
    );
    await waitUntil(async () => (await statusWith(other.url, before)) === 403, SPREAD_MS);
    assert.equal((await requestToken(other.url, client)).status, 200);
  });

  it("are replaced when they are old, by one node, announced as by hand, and not before", async () => {
    const due = () =>
      Promise.all([service, other].map(({ admin }) => rotateKeyWhenDue({ ...admin, who: "service" }, 90)));
    assert.deepEqual(await due(), [undefined, undefined]);
    await age(91);
    const client = await newTestClient(service.admin);
    const before = await takeToken(service.url, client);
    const rotations = (await due()).filter((rotation) => rotation !== undefined);
    assert.equal(rotations.length, 1);
    const [{ kid, activateAt, retiring } = assert.fail()] = rotations;
    assert.deepEqual(retiring, [kidOf(before)]);
    assert.ok(activateAt.getTime() > Date.now() + 600_000, "published before it signs");
    assert.deepEqual(await due(), [undefined, undefined]);
    for (const node of [service, other])
      await waitUntil(async () => (await published(node)).includes(kid), SPREAD_MS);
    assert.equal(await statusWith(other.url, before), 200);
    const { rows } = await service.pool.query<{ who: string }>(
      "select who from bellhop.audit_entry where what = 'rotate-key' order by audit_id desc limit 1",
    );
    assert.deepEqual(rows, [{ who: "service" }]);
  });

  it("are rotated by a service when old, unless rotation is disabled", async () => {
    const states = async () =>
      (await listKeys(service.admin)).filter(({ state }) => state === "announced").length;
    await service.pool.query(
      "update bellhop.signing_key set activate_at = created_at where activate_at > clock_timestamp()",
    );
    await age(400);
    const { database } = service;
    await (await startTestService({ signingKeyRotationDays: 0 }, { database })).stop();
    assert.equal(await states(), 0);
    await (await startTestService({ signingKeyRotationDays: 365 }, { database })).stop();
    assert.equal(await states(), 1);
  });
});
