import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";

const STATEMENTS_SHOWN = 15;

/** A session as the embedded server's superuser, who alone may make the extension and see every statement. */
async function asSuperuser(
  config: pg.ClientConfig,
  dataDir: string,
  use: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const password = (await readFile(join(dataDir, "postgres-password"), "utf8")).trim();
  const client = new pg.Client({ ...config, user: "postgres", password });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}

/** Begins to count what each statement takes; the server has loaded the library (`statements` of ServiceOptions). */
export async function countStatements(config: pg.ClientConfig, dataDir: string): Promise<void> {
  await asSuperuser(config, dataDir, async (client) => {
    await client.query("create extension if not exists pg_stat_statements");
  });
}

/** The statements that took most of PostgreSQL's time, one line each, the bench's own among them. */
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
