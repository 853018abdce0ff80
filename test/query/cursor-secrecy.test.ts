import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ALL_BUCKETS, bucketOf } from "../../src/ingest/log/part-name.ts";
import { readChangeEnds } from "../../src/query/changes/change-cursor.ts";
import { readFeed } from "../support/change-fixture.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";

const V1 = "/api/public/v1";
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

/** A property of the code that lies in the bucket. */
function propertyIn(bucket: number, clientCode: string): string {
  for (let n = 0; ; n += 1) if (bucketOf(clientCode, `P${n}`) === bucket) return `P${n}`;
}

const SHARED = bucketOf("IDLE", "P0");
const OWN = "clientCode=IDLE&propertyCode=P0";

let service: TestService;
let idle: TestClient;
let active: TestClient;
/** Of the active tenant: it lies in the idle one's bucket. */
const neighbour = propertyIn(SHARED, "BUSY");
before(async () => {
  service = await startTestService();
  idle = await service.newClient({ grants: [{ clientCode: "IDLE", propertyCode: "*" }] });
  active = await service.newClient({ grants: [{ clientCode: "BUSY", propertyCode: "*" }] });
  for (let batch = 0; batch < 3; batch += 1) await send(idle, "IDLE", "P0", 3, batch);
});
after(() => service.stop());

/** Sends one batch of new reservations and waits until it is applied. */
async function send(as: TestClient, clientCode: string, propertyCode: string, count: number, round: number) {
  const of = (n: number) => reservation(`${round}-${n}`, at(round), { clientCode, propertyCode });
  await apply(
    service,
    "reservations",
    Array.from({ length: count }, (_, n) => of(n)),
    { as },
  );
}

const bytesOf = (cursor: string) => Buffer.from(cursor, "base64url");

/** The share of the bits of two cursors that differ; of two that say nothing of each other, half of them. */
function difference(one: string, other: string): number {
  const [left, right] = [bytesOf(one), bytesOf(other)];
  assert.equal(left.length, right.length);
  let bits = 0;
  for (const [n, byte] of left.entries())
    for (let of = byte ^ (right[n] ?? 0); of > 0; of >>= 1) bits += of & 1;
  return bits / (8 * left.length);
}

/** In a few hundred bytes of anything, any two bytes are found once in a few hundred cursors. */
const BYTES_BY_CHANCE = 3;

/** What an attacker tries: whether numbers of one width, anywhere in the cursor, are the counters of all buckets. */
function disclosesCounters(cursor: string, counters: readonly number[]): boolean {
  const bytes = bytesOf(cursor);
  for (let width = Math.ceil((BYTES_BY_CHANCE + 1) / counters.length); width <= 6; width += 1)
    for (let from = 0; from + counters.length * width <= bytes.length; from += 1)
      if (
        counters.every((counter, n) => bytes.readUIntBE(from + n * width, width) === counter % 256 ** width)
      )
        return true;
  return false;
}

/** The cursors that a tenant can get without sending anything, by the question that answers each. */
async function cursorsOf(as: TestClient): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const query of ["limit=100", "from=now", OWN, `${OWN}&from=now`])
    found.set(query, (await readFeed(service, query, { as })).cursor);
  for (const path of [
    "requests?limit=1",
    `reservations?${OWN}&limit=1`,
    `reservations?${OWN}&limit=1&asOf=2030-01-01T00:00:00Z`,
  ]) {
    const answer = await service.get(`${V1}/${path}`, { as });
    assert.equal(answer.status, 200, answer.text);
    found.set(path, String(answer.json()["nextCursor"]));
  }
  return found;
}

describe("the cursors of a tenant that does nothing, beside one that does much", () => {
  test("are as different, and as long, whether the other one sends or not", async () => {
    const [first, idling] = [await cursorsOf(idle), await cursorsOf(idle)];
    for (let round = 0; round < 3; round += 1) await send(active, "BUSY", neighbour, 100, round);
    const beside = await cursorsOf(idle);
    for (const [query, cursor] of first)
      for (const later of [idling.get(query), beside.get(query)]) {
        assert.ok(later !== undefined && later.length === cursor.length, query);
        const share = difference(cursor, later);
        assert.ok(share > 0.25 && share < 0.75, `${query}: ${share} of the bits differ`);
      }
  });

  test("hold no counter that can be read, however it is looked for", async () => {
    const ends = await readChangeEnds(service.pool, ALL_BUCKETS);
    const counters = ALL_BUCKETS.map((bucket) => ends.get(bucket) ?? 0);
    assert.ok(counters[SHARED] !== undefined && counters[SHARED] >= 309);
    for (const [query, cursor] of await cursorsOf(idle)) {
      assert.ok(!disclosesCounters(cursor, counters), query);
      assert.ok(!disclosesCounters(cursor, [SHARED, counters[SHARED]]), query);
      assert.throws(() => JSON.parse(bytesOf(cursor).toString()), SyntaxError, query);
    }
  });

  test("answer the same as before the other one sent: nothing new, no error, all of it read", async () => {
    const { cursor } = await readFeed(service, "limit=100", { as: idle });
    for (const round of [10, 11]) {
      await send(active, "BUSY", neighbour, 100, round);
      const { changes, caughtUp } = await readFeed(service, `limit=1&cursor=${cursor}`, { as: idle });
      assert.deepEqual([changes, caughtUp], [[], true]);
    }
  });

  test("are not the other one's, nor of another question", async () => {
    for (const [query, cursor] of await cursorsOf(idle)) {
      const isFeed = !query.includes("?");
      const address = isFeed ? `changes?${query.replace(/&?from=now/, "")}` : query;
      const mine = `${V1}/${address}&cursor=${cursor}`;
      assert.equal((await service.get(mine, { as: idle })).status, 200, query);
      const other = (await service.get(mine, { as: active })).status;
      assert.ok(other === 400 || other === 403, query);
      const asked = isFeed ? "&resource=reservations" : "&from=2026-01-01T00:00:00Z";
      assert.equal((await service.get(`${mine}${asked}`, { as: idle })).status, 400, query);
    }
  });

  test("have a length that depends on neither the bucket nor its counter", async () => {
    const lengths = new Set<number>();
    for (const bucket of [0, 1, 31, 63, SHARED]) {
      const query = `clientCode=IDLE&propertyCode=${propertyIn(bucket, "IDLE")}&from=now`;
      lengths.add((await readFeed(service, query, { as: idle })).cursor.length);
    }
    assert.equal(lengths.size, 1);
    const { cursor } = await readFeed(service, "from=now", { as: idle });
    // As if each of the others had sent for years.
    await service.pool.query("update bellhop.change_counter set next_change = next_change + 1099511627776");
    const later = await readFeed(service, "from=now", { as: idle });
    assert.equal(later.cursor.length, cursor.length);
    const ends = await readChangeEnds(service.pool, ALL_BUCKETS);
    assert.ok(
      !disclosesCounters(
        later.cursor,
        ALL_BUCKETS.map((bucket) => ends.get(bucket) ?? 0),
      ),
    );
  });
});
