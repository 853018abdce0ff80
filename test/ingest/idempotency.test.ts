import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord } from "../support/records.ts";
import { type RequestOptions, startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const batch = JSON.stringify([inventoryRecord()]);
const otherBatch = JSON.stringify([inventoryRecord({ occupancyDate: "2026-03-11" })]);

function post(
  key: string,
  body: string | Buffer = batch,
  options: RequestOptions = {},
  resource = "inventories",
) {
  return service.post(resource, body, {
    ...options,
    headers: { "idempotency-key": key, ...options.headers },
  });
}

async function storedOnes(): Promise<number> {
  const { rows } = await service.pool.query("select count(*)::int as n from bellhop.accept_log");
  return rows[0].n;
}

test("the same key and body gives the first answer again, and nothing more is stored", async () => {
  const first = await post("again");
  const stored = await storedOnes();
  const second = await post("again");
  assert.equal(second.status, 202);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("location"), first.headers.get("location"));
  assert.equal(first.headers.get("idempotent-replayed"), null);
  assert.equal(second.headers.get("idempotent-replayed"), "true");
  assert.equal(await storedOnes(), stored);
});

test("a repeat is recognised by the decompressed body, and may ask for the UUID as text", async () => {
  const first = await post("packed");
  const packed = await post("packed", gzipSync(batch), { headers: { "content-encoding": "gzip" } });
  assert.equal(packed.text, first.text);
  const text = await post("packed", batch, { headers: { accept: "text/plain" } });
  assert.equal(text.text, first.json()["requestId"]);
  assert.equal(text.headers.get("idempotent-replayed"), "true");
});

test("another body under the same key is 422, and the key still answers for the first", async () => {
  const first = await post("reused");
  const stored = await storedOnes();
  errorObject(await post("reused", otherBatch), 422, "bellhop.accept.IdempotencyKeyReused");
  errorObject(await post("reused", ` ${batch}`), 422, "bellhop.accept.IdempotencyKeyReused");
  assert.equal(await storedOnes(), stored);
  assert.equal((await post("reused")).text, first.text);
});

test("another handling or another path under the same key is 422", async () => {
  await post("how");
  errorObject(await post("how", batch, { headers: { prefer: "handling=lenient" } }), 422);
  assert.equal((await post("how", batch, { headers: { prefer: "handling=strict" } })).status, 202);
  const group = JSON.stringify([
    {
      ...inventoryRecord(),
      lastModifiedDateTime: "2026-03-01T10:00:00Z",
      groupCode: "G",
      groupStatusCode: "DEFINITE",
      startDate: "2026-03-10",
      endDate: "2026-03-11",
      groupBlocks: [],
    },
  ]);
  assert.equal((await post("where", group)).status, 202);
  errorObject(await post("where", group, {}, "groups"), 422, "bellhop.accept.IdempotencyKeyReused");
});

test("a key belongs to one client", async () => {
  const other = await service.newClient();
  const first = await post("shared");
  const second = await post("shared", otherBatch, { as: other });
  assert.equal(second.status, 202);
  assert.notEqual(second.text, first.text);
});

test("only a 202 is remembered: after a 400 the key works for the corrected batch", async () => {
  errorObject(await post("mended", "[{}]"), 400);
  errorObject(await post("mended", "nonsense"), 400);
  assert.equal((await post("mended", batch, { headers: { "content-type": "text/plain" } })).status, 415);
  assert.equal(
    (await post("mended", batch, { as: await service.newClient({ scopes: ["read"] }) })).status,
    403,
  );
  assert.equal((await post("mended")).status, 202);
});

test("duplicates sent at once over several connections are accepted exactly once", async () => {
  const stored = await storedOnes();
  for (let round = 0; round < 5; round += 1) {
    // fetch keeps one request a connection in flight, so forty at once are forty connections.
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(`storm-${round}`)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    const replayed = answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
    assert.equal(replayed.length, answers.length - 1);
    assert.equal(await storedOnes(), stored + round + 1);
  }
});

test("two bodies racing for one key: one is accepted, the other is 422, and repeats agree", async () => {
  const stored = await storedOnes();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => post("race", n % 2 === 0 ? batch : otherBatch)),
  );
  const statuses = answers.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 202).length, 10);
  assert.equal(statuses.filter((status) => status === 422).length, 10);
  const accepted = answers.filter(({ status }) => status === 202);
  assert.equal(new Set(accepted.map(({ text }) => text)).size, 1);
  assert.equal(new Set(statuses.filter((_, n) => n % 2 === 0)).size, 1);
  assert.equal(await storedOnes(), stored + 1);
});

test("a second node and a restarted one give the first answer too", async () => {
  const first = await post("nodes");
  const second = await startTestService({}, { database: service.database });
  try {
    const answer = await second.post("inventories", batch, {
      as: service.client,
      headers: { "idempotency-key": "nodes" },
    });
    assert.equal(answer.text, first.text);
  } finally {
    await second.stop();
  }
});

test("a key older than 24 hours is free again", async () => {
  const first = await post("yesterday");
  await service.pool.query(
    "update bellhop.idempotency_key set created_at = statement_timestamp() - interval '24 hours 1 second' where key = 'yesterday'",
  );
  const second = await post("yesterday", otherBatch);
  assert.equal(second.status, 202);
  assert.notEqual(second.text, first.text);
  assert.equal((await post("yesterday", otherBatch)).text, second.text);
  errorObject(await post("yesterday"), 422);
});

test("an invalid key is 422, one of 255 characters is accepted", async () => {
  errorObject(await post("x".repeat(256)), 422, "bellhop.http.InvalidHeader");
  errorObject(await post("\u00e9"), 422, "bellhop.http.InvalidHeader");
  assert.equal((await post("x".repeat(255))).status, 202);
  assert.equal((await post(`"8e03978e-40d5-43dd-bc93-6894a57f9324"`)).status, 202);
});
