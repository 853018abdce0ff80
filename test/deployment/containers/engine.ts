import { execFile, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { NotHere } from "../../faults/campaign-command.ts";
import { until } from "../../support/until.ts";

const run = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 * 1_048_576;
const ENGINE_MS_MAX = 60_000;
/** CAP_SYS_RESOURCE, which setting a container's resource limits needs. */
const SYS_RESOURCE = 24n;

/** A container engine: one that runs, or one started for the campaign. */
export interface Engine {
  docker(...args: string[]): Promise<string>;
  /** As `docker`, with a standard input; for programs that need the engine's address as well. */
  run(
    command: readonly string[],
    options?: { readonly cwd?: string; readonly env?: Record<string, string> },
  ): Promise<string>;
  stop(): Promise<void>;
}

/** Uses the engine that runs, or starts Debian's docker.io with its data in the folder. */
export async function openEngine(folder: string): Promise<Engine> {
  const running = engineAt(process.env["DOCKER_HOST"]);
  if (await answers(running)) return { ...running, stop: async () => undefined };
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    throw new NotHere("it takes Linux and root, or an engine that runs.");
  if (!(await isInstalled("dockerd")))
    throw new NotHere("it takes a container engine: apt-get install docker.io docker-compose debootstrap.");
  return await startEngine(folder);
}

async function startEngine(folder: string): Promise<Engine> {
  const socket = `unix://${join(folder, "docker.sock")}`;
  const settings = {
    "data-root": join(folder, "data"),
    "exec-root": join(folder, "exec"),
    pidfile: join(folder, "docker.pid"),
    hosts: [socket],
    ...(await runtimeOf(folder)),
  };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "daemon.json"), JSON.stringify(settings));
  const log = openSync(join(folder, "dockerd.log"), "a");
  const daemon = spawn("dockerd", ["--config-file", join(folder, "daemon.json")], {
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const engine = engineAt(socket);
  await until(() => answers(engine), ENGINE_MS_MAX);
  return {
    ...engine,
    stop: async () => {
      daemon.kill("SIGTERM");
      await new Promise((resolve) => daemon.once("exit", resolve));
    },
  };
}

/** Root without the right to set resource limits gets a runtime that leaves them out. */
async function runtimeOf(folder: string): Promise<Record<string, unknown>> {
  const status = await readFile("/proc/self/status", "utf8");
  const effective = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(status)?.[1] ?? "0"}`);
  if ((effective >> SYS_RESOURCE) & 1n) return {};
  await mkdir(folder, { recursive: true });
  const path = join(folder, "runc-without-limits");
  const wrapper = join(import.meta.dirname, "runc-without-limits.ts");
  await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${wrapper}" "$@"\n`);
  await chmod(path, 0o755);
  return { runtimes: { unlimited: { path } }, "default-runtime": "unlimited" };
}

function engineAt(host: string | undefined): Omit<Engine, "stop"> {
  const environment = host === undefined ? {} : { DOCKER_HOST: host };
  const runHere: Engine["run"] = async ([program = "", ...args], { cwd, env } = {}) => {
    const { stdout } = await run(program, args, {
      cwd,
      env: { ...process.env, ...environment, ...env },
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return stdout;
  };
  return { run: runHere, docker: (...args) => runHere(["docker", ...args]) };
}

async function answers(engine: Omit<Engine, "stop">): Promise<boolean> {
  return await engine.docker("version").then(
    () => true,
    () => false,
  );
}

async function isInstalled(program: string): Promise<boolean> {
  return (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, program)));
}
