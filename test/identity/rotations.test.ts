import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { AuthAdmin } from "../../src/identity/admin.ts";
import { rotateSecret } from "../../src/identity/client-admin.ts";
import { readSecretState, rotateKey } from "../../src/identity/key-admin.ts";
import { retirePepper, rotatePepper } from "../../src/identity/pepper-admin.ts";
import { rotatePayloadKey } from "../../src/ingest/log/payload-keys.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const WAIT_MS = 60_000;
const newKey = () => randomBytes(32).toString("base64");

/** Two nodes of an installation, and a partner whose programs go on while everything secret is replaced. */
class Partner {
  clientId = "";
  clientSecret = "";
  /** Where requests go, in turn: as a balancer that knows which node is about to leave. */
  nodes: TestService[] = [];
  readonly requestIds: string[] = [];
  readonly refused: string[] = [];
  tokens = 0;
  #turn = 0;
  #sent = 0;
  #stopped = false;
  #programs: Promise<unknown> = Promise.resolve();

  start(): void {
    this.#programs = Promise.all([this.#goOn(), this.#goOn()]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#programs;
  }

  /** After so many more tokens and batches, each of them begun after this call. */
  async untilMore(): Promise<void> {
    const { tokens, refused } = this;
    await until(() => this.tokens > tokens + 4 || this.refused.length > refused.length, WAIT_MS);
  }

  next(): TestService {
    this.#turn += 1;
    return this.nodes[this.#turn % this.nodes.length] as TestService;
  }

  async #goOn(): Promise<void> {
    while (!this.#stopped) {
      await this.#send().catch((error: unknown) => this.refused.push(String(error)));
      await delay(50);
    }
  }

  /** Takes a token on one node and sends a batch with it to the next. */
  async #send(): Promise<void> {
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: this.clientId,
      client_secret: this.clientSecret,
    });
    const asked = await fetch(`${this.next().service.authAddress}/api/oauth2/token`, {
      method: "POST",
      body,
    });
    const given = (await asked.json()) as { access_token?: string };
    if (asked.status !== 200) this.refused.push(`no token: ${asked.status} ${JSON.stringify(given)}`);
    this.#sent += 1;
    const n = this.#sent;
    const records = [
      reservationRecord({ reservationId: `R-${n}` }),
      reservationRecord({ reservationId: `S-${n}` }),
    ];
    const headers = { authorization: `Bearer ${given.access_token}` };
    const answer = await this.next().post("reservations", records, { as: null, headers });
    if (answer.status === 202) this.requestIds.push(String(answer.json()["requestId"]));
    else this.refused.push(`no 202: ${answer.status} ${answer.text}`);
    this.tokens += 1;
  }
}

let database: TestDatabase;
const partner = new Partner();
const started: TestService[] = [];
const key = { current: newKey(), former: [] as string[] };

async function startNode(): Promise<TestService> {
  const node = await startTestService(
    {
      keyEncryptionKey: key.current,
      keyEncryptionKeysPrevious: key.former,
      encryptPayloads: true,
      roles: ["accept", "apply", "read"],
    },
    { database },
  );
  started.push(node);
  return node;
}

before(async () => {
  database = await createTestDatabase();
  const [one, two] = [await startNode(), await startNode()];
  partner.nodes = [one, two];
  const { clientId, clientSecret } = one.client;
  Object.assign(partner, { clientId, clientSecret });
  // The other clients of the test would hang on the former pepper for ever.
  await database.pool.query("delete from bellhop.client_secret where client_id <> $1", [clientId]);
  partner.start();
});
after(async () => {
  await partner.stop();
  for (const node of started) await node.stop().catch(() => undefined);
  await database.drop();
});

const admin = (): AuthAdmin => ({
  internals: partner.next().service.authenticator.internals,
  who: "cli:test",
});

async function replaceSigningKey(): Promise<void> {
  const { kid } = await rotateKey(admin(), { announceSeconds: 5 });
  const signs = () =>
    partner.nodes.every((node) => node.service.authenticator.internals.directory.signingKey()?.kid === kid);
  await until(signs, WAIT_MS);
}

async function replaceSecret(): Promise<void> {
  const { clientSecret } = await rotateSecret(admin(), partner.clientId);
  partner.clientSecret = clientSecret;
}

async function replacePepper(): Promise<void> {
  const { number } = await rotatePepper(admin());
  // Digested anew at its next use on a node that knows of the pepper, which may take that node a second.
  await until(async () => {
    const { rowCount } = await database.pool.query("select from bellhop.client_secret where pepper = $1", [
      number,
    ]);
    return rowCount === 1;
  }, WAIT_MS);
  // The secret before this one is good for a day, and nobody comes with it.
  await database.pool.query("delete from bellhop.client_secret where pepper = 1");
  await retirePepper(admin());
}

async function replacePayloadKey(): Promise<void> {
  const { pool, cipher } = admin().internals;
  assert.notEqual(await rotatePayloadKey(pool, cipher, 0), undefined);
}

async function replaceKeyEncryptionKey(): Promise<void> {
  key.former = [key.current];
  key.current = newKey();
  for (const leaving of [...partner.nodes]) {
    partner.nodes = partner.nodes.filter((node) => node !== leaving);
    await partner.untilMore();
    await leaving.stop();
    partner.nodes = [...partner.nodes, await startNode()];
    await partner.untilMore();
  }
  const cipher = createSecretCipher(key.current);
  await until(async () => (await readSecretState(database.pool, cipher)).behind.length === 0, WAIT_MS);
}

// Some ten seconds, half of which a new signing key is announced: `npm run faults -- rotations` does it with processes, and for longer.
test("everything that is secret is replaced under load on two nodes, and no token and no batch is refused", async () => {
  for (const replace of [
    replaceSigningKey,
    replaceSecret,
    replacePepper,
    replacePayloadKey,
    replaceKeyEncryptionKey,
  ]) {
    await partner.untilMore();
    await replace();
    await partner.untilMore();
    assert.deepEqual(partner.refused, [], replace.name);
  }
  await partner.stop();
  assert.deepEqual(partner.refused, []);
  const outcomes = async () =>
    await database.pool.query<{ applied: number }>(
      `select count(*)::integer as applied from bellhop.request_outcome
       where request_id = any($1::uuid[]) and outcomes = 'aa'`,
      [partner.requestIds],
    );
  await until(async () => (await outcomes()).rows[0]?.applied === partner.requestIds.length, WAIT_MS);
});
