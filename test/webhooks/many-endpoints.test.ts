import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import type pg from "pg";
import { ChangeNoticer } from "../../src/webhooks/notice-changes.ts";
import { SHARDS } from "../../src/webhooks/queue.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService } from "../support/service.ts";

const ENDPOINTS = 10;
/** Longer than the endpoints of one client may take together. */
const SLOW_SECONDS = 0.25;
const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

let database: TestDatabase;
let slow: string;
let other: string;
before(async () => {
  database = await createTestDatabase();
  const service = await startTestService({}, { database });
  await apply(service, "reservations", [reservation("R1", "2026-07-01T10:00:00Z")]);
  for (const add of [(id: string) => (slow = id), (id: string) => (other = id)])
    add((await service.newClient()).clientId);
  await service.stop();
});
after(() => database.drop());

/** Adds endpoints of a client that have read nothing of the feed. */
async function addEndpoints(clientId: string, count: number): Promise<void> {
  for (const endpointId of Array.from({ length: count }, () => randomUUID()))
    await database.pool.query(
      `insert into bellhop.webhook_endpoint (endpoint_id, kind, client_id, url, events, positions, shard)
      values ($1, 'w', $2, 'https://hooks.example', array['changes.available'], '[]', get_byte(uuid_send($1::uuid), 15) % 16)`,
      [endpointId, clientId],
    );
}

/** The test's pool, on which the grants of one client take long to read, as 20,000 of them do for each endpoint. */
function slowFor(clientId: string): pg.Pool {
  let isSlow = false;
  const query = async (statement: { name?: string; values?: unknown[] }) => {
    if (statement.name === "read-grants-of-webhooks") isSlow = statement.values?.[0] === clientId;
    if (isSlow && statement.name === "find-granted-properties")
      await database.pool.query("select pg_sleep($1)", [SLOW_SECONDS]);
    return database.pool.query(statement as never);
  };
  return Object.assign(Object.create(database.pool) as pg.Pool, { query });
}

async function waitingOf(clientId: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::integer as count from bellhop.webhook_message join bellhop.webhook_endpoint using (endpoint_id) where client_id = $1`,
    [clientId],
  );
  return rows[0]?.count ?? 0;
}

test("a client whose endpoints take long to read has some of them read in each round, in turn, and others wait for no more", async () => {
  await addEndpoints(slow, ENDPOINTS);
  await addEndpoints(other, 1);
  const noticer = new ChangeNoticer(slowFor(slow), async () => ({ key: Buffer.alloc(32), epoch: 0 }));
  for (let round = 1; round <= ENDPOINTS; round += 1) {
    assert.equal(await noticer.notice(ALL_SHARDS), true);
    assert.equal(await waitingOf(other), 1);
    assert.equal(await waitingOf(slow), round);
  }
  assert.equal(await noticer.notice(ALL_SHARDS), false);
});
