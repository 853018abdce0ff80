import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import {
  knowledgeOfKey,
  listKeys,
  nodesWithout,
  readSecretState,
  rotateKey,
} from "../../src/identity/key-admin.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { bellhop } from "../support/command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type ConfigOverrides, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const newKey = (): string => randomBytes(32).toString("base64");
const WAIT_MS = 60_000;

/** Every text of the database that src/platform/crypto/secret-cipher.ts wrote, by the column in which it lies. */
async function encryptedTexts({ pool }: TestDatabase): Promise<Map<string, string[]>> {
  const { rows } = await pool.query<{ table: string; column: string }>(
    `select format('%I.%I', table_schema, table_name) as table, format('%I', column_name) as column
     from information_schema.columns
     where table_schema = 'bellhop' and data_type in ('text', 'json', 'ARRAY')`,
  );
  const found = new Map<string, string[]>();
  for (const { table, column } of rows) {
    const { rows: values } = await pool.query<{ value: string }>(
      `select ${column}::text as value from ${table} where ${column}::text ~ '(plain|aes256gcm):'`,
    );
    if (values.length > 0)
      found.set(
        `${table}.${column}`,
        values.map(({ value }) => value),
      );
  }
  return found;
}

describe("what the database keeps encrypted", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  const start = async (
    t: { after(work: () => Promise<void>): void },
    overrides: ConfigOverrides,
    on = database,
  ) => {
    const node = await startTestService(overrides, { database: on });
    let stopping: Promise<void> | undefined;
    const stop = () => {
      stopping ??= node.stop();
      return stopping;
    };
    t.after(stop);
    return { node, stop };
  };
  const addWebhook = async ({ send }: TestService) => {
    const body = { url: "https://partner.example/hook", events: ["request.applied"] };
    const answer = await send("POST", "/api/public/v1/webhooks", { body });
    assert.equal(answer.status, 201, answer.text);
  };
  const behind = async (key: string, ...former: string[]) =>
    (await readSecretState(database.pool, createSecretCipher(key, former))).behind.length;

  /** Runs `bellhop key …` on the node's database with another KEY_ENCRYPTION_KEY, and those before it. */
  const runKeyCommand = async (
    { service }: TestService,
    [key = "", ...former]: readonly string[],
    ...args: string[]
  ) => {
    const { internals } = service.authenticator;
    const config = { ...internals.config, keyEncryptionKey: key, keyEncryptionKeysPrevious: former };
    const admin = {
      internals: { ...internals, config, cipher: createSecretCipher(key, former) },
      who: "cli:test",
    };
    return bellhop(["key", ...args], {}, admin);
  };

  const [first, second, third] = [newKey(), newKey(), newKey()];

  test("is in exactly these places: a change of the key would lose any other", async (t) => {
    const full = await createTestDatabase();
    t.after(() => full.drop());
    const { node, stop } = await start(t, { encryptPayloads: true, keyEncryptionKey: first }, full);
    await addWebhook(node);
    await stop();
    const texts = await encryptedTexts(full);
    assert.deepEqual([...texts.keys()].sort(), [
      "bellhop.instance.value",
      "bellhop.payload_key.encrypted_key",
      "bellhop.signing_key.private_key",
      "bellhop.webhook_secret.encrypted_secret",
    ]);
    const { values, behind: left } = await readSecretState(full.pool, createSecretCipher(first));
    assert.deepEqual([values, left], [[...texts.values()].flat().length, []]);
  });

  test("is encrypted by the start that has a key for it, secrets of webhooks among it, and the signing key replaced", async (t) => {
    const plain = await createTestDatabase();
    t.after(() => plain.drop());
    const readable = await start(t, {}, plain);
    await addWebhook(readable.node);
    const { cipher } = readable.node.service.authenticator.internals;
    await plain.pool.query(
      "insert into bellhop.operator (name, role, grants, encrypted_totp_secret) values ('anna', 'viewer', '{}', $1)",
      [cipher.encrypt("operator totp anna", randomBytes(20))],
    );
    const token = await readable.node.token();
    await readable.stop();
    const left = async () => (await readSecretState(plain.pool, createSecretCipher(first))).behind.length;
    assert.equal(await left(), 5);
    const one = await start(t, { keyEncryptionKey: first, signingKeyRotationDays: 0 }, plain);
    assert.equal(await left(), 0);
    for (const values of (await encryptedTexts(plain)).values())
      for (const value of values) assert.match(value, /^aes256gcm:/);
    const detailsOf = async (what: string) => {
      const { rows } = await plain.pool.query<{ detail: Record<string, unknown> }>(
        "select detail from bellhop.audit_entry where what = $1",
        [what],
      );
      return rows.map(({ detail }) => detail);
    };
    const encrypted = { instance: 2, signing_key: 1, webhook_secret: 1, operator: 1 };
    assert.deepEqual(await detailsOf("reseal-values"), [encrypted]);
    const manual = await readFile(new URL("../../docs/authentication.md", import.meta.url), "utf8");
    const [, rewritten = ""] = /`vacuum full (.*?)`/.exec(manual) ?? [];
    assert.deepEqual(
      rewritten.split(", "),
      Object.keys(encrypted).map((table) => `bellhop.${table}`),
    );
    const states = async () => (await listKeys(one.node.service.authenticator)).map(({ state }) => state);
    assert.deepEqual(await states(), ["announced", "active"]);
    const [rotated, ...more] = await detailsOf("rotate-key");
    assert.deepEqual([rotated?.["because"], more], ["readable", []]);
    assert.ok(one.node.logLines().some((line) => line.includes("the signing key was stored unencrypted")));
    // What it had signed stays good, on this node and on one that starts then, which finds nothing more to do.
    const two = await start(t, { keyEncryptionKey: first }, plain);
    for (const { node } of [one, two]) {
      const headers = { authorization: `Bearer ${token}` };
      assert.equal((await node.get("/api/public/v1/requests", { as: null, headers })).status, 200);
    }
    assert.deepEqual(await states(), ["announced", "active"]);
  });

  test("has its readable signing key replaced also where a readable one is announced", async (t) => {
    const plain = await createTestDatabase();
    t.after(() => plain.drop());
    const readable = await start(t, {}, plain);
    await rotateKey({ internals: readable.node.service.authenticator.internals, who: "test" });
    await readable.stop();
    const encrypted = await start(t, { keyEncryptionKey: first }, plain);
    const keys = await listKeys(encrypted.node.service.authenticator);
    assert.deepEqual(
      keys.map(({ state, removeAt }) => [state, removeAt === null]),
      [
        ["announced", true],
        ["announced", false],
        ["active", false],
      ],
    );
  });

  test("has its readable signing key replaced by the command that encrypts, too, and once", async (t) => {
    const plain = await createTestDatabase();
    t.after(() => plain.drop());
    const { node } = await start(t, {}, plain);
    const encrypt = async () => {
      const { code, out, err } = await runKeyCommand(node, [first], "reseal", "--force", "--json");
      assert.equal(code, 0, err);
      return JSON.parse(out) as { announced_kid: string | null };
    };
    const { announced_kid } = await encrypt();
    const [newest] = await listKeys(node.service.authenticator);
    assert.deepEqual(
      [newest?.kid, newest?.state, newest?.privatePart],
      [announced_kid, "announced", "encrypted"],
    );
    assert.equal((await encrypt()).announced_kid, null);
  });

  test("changes its key node by node: re-encrypted once every node knows the new one, and no token is refused", async (t) => {
    const one = await start(t, { keyEncryptionKey: first });
    const two = await start(t, { keyEncryptionKey: first });
    const token = await one.node.token();
    const statusAt = async ({ get }: TestService) =>
      (await get("/api/public/v1/requests", { as: null, headers: { authorization: `Bearer ${token}` } }))
        .status;
    await one.stop();
    const oneAgain = await start(t, { keyEncryptionKey: second, keyEncryptionKeysPrevious: [first] });
    assert.deepEqual((await nodesWithout(database.pool, knowledgeOfKey(second))).length, 1);
    assert.ok((await behind(second, first)) > 0, "the other node still needs the former key's");
    assert.ok(oneAgain.node.logLines().some((line) => line.includes("waits for them")));
    assert.deepEqual([await statusAt(oneAgain.node), await statusAt(two.node)], [200, 200]);
    await two.node.newClient();
    await two.stop();
    const twoAgain = await start(t, { keyEncryptionKey: second, keyEncryptionKeysPrevious: [first] });
    await until(async () => (await behind(second)) === 0, WAIT_MS);
    assert.deepEqual([await statusAt(oneAgain.node), await statusAt(twoAgain.node)], [200, 200]);
    await rotateKey({ internals: twoAgain.node.service.authenticator.internals, who: "test" });
    await oneAgain.stop();
    await twoAgain.stop();
    const alone = await start(t, { keyEncryptionKey: second });
    assert.equal(await statusAt(alone.node), 200);
    await alone.node.client.token("read");
  });

  test("is not encrypted by the command either with a key that a running node does not know, unless it is forced to", async (t) => {
    const { node, stop } = await start(t, { keyEncryptionKey: second });
    const run = (...args: string[]) => runKeyCommand(node, [third, second], ...args);
    const { kid } = (await listKeys(node.service.authenticator))[0] ?? assert.fail();
    for (const words of [["reseal"], ["rotate"], ["rotate", "--leaked"], ["revoke", kid]]) {
      const refused = await run(...words);
      assert.equal(refused.code, 1, words.join(" "));
      assert.match(refused.err, /lack this KEY_ENCRYPTION_KEY/);
    }
    assert.equal(await behind(second), 0);
    const forced = await run("reseal", "--force", "--json");
    assert.equal(forced.code, 0, forced.err);
    assert.deepEqual((JSON.parse(forced.out) as { unopened: string[] }).unopened, []);
    assert.equal(await behind(third), 0);
    // What it has opened before it goes on with, although it hears of a change and reads all keys again.
    await node.newClient();
    await node.client.token("read");
    await stop();
    await assert.rejects(startTestService({ keyEncryptionKey: second }, { database }), /cannot be decrypted/);
    await start(t, { keyEncryptionKey: third });
  });
});
