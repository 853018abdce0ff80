import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, beforeEach, describe, it } from "node:test";
import { reencrypt, rotateKey } from "../../src/identity/key-admin.ts";
import { clientConfig, createPool } from "../../src/platform/db/connection.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { openRoad } from "../support/database-road.ts";
import { newTestClient, requestToken, startAuthNode, statusWith, takeToken } from "./auth-service.ts";

const silentLog = createLogger({ level: "silent", pretty: false });

const newKey = (): string => randomBytes(32).toString("base64");

describe("what an installation keeps for itself", () => {
  let database: TestDatabase;
  const made: TestDatabase[] = [];
  beforeEach(async () => {
    database = await createTestDatabase();
    made.push(database);
  });
  after(async () => {
    for (const each of made) await each.drop();
  });

  const stored = async (): Promise<Record<string, string>> => {
    const { rows } = await database.pool.query<{ name: string; value: string }>(
      `select name, value from bellhop.instance where name like 'auth.%'
       union all select 'key ' || row_number() over (order by activate_at), private_key from bellhop.signing_key`,
    );
    return Object.fromEntries(rows.map((row) => [row.name, row.value]));
  };

  it("is made once by many nodes that start at the same time", async () => {
    const nodes = await Promise.all(Array.from({ length: 5 }, () => startAuthNode(database)));
    try {
      const client = await newTestClient(nodes[0]!.admin);
      const tokens = await Promise.all(nodes.map((node) => takeToken(node.url, client)));
      for (const node of nodes) {
        for (const token of tokens) assert.equal(await statusWith(node.url, token), 200);
      }
      assert.deepEqual(Object.keys(await stored()).sort(), [
        "auth.audience",
        "auth.issuer",
        "auth.pepper",
        "key 1",
      ]);
    } finally {
      for (const node of nodes) await node.stop();
    }
  });

  it("keeps the first address as the issuer of tokens, and names in the metadata the address it is found at", async (t) => {
    const first = await startAuthNode(database, { authUrl: "https://auth.example" });
    t.after(first.stop);
    const client = await newTestClient(first.admin);
    await takeToken(first.url, client);
    await first.stop();
    const moved = await startAuthNode(database);
    t.after(moved.stop);
    const token = await takeToken(moved.url, client);
    assert.equal(await statusWith(moved.url, token), 200);
    assert.equal((await stored())["auth.issuer"], "https://auth.example");
    const metadata = await fetch(`${moved.url}/.well-known/oauth-authorization-server`);
    assert.equal(metadata.headers.get("cache-control"), "no-store");
    assert.equal(((await metadata.json()) as { issuer: string }).issuer, moved.url);
  });

  it("encrypts signing keys and pepper if a key is set, including previously unencrypted ones", async (t) => {
    const plain = await startAuthNode(database);
    t.after(plain.stop);
    const client = await newTestClient(plain.admin);
    const token = await takeToken(plain.url, client);
    await plain.stop();
    assert.match((await stored())["auth.pepper"] ?? "", /^plain:/);

    const keyEncryptionKey = newKey();
    const encrypted = await startAuthNode(database, { config: { keyEncryptionKey } });
    t.after(encrypted.stop);
    const { pool, cipher } = encrypted.admin.internals;
    assert.deepEqual(await reencrypt(pool, cipher, "service"), { reencrypted: 3, unopened: [] });
    await rotateKey(encrypted.admin);
    assert.equal(await statusWith(encrypted.url, token), 200);
    assert.equal((await requestToken(encrypted.url, client)).status, 200);
    await encrypted.stop();
    const values = await stored();
    for (const name of ["auth.pepper", "key 1", "key 2"])
      assert.match(values[name] ?? "", /^aes256gcm:/, name);

    const again = await startAuthNode(database, { config: { keyEncryptionKey } });
    t.after(again.stop);
    assert.equal((await requestToken(again.url, client)).status, 200);
  });

  it("refuses to start without the encryption key, or with another one, and says so", async (t) => {
    const node = await startAuthNode(database, { config: { keyEncryptionKey: newKey() } });
    t.after(node.stop);
    await node.stop();
    await assert.rejects(startAuthNode(database), /set KEY_ENCRYPTION_KEY/);
    await assert.rejects(
      startAuthNode(database, { config: { keyEncryptionKey: newKey() } }),
      /cannot be decrypted/,
    );
  });

  it("answers 503 with Retry-After while the database is away, and tokens again when it is back", async (t) => {
    const road = await openRoad(database.url);
    const pool = createPool(clientConfig({ connectionString: road.url }, "on"), silentLog, 4);
    const node = await startAuthNode({ ...database, pool });
    t.after(async () => {
      await node.stop();
      await pool.end();
      await road.close();
    });
    const client = await newTestClient(node.admin);
    await road.close();
    const response = await requestToken(node.url, client);
    assert.equal(response.status, 503);
    assert.ok(Number(response.headers.get("retry-after")) > 0);
    assert.equal(((await response.json()) as { error: string }).error, "temporarily_unavailable");
    await road.reopen();
    assert.equal((await requestToken(node.url, client)).status, 200);
  });

  it("asks the database the same for an unknown id as for a wrong secret", async (t) => {
    const node = await startAuthNode(database);
    t.after(node.stop);
    const client = await newTestClient(node.admin);
    const query = node.pool.query;
    const asked = async (clientId: string): Promise<string[]> => {
      const names: string[] = [];
      node.pool.query = ((...parameters: unknown[]) => {
        names.push((parameters[0] as { name: string }).name);
        return (query as (...parameters: unknown[]) => unknown).apply(node.pool, parameters);
      }) as typeof query;
      await requestToken(node.url, { clientId, clientSecret: "bhs_wrong" });
      node.pool.query = query;
      return names;
    };
    assert.deepEqual(await asked("bhc_unknown"), ["read-credentials"]);
    assert.deepEqual(await asked(client.clientId), ["read-credentials"]);
  });
});
