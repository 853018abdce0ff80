import type pg from "pg";
import { openLagReader } from "../../src/insight/console/intake.ts";
import { percentile } from "../statistics.ts";
import { RECORDS_PER_BATCH, type SteadyResult } from "./steady-load.ts";

/** The end and duration of a response or of an interval without outcomes, in milliseconds; `at` since 1970. */
export interface Stretch {
  readonly at: number;
  readonly ms: number;
}

/** One minute of the soak. */
export interface RetentionMinute {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly perSecond: number;
  readonly acceptP50: number;
  readonly acceptP99: number;
  readonly acceptMax: number;
  readonly applyGapMax: number;
  /** The age of the oldest unapplied batch at the end of the minute. */
  readonly behindMs: number;
  readonly databaseBytes: number;
  readonly windows: number;
  readonly refused: number;
  readonly sent: readonly Stretch[];
  readonly gaps: readonly Stretch[];
}

const GAPS = `select extract(epoch from applied_at)::float8 * 1000 as at,
    extract(epoch from applied_at - lag(applied_at) over (order by applied_at))::float8 * 1000 as ms
  from bellhop.request_outcome where applied_at >= to_timestamp($1) and applied_at < to_timestamp($2)`;

const SIZES = `select pg_database_size(current_database())::float8 as bytes,
    (select count(*)::integer from pg_class where relispartition and relkind = 'r') as windows`;

/** The largest tables with their indexes; windowed tables count as one. */
export async function readTables(client: pg.ClientBase): Promise<{ table: string; bytes: number }[]> {
  const { rows } = await client.query<{ table: string; bytes: number }>(
    `select coalesce(child.inhparent, one.oid)::regclass::text as table, sum(pg_total_relation_size(one.oid))::float8 as bytes
    from pg_class as one join pg_namespace as place on place.oid = one.relnamespace
    left join pg_inherits as child on child.inhrelid = one.oid
    where one.relkind = 'r' and place.nspname like 'bellhop%'
    group by 1 order by 2 desc limit 12`,
  );
  return rows;
}

/** Collects the figures of the last minute while the next one runs. */
export async function lookAtRetention(
  client: pg.ClientBase,
  { startedAt, endedAt, sent }: SteadyResult,
): Promise<RetentionMinute> {
  const { rows: gaps } = await client.query<Stretch>(GAPS, [startedAt / 1000, endedAt / 1000]);
  const { rows } = await client.query<{ bytes: number; windows: number }>(SIZES);
  const { bytes = 0, windows = 0 } = rows[0] ?? {};
  const { lag } = await (await openLagReader(client)).read();
  const answers = sent.map(({ acceptMs }) => acceptMs);
  const accepted = sent.filter(({ status }) => status === 202).length;
  const long = gaps.filter(({ ms }) => ms !== null);
  return {
    startedAt,
    endedAt,
    perSecond: (accepted * RECORDS_PER_BATCH) / ((endedAt - startedAt) / 1000),
    acceptP50: percentile(answers, 0.5),
    acceptP99: percentile(answers, 0.99),
    acceptMax: Math.max(0, ...answers),
    applyGapMax: Math.max(0, ...long.map(({ ms }) => ms)),
    behindMs: lag.seconds * 1_000,
    databaseBytes: bytes,
    windows,
    refused: sent.length - accepted,
    sent: sent.map(({ answeredAt, acceptMs }) => ({ at: answeredAt, ms: acceptMs })),
    gaps: long,
  };
}

export function retentionHead(): string {
  return "minute  records/s  p50 ms  p99 ms  max ms  longest without outcome  behind ms  database MB  windows  refused";
}

export function retentionLine(minute: number, of: RetentionMinute): string {
  const cells: [number | string, number][] = [
    [minute, 6],
    [Math.round(of.perSecond), 11],
    [of.acceptP50.toFixed(1), 8],
    [of.acceptP99.toFixed(1), 8],
    [of.acceptMax.toFixed(0), 8],
    [of.applyGapMax.toFixed(0), 25],
    [of.behindMs.toFixed(0), 11],
    [(of.databaseBytes / 1e6).toFixed(0), 13],
    [of.windows, 9],
    [of.refused, 9],
  ];
  return cells.map(([value, width]) => String(value).padStart(width)).join("");
}
