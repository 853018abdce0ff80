import type pg from "pg";
import { isDistributed } from "../../src/platform/db/distribution.ts";

/** How many statements of this database that are like a pattern (`ilike`) wait for a lock, here or on a worker of Citus. */
export async function waitingForLock(pool: pg.Pool, pattern: string): Promise<number> {
  const here = await pool.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1",
    [pattern],
  );
  if (!(await isDistributed(pool))) return here.rows.length;
  const elsewhere = await pool.query("select 1 from citus_lock_waits where blocked_statement ilike $1", [
    pattern,
  ]);
  return here.rows.length + elsewhere.rows.length;
}
