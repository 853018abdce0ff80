import pg from "pg";
import type { Logger } from "../telemetry/log.ts";
import { cancelStatement, heedReaders } from "./readers.ts";
import { countWaits, type StatementWatch, watchStatements } from "./watch-statements.ts";

/**
 * A statement of a pool that is not answered within this time fails, and its connection is given up. A network that has forgotten
 * a connection says so to nobody, and the operating system sends again what was asked for a quarter of an hour; all
 * that while every request of a thread would wait for the one that asks for changes of clients and keys. Far more than
 * any page takes.
 */
export const POOL_ANSWER_MS_MAX = 10_000;

/** pg gives it no code. */
const NOT_ANSWERED = "Query read timeout";

/** What pg's types leave out. */
interface Connected {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * A pool of sessions. A connection may be lost at any time: an idle one is replaced by the next statement; one that is
 * taken out fails the statements of whoever has it. `answerMsMax`: how long a statement may take; by default as long as it likes.
 * `watch` hears of slow ones.
 */
export function createPool(
  config: pg.ClientConfig,
  log: Logger,
  size: number,
  answerMsMax?: number,
  watch?: StatementWatch,
): pg.Pool {
  const bound = answerMsMax === undefined ? {} : { query_timeout: answerMsMax };
  const pool = new pg.Pool({ ...config, ...bound, max: size, idleTimeoutMillis: 30_000 });
  askByPromise(pool);
  const idle = new Set<pg.PoolClient>();
  // Sessions of a pool that is being ended may outlive it by a moment, in which a command stops the server that it had started.
  pool.on("error", (error) => {
    if (!pool.ending) log.warn({ err: error }, "an idle database connection was lost");
  });
  // pg's pool takes its own listener off a connection while somebody has it, and an error that nobody listens for ends
  // the process: a PostgreSQL killed during a transaction did.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("connect", (client) => heedReaders(client, config));
  if (watch !== undefined) {
    pool.on("connect", (client) => watchStatements(client, watch));
    countWaits(pool);
  }
  pool.on("acquire", (client) => idle.delete(client));
  pool.on("remove", (client) => idle.delete(client));
  pool.on("release", (error, client) => {
    if (!error) idle.add(client);
    else if (error instanceof Error && error.message === NOT_ANSWERED) {
      // A server that is there goes on with it otherwise, for nobody.
      void cancelStatement(client, config);
      // What was forgotten with it would be found out one by one, each by a request that waits as long.
      for (const other of idle) (other as unknown as Connected).connection.stream.destroy();
    }
  });
  return pool;
}

/** More than one client has questions at once (`QUESTIONS_AT_ONCE`), so that the others have a connection, too. */
export const QUESTION_CONNECTIONS = 3;

/**
 * The pool of a thread's questions: few connections, which no acceptance, appliers or reads wait for. The server ends a statement
 * that nobody stops in time, also where the node that asked is gone.
 */
export function createQuestionPool(config: pg.ClientConfig, log: Logger, watch: StatementWatch): pg.Pool {
  const pool = createPool(config, log, QUESTION_CONNECTIONS, POOL_ANSWER_MS_MAX, watch);
  pool.on("connect", (client) => {
    client.query(`set statement_timeout = ${POOL_ANSWER_MS_MAX}`).catch(() => undefined);
  });
  return pool;
}

type Query = (...parameters: unknown[]) => unknown;

/** Has what is asked of the pool itself asked by promise: by callback it would be asked in the name of whoever released the connection. */
function askByPromise(pool: pg.Pool): void {
  (pool as unknown as { query: Query }).query = async (...parameters) => {
    const client = await pool.connect();
    let failure: Error | boolean = true;
    try {
      const result = await (client.query as Query)(...parameters);
      failure = false;
      return result;
    } catch (error) {
      if (error instanceof Error) failure = error;
      throw error;
    } finally {
      client.release(failure);
    }
  };
}
