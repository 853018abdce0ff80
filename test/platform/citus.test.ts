import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { retireLogWritersStatement } from "../../src/apply/postgres-apply-session.ts";
import { settledReceipts } from "../../src/insight/watermark.ts";
import { BucketClosedTimestamp } from "../../src/platform/db/citus/bucket-closed-timestamp.ts";
import {
  clientConfig,
  createPool,
  openSession,
  POOL_ANSWER_MS_MAX,
} from "../../src/platform/db/connection.ts";
import { enterPresence } from "../../src/platform/db/coordination.ts";
import { retireLogWriters } from "../../src/platform/db/dialect.ts";
import type { DistributionReport } from "../../src/platform/db/distribute.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { createEmptyDatabase, createJoinedDatabase, type TestDatabase } from "../support/database.ts";
import { apply, LISBON, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

async function bellhop(url: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { DATABASE_URL: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? -1)));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await exited, out, err };
}

const distribute = (url: string, ...options: string[]) =>
  bellhop(url, "citus", "distribute", "--shards", "4", ...options);

test("without the extension, distributing is refused with what to do, and nothing is changed", async () => {
  const empty = await createEmptyDatabase();
  try {
    const { code, err } = await distribute(empty.url);
    assert.equal(code, 1);
    assert.match(err, /no extension citus.*shared_preload_libraries.*create extension citus.*citus_add_node/);
  } finally {
    await empty.drop();
  }
});

const joined = await createJoinedDatabase();

/** What stands on Citus only; elsewhere there is nothing to distribute over, and the test above says what is answered then. */
if (joined !== undefined)
  describe("a database with workers", () => {
    let database: TestDatabase;
    let service: TestService;
    before(async () => {
      database = joined.open();
      service = await startTestService({}, { database });
      await apply(service, "reservations", [reservation("before", "2026-01-01T00:00:00Z")]);
    });
    after(() => database.drop());

    const distributedTables = async () => {
      const { rows } = await database.pool.query(
        "select count(*)::int as n from pg_dist_partition where logicalrelid::text like 'bellhop%'",
      );
      return rows[0].n as number;
    };

    test("is unchanged while the service runs, and by a dry run", async () => {
      const running = await distribute(joined.url);
      assert.equal(running.code, 1);
      assert.match(running.err, /The service is running .*stop every node/);
      await service.stop();
      const dry = await distribute(joined.url, "--dry-run");
      assert.equal(dry.code, 0, dry.err);
      assert.match(dry.out, /bellhop\.accept_log +would be distributed by bucket/);
      assert.match(dry.out, /Nothing was changed/);
      assert.equal(await distributedTables(), 0);
    });

    /** Distributes it, with `meanwhile` while the transaction of that waits for the last table. */
    const distributeDuring = async (meanwhile: () => Promise<unknown>) => {
      const holder = await database.pool.connect();
      try {
        await holder.query("begin; lock table bellhop_state.ledger_segment_progress");
        const distributing = distribute(joined.url, "--json");
        await until(async () => {
          const { rowCount } = await holder.query(
            `select from pg_locks where not granted and relation = 'bellhop_state.ledger_segment_progress'::regclass`,
          );
          return rowCount !== 0;
        }, 60_000);
        await meanwhile();
        await holder.query("commit");
        return await distributing;
      } finally {
        holder.release(true);
      }
    };

    test("is not distributed if a node that has just migrated starts meanwhile", async () => {
      const node = await openSession(database.clientConfig, "node");
      const { code, err } = await distributeDuring(() => enterPresence(node, ["accept"], "node"));
      await node.end();
      assert.equal(code, 1);
      assert.match(err, /The service is running .*stop every node/);
      assert.equal(await distributedTables(), 0);
    });

    test("has a retention term, which distribution preserves", async () => {
      assert.equal((await bellhop(joined.url, "retention", "set", "*", "outcomes", "90d")).code, 0);
    });

    test("is distributed with its data, once, and the service continues", async () => {
      let starting: Promise<TestService> | undefined;
      const first = await distributeDuring(async () => {
        starting = startTestService({}, { database });
        await until(async () => {
          const { rowCount } = await database.pool.query(
            "select from pg_stat_activity where datname = current_database() and query like '%pg_try_advisory_lock%' and pid <> pg_backend_pid()",
          );
          return rowCount !== 0;
        }, 60_000);
      });
      assert.equal(first.code, 0, first.err);
      const report = JSON.parse(first.out) as DistributionReport;
      assert.equal(report.distributed, true);
      const tables = await distributedTables();
      assert.ok(tables >= report.steps.length, `${tables} tables`);
      const again = await distribute(joined.url);
      assert.equal(again.code, 0, again.err);
      assert.match(again.out, /Nothing to do\./);
      assert.equal(await distributedTables(), tables);
      service = (await starting) ?? assert.fail();
      await apply(service, "reservations", [
        reservation("before", "2026-01-02T00:00:00Z", { status: "Cancelled" }),
        reservation("after", "2026-01-02T00:00:00Z"),
      ]);
      const shown = await service.get(`/api/public/v1/reservations?${LISBON}`);
      const { items } = shown.json() as { items: { reservationId: string }[] };
      assert.deepEqual(
        items.map((item) => item.reservationId),
        ["after", "before"],
      );
      const { rows } = await database.pool.query(
        "select reservation_id, status from analytics.reservation order by 1",
      );
      assert.equal(rows.length, 2);
      assert.equal(rows[1].status, "Cancelled");
      await service.stop();
    });

    test("is read by analysts with the rights of docs/analytics.md, also after a replay", async () => {
      const manual = await readFile(new URL("../../docs/analytics.md", import.meta.url), "utf8");
      const examples = [...manual.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql]) => sql as string);
      const analyst = `bellhop_analyst_${randomBytes(4).toString("hex")}`;
      for (const sql of examples)
        if (/^(create role|-- On Citus)/.test(sql))
          await database.pool.query(sql.replaceAll("bellhop_analyst", analyst));
      const client = await database.pool.connect();
      const read = async () => {
        await client.query(`set role ${analyst}`);
        for (const asked of ["reservation", "reservation_as_of(now())", "stay_night", "group_block_night"])
          await client.query(`select count(*) from analytics.${asked}`);
        const { rows } = await client.query("select reservation_id from analytics.reservation order by 1");
        await assert.rejects(client.query("select from bellhop.accept_log"), /permission denied/);
        await client.query("reset role");
        return rows.map(({ reservation_id }) => reservation_id);
      };
      try {
        assert.deepEqual(await read(), ["after", "before"]);
        const replayed = await bellhop(joined.url, "replay", "--swap");
        assert.equal(replayed.code, 0, replayed.err);
        assert.deepEqual(await read(), ["after", "before"]);
      } finally {
        // Its sessions on workers end with this one.
        client.release(true);
        await database.pool.query(`drop owned by ${analyst}`);
        await database.pool.query(`drop role ${analyst}`);
      }
    });

    test("gives the tables of its terms windows, each with a shard of every bucket", async () => {
      const ran = await bellhop(joined.url, "retention", "run", "--json");
      assert.equal(ran.code, 0, ran.err);
      const { rows } = await database.pool.query<{ windows: number; distributed: number }>(
        `select count(*)::integer as windows, count(placed.logicalrelid)::integer as distributed
        from pg_inherits left join pg_dist_partition as placed on placed.logicalrelid = inhrelid
        where inhparent = 'bellhop.request_outcome'::regclass`,
      );
      assert.ok((rows[0]?.windows ?? 0) > 1);
      assert.equal(rows[0]?.distributed, rows[0]?.windows);
    });

    test("closes no log writer while a worker is still at work on what its session began", async () => {
      const client = await database.pool.connect();
      // A session of the coordinator that is gone, and one at a worker that is named as Citus names those it opens for it.
      const gone = new pg.Client(clientConfig({ connectionString: joined.url }));
      await gone.connect();
      const { rows } = await gone.query<{ log_writer_id: string; backend_pid: number }>(
        `insert into bellhop.log_writer (backend_pid, backend_start)
        select pid, backend_start from pg_stat_activity where pid = pg_backend_pid() returning log_writer_id::text, backend_pid`,
      );
      const [{ log_writer_id, backend_pid } = assert.fail()] = rows;
      await gone.end();
      const nodes = await client.query<{ port: number }>(
        "select nodeport as port from pg_dist_node where groupid <> 0 order by nodeport limit 1",
      );
      const address = new URL(joined.url);
      address.port = String(nodes.rows[0]?.port);
      const atWorker = new pg.Client(clientConfig({ connectionString: address.href }));
      await atWorker.connect();
      const isClosed = async () => {
        await client.query("set search_path = bellhop_state");
        await retireLogWriters(client, retireLogWritersStatement);
        const closed = "select from bellhop.log_writer where log_writer_id = $1 and closed_at is not null";
        return (await client.query(closed, [log_writer_id])).rowCount === 1;
      };
      try {
        await until(async () => {
          const { rowCount } = await client.query("select from pg_stat_activity where pid = $1", [
            backend_pid,
          ]);
          return rowCount === 0;
        }, 20_000);
        await atWorker.query(
          `begin; set application_name = 'citus_internal gpid=${10_000_000_000 + backend_pid}'`,
        );
        assert.equal(await isClosed(), false);
        await atWorker.query("commit");
        assert.equal(await isClosed(), true);
      } finally {
        await atWorker.end();
        client.release(true);
      }
    });

    test("a query by receipt does not wait for uninvolved workers", async (t) => {
      const pool = createPool(
        clientConfig({ connectionString: joined.url }),
        createLogger({ level: "silent", pretty: false }),
        2,
        POOL_ANSWER_MS_MAX,
      );
      const { rows } = await pool.query<{ bucket: number; port: number }>(
        `select distinct on (home.nodeport) bucket, home.nodeport as port
        from generate_series(0, 63) as bucket
        join pg_dist_shard_placement as home
          on home.shardid = get_shard_id_for_distribution_column('bellhop.bucket_closed_timestamp', bucket::smallint)
        order by home.nodeport, bucket`,
      );
      const [{ bucket } = assert.fail(), other] = rows;
      if (other === undefined) {
        await pool.end();
        return t.skip("A worker is uninvolved where there is a second one.");
      }
      const address = new URL(joined.url);
      address.port = String(other.port);
      const holder = new pg.Client(clientConfig({ connectionString: address.href }));
      await holder.connect();
      try {
        // What the log writers of the stopped services may have begun is not waited for here.
        await until(async () => {
          const client = await pool.connect();
          try {
            await client.query("set search_path = bellhop_state");
            await retireLogWriters(client, retireLogWritersStatement);
          } finally {
            client.release();
          }
          return (
            (await pool.query("select from bellhop.log_writer where closed_at is null and node = 0"))
              .rowCount === 0
          );
        }, 20_000);
        // Whoever asks that worker what it holds prepared waits until this ends.
        await holder.query("begin; set local idle_in_transaction_session_timeout = 0");
        await holder.query(
          "set local allow_system_table_mods = on; set local citus.enable_ddl_propagation = off",
        );
        await holder.query("alter view pg_catalog.pg_prepared_xacts set (security_barrier = false)");
        const before = await new BucketClosedTimestamp(pool, bucket).settled();
        const settled = await settledReceipts(pool, { bucket });
        assert.ok(settled !== null && settled > before, `${settled} after ${before}`);
      } finally {
        await holder.end();
        await pool.end();
      }
    });

    test("is migrated further: a column that is added reaches every shard", async () => {
      const client = new pg.Client(clientConfig({ connectionString: joined.url }));
      await client.connect();
      try {
        await client.query("begin");
        await client.query(
          "alter table bellhop.request_outcome add column tried boolean not null default false",
        );
        await client.query(
          "create index request_outcome_tried on bellhop.request_outcome (bucket) where tried",
        );
        await client.query("commit");
        const { rows } = await client.query(
          "select count(*)::int as n from bellhop.request_outcome where not tried",
        );
        assert.ok(rows[0].n > 0);
      } finally {
        await client.end();
      }
    });
  });
