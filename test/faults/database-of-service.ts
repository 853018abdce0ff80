import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { findServer } from "../../src/platform/db/embedded/postmaster.ts";

/** PostgreSQL's data directory under a DATA_DIR: as root it may lie elsewhere, and a file says where. */
export async function clusterOf(dataDir: string): Promise<string> {
  const pointed = await readFile(join(dataDir, "postgres-location"), "utf8").catch(() => dataDir);
  return join(pointed.trim(), "postgres");
}

/** Looks into the embedded database beside the service, on a connection that is closed again. */
export async function withDatabaseOf<Result>(
  dataDir: string,
  look: (pool: pg.Pool) => Promise<Result>,
): Promise<Result> {
  return await withConnectionOf(dataDir, "bellhop", look);
}

/** Which checkpointer PostgreSQL has: another one after each crash, whether or not the postmaster lived on. */
export async function lifeOfDatabase(dataDir: string): Promise<number> {
  return await withDatabaseOf(dataDir, async (pool) => {
    const { rows } = await pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where backend_type = 'checkpointer'",
    );
    return rows[0]?.pid ?? 0;
  });
}

/** The same as superuser, in a database of its own unless another is named. */
export async function withSuperuserOf<Result>(
  dataDir: string,
  look: (pool: pg.Pool) => Promise<Result>,
  database = "postgres",
): Promise<Result> {
  return await withConnectionOf(dataDir, "postgres", look, database);
}

async function withConnectionOf<Result>(
  dataDir: string,
  user: string,
  look: (pool: pg.Pool) => Promise<Result>,
  database = user,
): Promise<Result> {
  const server = await findServer(await clusterOf(dataDir));
  if (server === undefined) throw new Error(`No PostgreSQL runs in ${dataDir}.`);
  const host = "host" in server.listen ? server.listen.host : server.listen.socketDirectory;
  const file = user === "postgres" ? "postgres-superuser-password" : "postgres-password";
  const password = (await readFile(join(dataDir, file), "utf8")).trim();
  const { port } = server.listen;
  const config = clientConfig({ host, port, user, password, database }, "on");
  const pool = new pg.Pool({ ...config, application_name: LOOKER, max: 1 });
  pool.on("error", () => undefined);
  try {
    return await look(pool);
  } finally {
    await pool.end();
  }
}

/** By which the harness's own connection is distinguished from the service's. */
export const LOOKER = "faults";
