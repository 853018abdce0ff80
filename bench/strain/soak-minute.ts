import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { childrenOf } from "../process-meter.ts";
import type { ProcessorShares, ProcessorTime } from "../processor-time.ts";
import { percentile } from "../statistics.ts";
import { type TableRows, tableRows } from "./dead-rows.ts";
import type { SteadyResult } from "./steady-load.ts";

/** One minute of the soak; milliseconds and bytes. */
export interface SoakMinute {
  readonly acceptedPerSecond: number;
  readonly acceptP50: number;
  readonly acceptP99: number;
  readonly lagP50: number;
  readonly lagP99: number;
  /** Responses other than 202, by status. */
  readonly refused: Readonly<Record<string, number>>;
  readonly nodeBytes: number;
  readonly postgresBytes: number;
  readonly walBytesPerSecond: number;
  readonly connections: number;
  readonly files: number;
  readonly processors: ProcessorShares | undefined;
  readonly rows: readonly TableRows[];
}

/** The processes and sessions that a soak observes. */
export interface Watched {
  readonly client: pg.ClientBase;
  readonly nodePid: number;
  readonly postmasterPid: number;
  readonly clientIds: readonly string[];
  readonly processors: ProcessorTime;
}

const LAGS = `select extract(epoch from coalesce(outcome.applied_at, clock_timestamp()) - part.received_at)::float8 * 1000 as ms,
    part.record_count as records
  from bellhop.accept_log as part
  left join bellhop.request_outcome as outcome using (bucket, request_id)
  where part.client_id = any ($1::text[])
    and part.request_id >= analytics.first_request_id_after(to_timestamp($2))
    and part.request_id < analytics.first_request_id_after(to_timestamp($3))
  order by ms`;

/** Private pages of all processes, shared pages once. */
export function residentBytes(pids: readonly number[]): number {
  let own = 0;
  let shared = 0;
  for (const pid of pids) {
    let status: string;
    try {
      status = readFileSync(`/proc/${pid}/status`, "latin1");
    } catch {
      continue;
    }
    const kibOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    own += kibOf("RssAnon");
    shared = Math.max(shared, kibOf("RssShmem") + kibOf("RssFile"));
  }
  return (own + shared) * 1024;
}

export async function walPosition(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ at: string }>(
    "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as at",
  );
  return Number(rows[0]?.at);
}

/** Collects the figures of the last minute while the next one runs. Unapplied batches count with their current age. */
export async function lookAtMinute(
  { client, nodePid, postmasterPid, clientIds, processors }: Watched,
  { startedAt, endedAt, sent }: SteadyResult,
  walBytes: number,
): Promise<SoakMinute> {
  const shares = processors.since();
  const values = [clientIds, startedAt / 1000, endedAt / 1000];
  const { rows } = await client.query<{ ms: number; records: number }>({ text: LAGS, values });
  const lags = rows.map(({ ms }) => ms);
  const accepted = sent.map(({ acceptMs }) => acceptMs);
  const refused: Record<string, number> = {};
  for (const { status } of sent) if (status !== 202) refused[status] = (refused[status] ?? 0) + 1;
  const records = rows.reduce((sum, row) => sum + row.records, 0);
  const { rows: counted } = await client.query<{ sessions: number }>(
    "select count(*)::integer as sessions from pg_stat_activity where backend_type = 'client backend'",
  );
  const seconds = (endedAt - startedAt) / 1000;
  return {
    acceptedPerSecond: records / seconds,
    acceptP50: percentile(accepted, 0.5),
    acceptP99: percentile(accepted, 0.99),
    lagP50: percentile(lags, 0.5),
    lagP99: percentile(lags, 0.99),
    refused,
    nodeBytes: residentBytes([nodePid]),
    postgresBytes: residentBytes([postmasterPid, ...childrenOf(postmasterPid)]),
    walBytesPerSecond: walBytes / seconds,
    connections: counted[0]?.sessions ?? Number.NaN,
    files: readdirSync(`/proc/${nodePid}/fd`).length,
    processors: shares,
    rows: await tableRows(client),
  };
}

const HEAD =
  "minute  accepted/s  p50 ms  p99 ms  lag p50  lag p99  node MB  PostgreSQL MB  WAL MB/s  sessions  files  busy  disk  stolen  dead rows";

export function minuteHead(): string {
  return HEAD;
}

function percentOf(share: number | undefined): string {
  return share === undefined ? "?" : `${(100 * share).toFixed(0)} %`;
}

export function minuteLine(minute: number, of: SoakMinute): string {
  const dead = of.rows.filter((row) => row.dead > 0).map(({ table, dead }) => `${table} ${dead}`);
  const cells: [number | string, number][] = [
    [minute, 6],
    [Math.round(of.acceptedPerSecond), 12],
    [of.acceptP50.toFixed(1), 8],
    [of.acceptP99.toFixed(1), 8],
    [of.lagP50.toFixed(1), 9],
    [of.lagP99.toFixed(1), 9],
    [(of.nodeBytes / 1e6).toFixed(0), 9],
    [(of.postgresBytes / 1e6).toFixed(0), 15],
    [(of.walBytesPerSecond / 1e6).toFixed(2), 10],
    [of.connections, 10],
    [of.files, 7],
    [percentOf(of.processors?.busy), 6],
    [percentOf(of.processors?.disk), 6],
    [percentOf(of.processors?.stolen), 8],
  ];
  const refused = Object.entries(of.refused).map(([status, count]) => `  REFUSED ${count} x ${status}`);
  return `${cells.map(([value, width]) => String(value).padStart(width)).join("")}  ${dead.join(", ") || "none"}${refused.join("")}`;
}
