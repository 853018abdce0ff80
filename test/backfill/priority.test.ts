import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type pg from "pg";
import { advanceCursors } from "../../src/apply/apply-parts.ts";
import type { LogPart } from "../../src/apply/backlog.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { open } from "../support/backfill-fixture.ts";
import { bucketsBeside } from "../support/citus.ts";
import { accept, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { openStateClients, readNext } from "../support/state-clients.ts";

const T1 = "2026-01-01T00:00:00Z";
const RANGE = { resource: "reservations", from: "2026-01-01", to: "2026-12-31" };

/** Accepts and does not apply, so that what waits is in the hand of the test. */
let service: TestService;
before(async () => {
  service = await startTestService({ roles: ["accept", "read"] });
});
after(() => service.stop());

function stays(propertyCode: string, from: number, count: number) {
  return Array.from({ length: count }, (_, n) => reservation(`R${from + n}`, T1, { propertyCode }));
}

test("a batch of 2,000 records follows all others, without its body, and so does one of 4 MiB", async () => {
  const long = "x".repeat(4_000);
  const large = [
    await accept(service, "reservations", stays("LARGE", 0, 2_000)),
    await accept(
      service,
      "reservations",
      stays("LARGE", 2_000, 1_050).map((stay) => ({ ...stay, comments: long })),
    ),
  ];
  const small = [
    await accept(service, "reservations", stays("LARGE", 9_000, 1_999)),
    await accept(service, "reservations", stays("LARGE", 9_000, 1)),
  ];
  const clients = await openStateClients(service.database);
  try {
    const found: unknown[] = [];
    for (let next = await readNext(clients, 1); next !== undefined; next = await readNext(clients, 1)) {
      const { client, parts } = next;
      found.push(
        ...parts.map(({ requestId, progress, body }) => ({ requestId, progress, hasBody: body !== null })),
      );
      await advanceCursors(client, parts);
    }
    const progress = { untilRecord: 0, warningsListed: 0 };
    assert.deepEqual(found, [
      ...small.map((requestId) => ({ requestId, progress: undefined, hasBody: true })),
      ...large.map((requestId) => ({ requestId, progress, hasBody: false })),
    ]);
  } finally {
    for (const client of clients) await client.end();
  }
});

test("large batches that have waited for ten seconds leave room for others", async () => {
  const waiting = [
    await accept(service, "reservations", stays("WAITING", 0, 2_000)),
    await accept(service, "reservations", stays("WAITING", 2_000, 2_000)),
  ];
  await service.pool.query(
    "update bellhop.accept_log set received_at = statement_timestamp() - interval '11 seconds' where request_id = any ($1)",
    [waiting],
  );
  const small = await accept(service, "reservations", stays("WAITING", 9_000, 1));
  const clients = await openStateClients(service.database);
  try {
    const { client, parts } = (await readNext(clients, 1_000)) ?? assert.fail();
    assert.deepEqual(
      parts.map(({ requestId }) => requestId),
      [...waiting, small],
    );
    await advanceCursors(client, parts);
  } finally {
    for (const client of clients) await client.end();
  }
});

test("a backfill's parts follow all others, in the order of their log writer, and alternate after ten seconds", async () => {
  const together = await bucketsBeside(service.database, bucketOf("ACME", "FIRST"));
  const second =
    Array.from({ length: 1_000 }, (_, n) => `SECOND${n}`).find((code) =>
      together.includes(bucketOf("ACME", code)),
    ) ?? assert.fail();
  const headers = { "backfill-id": await open(service, "FIRST", [RANGE]) };
  const backfilled = [
    await accept(service, "reservations", stays("FIRST", 0, 150), { headers }),
    await accept(service, "reservations", stays("FIRST", 150, 150), { headers }),
    await accept(service, "reservations", stays("FIRST", 300, 150), { headers }),
  ];
  const live = [
    await accept(service, "reservations", stays("FIRST", 9_000, 1)),
    await accept(service, "reservations", stays(second, 9_000, 1)),
  ];
  const clients = await openStateClients(service.database);
  try {
    let client: pg.Client | undefined;
    const next = async () => {
      const found = await readNext(clients, 2_000);
      client = found?.client;
      return found?.parts ?? [];
    };
    const pass = (parts: readonly LogPart[]) => advanceCursors(client ?? assert.fail(), parts);
    const idsOf = (parts: readonly LogPart[]) => parts.map(({ requestId }) => requestId);
    const first = await next();
    assert.deepEqual(idsOf(first), live);
    await pass(first);
    // Few at a time: whatever comes meanwhile waits for a transaction of them.
    const second = await next();
    assert.deepEqual(idsOf(second), backfilled.slice(0, 2));
    await pass(second.slice(0, 1));
    live.push(await accept(service, "reservations", stays("FIRST", 9_001, 1)));
    assert.deepEqual(idsOf(await next()), live.slice(2));
    await service.pool.query(
      "update bellhop.accept_log set received_at = statement_timestamp() - interval '11 seconds' where request_id = $1",
      [backfilled[1]],
    );
    assert.deepEqual(idsOf(await next()), [backfilled[1], live[2]]);
  } finally {
    for (const client of clients) await client.end();
  }
});

test("a large backlog of a backfill gets 429 for its next batch, and only for its own", async () => {
  const headers = { "backfill-id": await open(service, "AHEAD", [RANGE]) };
  await accept(service, "reservations", stays("AHEAD", 0, 300), { headers });
  await accept(service, "reservations", stays("AHEAD", 300, 200), { headers });
  const put = await service.post("reservations", stays("AHEAD", 2_000, 1), { headers });
  assert.deepEqual([put.status, put.json()["exception"]], [429, "bellhop.backfill.Ahead"]);
  assert.equal(put.headers.get("retry-after"), "1");
  await accept(service, "reservations", stays("AHEAD", 2_000, 1));
  const others = { "backfill-id": await open(service, "AHEAD", [RANGE]) };
  await accept(service, "reservations", stays("AHEAD", 2_000, 1), { headers: others });
  // Once it is applied, there is room again.
  await service.pool.query(
    `insert into bellhop.request_outcome (bucket, request_id, applied_at, outcomes)
    select bucket, request_id, now(), '' from bellhop.accept_log where backfill_id = $1 and record_count = 200`,
    [headers["backfill-id"]],
  );
  await accept(service, "reservations", stays("AHEAD", 2_000, 1), { headers });
});
