import pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import type { Logger } from "../observe/log.ts";
import { clientConfig, type DurableCommit, type ServerAddress } from "./connection.ts";

/** The database cannot be used as it is; the message says why and what to do, in one line. */
export class UnusableDatabaseError extends OperatorError {}

const SERVER_VERSION_MIN = 150_000;

/** Long enough for a slow network; a pool of one server connection would otherwise hang the probe. */
const PROBE_TIMEOUT_MS = 5_000;

const POOLER =
  "DATABASE_URL leads through a transaction pooler, which moves a session between servers and loses locks: name PostgreSQL itself, or a pool in session mode.";

/**
 * Checks what every guarantee rests on: PostgreSQL 15 or newer, a primary, UTF-8, fsync and full_page_writes on
 * (unless `allowUnsafeDurability`), sessions that stay on one server. Returns the synchronous_commit that sessions
 * take: `on`, or the server's own `remote_apply`, which waits for more. Throws UnusableDatabaseError.
 */
export async function checkServer(
  address: ServerAddress,
  allowUnsafeDurability: boolean,
  log: Logger,
): Promise<DurableCommit> {
  const level = await withClient(clientConfig(address), async (client) => {
    const { rows } = await client.query<ServerState>(SERVER_STATE);
    if (rows[0] === undefined) throw new UnusableDatabaseError("The database does not describe itself.");
    return checkState(rows[0], allowUnsafeDurability, log);
  });
  await refusePooler(clientConfig(address, level), level);
  return level;
}

interface ServerState {
  version: number;
  version_text: string;
  encoding: string;
  fsync: string;
  full_page_writes: string;
  synchronous_commit: string;
  standby: boolean;
}

const SERVER_STATE = `
  select current_setting('server_version_num')::int as version,
         current_setting('server_version') as version_text,
         current_setting('server_encoding') as encoding,
         current_setting('fsync') as fsync,
         current_setting('full_page_writes') as full_page_writes,
         current_setting('synchronous_commit') as synchronous_commit,
         pg_is_in_recovery() as standby`;

function checkState(state: ServerState, allowUnsafeDurability: boolean, log: Logger): DurableCommit {
  if (state.version < SERVER_VERSION_MIN) {
    throw new UnusableDatabaseError(
      `The database is PostgreSQL ${state.version_text}; 15 or newer is needed.`,
    );
  }
  if (state.standby)
    throw new UnusableDatabaseError("The database is a read-only standby: name the primary.");
  if (state.encoding !== "UTF8")
    throw new UnusableDatabaseError(`The database's encoding is ${state.encoding}; UTF8 is needed.`);
  const unsafe = (["fsync", "full_page_writes"] as const).filter((name) => state[name] !== "on");
  if (unsafe.length > 0) {
    const names = unsafe.join(" and ");
    if (!allowUnsafeDurability) {
      throw new UnusableDatabaseError(
        `The database has ${names} off, so an accepted batch could be lost: switch it on, or set ALLOW_UNSAFE_DURABILITY=yes if its storage is durable by itself.`,
      );
    }
    log.warn({ unsafe }, "the database's durability settings are off, by ALLOW_UNSAFE_DURABILITY");
  }
  return state.synchronous_commit === "remote_apply" ? "remote_apply" : "on";
}

/**
 * A transaction pooler gives a server to whoever begins a transaction. So while one session is open and idle, a second
 * that begins one gets the first's server, or the first is moved to another; behind none of ours does either happen.
 */
async function refusePooler(config: pg.ClientConfig, level: DurableCommit): Promise<void> {
  const probe = { ...config, query_timeout: PROBE_TIMEOUT_MS };
  await withClient(probe, async (first) =>
    withClient(probe, async (second) => {
      const before = await backendOf(first);
      if (before.level !== level) throw new UnusableDatabaseError(POOLER);
      await second.query("begin");
      const other = await backendOf(second);
      const after = await backendOf(first);
      if (before.pid === other.pid || before.pid !== after.pid) throw new UnusableDatabaseError(POOLER);
      await second.query("rollback");
    }),
  );
}

async function backendOf(client: pg.Client): Promise<{ pid: number; level: string }> {
  const { rows } = await client.query<{ pid: number; level: string }>(
    "select pg_backend_pid() as pid, current_setting('synchronous_commit') as level",
  );
  if (rows[0] === undefined) throw new UnusableDatabaseError(POOLER);
  return rows[0];
}

async function withClient<Result>(
  config: pg.ClientConfig,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(config);
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    throw explained(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function explained(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof UnusableDatabaseError) return error;
  // pgbouncer refuses start-up options that it does not know; a pool of one server connection answers the probe never.
  if (/unsupported startup parameter|Query read timeout/i.test(error.message)) {
    return new UnusableDatabaseError(POOLER, { cause: error });
  }
  return error;
}
