import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { REQUEST_OUTCOME } from "../../src/ingest/log/partitions.ts";
import { APPLY_GATE, announceGate, beginBehindGate, closeGate } from "../../src/platform/db/coordination.ts";
import { openWindows } from "../../src/retention/open-windows.ts";
import { atGate } from "../../src/retention/replace-window.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { openStateClients } from "../support/state-clients.ts";
import { until } from "../support/until.ts";

const BATCHES = 6;
const RECORDS = 40;

describe("the gate of apply transactions", () => {
  let bench: ApplyBench;
  let blocked: string | undefined;
  let time = 0;
  before(async () => {
    bench = await ApplyBench.open();
  });
  after(() => bench.close());

  const batch = () => {
    time += 1;
    const sourceTime = new Date(Date.UTC(2026, 0, 1) + time * 1_000).toISOString();
    return Array.from({ length: RECORDS }, (_, n) => reservation(`G${n}`, sourceTime, String(time)));
  };

  /** Accepts some batches while nothing is applied; then how many of them each transaction applied, in the order of applying. */
  async function partsOfTransactions(): Promise<number[]> {
    blocked = "The test accepts.";
    const requests: string[] = [];
    for (let n = 0; n < BATCHES; n += 1) requests.push(await bench.accept(batch()));
    blocked = undefined;
    for (const request of requests) assert.equal(await bench.outcomesOf(request), "a".repeat(RECORDS));
    const rows = await bench.rows<{ parts: number }>(
      `select count(*)::integer as parts from bellhop.request_outcome where request_id = any ($1::uuid[])
      group by xmin::text order by min(request_id::text)`,
      [requests],
    );
    return rows.map(({ parts }) => parts);
  }

  const isInOneTransaction = async () => (await partsOfTransactions()).length === 1;

  test("is announced, from when on transactions are short; closed, when none begins; and then they are long again", async () => {
    const applier = bench.newApplier("gate", { blocked: () => blocked });
    applier.start();
    const retention = await bench.database.pool.connect();
    const servers = await openStateClients(bench.database);
    try {
      // A session begins with few records, and takes more after each transaction that was quick.
      await until(isInOneTransaction, 30_000);
      await retention.query("begin");
      await announceGate(retention);
      assert.deepEqual(await partsOfTransactions(), [2, 2, 2]);
      await closeGate(retention);
      const behind = await bench.accept(batch());
      await until(async () => {
        const waits = "select from pg_locks where locktype = 'advisory' and not granted";
        const waiting = await Promise.all(servers.map((client) => client.query(waits)));
        return waiting.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0) === 1;
      }, 10_000);
      await retention.query("rollback");
      assert.equal(await bench.outcomesOf(behind), "a".repeat(RECORDS));
      await until(isInOneTransaction, 30_000);
    } finally {
      retention.release(true);
      for (const client of servers) await client.end();
      await applier.stop();
    }
    assert.deepEqual(bench.failures, []);
  });

  test("is released while one applier takes long, so that the others do not wait", async () => {
    const retention = await bench.database.pool.connect();
    const appliers = await Promise.all([1, 2].map(() => openStateClients(bench.database)));
    const [slow = assert.fail(), other = assert.fail()] = appliers.map(([client]) => client);
    const waits = `select from pg_locks where locktype = 'advisory' and objid = ${APPLY_GATE} and not granted`;
    try {
      // As one that began after the announcement.
      await slow.query(`begin; select pg_advisory_xact_lock_shared(${APPLY_GATE})`);
      let done = 0;
      const replacing = atGate(retention, "bellhop.request_outcome", async () => {
        done += 1;
      });
      await other.query("set lock_timeout = '1s'");
      for (let times = 0; times < 3; times += 1) {
        await until(async () => (await other.query(waits)).rowCount !== 0, 10_000);
        await beginBehindGate(other, {});
        await other.query("rollback");
      }
      assert.equal(done, 0);
      await slow.query("rollback");
      const heldUp = await replacing;
      assert.equal(done, 1);
      assert.ok((heldUp?.tries ?? 0) > 3, JSON.stringify(heldUp));
    } finally {
      retention.release(true);
      for (const client of appliers.flat()) await client.end();
    }
  });

  test("stays open during a vacuum, and while windows are created behind a long reader, nobody waits", async () => {
    const clients = await Promise.all([1, 2, 3, 4].map(() => bench.database.pool.connect()));
    const [retention, vacuum, reader, other] = clients;
    assert.ok(retention !== undefined && vacuum !== undefined && reader !== undefined && other !== undefined);
    const waits = (mode: string) =>
      until(async () => {
        const waiting = await bench.rows(
          `select from pg_locks where mode = '${mode}' and relation = 'bellhop.request_outcome'::regclass and not granted`,
        );
        return waiting.length > 0;
      }, 10_000);
    const look = "select from bellhop.request_outcome limit 1";
    try {
      await reader.query(`begin; ${look}`);
      await vacuum.query("begin; lock table bellhop.request_outcome in share update exclusive mode");
      await other.query("set lock_timeout = '1s'");
      const opening = openWindows(retention, REQUEST_OUTCOME, { nowMs: Date.now(), windowMs: 60_000 });
      await waits("ShareUpdateExclusiveLock");
      await other.query(look);
      await vacuum.query("rollback");
      await waits("AccessExclusiveLock");
      await other.query(look);
      await reader.query("rollback");
      assert.equal(await opening, true);
    } finally {
      for (const client of clients) client.release(true);
    }
  });
});
