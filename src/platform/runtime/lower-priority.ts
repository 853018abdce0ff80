import { writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import type pg from "pg";
import { Repeat } from "./repeat.ts";

/** The nice value of applying and of insight queries. Under full load, a thread at 10 still gets about a tenth of the time of one at 0. */
export const LOWER_PRIORITY_NICE = 10;

/**
 * Lowers the priority of the calling thread to LOWER_PRIORITY_NICE, if it is higher and the system permits it. Linux only: elsewhere
 * `setpriority(0)` affects the whole process.
 */
export function lowerPriority(): void {
  lower(0);
}

/**
 * Lowers the priority of another process on this machine, a session of an embedded PostgreSQL. With `sched_autogroup_enabled` each
 * such session is a scheduling group, whose value counts instead.
 */
export function letLowerPriority(processId: number): void {
  if (lower(processId)) {
    try {
      writeFileSync(`/proc/${processId}/autogroup`, String(LOWER_PRIORITY_NICE));
    } catch {
      // The kernel has no such groups, or denies permission.
    }
  }
}

/** Returns whether the priority is now low enough. */
function lower(processId: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    if (getPriority(processId) < LOWER_PRIORITY_NICE) setPriority(processId, LOWER_PRIORITY_NICE);
    return true;
  } catch {
    return false;
  }
}

/** Shorter queries delay others only briefly. */
const LOOK_MS = 1_000;

/** Sessions without the service's application_name. Parallel workers have the name of their query's session. */
const FIND_OUTSIDERS = `select pid from pg_stat_activity
  where datname = current_database() and backend_type in ('client backend', 'parallel worker')
    and application_name not like 'bellhop%'`;

/**
 * Lowers the priority of other programs' sessions with an embedded PostgreSQL every second until stopped. Not below that of the appliers:
 * a starved query would hold its snapshot for long.
 */
export function letOutsidersLowerPriority(pool: pg.Pool, failed: (error: unknown) => void): Repeat {
  const given = new Set<number>();
  const look = async () => {
    const { rows } = await pool.query<{ pid: number }>(FIND_OUTSIDERS);
    const present = new Set(rows.map(({ pid }) => pid));
    for (const pid of given) if (!present.has(pid)) given.delete(pid);
    for (const pid of present) {
      if (!given.has(pid)) letLowerPriority(pid);
      given.add(pid);
    }
  };
  return new Repeat(look, LOOK_MS, failed);
}
