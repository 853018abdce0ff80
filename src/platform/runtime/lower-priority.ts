import { writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import type pg from "pg";
import { Repeat } from "./repeat.ts";

/**
 * How much lower the priority of applying and of insight questions is, as a nice value. Under full load a thread at 10 gets about a tenth of the
 * time of one at 0, so applying never stops, only slows down.
 */
export const LOWER_PRIORITY_NICE = 10;

/**
 * Lowers the priority of the calling thread, on Linux alone: elsewhere `setpriority` of 0 concerns the whole process. A lower priority
 * stays as it is, and a system that refuses is no fault.
 */
export function lowerPriority(): void {
  lower(0);
}

/**
 * The same of another process on this machine, the session of an embedded PostgreSQL. Every such session is a group of its
 * own where Linux groups processes by terminal session (`sched_autogroup_enabled`), and there the group's value counts.
 */
export function letLowerPriority(processId: number): void {
  if (lower(processId)) {
    try {
      writeFileSync(`/proc/${processId}/autogroup`, String(LOWER_PRIORITY_NICE));
    } catch {
      // The kernel has no such groups, or does not let us.
    }
  }
}

/** Whether it has the wanted value now. */
function lower(processId: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    if (getPriority(processId) < LOWER_PRIORITY_NICE) setPriority(processId, LOWER_PRIORITY_NICE);
    return true;
  } catch {
    return false;
  }
}

/** A question that is answered within it takes from nobody for long. */
const LOOK_MS = 1_000;

/** All sessions of ours are named so. What a question has others compute for it (a parallel worker) bears its name. */
const FIND_OUTSIDERS = `select pid from pg_stat_activity
  where datname = current_database() and backend_type in ('client backend', 'parallel worker')
    and application_name not like 'bellhop%'`;

/**
 * Lowers the priority of other programs' sessions with an embedded PostgreSQL to that of the appliers, each second until stopped. No
 * further: a starved query would hold its snapshot for as long. The process numbers are of this machine.
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
