import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { findCitus } from "../support/citus.ts";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord } from "../support/records.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
/** At the one server, or on Citus at each of them. */
let operators: readonly pg.Client[];
before(async () => {
  service = await startTestService();
  const server = new URL(service.database.url);
  server.pathname = "/postgres";
  const urls = [server.href, ...((await findCitus(server.href))?.workerUrls ?? [])];
  operators = urls.map((connectionString) => new pg.Client(clientConfig({ connectionString })));
  for (const operator of operators) await operator.connect();
});
after(async () => {
  for (const operator of operators) await operator.end();
  await service.stop();
});

const send = (day: number, key?: string): Promise<Answer> =>
  service.post(
    "inventories",
    [inventoryRecord({ occupancyDate: `2026-08-${String(day).padStart(2, "0")}` })],
    {
      headers: key === undefined ? {} : { "idempotency-key": key },
    },
  );

/** Takes the database away as a crash would: no new connection, and the running ones cut. */
async function takeAway(): Promise<void> {
  for (const operator of operators) {
    await operator.query(`alter database ${service.database.name} with allow_connections false`);
    await operator.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
      service.database.name,
    ]);
  }
}

async function giveBack(): Promise<void> {
  for (const operator of operators)
    await operator.query(`alter database ${service.database.name} with allow_connections true`);
}

async function storedIds(): Promise<Set<string>> {
  const { rows } = await service.pool.query<{ request_id: string }>(
    "select request_id from bellhop.accept_log",
  );
  return new Set(rows.map(({ request_id }) => request_id));
}

test("while the database is down a batch is 503 with Retry-After, and accepted again once it is up", async () => {
  assert.equal((await send(1)).status, 202);
  await takeAway();
  const refused: Answer[] = [];
  try {
    for (let day = 2; day < 7; day += 1) refused.push(await send(day, `day-${day}`));
  } finally {
    await giveBack();
  }
  for (const answer of refused) {
    errorObject(answer, 503, "bellhop.accept.Unavailable");
    assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  }
  await until(async () => (await send(2, "day-2")).status === 202, 20_000);
});

test("a batch that was answered 202 while the database went away is in the log, and repeats with a key are stored once", async () => {
  await until(async () => (await send(10)).status === 202, 20_000);
  const underWay = Array.from({ length: 60 }, (_, n) => send((n % 28) + 1, `away-${n}`));
  await takeAway();
  const answers = await Promise.all(underWay);
  await giveBack();
  for (const answer of answers) assert.ok([202, 503].includes(answer.status), answer.text);
  const again: Answer[] = [];
  for (const [n] of answers.entries()) {
    await until(async () => {
      const answer = await send((n % 28) + 1, `away-${n}`);
      if (answer.status === 202) again.push(answer);
      return answer.status === 202;
    }, 20_000);
  }
  const stored = await storedIds();
  for (const [n, answer] of answers.entries()) {
    const repeated = String(again[n]?.json()["requestId"]);
    assert.ok(stored.has(repeated));
    if (answer.status === 202)
      assert.equal(answer.json()["requestId"], repeated, `the first answer of away-${n}`);
  }
  const { rows } = await service.pool.query<{ n: number }>(
    "select count(*)::int as n from bellhop.idempotency_key where key like 'away-%'",
  );
  assert.equal(rows[0]?.n, 60);
});
