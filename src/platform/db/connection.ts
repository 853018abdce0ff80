import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { currentWaits, type Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { sqlState } from "./database-errors.ts";

/**
 * How PostgreSQL's values come to TypeScript, on every connection of the service:
 * - `date` and `date[]` as text `YYYY-MM-DD`: pg's default makes a Date at local midnight, and dates here never take
 *   part in time zone arithmetic.
 * - `bigint` as number; a value beyond 2^53 - 1 throws instead of being rounded (no column of ours comes near).
 * - `timestamptz` as Date (pg's default): it has milliseconds only, so a statement that compares or returns a source
 *   time, which has microseconds, selects it as text or as microseconds since 1970 (`extract(epoch …) * 1000000`).
 * - `numeric` as text (pg's default): decimals never pass through binary floating point.
 */
const OIDS = { int8: 20, int8Array: 1016, date: 1082, dateArray: 1182 } as const;

/** pg reads arrays too, though the type of its oids lists scalar types only. */
const TEXT_ARRAY: number = 1009;
const parseTextArray = pg.types.getTypeParser(TEXT_ARRAY) as (text: string) => (string | null)[];

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError(`The bigint ${text} does not fit a JavaScript number.`);
  return value;
}

const parsers = new Map<number, (text: string) => unknown>([
  [OIDS.int8, parseInt8],
  [OIDS.int8Array, (text) => parseTextArray(text).map((item) => (item === null ? null : parseInt8(item)))],
  [OIDS.date, (text) => text],
  [OIDS.dateArray, parseTextArray],
]);

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format !== "binary" && parsers.get(oid)) || pg.types.getTypeParser(oid, format as "text"),
};

/** The synchronous_commit levels under which a commit that was answered is on this server's disk. */
export type DurableCommit = "on" | "remote_apply";

/**
 * What every session of the service sets from its birth, whatever the server's or the role's defaults are. A read-only
 * default is left alone: hosts switch it on when a disk is nearly full.
 */
const SESSION_SETTINGS = [
  "timezone=UTC",
  "datestyle=ISO",
  "default_transaction_isolation=read\\ committed",
  "standard_conforming_strings=on",
  "extra_float_digits=1",
  // Costs keep an applier's plans off scans (`planByKeys`). The server would compile such costly plans, a second each:
  // reading the cluster view took 1.5 s instead of 1 ms.
  "jit=off",
  // Bounds meant for other programs: what needs one here (log writers, appliers) sets its own.
  "statement_timeout=0",
  "lock_timeout=0",
  // A node that hangs in the middle of a transaction holds what it has locked (the birth of log writers, a client, a new
  // property) from every other. What works between its statements sets a longer one (`openStateSession`).
  "idle_in_transaction_session_timeout=5000",
  // A node that vanished without a word (power, network) holds its buckets and log writers until the server has noticed, which
  // by the defaults of an operating system takes two hours: about half a minute here. No effect on Unix sockets.
  "tcp_keepalives_idle=10",
  "tcp_keepalives_interval=5",
  "tcp_keepalives_count=4",
  "tcp_user_timeout=30000",
  // A worker of Citus that hangs lets connections in and says nothing: a coordinator would wait 30 s for it. Elsewhere it has no effect.
  "citus.node_connection_timeout=5000",
] as const;

function sessionOptions(synchronousCommit: DurableCommit | undefined): string {
  const settings: string[] = [...SESSION_SETTINGS];
  if (synchronousCommit !== undefined) settings.push(`synchronous_commit=${synchronousCommit}`);
  return settings.map((setting) => `-c ${setting}`).join(" ");
}

/** How to reach a server: an address, or the parts of one. */
export type ServerAddress =
  | { readonly connectionString: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    };

/** What `clientConfig` is made of, for a thread that makes its own. */
export interface SessionSource {
  readonly address: ServerAddress;
  readonly synchronousCommit: DurableCommit;
}

/**
 * The pg configuration of a session of the service. `synchronousCommit` is left out only while the server's own level
 * is still being asked for (`src/operations/doctor/server-checks.ts`). Options that the address itself carries come first, so ours win.
 */
export function clientConfig(address: ServerAddress, synchronousCommit?: DurableCommit): pg.ClientConfig {
  const shared = {
    types,
    application_name: "bellhop",
    keepAlive: true,
    // A server that gave this client up while the network was away cannot tell it so, and the operating system would ask it
    // after two hours: until then a log writer seems open, and an applier waits for its answer (seeds 524 and others of
    // test/simulation). Asked after 10 s of silence, then each second, ten times.
    keepAliveInitialDelayMillis: 10_000,
    // A server that is down refuses at once; this bounds one that is unreachable.
    connectionTimeoutMillis: 10_000,
  };
  const options = sessionOptions(synchronousCommit);
  if (!("connectionString" in address)) return { ...shared, ...address, options };
  return { ...shared, connectionString: withOptions(address.connectionString, options) };
}

/** The server's processes for the sessions of this one. */
export const ownProcesses = new Set<number>();

function noteProcess(client: pg.ClientBase): void {
  reportProcess(client, (processId) => {
    ownProcesses.add(processId);
    client.once("end", () => ownProcesses.delete(processId));
  });
}

/** A session under this name, which the caller ends once `begin` is done with it. */
export async function openSession(
  config: pg.ClientConfig,
  name: string,
  begin?: (client: pg.Client) => Promise<unknown>,
): Promise<pg.Client> {
  const client = new pg.Client({ ...config, application_name: `bellhop ${name}` });
  // Without a listener a lost connection would end the process; the statement under way reports it.
  client.on("error", () => undefined);
  try {
    await client.connect();
    noteProcess(client);
    await begin?.(client);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** Runs `work` in a session of its own, which shows under this name and ends with it. */
export async function withSession<Result>(
  config: pg.ClientConfig,
  name: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await openSession(config, name);
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** How often the server looks during a statement whether its client is still there. */
const CLIENT_CHECK_SECONDS = 2;
const INVALID_PARAMETER_VALUE = "22023";

/** Reports the number of the server's process that serves a connected client: what pg's types leave out. */
export function reportProcess(client: pg.ClientBase, onProcess: (processId: number) => void): void {
  const { processID } = client as unknown as { readonly processID: number | null };
  if (processID !== null) onProcess(processID);
}

/**
 * Has the server give up a statement whose client is gone, instead of finding out at its end: until then the session holds
 * buckets, keys and locks. Servers on systems where that cannot be seen refuse the setting, and go without.
 */
export async function endWithClient(client: pg.ClientBase): Promise<void> {
  try {
    await client.query(`set client_connection_check_interval = '${CLIENT_CHECK_SECONDS}s'`);
  } catch (error) {
    if (sqlState(error) !== INVALID_PARAMETER_VALUE) throw error;
  }
}

/** pg lets the address win over separate fields, so the options have to travel inside it. */
function withOptions(connectionString: string, options: string): string {
  const own = /[?&]options=([^&#]*)/.exec(connectionString);
  if (own === null) {
    return `${connectionString}${connectionString.includes("?") ? "&" : "?"}options=${encodeURIComponent(options)}`;
  }
  const joined = `${decodeURIComponent((own[1] ?? "").replaceAll("+", " "))} ${options}`;
  return connectionString.replace(own[0], `${own[0].slice(0, 1)}options=${encodeURIComponent(joined)}`);
}

/** The same sessions on another server of the database, with these options more. */
export function atServer(
  { connectionString, ...config }: pg.ClientConfig,
  { host, port, options }: { readonly host: string; readonly port: number; readonly options: string },
): pg.ClientConfig {
  if (connectionString === undefined)
    return { ...config, host, port, options: `${config.options ?? ""} ${options}` };
  const address = new URL(connectionString);
  address.hostname = host;
  address.port = String(port);
  for (const overriding of ["host", "port"]) address.searchParams.delete(overriding);
  return { ...config, connectionString: withOptions(address.href, options) };
}

/** Hears of statements that took long. */
export interface StatementWatch {
  /** From so many milliseconds on. */
  readonly slowMs: number;
  /**
   * A statement took `durationMs` from being asked to its answer, an error's too. `statement`: the name of its file, or its
   * first words; never what was asked or answered.
   */
  slow(statement: string, durationMs: number): void;
}

type Query = (...parameters: unknown[]) => unknown;

/** A statement that drives pg's client directly, such as `CopyIn`. */
interface Driven {
  readonly name?: string;
  submit: unknown;
  callback: (error?: unknown) => void;
}

const WORDS_SHOWN = 2;

/** What a statement may be called in a log: by its name, without what says for which shards it was prepared. */
function nameOf(statement: unknown): string {
  const { name, text } = (typeof statement === "string" ? { text: statement } : statement) as {
    readonly name?: string;
    readonly text?: string;
  };
  return name?.split("@", 1)[0] ?? (text ?? "").trim().split(/\s+/, WORDS_SHOWN).join(" ").toLowerCase();
}

function isDriven(statement: unknown): statement is Driven {
  return typeof statement === "object" && statement !== null && "submit" in statement;
}

/** Hears how a statement ended; answers the error that its caller gets. */
type Over = (error: unknown) => unknown;

/**
 * Has `begin` hear of every statement of a connection before it is sent, none of which has a callback. What it throws refuses
 * the statement; without an answer the statement is left alone.
 */
function wrapStatements(client: pg.ClientBase, begin: (statement: unknown) => Over | undefined) {
  const wrapped = client as unknown as { query: Query };
  const query = wrapped.query.bind(client);
  wrapped.query = (...parameters) => {
    const [statement] = parameters;
    let over: Over | undefined;
    try {
      over = begin(statement);
    } catch (error) {
      return isDriven(statement) ? statement.callback(error) : Promise.reject(error);
    }
    if (over === undefined) return query(...parameters);
    if (isDriven(statement)) {
      const settle = statement.callback;
      statement.callback = (error) => settle(over(error));
      return query(...parameters);
    }
    const settle = (error: unknown, result?: unknown) => {
      const failure = over(error);
      if (failure !== undefined) throw failure;
      return result;
    };
    return (query(...parameters) as Promise<unknown>).then((result) => settle(undefined, result), settle);
  };
}

/** Takes the time of every statement of a connection, as the database's part of the request it is asked for, too. */
export function watchStatements(client: pg.ClientBase, watch: StatementWatch): void {
  wrapStatements(client, (statement) => {
    const waits = currentWaits();
    const startedAt = performance.now();
    return (error) => {
      const durationMs = performance.now() - startedAt;
      if (durationMs >= watch.slowMs) watch.slow(nameOf(statement), durationMs);
      if (waits !== undefined) waits.database += durationMs;
      return error;
    };
  });
}

/** Has a request's wait for a connection of a pool counted. */
function countWaits(pool: pg.Pool): void {
  const counted = pool as unknown as { connect: Query };
  const connect = counted.connect.bind(pool);
  counted.connect = () => {
    const waits = currentWaits();
    if (waits === undefined) return connect();
    const startedAt = performance.now();
    const asked = connect() as Promise<unknown>;
    const count = () => {
      waits.database += performance.now() - startedAt;
    };
    asked.then(count, count);
    return asked;
  };
}

/** Logs, and counts, which statements of a thread took `slowMs` or longer; 0: none does. */
export function logSlowStatements(slowMs: number, log: Logger, metrics: Metrics): StatementWatch {
  return {
    slowMs: slowMs === 0 ? Number.POSITIVE_INFINITY : slowMs,
    slow(statement, durationMs) {
      metrics.slowStatements.inc({ statement });
      log.warn({ statement, ms: Math.round(durationMs * 10) / 10 }, "slow statement");
    },
  };
}

/** A server that has not ended a statement this long after it was asked to is left: it ends the session. */
const CANCEL_MS_MAX = 500;

/** What pg's types leave out. */
interface Connected {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: {
    readonly stream: { destroy(): void };
    startup: () => void;
    cancel(processId: number, secretKey: number): void;
  };
}

/** Of whatever is read at the moment: aborts when nobody waits for it any more. */
const current = new AsyncLocalStorage<AbortSignal | undefined>();

/**
 * Reads for somebody who may leave: once the signal aborts, the statement that runs is cancelled on the server, no other begins, and
 * the reading fails with the signal's reason. Only for what changes nothing.
 */
export function readFor<Result>(signal: AbortSignal, read: () => Result): Result {
  return current.run(signal, read);
}

/** Does something that is to be finished whether or not its reader leaves. */
export function apartFromReader<Result>(work: () => Result): Result {
  return current.run(undefined, work);
}

/** Asks the server to end the statement that a client has running, as its own protocol has it: on a connection of its own. */
async function cancelStatement(client: pg.ClientBase, config: pg.ClientConfig): Promise<void> {
  const { processID, secretKey } = client as unknown as Connected;
  const asking = new pg.Client({ ...config, connectionTimeoutMillis: CANCEL_MS_MAX });
  const { connection } = asking as unknown as Connected;
  connection.startup = () => connection.cancel(processID, secretKey);
  asking.on("error", () => undefined);
  // The server closes the connection without an answer.
  await asking.connect().catch(() => undefined);
}

/** Has the statements of a pool's connection heed the reader that they are asked for. A connection with one that was cancelled is to be given up. */
function heedReaders(client: pg.ClientBase, config: pg.ClientConfig): void {
  const stop = () => {
    void cancelStatement(client, config);
    return setTimeout(() => (client as unknown as Connected).connection.stream.destroy(), CANCEL_MS_MAX);
  };
  wrapStatements(client, () => {
    const signal = current.getStore();
    if (signal === undefined) return undefined;
    signal.throwIfAborted();
    let leaving: NodeJS.Timeout | undefined;
    const leave = () => {
      leaving = stop();
    };
    signal.addEventListener("abort", leave, { once: true });
    return (error) => {
      signal.removeEventListener("abort", leave);
      clearTimeout(leaving);
      return signal.aborted ? signal.reason : error;
    };
  });
}

/**
 * A statement of a pool that is not answered within this time fails, and its connection is given up. A network that has forgotten
 * a connection says so to nobody, and the operating system sends again what was asked for a quarter of an hour; all
 * that while every request of a thread would wait for the one that asks for changes of clients and keys. Far more than
 * any page takes.
 */
export const POOL_ANSWER_MS_MAX = 10_000;

/** pg gives it no code. */
const NOT_ANSWERED = "Query read timeout";

/**
 * A pool of sessions. A lost idle connection is replaced by the next statement; a lost connection in use fails its
 * statements. `answerMsMax` limits a statement's time (default: none); `watch` receives slow ones.
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
  pool.on("connect", noteProcess);
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

/** More than one client has questions at once (`HttpContext.questionTurns`), so that the others have a connection, too. */
export const QUESTION_CONNECTIONS = 3;

/**
 * The pool of a thread's questions: few connections, which no acceptance, appliers or reads wait for. The server ends a statement
 * that nobody stops in time, also where the node that asked is gone. `connected` hears of each session's process.
 */
export function createQuestionPool(
  config: pg.ClientConfig,
  log: Logger,
  watch: StatementWatch,
  connected: (processId: number) => void,
): pg.Pool {
  const pool = createPool(config, log, QUESTION_CONNECTIONS, POOL_ANSWER_MS_MAX, watch);
  pool.on("connect", (client) => {
    reportProcess(client, connected);
    client.query(`set statement_timeout = ${POOL_ANSWER_MS_MAX}`).catch(() => undefined);
  });
  return pool;
}

/** Makes `pool.query` use promises: with callbacks, a query would run in the context of the connection's last user. */
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
