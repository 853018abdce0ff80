import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { advanceCursors } from "../../src/apply/apply-parts.ts";
import { type LogPart, readBacklog, readBacklogStatement } from "../../src/apply/backlog.ts";
import { LeaseStatements, Leases, readCounters } from "../../src/apply/leases.ts";
import { openStateSession, planByKeys } from "../../src/apply/state/look-up.ts";
import { lowestIdAt } from "../../src/ingest/log/part-name.ts";
import { ensurePartitions } from "../../src/ingest/log/partitions.ts";
import { readStatement, type Statement } from "../../src/platform/db/statement.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const TRANSACTIONS = 1_500;
const FETCHES_MAX = 3;

interface Plan {
  readonly "Relation Name"?: string;
  readonly "Heap Fetches"?: number;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

const MOVING = new Set(["apply_cursor", "change_counter"]);

/** The nodes of a plan that read a table whose rows move with every transaction. */
function movingIn(plan: Plan): Plan[] {
  const below = (plan.Plans ?? []).flatMap(movingIn);
  return MOVING.has(plan["Relation Name"] ?? "") ? [plan, ...below] : below;
}

describe("while a snapshot is held", () => {
  let database: TestDatabase;
  let client: pg.Client;
  let holder: pg.Client;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.clientConfig);
    holder = new pg.Client(database.clientConfig);
    await client.connect();
    await holder.connect();
    await openStateSession(client, "bellhop_state");
    await ensurePartitions(client, Date.now());
    await planByKeys(client, true);
    await holder.query("set idle_in_transaction_session_timeout = 0");
    await holder.query("begin isolation level repeatable read");
    await holder.query("select count(*) from bellhop.log_writer");
  });
  after(async () => {
    await holder.end();
    await client.end();
    await database.drop();
  });

  /** How many rows, those that are no more among them, a statement looks at in the tables whose rows move. */
  async function fetchesOf({ text }: Statement, values: readonly unknown[]): Promise<number[]> {
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `explain (analyze, format json) ${text}`,
      [...values],
    );
    const nodes = rows.flatMap((row) => movingIn(row["QUERY PLAN"][0].Plan));
    // Only a scan of the index alone counts them; no other plan will do.
    return nodes.map((node) => node["Heap Fetches"] ?? Number.POSITIVE_INFINITY);
  }

  test("a transaction of apply finds its position in a row or two after thousands of others", async () => {
    const logWriter = await client.query<{ id: string }>(
      `insert into bellhop.log_writer (backend_pid, backend_start) values (pg_backend_pid(), now()) returning log_writer_id::text as id`,
    );
    const logWriterId = logWriter.rows[0]?.id ?? "";
    const ownership = new Leases(new LeaseStatements(client), "tester");
    await ownership.take([{ bucket: 5, epoch: "0" }]);
    const transaction = async (at: number) => {
      const requestId = `019a0000-0000-7000-8000-${at.toString(16).padStart(12, "0")}`;
      await readBacklog(client, [5], 1_000);
      await client.query("begin");
      const counters = await ownership.lock([5]);
      await advanceCursors(client, [{ bucket: 5, logWriterId, requestId } as LogPart]);
      counters.take(5);
      await counters.write(client);
      await client.query("commit");
    };
    for (let at = 0; at < TRANSACTIONS; at += 1) await transaction(at);
    const looked = {
      backlog: await fetchesOf(readBacklogStatement, [[5], 10, 1_000, 1_000_000, 10_000, 200, 500, 262_144]),
      counters: await fetchesOf(readCounters, [[5]]),
    };
    for (const [what, fetches] of Object.entries(looked)) {
      assert.ok(fetches.length > 0 && fetches.every((count) => count <= FETCHES_MAX), `${what}: ${fetches}`);
    }
    const { rows } = await client.query(
      "select (select count(*)::integer from apply_cursor) as cursors, next_change::text from bellhop.change_counter where bucket = 5",
    );
    assert.deepEqual(rows, [{ cursors: 1, next_change: String(TRANSACTIONS + 1) }]);
  });
});

/** Parts of 8 buckets, so many that their statistics tell of few buckets: an entry each millisecond until now. */
const FILL_LOG = `
  insert into bellhop.accept_log (bucket, log_writer_id, request_id, kind, resource, client_id, received_at, record_count,
    batch_record_count, batch_part_count)
  select at % 8, $1, format('%s-%s-7000-8000-%s', left(ms, 8), right(ms, 4), lpad(to_hex(at), 12, '0'))::uuid, 'b', 'r', 'tester',
    now(), 1, 1, 1
  from generate_series(1, 60000) as at
  cross join lateral (select lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 60000 + at), 12, '0') as ms) as time`;

test("in a log dominated by a few buckets, the next part of the others is found without scanning it", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client(database.clientConfig);
  try {
    await client.connect();
    await openStateSession(client, "bellhop_state");
    await ensurePartitions(client, Date.now());
    await planByKeys(client, true);
    const logWriter = await client.query<{ id: string }>(
      `insert into bellhop.log_writer (backend_pid, backend_start) values (pg_backend_pid(), now()) returning log_writer_id::text as id`,
    );
    // One that is to be retired, or nothing would be asked of it.
    await client.query(
      "insert into bellhop.log_writer (backend_pid, backend_start, closed_at) values (0, now(), now())",
    );
    await client.query(FILL_LOG, [logWriter.rows[0]?.id]);
    await client.query("analyze bellhop.accept_log");
    const buckets = Array.from({ length: 32 }, (_, at) => at + 32);
    const logWriters = [logWriter.rows[0]?.id];
    // As named statements are planned once they have run some times: for whichever bucket.
    await client.query("set plan_cache_mode = force_generic_plan");
    const passedOver = async (
      { name, text }: Statement,
      values: readonly (number | string | readonly unknown[])[],
    ) => {
      await client.query(`prepare "${name}" as ${text}`);
      const literals = values.map((value) =>
        typeof value === "number" ? value : typeof value === "string" ? `'${value}'` : `'{${value.join()}}'`,
      );
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
        `explain (analyze, format json) execute "${name}" ${literals.length > 0 ? `(${literals.join()})` : ""}`,
      );
      const count = (plan: Plan): number =>
        (plan["Relation Name"]?.startsWith("accept_log") === true
          ? (plan["Rows Removed by Filter"] ?? 0)
          : 0) + (plan.Plans ?? []).reduce((sum, below) => sum + count(below), 0);
      return rows.reduce((sum, row) => sum + count(row["QUERY PLAN"][0].Plan), 0);
    };
    assert.equal(
      await passedOver(readBacklogStatement, [buckets, 64, 2_000, 8_388_608, 10_000, 500, 500, 262_144]),
      0,
    );
    for (const [file, values] of [
      ["insight/sql/read-oldest-unapplied.sql", [40, logWriters]],
      ["insight/sql/read-waiting-parts.sql", [40, logWriters, 100, "ACME", "LIS01"]],
      ["insight/console/sql/read-lag.sql", [100, logWriters, buckets]],
      ["apply/sql/retire-log-writers.sql", []],
    ] as const) {
      const statement = readStatement(new URL(`../../src/${file}`, import.meta.url));
      assert.equal(await passedOver(statement, values), 0, file);
    }
  } finally {
    await client.end();
    await database.drop();
  }
});

/** How many rows all nodes of a plan answered and passed over. */
function rowsIn(plan: Plan): number {
  const {
    "Actual Rows": answered,
    "Actual Loops": loops,
    "Rows Removed by Filter": removed = 0,
    Plans,
  } = plan;
  return (Plans ?? []).map(rowsIn).reduce((sum, rows) => sum + rows, (answered + removed) * loops);
}

test("properties to pack are found without scanning entries, by recent arrivals", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client(database.clientConfig);
  try {
    await client.connect();
    await client.query(`
      insert into bellhop.property (client_code, property_code, bucket, created_by)
      select 'ACME', 'H' || at, at % 64, 'test' from generate_series(1, 200) as at`);
    // Two of them have reservations; a third has some that were packed, and an arrival an hour ago.
    await client.query(`
      insert into bellhop_state.ledger_delta (source_time, received_at, property_id, first_night, nights, bucket, runs, key)
      select now(), now(), property_id, current_date, 2, bucket, '{}', 'k'
      from bellhop.property cross join generate_series(1, 30000) where property_id <= 3`);
    await client.query(`
      insert into bellhop_state.ledger_segment_progress (bucket, property_id, received_up_to)
      select bucket, property_id, now() from bellhop.property where property_id in (2, 3)`);
    await client.query(`
      insert into bellhop.feed_arrival
      select id, id, property_id, 1, 1, 0, 0, 0, 0, 0, 0, bucket, 'r'
      from bellhop.property, analytics.first_request_id_after(now() - interval '1 hour') as id where property_id in (2, 3)`);
    await client.query("analyze");
    const { text } = readStatement(
      new URL("../../src/insight/sql/find-properties-to-pack.sql", import.meta.url),
    );
    const { rows: properties } = await client.query<{ buckets: number[]; ids: number[] }>(
      "select array_agg(bucket) as buckets, array_agg(property_id) as ids from bellhop.property",
    );
    const { buckets, ids } = properties[0] ?? assert.fail();
    const found = async (after: string | null) => {
      const { rows } = await client.query<{ property_id: number }>(text, [after, buckets, ids]);
      return rows.map(({ property_id }) => property_id).sort((one, other) => one - other);
    };
    const hoursAgo = (hours: number) => lowestIdAt(Date.now() - hours * 3_600_000);
    assert.deepEqual(await found(null), [1, 2, 3]);
    assert.deepEqual(await found(hoursAgo(2)), [1, 2, 3]);
    assert.deepEqual(await found(hoursAgo(0.5)), [1]);
    for (const after of [null, hoursAgo(2)]) {
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
        `explain (analyze, format json) ${text}`,
        [after, buckets, ids],
      );
      const looked = rows.reduce((sum, row) => sum + rowsIn(row["QUERY PLAN"][0].Plan), 0);
      assert.ok(looked < 5_000, `${looked} rows for 200 properties`);
    }
  } finally {
    await client.end();
    await database.drop();
  }
});
