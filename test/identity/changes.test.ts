import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { decodeJwt, decodeProtectedHeader } from "jose";
import pg from "pg";
import { revokeClient, rotateSecret, showClient, updateClient } from "../../src/identity/client-admin.ts";
import { listKeys, rotateKey } from "../../src/identity/key-admin.ts";
import { permits } from "../../src/identity/permissions.ts";
import { mintToken, revokeToken } from "../../src/identity/token-admin.ts";
import {
  type AuthNode,
  newTestClient,
  postForm,
  requestToken,
  startAuthNode,
  startAuthService,
  statusWith,
  takeToken,
  waitUntil,
} from "./auth-service.ts";

/** "Within about a second", and some for a busy machine. */
const SPREAD_MS = 2500;

describe("changes of clients, secrets, keys and tokens", () => {
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

  it("accepts a token of one node on another, and after a restart at another address", async (t) => {
    const client = await newTestClient(service.admin);
    const token = await takeToken(service.url, client);
    assert.equal(await statusWith(other.url, token), 200);
    const restarted = await startAuthNode(service.database);
    t.after(restarted.stop);
    assert.equal(await statusWith(restarted.url, token), 200);
    assert.equal(decodeJwt(await takeToken(restarted.url, client)).iss, decodeJwt(token).iss);
  });

  it("refuses a revoked client's tokens on this node at once and on others within a second", async () => {
    const client = await newTestClient(service.admin);
    const token = await takeToken(service.url, client);
    assert.deepEqual([await statusWith(service.url, token), await statusWith(other.url, token)], [200, 200]);
    await revokeClient(service.admin, client.clientId);
    assert.equal(await statusWith(service.url, token), 403);
    await waitUntil(async () => (await statusWith(other.url, token)) === 403, SPREAD_MS);
    assert.equal((await requestToken(service.url, client)).status, 401);
  });

  it("refuses a revoked token also after the clock was hours ahead, a node restarted, and the clock went back", async (t) => {
    const client = await newTestClient(service.admin);
    const revoked = await takeToken(service.url, client);
    await revokeToken(service.admin, revoked);
    await service.pool.query(`create schema ahead; create function ahead.clock_timestamp() returns timestamptz
      language sql as $$ select pg_catalog.clock_timestamp() + interval '3 hours' $$`);
    const options = "-c search_path=ahead,pg_catalog";
    const pool = new pg.Pool({ connectionString: service.database.url, options });
    t.after(() => pool.end());
    const ahead = await startAuthNode({ ...service.database, pool });
    await ahead.stop();
    const { rows } = await service.pool.query("select from bellhop.denied_token");
    assert.equal(rows.length, 0);
    const restarted = await startAuthNode(service.database);
    t.after(restarted.stop);
    assert.equal(await statusWith(restarted.url, revoked), 403);
    await waitUntil(
      async () => (await statusWith(restarted.url, await takeToken(restarted.url, client))) === 200,
      SPREAD_MS,
    );
  });

  it("applies changed scopes and grants to tokens that are out already", async () => {
    const client = await newTestClient(service.admin);
    const token = await takeToken(service.url, client);
    const principalOn = async (node: AuthNode) => {
      const result = await node.authenticator.verifyBearer([`Bearer ${token}`]);
      if (result.kind !== "ok") throw new Error(result.kind);
      return result.principal;
    };
    assert.equal(permits(await principalOn(other), "ACME", "H1"), true);
    const changes = {
      scopes: ["read"],
      grants: [{ clientCode: "BETA", propertyCode: "H1" }],
      requestRate: 3,
    };
    await updateClient(service.admin, client.clientId, changes);
    const here = await principalOn(service);
    assert.deepEqual([...here.scopes], ["read"]);
    assert.equal(permits(here, "ACME", "H1"), false);
    assert.equal(permits(here, "BETA", "H1"), true);
    assert.equal(here.requestRate, 3);
    await waitUntil(async () => permits(await principalOn(other), "BETA", "H1"), SPREAD_MS);
  });

  it("keeps the previous secret alive for the overlap, and never more than two", async () => {
    const client = await newTestClient(service.admin);
    const second = await rotateSecret(service.admin, client.clientId);
    assert.ok(
      second.previousExpiresAt !== null && second.previousExpiresAt.getTime() > Date.now() + 86_000_000,
    );
    assert.equal(second.endedCreatedAt, null);
    assert.equal((await requestToken(service.url, client)).status, 200);
    assert.equal((await requestToken(service.url, second)).status, 200);
    const third = await rotateSecret(service.admin, client.clientId);
    assert.notEqual(third.endedCreatedAt, null);
    assert.equal((await requestToken(service.url, client)).status, 401);
    assert.equal((await requestToken(service.url, second)).status, 200);
    assert.equal((await requestToken(service.url, third)).status, 200);
    const { secrets } = await showClient(service.admin, client.clientId);
    assert.equal(secrets.filter((secret) => secret.live).length, 2);
    assert.equal(secrets.filter((secret) => secret.lastUsedAt !== null).length, 2);
  });

  it("ends the previous secret at once when there is no overlap", async () => {
    const client = await newTestClient(service.admin);
    const next = await rotateSecret(service.admin, client.clientId, { overlapSeconds: 0 });
    assert.equal((await requestToken(service.url, client)).status, 401);
    assert.equal((await requestToken(service.url, next)).status, 200);
  });

  it("ends a secret at its expiry, and not before", async () => {
    const client = await newTestClient(service.admin);
    const next = await rotateSecret(service.admin, client.clientId, {
      overlapSeconds: 0,
      expiresSeconds: 3_600,
    });
    const { secrets } = await showClient(service.admin, client.clientId);
    const expiresAt = secrets.find((secret) => secret.live)?.expiresAt?.getTime() ?? 0;
    assert.ok(Math.abs(expiresAt - Date.now() - 3_600_000) < 60_000);
    assert.equal((await requestToken(service.url, next)).status, 200);
    // The hour passes.
    await service.pool.query(
      "update bellhop.client_secret set expires_at = expires_at - interval '1 hour' where client_id = $1",
      [client.clientId],
    );
    assert.equal((await requestToken(service.url, next)).status, 401);
    for (const expiresSeconds of [0, 3_599, 0.5, 730 * 86_400 + 1]) {
      const refused = rotateSecret(service.admin, client.clientId, { expiresSeconds });
      await assert.rejects(refused, /must be 1 hour to 730 days/);
    }
  });

  it("revokes a client's own token by RFC 7009, on other nodes within a second, and no other client's", async () => {
    const [mine, theirs] = [await newTestClient(service.admin), await newTestClient(service.admin)];
    const [token, foreign, kept] = [
      await takeToken(service.url, mine),
      await takeToken(service.url, theirs),
      await takeToken(service.url, mine),
    ];
    const revoke = (what: string) =>
      postForm(`${service.url}/api/oauth2/revoke`, {
        token: what,
        token_type_hint: "access_token",
        client_id: mine.clientId,
        client_secret: mine.clientSecret,
      });
    assert.equal(await statusWith(other.url, token), 200);
    const revoked = await revoke(token);
    assert.equal(revoked.status, 200);
    assert.equal(await revoked.text(), "");
    assert.equal(revoked.headers.get("cache-control"), "no-store");
    assert.equal(await statusWith(service.url, token), 403);
    await waitUntil(async () => (await statusWith(other.url, token)) === 403, SPREAD_MS);
    assert.equal((await revoke(foreign)).status, 400);
    assert.equal(await statusWith(service.url, foreign), 200);
    assert.equal(await statusWith(service.url, kept), 200);
    assert.deepEqual([(await revoke(token)).status, (await revoke("nonsense")).status], [200, 200]);
    const anonymous = await postForm(`${service.url}/api/oauth2/revoke`, { token: kept });
    assert.equal(anonymous.status, 401);
    const empty = await postForm(`${service.url}/api/oauth2/revoke`, {
      client_id: mine.clientId,
      client_secret: mine.clientSecret,
    });
    assert.equal(empty.status, 400);
  });

  it("remembers a revoked token after a restart", async (t) => {
    const client = await newTestClient(service.admin);
    const token = await takeToken(service.url, client);
    await revokeToken(service.admin, decodeJwt(token).jti ?? "");
    const restarted = await startAuthNode(service.database);
    t.after(restarted.stop);
    assert.equal(await statusWith(restarted.url, token), 403);
  });

  it("introspects for clients with the scope introspect, and for no others", async () => {
    const client = await newTestClient(service.admin);
    const operator = await newTestClient(service.admin, { scopes: ["introspect"], grants: [] });
    const token = await takeToken(service.url, client, { scope: "read groups:write" });
    const introspect = (asker: { clientId: string; clientSecret: string }, what: string) =>
      postForm(`${service.url}/api/oauth2/introspect`, {
        token: what,
        client_id: asker.clientId,
        client_secret: asker.clientSecret,
      });
    const answer = (await (await introspect(operator, token)).json()) as Record<string, unknown>;
    assert.equal(answer["active"], true);
    assert.equal(answer["client_id"], client.clientId);
    assert.equal(answer["scope"], "groups:write read".split(" ").reverse().join(" "));
    assert.equal(answer["jti"], decodeJwt(token).jti);
    assert.deepEqual(await (await introspect(operator, `${token}x`)).json(), { active: false });
    await revokeToken(service.admin, token);
    assert.deepEqual(await (await introspect(operator, token)).json(), { active: false });
    assert.equal((await introspect(client, token)).status, 403);
    assert.equal((await introspect({ ...operator, clientSecret: "bhs_no" }, token)).status, 401);
  });

  it("announces a new key, signs with it from its time on, and accepts the old key's tokens until they expire", async () => {
    const client = await newTestClient(service.admin);
    const before = await takeToken(service.url, client);
    const { kid, retiring } = await rotateKey(service.admin, { announceSeconds: 60 });
    assert.deepEqual(retiring, [decodeProtectedHeader(before).kid]);
    await assert.rejects(rotateKey(service.admin), /already announced/);
    const published = async (node: AuthNode) => {
      const { keys } = (await (await fetch(`${node.url}/.well-known/jwks.json`)).json()) as {
        keys: { kid: string; d?: string }[];
      };
      for (const key of keys) assert.equal(key.d, undefined, "a private part");
      return keys.map((key) => key.kid);
    };
    await waitUntil(async () => (await published(other)).includes(kid), SPREAD_MS);
    assert.notEqual(
      decodeProtectedHeader(await takeToken(other.url, client)).kid,
      kid,
      "announced keys do not sign",
    );

    const windowsPass = (seconds: number) =>
      service.pool.query(
        `with raised as (update bellhop.auth_epoch set epoch = epoch + 1)
         update bellhop.signing_key set activate_at = activate_at - make_interval(secs => $1),
           remove_at = remove_at - make_interval(secs => $1)`,
        [seconds],
      );
    await windowsPass(61);
    const signedWith = async (node: AuthNode) => decodeProtectedHeader(await takeToken(node.url, client)).kid;
    await waitUntil(
      async () => (await signedWith(service)) === kid && (await signedWith(other)) === kid,
      SPREAD_MS,
    );
    const fresh = await takeToken(service.url, client);
    for (const node of [service, other]) {
      assert.deepEqual([await statusWith(node.url, before), await statusWith(node.url, fresh)], [200, 200]);
    }
    assert.deepEqual(
      (await listKeys(service.admin)).map((key) => key.state),
      ["active", "retiring"],
    );

    await windowsPass(3666);
    await waitUntil(async () => (await statusWith(other.url, before)) === 403, SPREAD_MS);
    assert.equal(await statusWith(other.url, fresh), 200);
    assert.ok(!(await published(other)).includes(retiring[0] ?? ""));
  });

  it("refuses every older token once a leaked key has been replaced, and signs all the while", async () => {
    const client = await newTestClient(service.admin);
    const before = await takeToken(service.url, client);
    const { kid, activateAt } = await rotateKey(service.admin, { leaked: true });
    assert.ok(activateAt.getTime() - Date.now() < 6000);
    // takeToken throws unless it gets one, so there is a signing key at every moment of the change.
    await waitUntil(async () => {
      const token = await takeToken(other.url, client);
      if (decodeProtectedHeader(token).kid !== kid) return false;
      assert.equal(
        await statusWith(service.url, token),
        200,
        "the first tokens of the new key are good on every node",
      );
      return true;
    }, 8000);
    assert.equal(await statusWith(service.url, before), 403);
    assert.equal(await statusWith(other.url, before), 403);
  });

  it("issues a token without the secret, with an audit entry", async () => {
    const client = await newTestClient(service.admin, { tokenBurst: 1 });
    const minted = await mintToken(service.admin, {
      clientId: client.clientId,
      scopes: ["read"],
      seconds: 60,
    });
    assert.equal(await statusWith(other.url, minted.accessToken), 200);
    assert.equal(
      (await requestToken(service.url, client)).status,
      200,
      "minting costs the client none of its tokens",
    );
    await assert.rejects(mintToken(service.admin, { clientId: "bhc_nobody" }), /No client/);
    await assert.rejects(
      mintToken(service.admin, { clientId: client.clientId, scopes: ["introspect"] }),
      /scopes/,
    );
    await assert.rejects(mintToken(service.admin, { clientId: client.clientId, seconds: 3601 }), /3600/);
  });

  it("audits every change, without a secret or a token in any entry", async () => {
    const client = await newTestClient(service.admin);
    const next = await rotateSecret(service.admin, client.clientId);
    const minted = await mintToken(service.admin, { clientId: client.clientId });
    await revokeToken(service.admin, minted.accessToken);
    await updateClient(service.admin, client.clientId, { name: "Renamed" });
    await revokeClient(service.admin, client.clientId);
    const { rows } = await service.pool.query<{ who: string; what: string }>(
      "select who, what from bellhop.audit_entry where client_id = $1 order by audit_id",
      [client.clientId],
    );
    assert.deepEqual(
      rows.map((row) => row.what),
      ["create-client", "rotate-secret", "mint-token", "revoke-token", "update-client", "revoke-client"],
    );
    assert.deepEqual(new Set(rows.map((row) => row.who)), new Set(["cli:test"]));
    const everything = await service.pool.query<{ line: string }>(
      "select row_to_json(a)::text as line from bellhop.audit_entry a union all select row_to_json(s)::text from bellhop.client_secret s",
    );
    const text = everything.rows.map((row) => row.line).join("\n");
    for (const secret of [client.clientSecret, next.clientSecret, minted.accessToken])
      assert.ok(!text.includes(secret));
  });

  it("refuses settings that cannot be, with the alternatives", async () => {
    await assert.rejects(
      newTestClient(service.admin, { scopes: ["forecasts:read"] }),
      /inventories:write, reservations:write/,
    );
    await assert.rejects(newTestClient(service.admin, { scopes: [] }), /needs a scope/);
    await assert.rejects(newTestClient(service.admin, { grants: [] }), /needs a grant/);
    await assert.rejects(
      newTestClient(service.admin, { grants: [{ clientCode: "*", propertyCode: "*" }] }),
      /client code/,
    );
    await assert.rejects(
      newTestClient(service.admin, { replyToOrigins: ["https://a.example/path"] }),
      /not an origin/,
    );
    await assert.rejects(newTestClient(service.admin, { tokenBurst: 0 }), /1 to 1000/);
    await assert.rejects(newTestClient(service.admin, { name: " " }), /name/);
  });
});
