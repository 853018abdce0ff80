import type pg from "pg";
import { ownProcesses } from "./connection.ts";

/** A foreign session that blocks one of this process. */
export interface LockHolder {
  readonly program: string;
  readonly processId: number;
}

/** The holder of a lock that a session of this process waits for; undefined if none waits. */
export async function findLockHolder(pool: pg.Pool): Promise<LockHolder | undefined> {
  const { rows } = await pool.query<LockHolder>(
    `select coalesce(nullif(holder.application_name, ''), 'another program') as program, holder.pid as "processId"
    from unnest($1::integer[]) as own(pid), unnest(pg_blocking_pids(own.pid)) as blocking(pid)
    join pg_stat_activity as holder on holder.pid = blocking.pid
    where holder.pid <> all ($1) limit 1`,
    [[...ownProcesses]],
  );
  return rows[0];
}
