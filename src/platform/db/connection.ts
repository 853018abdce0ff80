import pg from "pg";
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
  // An applier's plans are kept off scans by costs (`planByKeys`), which to a server that compiles costly plans are worth a
  // second each: its look around took 1.5 s instead of 1 ms.
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

/** How often the server looks during a statement whether its client is still there. */
const CLIENT_CHECK_SECONDS = 2;
const INVALID_PARAMETER_VALUE = "22023";

/** Tells the number of the server's process that serves a connected client: what pg's types leave out. */
export function tellProcess(client: pg.ClientBase, told: (processId: number) => void): void {
  const { processID } = client as unknown as { readonly processID: number | null };
  if (processID !== null) told(processID);
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
