import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Logger } from "../telemetry/log.ts";
import { clientConfig, openSession, type ServerAddress } from "./connection.ts";
import { type Binaries, findBinaries } from "./embedded/binaries.ts";
import { ensureCluster, ensureServiceRole, isWrongPassword, serviceAddress } from "./embedded/cluster.ts";
import { type FileLock, tryLock, waitForLock } from "./embedded/file-lock.ts";
import {
  EmbeddedPostgresError,
  prepareHome,
  type ServerHome,
  SUPERUSER_PASSWORD_FILE,
} from "./embedded/home.ts";
import {
  endSurvivors,
  findServer,
  type ListenAddress,
  lastWords,
  spawnPostmaster,
  stopServer,
} from "./embedded/postmaster.ts";
import { RecoveryWatch } from "./embedded/recovery-watch.ts";

/** A data directory has at most one `service`. A `command` (the CLI) may run beside it, or alone with a server of its own lifetime. */
export type DatabaseRole = "service" | "command";

export interface EmbeddedPostgres {
  readonly address: ServerAddress;
  /** PostgreSQL's data directory. */
  readonly dataDirectory: string;
  /** Leaves the server; the last one to leave stops it. */
  close(): Promise<void>;
}

/** Of the 10 s from the end of a full disk to ready, recovery needs most, and so does a try that is just failing. */
const RESTART_WAIT_MS_MAX = 2_000;
/** Of a start without a recovery at work: that of the largest write-ahead log takes seconds, and minutes on a slow disk. */
const START_TIMEOUT_MS = 120_000;

/**
 * Starts the PostgreSQL of DATA_DIR, or takes over the one that already runs there: beside a service (for a command),
 * or left behind by one that was killed. Three locks, each freed by its holder's death (embedded/file-lock.ts):
 * `service` is held by the one service; `users` is shared by everybody who uses the server and needed whole to stop
 * it; `start` is held while the server is started or stopped. While a service runs, a server that dies is started
 * again. `first` is run as soon as the locks are taken. Throws EmbeddedPostgresError, in one line, also when another service has
 * the directory. Once `signal` is aborted, a start goes no further: it stops the server, and throws.
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  role: DatabaseRole,
  log: Logger,
  first?: () => Promise<void>,
  signal?: AbortSignal,
): Promise<EmbeddedPostgres> {
  const home = await prepareHome(dataDir);
  const locks = await takeLocks(home, role, signal);
  try {
    await first?.();
    const binaries = await findBinaries(home.user, home.copiesDirectory);
    const server = new SupervisedServer({ home, binaries, log });
    await server.start(signal);
    if (role === "service") await server.watch();
    return {
      address: server.address,
      dataDirectory: home.dataDirectory,
      close: async () => {
        await server.unwatch();
        await leave(home, locks, log);
      },
    };
  } catch (error) {
    await leave(home, locks, log);
    throw error;
  }
}

/** Enough to decide between two simultaneous starts, and for a killed process to be gone. */
const SERVICE_LOCK_WAIT_MS = 500;

interface Locks {
  readonly service: FileLock | undefined;
  readonly user: FileLock;
}

function lockPath(home: ServerHome, name: "service" | "users" | "start"): string {
  return join(home.dataDir, "locks", name);
}

async function takeLocks(home: ServerHome, role: DatabaseRole, signal?: AbortSignal): Promise<Locks> {
  await mkdir(join(home.dataDir, "locks"), { recursive: true, mode: 0o700 });
  const service =
    role === "service"
      ? await waitForLock(lockPath(home, "service"), "exclusive", SERVICE_LOCK_WAIT_MS)
      : undefined;
  if (role === "service" && service === undefined) {
    throw new EmbeddedPostgresError(
      `Another Bellhop is running on ${home.dataDir}: stop it first, or set another DATA_DIR.`,
    );
  }
  try {
    // Only a process that is stopping the server holds the lock exclusively.
    const user = await waitForLock(lockPath(home, "users"), "shared", START_TIMEOUT_MS, signal);
    if (user !== undefined) return { service, user };
    throw new EmbeddedPostgresError(`The database of ${home.dataDir} did not stop in time.`);
  } catch (error) {
    service?.release();
    throw error;
  }
}

/** Stops the server if this process is its last user. */
async function leave(home: ServerHome, locks: Locks, log: Logger): Promise<void> {
  const start = await waitForLock(lockPath(home, "start"), "exclusive", START_TIMEOUT_MS);
  try {
    locks.user.release();
    const alone = start === undefined ? undefined : tryLock(lockPath(home, "users"), "exclusive");
    if (alone === undefined) return;
    await stopServer(home.dataDirectory);
    alone.release();
    log.debug("embedded PostgreSQL stopped");
  } finally {
    start?.release();
    locks.service?.release();
  }
}

class SupervisedServer {
  readonly #closing = new AbortController();
  readonly #parts: ServerParts;
  #listen: ListenAddress | undefined;
  #sentinel: pg.Client | undefined;
  #restarting: Promise<void> | undefined;

  constructor(parts: Omit<ServerParts, "signal">) {
    this.#parts = { ...parts, signal: this.#closing.signal };
  }

  get address(): ServerAddress {
    if (this.#listen === undefined) throw new Error("The embedded server has not been started.");
    return serviceAddress(this.#parts.home, this.#listen);
  }

  /** Brings the server to where it takes connections, one starter at a time. */
  async start(signal = this.#parts.signal): Promise<void> {
    const { home, binaries } = this.#parts;
    const lock = await waitForLock(lockPath(home, "start"), "exclusive", START_TIMEOUT_MS, signal);
    if (lock === undefined)
      throw new EmbeddedPostgresError(`Another start on ${home.dataDir} is taking too long.`);
    try {
      await ensureCluster(home, binaries);
      this.#listen = await bringUp({ ...this.#parts, signal }, this.#listen);
    } finally {
      lock.release();
    }
  }

  /** An idle connection ends the moment its server dies, whichever process started it; the server is then restarted. */
  async watch(): Promise<void> {
    this.#sentinel = await openSession(clientConfig(this.address), "sentinel");
    this.#sentinel.once("end", () => {
      if (!this.#closing.signal.aborted) this.#restarting = this.#restart();
    });
  }

  async unwatch(): Promise<void> {
    this.#closing.abort();
    await this.#sentinel?.end();
    await this.#restarting;
  }

  async #restart(): Promise<void> {
    const { log, signal } = this.#parts;
    log.warn("embedded PostgreSQL stopped; restarting it");
    for (let waitMs = 100; !signal.aborted; waitMs = Math.min(waitMs * 2, RESTART_WAIT_MS_MAX)) {
      try {
        await this.start();
        await this.watch();
        log.info("embedded PostgreSQL was restarted");
        return;
      } catch (error) {
        log.error({ err: error }, "embedded PostgreSQL could not be restarted; retrying");
        await delay(waitMs);
      }
    }
  }
}

interface ServerParts {
  readonly home: ServerHome;
  readonly binaries: Binaries;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Takes over the running server or starts one, and returns its address once it accepts connections. */
async function bringUp(context: ServerParts, before: ListenAddress | undefined): Promise<ListenAddress> {
  const { home, log, signal } = context;
  const recovery = new RecoveryWatch(home.dataDirectory);
  let deadline = performance.now() + START_TIMEOUT_MS;
  let announceAt = performance.now() + 3_000;
  let child: StartedServer | undefined;
  for (;;) {
    signal.throwIfAborted();
    const running = await findServer(home.dataDirectory);
    const answer = running?.ready ? await askForSession(home, running.listen) : "not up";
    if (running !== undefined && answer === "opened") return running.listen;
    // This process holds the start lock, so the process that asked the server to stop is gone.
    if (running?.stopping) await stopServer(home.dataDirectory);
    else if (running !== undefined && answer === "not up") {
      const progress = await recovery.sample();
      if (progress === "works") deadline = performance.now() + START_TIMEOUT_MS;
      if (progress === "stalled") {
        log.warn("PostgreSQL refuses sessions and its recovery hangs; restarting it");
        await stopServer(home.dataDirectory, true);
        child = undefined;
        continue;
      }
    }
    if (child?.exited !== undefined) {
      throw new EmbeddedPostgresError(
        `PostgreSQL did not start on ${home.dataDirectory}: ${await lastWords(home)} (${child.exited}).`,
      );
    }
    if (running === undefined) {
      log.info("starting the embedded PostgreSQL");
      child = await startServer(context, before, deadline);
    }
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL on ${home.dataDirectory} has not been ready for ${START_TIMEOUT_MS / 1000} s.`,
      );
    }
    if (performance.now() > announceAt) {
      log.info("waiting for PostgreSQL to finish its recovery");
      announceAt = Number.POSITIVE_INFINITY;
    }
    await delay(15);
  }
}

interface StartedServer {
  /** How it ended, once it has. */
  exited: string | undefined;
}

async function startServer(
  context: ServerParts,
  before: ListenAddress | undefined,
  deadline: number,
): Promise<StartedServer> {
  const { home, binaries, log } = context;
  const survivors = await endSurvivors(home.dataDirectory);
  if (survivors > 0) log.warn({ survivors }, "ended processes of a killed PostgreSQL");
  const process = await spawnPostmaster(home, binaries, before ?? (await chooseListenAddress(home)));
  const started: StartedServer = { exited: undefined };
  process.once("exit", (code, signal) => {
    started.exited = signal ?? `status ${code}`;
  });
  process.once("error", (error) => {
    started.exited = error.message;
  });
  // Until it has written postmaster.pid, a new server must not be taken for a survivor.
  while (started.exited === undefined && performance.now() < deadline) {
    if ((await findServer(home.dataDirectory)) !== undefined) break;
    await delay(10);
  }
  return started;
}

async function askForSession(
  home: ServerHome,
  listen: ListenAddress,
): Promise<"opened" | "not up" | "no answer"> {
  try {
    await ensureServiceRole(home, listen);
    return "opened";
  } catch (error) {
    const { code } = error as { code?: string };
    if (isWrongPassword(error)) {
      throw new EmbeddedPostgresError(
        `${home.dataDir}/${SUPERUSER_PASSWORD_FILE} is not the superuser's password of ${home.dataDirectory}: restore the file.`,
        { cause: error },
      );
    }
    if (code === "57P03") return "not up";
    // Stopping, or out of connections: temporary, or the server ends.
    if (code === undefined || /^(57P0|53300|ECONN|ENOENT|EPIPE)/.test(code)) return "no answer";
    throw error;
  }
}

/** The kernel's limit on a socket's path, less its end: 104 bytes on macOS, 108 on Linux. */
const SOCKET_PATH_BYTES_MAX = 103;

async function chooseListenAddress(home: ServerHome): Promise<ListenAddress> {
  const port = 5432;
  if (Buffer.byteLength(`${home.dataDirectory}/.s.PGSQL.${port}`) <= SOCKET_PATH_BYTES_MAX) {
    return { socketDirectory: home.dataDirectory, port };
  }
  return { host: "127.0.0.1", port: await freePort() };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
