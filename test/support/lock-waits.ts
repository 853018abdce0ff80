import type pg from "pg";
import { isDistributed } from "../../src/platform/db/distribution.ts";

/** How many statements of this database that are like a pattern (`ilike`) wait for a lock, here or on a worker of Citus. */
export async function waitingForLock(pool: pg.Pool, pattern: string): Promise<number> {
  const here = await pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1",
    [pattern],
  );
  if (!(await isDistributed(pool))) return here.rows.length;
  // It has those that wait here, too, once for each session that they wait for.
  const anywhere = await pool.query<{ pid: number }>(
    "select citus_pid_for_gpid(waiting_gpid) as pid from citus_lock_waits where blocked_statement ilike $1",
    [pattern],
  );
  return new Set([...here.rows, ...anywhere.rows].map(({ pid }) => pid)).size;
}
