import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { readdir, readFile, readlink, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { createOwnFile } from "../../runtime/own-files.ts";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError, type ServerHome, spawnIdentity } from "./home.ts";

/**
 * Settings of the embedded server, sized for a laptop with crash recovery in seconds. As command-line options they
 * override postgresql.conf and ALTER SYSTEM, which keeps durability on. Use DATABASE_URL for other settings.
 */
function serverSettings(listen: ListenAddress, clusterName: string): Record<string, string> {
  return {
    ...listenSettings(listen),
    ...DURABILITY,
    ...MEMORY,
    ...WRITE_AHEAD_LOG,
    ...CONNECTIONS,
    ...LOGGING,
    // Part of each process title, which identifies surviving processes where /proc is missing.
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
    // Only the server's user and root can enter the data directory.
    unix_socket_directories: listen.socketDirectory,
    unix_socket_permissions: "0700",
    port: String(listen.port),
  };
}

const DURABILITY = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  // The default on macOS does not flush the drive's cache, so a 202 would not survive a power failure.
  ...(process.platform === "darwin" ? { wal_sync_method: "fsync_writethrough" } : {}),
};

const MEMORY = {
  // Room for the hot pages of current records and the end of the log. Pages take memory only once used.
  shared_buffers: "256MB",
  // The planner's estimate of shared buffers plus page cache on a laptop with 8 GB.
  effective_cache_size: "1GB",
  // Fits a sort or hash of one apply batch (thousands of narrow rows), also on a hundred connections.
  work_mem: "8MB",
  // Index builds and vacuums are rare.
  maintenance_work_mem: "128MB",
};

const WRITE_AHEAD_LOG = {
  // Bounds what recovery replays, as the service must serve within 10 s of a crash. Measured on two busy cores: 11 s
  // with 1 GB (616 MB to replay).
  max_wal_size: "512MB",
  // Keeps files for reuse, so that bursts do not create and zero new ones.
  min_wal_size: "256MB",
  // Bounds recovery of a service with little traffic to five minutes of WAL.
  checkpoint_timeout: "5min",
  // Bodies are already compressed; compressing full pages again costs CPU time and saves little.
  wal_compression: "off",
};

const CONNECTIONS = {
  // A node uses about thirty (pools, log writers, appliers) of about 2 MB each; unused ones cost nothing.
  max_connections: "200",
  // Bounds how long a killed client's running statement keeps its locks.
  client_connection_check_interval: "2s",
  // TCP is used only if the path is too long for a Unix socket.
  tcp_keepalives_idle: "30",
};

const LOGGING = {
  // In the data directory, one file per weekday, overwritten after a week.
  logging_collector: "on",
  log_directory: "log",
  log_filename: "postgresql-%a.log",
  log_truncate_on_rotation: "on",
  log_rotation_age: "1d",
  log_rotation_size: "0",
  log_line_prefix: "%m [%p] ",
  log_checkpoints: "off",
  // Statements, parameters and DETAIL lines may contain guest names.
  log_min_error_statement: "panic",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  log_error_verbosity: "terse",
};

/** The contents of postmaster.pid. */
interface RunningServer {
  readonly pid: number;
  readonly listen: ListenAddress;
  readonly ready: boolean;
  /** The server is shutting down. */
  readonly stopping: boolean;
}

/** Finds the running server of a data directory. Ignores the file of a dead one. */
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

/** Whether the process is a PostgreSQL server of this data directory: its number may have been reused. */
async function isServerProcess(pid: number, dataDirectory: string): Promise<boolean> {
  const directory = await realpath(dataDirectory).catch(() => dataDirectory);
  if (process.platform === "linux") return await worksIn(pid, directory);
  return (await processesTitled(clusterName(directory), directory)).includes(pid);
}

/** All PostgreSQL processes of a data directory, including children of the postmaster. */
export async function serverProcesses(dataDirectory: string): Promise<number[]> {
  const directory = await realpath(dataDirectory).catch(() => dataDirectory);
  if (process.platform !== "linux") return await processesTitled(clusterName(directory), directory);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const inDirectory = await Promise.all(pids.map((pid) => worksIn(pid, directory)));
  return pids.filter((_, index) => inDirectory[index]);
}

/** PostgreSQL's processes have the data directory as working directory; other programs there do not count. */
async function worksIn(pid: number, directory: string): Promise<boolean> {
  const [workingDirectory, command] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch(() => ""),
    readFile(`/proc/${pid}/comm`, "utf8").catch(() => ""),
  ]);
  return workingDirectory === directory && command.trim() === "postgres";
}

/** Without /proc: the postmaster's command line contains the directory, and its children's titles the cluster name. */
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

/** One line per process: number, state, CPU time and title. */
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
  // The name may contain spaces and parentheses; after it come the state and, at 11 and 12, ticks in user and kernel
  // mode.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  return `${pid} ${fields[0]} ${fields[11]} ${fields[12]} ${title}`;
}

function clusterName(directory: string): string {
  // At most 63 characters; the end of the path distinguishes them.
  return `bellhop-${directory.replace(/[^A-Za-z0-9]+/g, "-").slice(-50)}`;
}

/**
 * Kills the processes of a server whose postmaster is gone: their shared memory would keep a new server from starting.
 * Nothing is lost, as commits are in the WAL.
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
 * Removes a dead server's lock files. Their process number may since belong to another process or to a zombie (in a
 * container without an init), which a new server would take for a running postmaster.
 */
async function removeLockFiles(dataDirectory: string): Promise<void> {
  const names = await readdir(dataDirectory);
  const stale = names.filter((name) => name === "postmaster.pid" || name.startsWith(".s.PGSQL."));
  await Promise.all(stale.map((name) => rm(join(dataDirectory, name), { force: true })));
}

/**
 * Starts the server in a session of its own, so that a SIGINT from the terminal does not stop the database before the
 * service has drained. The server outlives this process; the next start finds it.
 */
export async function spawnPostmaster(
  home: ServerHome,
  binaries: Binaries,
  listen: ListenAddress,
): Promise<ChildProcess> {
  const directory = await realpath(home.dataDirectory);
  const settings = Object.entries(serverSettings(listen, clusterName(directory)));
  const output = createOwnFile(startLogPath(home));
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

/** The file for messages before the server opens its log. */
function startLogPath(home: ServerHome): string {
  return join(home.dataDir, "postgres-start.log");
}

/** Why a server ended: the last fatal message of its log, or what it wrote before it opened that. */
export async function lastWords(home: ServerHome): Promise<string> {
  const read = (path: string) => readFile(path, "utf8").catch(() => "");
  const start = await read(startLogPath(home));
  const logFile = /^stderr (.+)$/m.exec(await read(join(home.dataDirectory, "current_logfiles")))?.[1] ?? "";
  const text = start.includes("logging collector") ? await read(join(home.dataDirectory, logFile)) : start;
  const fatal = text.split("\n").findLast((line) => /FATAL|PANIC/.test(line));
  const said =
    fatal?.replace(/^.*?(FATAL|PANIC): +/, "") ?? (text === start ? text.trim().replaceAll("\n", " ") : "");
  return said || "it logged no reason";
}

/** A drain has 10 s in total. Recovery at the next start replaces a checkpoint that was cut short. */
const FAST_STOP = ["SIGINT", 4_000] as const;
const IMMEDIATE_STOP = ["SIGQUIT", 1_500] as const;

/**
 * Stops the server of a data directory with a "fast" shutdown (ends sessions, writes a checkpoint). If that takes too
 * long, or recovery hangs, stops it without the checkpoint, then kills it. Committed data is safe in each case.
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

/** Sends a signal, ignoring processes that are gone. */
export function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
