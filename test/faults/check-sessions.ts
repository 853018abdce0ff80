import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { KNOWLEDGE_LOCKS } from "../../src/identity/key-admin.ts";
import { isDistributed } from "../../src/platform/db/distribution.ts";
import { WEBHOOK_CONNECTIONS } from "../../src/webhooks/deliver-webhooks.ts";
import { until } from "../support/until.ts";
import { countChangesThatEndElsewhere } from "../workload/observed-state.ts";
import { LOOKER, withDatabaseOf } from "./database-of-service.ts";
import { APPLY_WRITERS, HTTP_THREADS } from "./service-process.ts";

/** An applier keeps what an idle sibling took from a busy one for ten seconds, and buckets change hands at upkeeps, about a second apart. */
const TIDY_MS_MAX = 20_000;
const LOOK_MS = 100;

/** What is there at rest: so many nodes, each with so many threads. */
export interface AtRest {
  readonly nodes: number;
  readonly httpThreads: number;
  readonly applyWriters: number;
}

const ONE_NODE: AtRest = { nodes: 1, httpThreads: HTTP_THREADS, applyWriters: APPLY_WRITERS };

/** The server may have other databases, where others are at work. */
const HERE = "select pid from pg_stat_activity where datname = current_database()";

/** What must be so once the service has come to rest, as queries that answer rows only where it is not. */
const tidyQueries = ({ nodes, httpThreads, applyWriters }: AtRest): Readonly<Record<string, string>> => ({
  "sessions that should not be": `
    select application_name, count(*)::integer from pg_stat_activity
    where usename = 'bellhop' and application_name <> '${LOOKER}' and datname = current_database() group by application_name
    having count(*) > ${nodes} * case application_name when 'bellhop' then ${2 + applyWriters * 2 + Math.max(10, httpThreads * 5) + WEBHOOK_CONNECTIONS}
      when 'bellhop accept' then ${2 * httpThreads} when 'bellhop apply' then ${applyWriters} else 1 end`,
  "sessions in a transaction": `
    select pid, application_name, state from pg_stat_activity
    where usename = 'bellhop' and state like 'idle in transaction%' and state_change < clock_timestamp() - interval '1 second'`,
  "locks waited for": `select pid, locktype, mode from pg_locks where not granted and pid in (${HERE})`,
  // Less those by which a node reports what it knows, as long as it lives.
  "advisory locks held": `
    select pid, mode from pg_locks where locktype = 'advisory' and classid <> ${KNOWLEDGE_LOCKS} and pid in (${HERE})`,
  "prepared transactions": `select gid from pg_prepared_xacts where database = current_database()`,
  "log writers that are neither the open one nor retired": `
    select log_writer_id from bellhop.log_writer where retired_at is null
    and not exists (select from pg_stat_activity writer
      where writer.pid = log_writer.backend_pid and writer.backend_start = log_writer.backend_start)`,
  "another number of open log writers than threads that serve": `
    select count(*)::integer from bellhop.log_writer where closed_at is null and not yields having count(*) <> ${nodes * httpThreads}`,
  "pieces of parts that are applied": "select request_id, until_record from bellhop.applied_piece",
  "buckets that no living backend holds": `
    select bucket from bellhop.bucket_lease lease
    where not exists (select from pg_stat_activity holder
      where holder.pid = lease.backend_pid and holder.backend_start = lease.backend_start)`,
  "outcomes of nothing": `
    select request_id from bellhop.request_outcome outcome where not exists (
      select from bellhop.accept_log log where log.bucket = outcome.bucket and log.request_id = outcome.request_id)`,
  "idempotency keys of nothing": `
    select key from bellhop.idempotency_key held
    where not exists (select from bellhop.accept_log log where log.request_id = held.request_id)`,
  "cursors that are not at the end of their log writer": `
    select bucket, log_writer_id from bellhop_state.apply_cursor cursor
    full join (select bucket, log_writer_id, max(request_id::text)::uuid as last from bellhop.accept_log group by bucket, log_writer_id) log
      using (bucket, log_writer_id)
    where cursor.request_id is distinct from log.last`,
  // Not numbered 1, 2, 3 …: a version that becomes current again, by an earlier copy of its rival, is numbered anew.
  "buckets whose changes are not those of their applied records": `
    with change as (
      select bucket, outcome, change_no from bellhop_state.inventory_version union all
      select bucket, outcome, change_no from bellhop_state.reservation_version union all
      select bucket, outcome, change_no from bellhop_state.group_version
    ), applied as (
      select bucket, sum(length(outcomes) - length(replace(outcomes, 'a', ''))) as records from bellhop.request_outcome group by bucket
    )
    select bucket, next_change, records, count(*), count(distinct change_no), max(change_no)
    from bellhop.change_counter join applied using (bucket) left join change using (bucket)
    where change_no is not null or outcome = 'a'
    group by bucket, next_change, records
    having count(*) filter (where outcome = 'a') <> records or count(distinct change_no) <> count(*)
      or max(change_no) >= next_change`,
  "appliers that do not have their fair share of the buckets": `
    select owner, count(*)::integer from bellhop.bucket_lease group by owner
    having count(*) not between ${Math.floor(64 / (nodes * applyWriters))} and ${Math.ceil(64 / (nodes * applyWriters))}`,
});

/** Of sessions that are at workers on Citus, which the coordinator does not see, and of keys, which lie elsewhere than their entries. */
const OF_ONE_SERVER: readonly string[] = [
  "sessions that should not be",
  "log writers that are neither the open one nor retired",
  "another number of open log writers than threads that serve",
  "buckets that no living backend holds",
  "idempotency keys of nothing",
  "appliers that do not have their fair share of the buckets",
];

/** Whether a log writer's backend lives; false also while PostgreSQL takes no connections. */
export async function hasOpenLogWriter(dataDir: string): Promise<boolean> {
  try {
    return await withDatabaseOf(dataDir, async (pool) => {
      const { rowCount } = await pool.query(
        `select from bellhop.log_writer join pg_stat_activity writer on writer.pid = log_writer.backend_pid
        and writer.backend_start = log_writer.backend_start where log_writer.closed_at is null`,
      );
      return rowCount !== 0;
    });
  } catch {
    return false;
  }
}

/** Waits until no part of the log lacks its outcomes. */
export async function untilApplied(pool: pg.Pool, waitMsMax: number): Promise<void> {
  await until(async () => {
    const { rowCount } = await pool.query(
      `select from bellhop.accept_log log where not exists (
        select from bellhop.request_outcome outcome
        where outcome.bucket = log.bucket and outcome.request_id = log.request_id) limit 1`,
    );
    return rowCount === 0;
  }, waitMsMax);
}

/** Nothing more is applied: what is left after so long without a single part is left for good. */
const STILL_MS_MAX = 20_000;

interface Unapplied {
  readonly parts: number;
  /** Those that the cursor of their bucket and log writer has passed: nobody will ever read them again. */
  readonly passed: number;
  readonly examples: string;
}

/** Waits until all that was accepted is applied, or nothing more is; answers what is left as sentences. */
export async function checkApplied(pool: pg.Pool): Promise<string[]> {
  let left: Unapplied = { parts: 0, passed: 0, examples: "" };
  let lessAt = performance.now();
  for (let before = Number.POSITIVE_INFINITY; before > 0; ) {
    left = await readUnapplied(pool);
    if (left.parts < before) lessAt = performance.now();
    before = left.parts;
    if (performance.now() - lessAt > STILL_MS_MAX) break;
    await delay(before > 0 ? LOOK_MS : 0);
  }
  if (left.parts === 0) return [];
  const still = `none of them in the last ${STILL_MS_MAX / 1000} s`;
  return [
    `accepted and not applied, ${still}: ${left.parts} parts, of which ${left.passed} were passed by the cursor of their log writer, such as ${left.examples}`,
  ];
}

async function readUnapplied(pool: pg.Pool): Promise<Unapplied> {
  const { rows } = await pool.query<Unapplied>(
    `select count(*)::integer as parts, count(*) filter (where log.request_id <= cursor.request_id)::integer as passed,
      coalesce(array_to_string((array_agg(
        format('%s in bucket %s and log_writer %s', log.request_id, log.bucket, log.log_writer_id) order by log.request_id))[:3], '; '
      ), '') as examples
    from bellhop.accept_log log left join bellhop_state.apply_cursor cursor using (bucket, log_writer_id)
    where not exists (
      select from bellhop.request_outcome outcome
      where outcome.bucket = log.bucket and outcome.request_id = log.request_id)`,
  );
  return rows[0] as Unapplied;
}

/** The longest time from receipt to applied, in milliseconds; outages are part of it. */
export async function longestLagMs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ ms: number | null }>(
    `select max(extract(epoch from outcome.applied_at - log.received_at) * 1000)::float8 as ms
    from bellhop.accept_log log join bellhop.request_outcome outcome using (bucket, request_id)`,
  );
  return rows[0]?.ms ?? 0;
}

/** What crashes have left behind in the database, as sentences, once it had the time to be tidied up. */
export async function checkSessions(pool: pg.Pool, atRest: AtRest = ONE_NODE): Promise<string[]> {
  const problems: string[] = [];
  const isOnCitus = await isDistributed(pool);
  for (const [what, query] of Object.entries(tidyQueries(atRest))) {
    if (isOnCitus && OF_ONE_SERVER.includes(what)) continue;
    let left: unknown[] = [];
    await until(async () => {
      left = (await pool.query<Record<string, unknown>>(query)).rows;
      return left.length === 0;
    }, TIDY_MS_MAX).catch((error: unknown) => {
      if (left.length === 0) throw error;
      problems.push(`${what}: ${left.length}, such as ${JSON.stringify(left.slice(0, 3))}`);
    });
  }
  const elsewhere = await countChangesThatEndElsewhere(pool);
  if (elsewhere > 0)
    problems.push(`the numbered changes of ${elsewhere} records end in another content than the current one`);
  return problems;
}
