import type pg from "pg";
import { isDistributed } from "../../src/platform/db/distribution.ts";
import { until } from "../support/until.ts";

/** How one takeover went, in milliseconds from the moment of the fault. */
export interface Takeover {
  /** Until every bucket of the node had another owner whose backend lives. */
  readonly takenMs: number;
  /** Until the first batch was applied in one of them by another; undefined when none came for any of them. */
  readonly firstApplyMs: number | undefined;
}

const TAKEOVER_MS_MAX = 60_000;
/** Where no batch of one of the buckets has come by then, none is waited for. */
const QUIET_MS_MAX = 10_000;
/** A statement that was on its way when the node was hit is still carried out. */
const IN_FLIGHT_MS = 100;

/** That the backend of a lease lives: on Citus it is one of the worker that has the bucket. */
export async function leaseIsHeld(pool: pg.Pool): Promise<string> {
  return (await isDistributed(pool))
    ? "bellhop.is_session(lease.backend_pid, lease.backend_start)"
    : "(lease.backend_pid, lease.backend_start) in (select pid, backend_start from pg_stat_activity)";
}

/** The buckets whose leases name the process, as of now. */
export async function bucketsOf(pool: pg.Pool, pid: number): Promise<readonly number[]> {
  const { rows } = await pool.query<{ bucket: number }>(
    `select lease.bucket from bellhop.bucket_lease lease
    where ${await leaseIsHeld(pool)} and lease.owner like '%/' || $1::integer || '/%'`,
    [pid],
  );
  return rows.map(({ bucket }) => bucket);
}

/** Hits the node of this process and waits until others have what it had. Traffic has to go on meanwhile. */
export async function watchTakeover(pool: pg.Pool, pid: number, hit: () => unknown): Promise<Takeover> {
  const buckets = await bucketsOf(pool, pid);
  const held = await leaseIsHeld(pool);
  const clock = await pool.query<{ at: string }>("select clock_timestamp()::text as at");
  const hitAt = performance.now();
  await hit();
  await until(async () => {
    const { rows } = await pool.query<{ taken: number }>(
      `select count(*)::integer as taken from bellhop.bucket_lease lease
      where ${held} and lease.bucket = any ($1::smallint[]) and lease.owner not like '%/' || $2::integer || '/%'`,
      [buckets, pid],
    );
    return rows[0]?.taken === buckets.length;
  }, TAKEOVER_MS_MAX);
  const takenMs = performance.now() - hitAt;
  return { takenMs, firstApplyMs: await firstApplyAfter(pool, buckets, clock.rows[0]?.at ?? "") };
}

/** How long after `at` something was applied in one of these buckets. Throws when it is not, though there is something. */
async function firstApplyAfter(
  pool: pg.Pool,
  buckets: readonly number[],
  at: string,
): Promise<number | undefined> {
  let found: { ms: number | null; accepted: number; waiting: number } | undefined;
  const startedAt = performance.now();
  await until(async () => {
    const { rows } = await pool.query<NonNullable<typeof found>>(
      `select
        (extract(epoch from min(outcome.applied_at) - $2::timestamptz) * 1000)::float8 as ms,
        count(*) filter (where log.received_at > $2::timestamptz)::integer as accepted,
        count(*) filter (where outcome.bucket is null)::integer as waiting
      from bellhop.accept_log log
      left join bellhop.request_outcome outcome using (bucket, request_id)
      where bucket = any ($1::smallint[])
        and (outcome.applied_at is null or outcome.applied_at > $2::timestamptz + make_interval(secs => $3))`,
      [buckets, at, IN_FLIGHT_MS / 1000],
    );
    found = rows[0];
    if (typeof found?.ms === "number") return true;
    return found?.accepted === 0 && found.waiting === 0 && performance.now() - startedAt > QUIET_MS_MAX;
  }, TAKEOVER_MS_MAX).catch((cause: unknown) => {
    throw new Error(`Nothing is applied in the buckets ${buckets.join()}: ${JSON.stringify(found)}`, {
      cause,
    });
  });
  return found?.ms ?? undefined;
}
