import { readdir, readFile } from "node:fs/promises";
import { loadavg } from "node:os";
import type pg from "pg";
import type { ServiceProcess } from "./service-process.ts";

const LOG_LINES = 40;
const LOG_BYTES = 16_384;
/** Longer texts of statements say no more about what they wait for. */
const QUERY_LENGTH = 90;
const ANSWER_MS_MAX = 10_000;

/** What of the database says why nothing goes on, each as one query. */
const QUESTIONS: Readonly<Record<string, string>> = {
  "who has the buckets, what waits in them and since when": `
    select lease.owner, count(*)::integer as buckets,
      (select string_agg(distinct coalesce(holder.state, 'gone'), ',') from pg_stat_activity holder
        where holder.pid = lease.backend_pid and holder.backend_start = lease.backend_start) as backend,
      lease.backend_pid as pid, sum(log.waiting)::integer as parts_waiting, max(log.age)::integer as oldest_seconds
    from bellhop.bucket_lease lease
    cross join lateral (
      select count(*) as waiting, extract(epoch from clock_timestamp() - min(log.received_at)) as age
      from bellhop.accept_log log
      where log.bucket = lease.bucket and not exists (select from bellhop.request_outcome outcome
        where outcome.bucket = log.bucket and outcome.request_id = log.request_id)
    ) log
    group by lease.owner, lease.backend_pid, lease.backend_start`,
  "what was accepted and what was applied lately": `
    select seconds,
      (select count(*)::integer from bellhop.accept_log
        where received_at > clock_timestamp() - make_interval(secs => seconds)) as parts_accepted,
      (select count(*)::integer from bellhop.request_outcome
        where applied_at > clock_timestamp() - make_interval(secs => seconds)) as parts_applied
    from unnest(array[2, 10, 30, 60]) as seconds`,
  logWriters: `
    select count(*)::integer as log_writers, (closed_at is not null) as closed, (retired_at is not null) as retired,
      count(writer.pid)::integer as living
    from bellhop.log_writer left join pg_stat_activity writer
      on writer.pid = log_writer.backend_pid and writer.backend_start = log_writer.backend_start
    group by 2, 3`,
  "who is present": `
    select present.owner, present.role, present.backend_pid as pid, backend.state,
      extract(epoch from clock_timestamp() - backend.state_change)::numeric(9, 2) as since_seconds
    from bellhop.presence present left join pg_stat_activity backend
      on backend.pid = present.backend_pid and backend.backend_start = present.backend_start
    order by present.presence_id`,
  sessions: `
    select pid, application_name as name, state, wait_event_type || '/' || wait_event as waits,
      extract(epoch from clock_timestamp() - xact_start)::numeric(9, 2) as in_transaction_seconds,
      extract(epoch from clock_timestamp() - state_change)::numeric(9, 2) as since_seconds, backend_xid as xid,
      nullif(pg_blocking_pids(pid), '{}') as blocked_by, left(regexp_replace(query, '\\s+', ' ', 'g'), ${QUERY_LENGTH}) as query
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by application_name, pid`,
  "locks that are waited for, and who holds them": `
    select wanted.pid, wanted.locktype, wanted.mode, wanted.relation::regclass, holder.pid as held_by, holder.mode as held_mode
    from pg_locks wanted left join pg_locks holder on holder.granted and holder.locktype = wanted.locktype
      and holder.relation is not distinct from wanted.relation and holder.transactionid is not distinct from wanted.transactionid
      and holder.tuple is not distinct from wanted.tuple and holder.page is not distinct from wanted.page
      and holder.objid is not distinct from wanted.objid
    where not wanted.granted`,
  "advisory locks": `select pid, mode, granted, classid, objid from pg_locks where locktype = 'advisory'`,
};

/** What explains why nothing goes on, as lines for people: owners, sessions, locks, and what each node logged last. */
export async function explainStall(pool: pg.Pool, nodes: readonly ServiceProcess[]): Promise<string[]> {
  const lines = [
    `load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(" ")}`,
  ];
  for (const [what, query] of Object.entries(QUESTIONS)) {
    lines.push(`-- ${what}`);
    const answer = await ask(pool, query).catch((error: unknown) => [String(error)]);
    lines.push(...answer);
  }
  for (const [at, node] of nodes.entries()) {
    lines.push(`-- node ${at + 1} (process ${node.pid}): threads`, ...(await threadsOf(node.pid)));
    lines.push(`-- node ${at + 1}: the end of its log`, ...(await logTail(node.logPath)));
  }
  return lines;
}

/** On a connection of its own: those of the pool may be what hangs. */
async function ask(pool: pg.Pool, query: string): Promise<string[]> {
  const client = new (pool as unknown as { Client: typeof pg.Client }).Client({
    ...pool.options,
    application_name: "faults",
    query_timeout: ANSWER_MS_MAX,
  } as pg.ClientConfig);
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(query);
    return rows.map((row) =>
      Object.entries(row)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)
        .join(", "),
    );
  } finally {
    await client.end();
  }
}

/** Name, state and CPU seconds (in ticks of 10 ms) of each thread, where the system reports it. */
async function threadsOf(pid: number): Promise<string[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  return await Promise.all(
    threads.map(async (thread) => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, "utf8").catch(() => "gone) -");
      const name = await readFile(`/proc/${pid}/task/${thread}/comm`, "utf8").catch(() => "");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return `${name.trim()} ${fields[0]}, user ${fields[11]}, system ${fields[12]}, nice ${fields[16]}`;
    }),
  );
}

async function logTail(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => String(error));
  return text.slice(-LOG_BYTES).trimEnd().split("\n").slice(-LOG_LINES);
}
