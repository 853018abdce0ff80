import type pg from "pg";
import { asSuperuser } from "./as-superuser.ts";

const STATEMENTS_SHOWN = 15;

/** Starts counting statement times; the server must have loaded the library (`statements` of ServiceOptions). */
export async function countStatements(config: pg.ClientConfig, dataDir: string): Promise<void> {
  await asSuperuser(config, dataDir, async (client) => {
    await client.query("create extension if not exists pg_stat_statements");
  });
}

/** The statements with the largest total times, one per line, including the bench's own. */
export async function statementTimes(config: pg.ClientConfig, dataDir: string): Promise<string[]> {
  const found: string[] = [];
  await asSuperuser(config, dataDir, async (client) => {
    const { rows } = await client.query<{ ms: number; calls: number; rows: number; text: string }>(
      `select round(total_exec_time) as ms, calls, rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) as text
       from pg_stat_statements order by total_exec_time desc limit ${STATEMENTS_SHOWN}`,
    );
    for (const { ms, calls, rows: count, text } of rows) {
      found.push(
        `${String(ms).padStart(8)} ms ${String(calls).padStart(8)} calls ${String(count).padStart(8)} rows  ${text}`,
      );
    }
  });
  return found;
}
