import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile, readlink, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError, type ServerHome, spawnIdentity } from "./home.ts";

/**
 * The settings of the embedded server: sized for a laptop, with crash recovery in seconds. On the command line they
 * override postgresql.conf and ALTER SYSTEM, so durability stays on. For other settings use DATABASE_URL.
 */
function serverSettings(listen: ListenAddress, clusterName: string): Record<string, string> {
  return {
    ...listenSettings(listen),
    ...DURABILITY,
    ...MEMORY,
    ...WRITE_AHEAD_LOG,
    ...CONNECTIONS,
    ...LOGGING,
    // Stands in every process title, by which survivors are found where there is no /proc.
    cluster_name: clusterName,
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements are short; compiling one costs more than running it.
    jit: "off",
  };
}

export type ListenAddress =
  | { readonly socketDirectory: string; readonly port: number }
  | { readonly host: string; readonly port: number };

function listenSettings(listen: ListenAddress): Record<string, string> {
  if ("host" in listen) {
    return { listen_addresses: listen.host, unix_socket_directories: "", port: String(listen.port) };
  }
  return {
    listen_addresses: "",
    // The data directory itself: only the server's user and root can enter it.
    unix_socket_directories: listen.socketDirectory,
    unix_socket_permissions: "0700",
    port: String(listen.port),
  };
}

const DURABILITY = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  // On macOS the default does not reach through the drive's own cache, so a 202 would not survive a power cut.
  ...(process.platform === "darwin" ? { wal_sync_method: "fsync_writethrough" } : {}),
};

const MEMORY = {
  // Enough for the hot pages of current records and the log's tail; pages are taken from the system only once used.
  shared_buffers: "256MB",
  // The planner's idea of shared buffers plus page cache: a laptop with 8 GB and a browser open.
  effective_cache_size: "1GB",
  // A sort or hash of one apply batch (thousands of narrow rows) fits; a hundred connections at once still do too.
  work_mem: "8MB",
  // Index builds and vacuum are rare here and may take a little more.
  maintenance_work_mem: "128MB",
};

const WRITE_AHEAD_LOG = {
  // Recovery replays at most about this much, and crash to serving has to be within 10 s. Measured on two busy cores:
  // with 1 GB a kill at the worst moment (616 MB to replay) served again after 11 s.
  max_wal_size: "512MB",
  // Files kept for reuse, so that a burst does not pay for creating and zeroing new ones.
  min_wal_size: "256MB",
  // Together with max_wal_size the bound on recovery: a quiet service replays at most five minutes.
  checkpoint_timeout: "5min",
  // Bodies come compressed from Node; compressing full pages again costs CPU of the two cores and saves little.
  wal_compression: "off",
};

const CONNECTIONS = {
  // A node takes some thirty (pools, log writers, appliers), an idle one about 2 MB of memory; one that is not used costs nothing.
  max_connections: "200",
  // A client that was killed during a statement holds its locks no longer than this.
  client_connection_check_interval: "2s",
  // Dead ends of TCP (only where the socket's path was too long for a Unix socket).
  tcp_keepalives_idle: "30",
};

const LOGGING = {
  // Into the data directory, one file a weekday, overwritten after a week: bounded without anybody's help.
  logging_collector: "on",
  log_directory: "log",
  log_filename: "postgresql-%a.log",
  log_truncate_on_rotation: "on",
  log_rotation_age: "1d",
  log_rotation_size: "0",
  log_line_prefix: "%m [%p] ",
  log_checkpoints: "off",
  // Statements, parameters and DETAIL lines quote data: guest names have no place in a log.
  log_min_error_statement: "panic",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  log_error_verbosity: "terse",
};

/** What a running server says of itself in postmaster.pid. */
interface RunningServer {
  readonly pid: number;
  readonly listen: ListenAddress;
  readonly ready: boolean;
  /** It was asked to stop and has not stopped yet. */
  readonly stopping: boolean;
}

/** The server that runs on a data directory, or undefined. A file left by a dead one is not believed. */
export async function findServer(dataDirectory: string): Promise<RunningServer | undefined> {
  const lines = await readFile(join(dataDirectory, "postmaster.pid"), "utf8").then(
    (text) => text.split("\n"),
    () => [],
  );
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0 || !(await isServerProcess(pid, dataDirectory))) return undefined;
  const [socketDirectory, host] = [lines[4]?.trim(), lines[5]?.trim()];
  const listen = socketDirectory ? { socketDirectory, port } : { host: host || "127.0.0.1", port };
  const status = lines[7]?.trim();
  return { pid, listen, ready: status === "ready", stopping: status === "stopping" };
}

/** A process number may be reused: it counts only if that process is PostgreSQL, on this very directory. */
async function isServerProcess(pid: number, dataDirectory: string): Promise<boolean> {
  const directory = await realpath(dataDirectory).catch(() => dataDirectory);
  if (process.platform === "linux") return await worksIn(pid, directory);
  return (await processesTitled(clusterName(directory), directory)).includes(pid);
}

/** Every live PostgreSQL process of a data directory, the postmaster and its children alike. */
export async function serverProcesses(dataDirectory: string): Promise<number[]> {
  const directory = await realpath(dataDirectory).catch(() => dataDirectory);
  if (process.platform !== "linux") return await processesTitled(clusterName(directory), directory);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const inDirectory = await Promise.all(pids.map((pid) => worksIn(pid, directory)));
  return pids.filter((_, index) => inDirectory[index]);
}

/** PostgreSQL's processes have the data directory as their working directory; whatever else stands in it is not one. */
async function worksIn(pid: number, directory: string): Promise<boolean> {
  const [workingDirectory, command] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch(() => ""),
    readFile(`/proc/${pid}/comm`, "utf8").catch(() => ""),
  ]);
  return workingDirectory === directory && command.trim() === "postgres";
}

/** Without /proc: the postmaster's command line names the directory, its children's titles the cluster. */
async function processesTitled(cluster: string, directory: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,command="], {
    maxBuffer: 16_777_216,
  });
  return stdout
    .split("\n")
    .filter(
      (line) =>
        line.includes(`postgres: ${cluster}: `) ||
        (line.includes("/bin/postgres -D ") && line.includes(` ${directory} `)),
    )
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => pid !== process.pid);
}

/** Each of these processes as a line: its number, its state, the CPU time it has used, its title. */
export async function processActivities(dataDirectory: string): Promise<string[]> {
  return await Promise.all((await serverProcesses(dataDirectory)).map(activity));
}

async function activity(pid: number): Promise<string> {
  if (process.platform !== "linux") {
    const listed = promisify(execFile)("ps", ["-ww", "-o", "pid=,state=,time=,command=", "-p", String(pid)]);
    return await listed.then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
  }
  const [stat, title] = await Promise.all(
    ["stat", "cmdline"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
  );
  // After the name, which may hold anything: the state, and at 11 and 12 the ticks in user and kernel mode.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  return `${pid} ${fields[0]} ${fields[11]} ${fields[12]} ${title}`;
}

function clusterName(directory: string): string {
  // At most 63 characters; the end of the path distinguishes them.
  return `bellhop-${directory.replace(/[^A-Za-z0-9]+/g, "-").slice(-50)}`;
}

/**
 * Ends processes of a server whose postmaster is gone: a busy backend keeps the shared memory, and the new server would
 * refuse to start. Killing them loses nothing: commits are in the write-ahead log, and recovery runs anyway.
 */
export async function endSurvivors(dataDirectory: string): Promise<number> {
  const survivors = await serverProcesses(dataDirectory);
  for (const pid of survivors) killQuietly(pid, "SIGKILL");
  const deadline = performance.now() + 10_000;
  while ((await serverProcesses(dataDirectory)).length > 0) {
    if (performance.now() > deadline)
      throw new EmbeddedPostgresError(
        `Processes of an earlier PostgreSQL on ${dataDirectory} cannot be ended.`,
      );
    await delay(20);
  }
  await removeLockFiles(dataDirectory);
  return survivors.length;
}

/**
 * With no process left these are a dead server's. The number in them may be somebody else's meanwhile, or that of a
 * postmaster whose body nobody has fetched yet (a container without an init): a new server would believe it alive.
 */
async function removeLockFiles(dataDirectory: string): Promise<void> {
  const names = await readdir(dataDirectory);
  const stale = names.filter((name) => name === "postmaster.pid" || name.startsWith(".s.PGSQL."));
  await Promise.all(stale.map((name) => rm(join(dataDirectory, name), { force: true })));
}

/**
 * Starts the server as a session of its own (a SIGINT from the terminal that is meant for the service must not stop
 * the database during the drain), outliving this process: `npm start` killed outright leaves it to the next start.
 */
export async function spawnPostmaster(
  home: ServerHome,
  binaries: Binaries,
  listen: ListenAddress,
): Promise<ChildProcess> {
  const directory = await realpath(home.dataDirectory);
  const settings = Object.entries(serverSettings(listen, clusterName(directory)));
  const output = openSync(startLogPath(home), "w", 0o600);
  const child = spawn(
    binaries.postgres,
    ["-D", directory, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    {
      ...spawnIdentity(home.user),
      detached: true,
      stdio: ["ignore", output, output],
    },
  );
  closeSync(output);
  child.once("error", () => undefined);
  child.unref();
  return child;
}

/** What the server says before its own log is open. */
function startLogPath(home: ServerHome): string {
  return join(home.dataDir, "postgres-start.log");
}

/** Why the server ended: the last of what it called fatal, from its own log or from before that was open. */
export async function lastWords(home: ServerHome): Promise<string> {
  const current = await readFile(join(home.dataDirectory, "current_logfiles"), "utf8").catch(() => "");
  const logFile = /^stderr (.+)$/m.exec(current)?.[1];
  const texts = await Promise.all(
    [startLogPath(home), ...(logFile === undefined ? [] : [join(home.dataDirectory, logFile)])].map((path) =>
      readFile(path, "utf8").catch(() => ""),
    ),
  );
  const fatal = texts.flatMap((text) => text.split("\n")).filter((line) => /FATAL|PANIC/.test(line));
  return fatal.at(-1)?.replace(/^.*?(FATAL|PANIC): +/, "") ?? "it did not say why";
}

/** With milliseconds: a drain has 10 s for everything. What a shorter stop leaves undone, recovery does at the next start. */
const FAST_STOP = ["SIGINT", 4_000] as const;
const IMMEDIATE_STOP = ["SIGQUIT", 1_500] as const;

/**
 * Stops the server that runs on a data directory: sessions are ended, a checkpoint is written ("fast" shutdown). One
 * that does not get there (a slow disk; asked to stop as its recovery began, it was seen to hang), and one whose recovery
 * hangs, is ended without its checkpoint, then outright: nothing committed is lost either way.
 */
export async function stopServer(dataDirectory: string, hangs = false): Promise<void> {
  const running = await findServer(dataDirectory);
  if (running === undefined) return;
  for (const [signal, waitMs] of hangs ? [IMMEDIATE_STOP] : [FAST_STOP, IMMEDIATE_STOP]) {
    killQuietly(running.pid, signal);
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (!(await isServerProcess(running.pid, dataDirectory))) return;
      await delay(20);
    }
  }
  await endSurvivors(dataDirectory);
}

/** Signals a process, unless it is gone. */
export function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
