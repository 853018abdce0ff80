import type pg from "pg";
import { letLowerPriority } from "./lower-priority.ts";

/** A question that is answered within it takes from nobody for long. */
const LOOK_MS = 1_000;

/** All sessions of ours are named so. What a question has others compute for it (a parallel worker) bears its name. */
const FIND_OUTSIDERS = `select pid from pg_stat_activity
  where datname = current_database() and backend_type in ('client backend', 'parallel worker')
    and application_name not like 'bellhop%'`;

/**
 * Lets the sessions of others with an embedded PostgreSQL (an analyst's questions, a dump) give way as those who apply do, which one
 * long question would else take most of the processor from. No further than those: a question that hardly gets on holds its snapshot
 * for as long. Looked for each second until stopped. Such a database runs on this machine, so the process numbers are of this machine.
 */
export function letOutsidersLowerPriority(pool: pg.Pool, failed: (error: unknown) => void): { stop(): void } {
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
  const timer = setInterval(() => void look().catch(failed), LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
