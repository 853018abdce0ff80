import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { Semaphore } from "../runtime/semaphore.ts";
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

/** pg parses arrays too, although its type lists only OIDs of scalar types. */
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

/** The synchronous_commit levels that flush a commit to the server's disk. */
export type DurableCommit = "on" | "remote_apply";

/**
 * Settings of every session, whatever the defaults of server and role. default_transaction_read_only is not among them: hosting providers
 * set it when a disk is nearly full.
 */
const SESSION_SETTINGS = [
  "timezone=UTC",
  "datestyle=ISO",
  "default_transaction_isolation=read\\ committed",
  "standard_conforming_strings=on",
  "extra_float_digits=1",
  // `planByKeys` inflates costs, so the server would JIT-compile its plans: reading the cluster view took 1.5 s instead of 1 ms.
  "jit=off",
  // Log writers and appliers set their own timeouts.
  "statement_timeout=0",
  "lock_timeout=0",
  // Bounds the locks of a node that hangs within a transaction. Sessions that work between statements set a longer one.
  "idle_in_transaction_session_timeout=5000",
  // Detects a node that vanished (power, network) in about 30 s instead of the operating system's default of two hours; until then
  // it holds its buckets and log writers. No effect on Unix sockets.
  "tcp_keepalives_idle=10",
  "tcp_keepalives_interval=5",
  "tcp_keepalives_count=4",
  "tcp_user_timeout=30000",
  // A hanging Citus worker accepts connections without responding; the default is 30 s. No effect without Citus.
  "citus.node_connection_timeout=5000",
] as const;

function sessionOptions(synchronousCommit: DurableCommit | undefined): string {
  const settings: string[] = [...SESSION_SETTINGS];
  if (synchronousCommit !== undefined) settings.push(`synchronous_commit=${synchronousCommit}`);
  return settings.map((setting) => `-c ${setting}`).join(" ");
}

/** A connection string, or its parts. */
export type ServerAddress =
  | { readonly connectionString: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    };

/** The cloneable parameters of `clientConfig`, for other threads. */
export interface SessionSource {
  readonly address: ServerAddress;
  readonly synchronousCommit: DurableCommit;
}

/**
 * The pg configuration of a session. Omit `synchronousCommit` only to read the server's own level. Options of the address come first, so
 * ours take precedence.
 */
export function clientConfig(address: ServerAddress, synchronousCommit?: DurableCommit): pg.ClientConfig {
  const shared = {
    types,
    application_name: "bellhop",
    keepAlive: true,
    // Detects a server that dropped the connection during a network failure: the operating system would probe it only after
    // two hours, and a log writer would seem open meanwhile.
    keepAliveInitialDelayMillis: 10_000,
    // Bounds the wait for an unreachable server.
    connectionTimeoutMillis: 10_000,
  };
  const options = sessionOptions(synchronousCommit);
  if (!("connectionString" in address)) return { ...shared, ...address, options };
  return { ...shared, connectionString: withOptions(address.connectionString, options) };
}

/** Server process ids of this process's sessions. */
export const ownProcesses = new Set<number>();

function noteProcess(client: pg.ClientBase): void {
  reportProcess(client, (processId) => {
    ownProcesses.add(processId);
    client.once("end", () => ownProcesses.delete(processId));
  });
}

/** Opens a session with this application_name suffix and runs `begin` on it. The caller ends it. */
export async function openSession(
  config: pg.ClientConfig,
  name: string,
  begin?: (client: pg.Client) => Promise<unknown>,
): Promise<pg.Client> {
  const client = new pg.Client({ ...config, application_name: `bellhop ${name}` });
  // Without a listener a lost connection would end the process. The running statement reports it.
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

/** Runs `work` in a separate session, which ends with it. */
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

/** Interval at which the server checks during a statement whether the client is connected. */
const CLIENT_CHECK_SECONDS = 2;
const INVALID_PARAMETER_VALUE = "22023";

/** Reports the server process id of a connected client, which pg's types omit. */
export function reportProcess(client: pg.ClientBase, onProcess: (processId: number) => void): void {
  const { processID } = client as unknown as { readonly processID: number | null };
  if (processID !== null) onProcess(processID);
}

/** Makes the server cancel a statement whose client has disconnected, which holds buckets and locks. Ignored where it is not supported. */
export async function endWithClient(client: pg.ClientBase): Promise<void> {
  try {
    await client.query(`set client_connection_check_interval = '${CLIENT_CHECK_SECONDS}s'`);
  } catch (error) {
    if (sqlState(error) !== INVALID_PARAMETER_VALUE) throw error;
  }
}

/** Adds options to the address, because pg prefers the address to separate fields. */
function withOptions(connectionString: string, options: string): string {
  const own = /[?&]options=([^&#]*)/.exec(connectionString);
  if (own === null) {
    return `${connectionString}${connectionString.includes("?") ? "&" : "?"}options=${encodeURIComponent(options)}`;
  }
  const joined = `${decodeURIComponent((own[1] ?? "").replaceAll("+", " "))} ${options}`;
  return connectionString.replace(own[0], `${own[0].slice(0, 1)}options=${encodeURIComponent(joined)}`);
}

/** The configuration for another server of the database, with additional options. */
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

/** Reports slow statements. */
export interface StatementWatch {
  /** Threshold. */
  readonly slowMs: number;
  /** Called after a slow statement or error. `statement`: the name of its file, or its first words; never its parameters or results. */
  slow(statement: string, durationMs: number): void;
}

type Query = (...parameters: unknown[]) => unknown;

/** A statement that drives pg's client directly, such as `CopyIn`. `query` returns before it has `ended`. */
interface Driven {
  readonly name?: string;
  readonly ended: Promise<unknown>;
  submit: unknown;
  callback: (error?: unknown) => void;
}

const WORDS_SHOWN = 2;

/** The name of a statement for the log, without its shard suffix. */
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

/** Called when a statement ends; returns the error for its caller. */
type Over = (error: unknown) => unknown;

/** Calls `begin` before each statement of a connection. It may throw to refuse the statement, or return a function to call at its end. */
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

/** Measures every statement of a connection, and adds its time to the current request's waits. */
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

/** Adds the time of waiting for a pool connection to the current request's waits. */
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

/** Logs and counts the statements of a thread that take `slowMs` or longer; 0: disabled. */
export function logSlowStatements(slowMs: number, log: Logger, metrics: Metrics): StatementWatch {
  return {
    slowMs: slowMs === 0 ? Number.POSITIVE_INFINITY : slowMs,
    slow(statement, durationMs) {
      metrics.slowStatements.inc({ statement });
      log.warn({ statement, ms: Math.round(durationMs * 10) / 10 }, "slow statement");
    },
  };
}

/** If a statement has not ended this long after its cancellation, the connection is closed. */
const CANCEL_MS_MAX = 500;

/** Members that pg's types omit. */
interface Connected {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: {
    readonly stream: { destroy(): void };
    startup: () => void;
    cancel(processId: number, secretKey: number): void;
  };
}

/** The signal of the current `readFor`. */
const current = new AsyncLocalStorage<AbortSignal | undefined>();

/** Runs a read-only operation that the signal aborts, with its reason, by cancelling the running statement on the server. */
export function readFor<Result>(signal: AbortSignal, read: () => Result): Result {
  return current.run(signal, read);
}

/** Runs work within `readFor` that its signal does not abort. */
export function apartFromReader<Result>(work: () => Result): Result {
  return current.run(undefined, work);
}

/** Sends a cancel request for the running statement of a client, on a separate connection as the protocol requires. */
async function cancelStatement(client: pg.ClientBase, config: pg.ClientConfig): Promise<void> {
  const { processID, secretKey } = client as unknown as Connected;
  const asking = new pg.Client({ ...config, connectionTimeoutMillis: CANCEL_MS_MAX });
  const { connection } = asking as unknown as Connected;
  connection.startup = () => connection.cancel(processID, secretKey);
  asking.on("error", () => undefined);
  // The server closes the connection without an answer.
  await asking.connect().catch(() => undefined);
}

/**
 * Makes the statements of a pool connection abortable by `readFor`. After a cancellation the connection must be closed. Cancellations of a
 * pool wait for each other, since each is a connection and a server process: those of a burst would hold up all other work.
 */
function heedReaders(client: pg.ClientBase, config: pg.ClientConfig, cancelling: Semaphore): void {
  wrapStatements(client, () => {
    const signal = current.getStore();
    if (signal === undefined) return undefined;
    signal.throwIfAborted();
    let leaving: NodeJS.Timeout | undefined;
    let answered = false;
    const leave = () => {
      void cancelling.run(async () => {
        if (!answered) await cancelStatement(client, config);
      });
      leaving = setTimeout(() => {
        leaving = undefined;
        (client as unknown as Connected).connection.stream.destroy();
      }, CANCEL_MS_MAX);
    };
    signal.addEventListener("abort", leave, { once: true });
    return (error) => {
      signal.removeEventListener("abort", leave);
      // After the connection was closed here, the server may still run the statement.
      answered = leaving !== undefined;
      clearTimeout(leaving);
      return signal.aborted ? signal.reason : error;
    };
  });
}

/**
 * Lets a pool open one connection at a time. Each is a new server process and, with SCRAM, thousands of hashes; a burst of requests would
 * take these from all other work at once.
 */
function openInTurn(pool: pg.Pool, size: number): void {
  let connected = 0;
  const allowNext = () => {
    pool.options.max = Math.min(size, connected + 1);
  };
  const openNext = () => {
    if (pool.ending || pool.waitingCount === 0 || pool.totalCount >= pool.options.max) return;
    pool.connect().then(
      (client) => client.release(),
      () => undefined,
    );
  };
  allowNext();
  pool.on("connect", () => {
    connected++;
    allowNext();
    apartFromReader(() => setImmediate(openNext));
  });
  pool.on("remove", () => {
    connected--;
    allowNext();
  });
}

/**
 * Timeout of pool statements, after which the connection is closed. On a connection that the network has dropped, TCP would retransmit for
 * 15 minutes, during which the requests of a thread wait for the refresh of clients and keys.
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
  openInTurn(pool, size);
  askByPromise(pool);
  const cancelling = new Semaphore(1, Number.POSITIVE_INFINITY);
  const idle = new Set<pg.PoolClient>();
  // Sessions may outlive an ended pool briefly, while a command stops the server that it started.
  pool.on("error", (error) => {
    if (!pool.ending) log.warn({ err: error }, "an idle database connection was lost");
  });
  // pg-pool removes its listener while a connection is in use, and an unhandled error event would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("connect", (client) => heedReaders(client, config, cancelling));
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
      // Otherwise a reachable server would continue the statement.
      void cancelStatement(client, config);
      // Idle connections are probably dead too; each would cost a request the same wait.
      for (const other of idle) (other as unknown as Connected).connection.stream.destroy();
    }
  });
  return pool;
}

/** More connections than one client may use at once (`PartnerInsightContext.querySemaphores`). */
export const QUESTION_CONNECTIONS = 3;

/**
 * A small pool for a thread's insight queries, separate from accepting, applying and reading. The server enforces a statement timeout,
 * even if the node is gone. `connected` receives the server process id of each session.
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

/** Makes `pool.query` use promises: with callbacks, it would run in the async context of the connection's last user. */
function askByPromise(pool: pg.Pool): void {
  (pool as unknown as { query: Query }).query = async (...parameters) => {
    const client = await pool.connect();
    let failure: Error | boolean = true;
    try {
      const result = await (client.query as Query)(...parameters);
      if (isDriven(parameters[0])) await parameters[0].ended;
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
