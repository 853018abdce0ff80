import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, chmod, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const MAIN = "src/main.ts";
const START_MS_MAX = 60_000;
/** High enough that the rate limiter runs but never refuses the bench's client. */
const RATE = "100000";

/** The service in a separate process, with a database of its own. */
export interface ServiceProcess {
  readonly pid: number;
  readonly port: number;
  readonly dataDir: string;
  /** The file with its standard output. */
  readonly logFile: string;
  readonly token: string;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** Options for its Node, such as `--cpu-prof`. */
  readonly nodeOptions?: readonly string[];
  /** Settings besides those of the bench's environment. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The `cgroup.procs` file of a group in which the process starts. */
  readonly groupFile?: string | undefined;
  /** Loads pg_stat_statements, which has a small cost. */
  readonly statements?: boolean;
}

/**
 * Starts the service like `npm start`, with the settings of this environment except data directory, port and database,
 * and creates a client by the CLI. Its log goes to a file.
 */
export async function startServiceProcess(options: ServiceOptions = {}): Promise<ServiceProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), "bellhop-bench-"));
  // If this runs as root, PostgreSQL's user must be able to enter.
  await chmod(dataDir, 0o755);
  const environment = {
    ...process.env,
    DATA_DIR: dataDir,
    DATABASE_URL: "",
    PORT: "0",
    HOST: "127.0.0.1",
    NEW_PROPERTIES_PER_DAY: "100000",
    ...options.settings,
  };
  const logFile = join(dataDir, "service.log");
  if (options.statements === true) {
    // The first start creates the cluster, which then loads the library.
    const first = await spawnService([], environment, logFile);
    await waitForAddress(first, logFile);
    await end(first);
    const settings = join(await serverDirectory(dataDir), "postgres", "postgresql.conf");
    await appendFile(settings, "\nshared_preload_libraries = 'pg_stat_statements'\n");
  }
  await warmCompileCache(options.nodeOptions ?? [], environment);
  const child = await spawnService(options.nodeOptions ?? [], environment, logFile, options.groupFile);
  const stop = async () => {
    await end(child);
    const directories = new Set([dataDir, await serverDirectory(dataDir)]);
    for (const directory of directories) await rm(directory, { recursive: true, force: true });
  };
  try {
    const address = await waitForAddress(child, logFile);
    return {
      pid: child.pid ?? 0,
      port: Number(new URL(address).port),
      dataDir,
      logFile,
      token: await takeToken(address, environment),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As an installation does; flags of V8 are part of the cache's key. */
async function warmCompileCache(
  nodeOptions: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const flags = nodeOptions.filter((option) => option.startsWith("--trace"));
  const script = join(ROOT, "bin", "warm-compile-cache.mjs");
  await promisify(execFile)(process.execPath, [...flags, script], { env: environment, cwd: ROOT });
}

async function spawnService(
  nodeOptions: readonly string[],
  environment: NodeJS.ProcessEnv,
  logFile: string,
  groupFile?: string,
): Promise<ChildProcess> {
  const log = await open(logFile, "w");
  const command = [process.execPath, ...nodeOptions, join(ROOT, MAIN), "serve", "--no-sandbox"];
  // The shell replaces itself with the service, which keeps its process id.
  const within = groupFile === undefined ? [] : ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', groupFile];
  const [program = "", ...words] = [...within, ...command];
  const child = spawn(program, words, {
    cwd: ROOT,
    env: environment,
    stdio: ["ignore", log.fd, log.fd],
  });
  await log.close();
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}

/** The embedded server's directory: DATA_DIR, or the target of its pointer (src/platform/db/embedded/home.ts). */
async function serverDirectory(dataDir: string): Promise<string> {
  const pointed = await readFile(join(dataDir, "postgres-location"), "utf8").catch(() => dataDir);
  return pointed.trim();
}

async function waitForAddress(child: ChildProcess, logFile: string): Promise<string> {
  const deadline = Date.now() + START_MS_MAX;
  for (;;) {
    const said = await readFile(logFile, "utf8");
    const address = /Bellhop listens on (\S+)|"address":"([^"]+)"/.exec(said);
    if (address !== null) return (address[1] ?? address[2]) as string;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`The service did not start:\n${said}`);
    await delay(20);
  }
}

async function takeToken(address: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const created = await promisify(execFile)(
    process.execPath,
    [
      join(ROOT, MAIN),
      "client",
      "create",
      "--name",
      "bench",
      "--grant",
      "ALGARVE/*",
      "--grant",
      "LISBOA/*",
      "--rate",
      RATE,
      "--burst",
      RATE,
      "--json",
    ],
    { cwd: ROOT, env: environment },
  );
  const client = JSON.parse(created.stdout) as { client_id: string; client_secret: string };
  const form = new URLSearchParams({ grant_type: "client_credentials", ...client });
  const answer = await fetch(`${address}/api/oauth2/token`, { method: "POST", body: form });
  if (answer.status !== 200) throw new Error(`No token: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { access_token: string }).access_token;
}
