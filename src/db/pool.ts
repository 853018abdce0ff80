import pg from "pg";
import type { Logger } from "../observe/log.ts";

/**
 * A pool of sessions. A connection may be lost at any time: an idle one is replaced by the next statement; one that is
 * taken out fails the statements of whoever has it.
 */
export function createPool(config: pg.ClientConfig, log: Logger, size: number): pg.Pool {
  const pool = new pg.Pool({ ...config, max: size, idleTimeoutMillis: 30_000 });
  pool.on("error", (error) => log.warn({ err: error }, "an idle database connection was lost"));
  // pg's pool takes its own listener off a connection while somebody has it, and an error that nobody listens for ends
  // the process: a PostgreSQL killed during a transaction did.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}
