import type pg from "pg";
import { until } from "../support/until.ts";

/** How one takeover went, in milliseconds from the moment of the fault. */
export interface Takeover {
  /** Until every bucket of the node had another owner whose backend lives. */
  readonly takenMs: number;
  /** Until the first batch was applied in one of them by another. */
  readonly firstApplyMs: number;
}

const TAKEOVER_MS_MAX = 60_000;
/** A statement that was on its way when the node was hit is still carried out. */
const IN_FLIGHT_MS = 100;

/** The buckets whose leases name the process, as of now. */
export async function bucketsOf(pool: pg.Pool, pid: number): Promise<readonly number[]> {
  const { rows } = await pool.query<{ bucket: number }>(
    `select lease.bucket from bellhop.bucket_lease lease
    join pg_stat_activity holder on holder.pid = lease.backend_pid and holder.backend_start = lease.backend_start
    where lease.owner like '%/' || $1::integer || '/%'`,
    [pid],
  );
  return rows.map(({ bucket }) => bucket);
}

/** Hits the node of this process and waits until others have what it had. Traffic has to go on meanwhile. */
export async function watchTakeover(pool: pg.Pool, pid: number, hit: () => unknown): Promise<Takeover> {
  const buckets = await bucketsOf(pool, pid);
  const clock = await pool.query<{ at: string }>("select clock_timestamp()::text as at");
  const hitAt = performance.now();
  await hit();
  await until(async () => {
    const { rows } = await pool.query<{ taken: number }>(
      `select count(*)::integer as taken from bellhop.bucket_lease lease
      join pg_stat_activity holder on holder.pid = lease.backend_pid and holder.backend_start = lease.backend_start
      where lease.bucket = any ($1::smallint[]) and lease.owner not like '%/' || $2::integer || '/%'`,
      [buckets, pid],
    );
    return rows[0]?.taken === buckets.length;
  }, TAKEOVER_MS_MAX);
  const takenMs = performance.now() - hitAt;
  let firstApplyMs: number | null | undefined;
  await until(async () => {
    const { rows } = await pool.query<{ ms: number | null }>(
      `select (extract(epoch from min(applied_at) - $2::timestamptz) * 1000)::float8 as ms
      from bellhop.request_outcome
      where bucket = any ($1::smallint[]) and applied_at > $2::timestamptz + make_interval(secs => $3)`,
      [buckets, clock.rows[0]?.at, IN_FLIGHT_MS / 1000],
    );
    firstApplyMs = rows[0]?.ms;
    return typeof firstApplyMs === "number";
  }, TAKEOVER_MS_MAX);
  return { takenMs, firstApplyMs: firstApplyMs ?? Number.NaN };
}
