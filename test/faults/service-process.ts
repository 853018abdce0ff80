import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stopServer } from "../../src/platform/db/embedded/postmaster.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";
import { clusterOf } from "./database-of-service.ts";
import type { PlantedFault } from "./plant.ts";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));

/** Threads that serve HTTP, each with a log writer of its own: the faults are to hit a service that has several. */
export const HTTP_THREADS = 2;
export const APPLY_WRITERS = 2;

/** As supervisors wait before the next start. */
const START_AGAIN_MS = 500;

export interface ServiceProcessOptions {
  readonly plant?: PlantedFault | undefined;
  /** Modules that it loads first (`--import`), in the place of `plant`. */
  readonly imports?: readonly string[];
  /** Further settings. */
  readonly environment?: Readonly<Record<string, string>>;
  /** By default one of its own under the system's temporary directory. */
  readonly dataDir?: string;
  /** A command that runs the rest of its command line in its place. */
  readonly launcher?: readonly string[];
  /** The directory of the version that is to run; by default this one. */
  readonly checkout?: string;
}

/** `bellhop serve` in a process of its own, and the next one after each end of it. Its log is `<dataDir>/service.log`. */
export class ServiceProcess {
  readonly address: string;
  readonly dataDir: string;
  readonly #port: number;
  readonly #options: ServiceProcessOptions;
  #checkout: string;
  #child: ChildProcess | undefined;
  #startsAgain = false;

  private constructor(dataDir: string, port: number, options: ServiceProcessOptions) {
    this.dataDir = dataDir;
    this.address = `http://127.0.0.1:${port}`;
    this.#port = port;
    this.#options = options;
    this.#checkout = options.checkout ?? CHECKOUT;
  }

  /** On a data directory and a port of its own, which stay the same at every start; not started yet. */
  static async prepare(options: ServiceProcessOptions = {}): Promise<ServiceProcess> {
    const dataDir = options.dataDir ?? (await temporaryDirectory("faults"));
    return new ServiceProcess(dataDir, await freePort(), options);
  }

  get logPath(): string {
    return `${this.dataDir}/service.log`;
  }

  /** From the next start on it is the version in that directory, without one this one; commands are so at once. */
  changeTo(checkout: string = CHECKOUT): void {
    this.#checkout = checkout;
  }

  start(): void {
    const log = openSync(this.logPath, "a");
    const command = [process.execPath, ...this.#planted(), this.#main, "serve", "--no-sandbox"];
    const [program = "", ...args] = [...(this.#options.launcher ?? []), ...command];
    this.#child = spawn(program, args, {
      cwd: "/",
      env: this.#environment(),
      // A group of its own: the terminal's SIGINT to the harness is not for the service.
      detached: true,
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    this.#child.once("exit", () => {
      if (this.#startsAgain) setTimeout(() => this.#startsAgain && this.start(), START_AGAIN_MS);
    });
  }

  /** Starts it, and again whenever that ends, as a supervisor does, until `stopStarting`. */
  startUntilStopped(): void {
    this.supervise();
    this.start();
  }

  /** Whatever runs now is started again when it ends, until `stopStarting`. */
  supervise(): void {
    this.#startsAgain = true;
  }

  /** Whatever runs now is the last that was started by itself. */
  stopStarting(): void {
    this.#startsAgain = false;
  }

  /** Whether `/readyz` says so now. */
  async isReady(): Promise<boolean> {
    try {
      const response = await fetch(`${this.address}/readyz`, { signal: AbortSignal.timeout(2_000) });
      await response.body?.cancel();
      return response.status === 200;
    } catch {
      return false;
    }
  }

  /** Waits for `/readyz`. Throws when the process ends instead, or when it takes longer. */
  async untilReady(waitMsMax: number): Promise<void> {
    const child = this.#running();
    await until(async () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(
          `The service ended by itself (${child.exitCode ?? child.signalCode}): ${this.logPath}`,
        );
      return await this.isReady();
    }, waitMsMax);
  }

  /** Waits for its end, which nobody asked for here; answers the exit code, null where a signal ended it. */
  async ended(): Promise<number | null> {
    const child = this.#running();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return child.exitCode;
  }

  /** Sends the signal and waits for the end; answers the exit code, null where the signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#running();
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, "exit");
      child.kill(signal);
      await exit;
    }
    return child.exitCode;
  }

  /** Of the process that runs, or ran last. */
  get pid(): number {
    const { pid } = this.#running();
    if (pid === undefined) throw new Error("The service could not be started.");
    return pid;
  }

  /** Sends a signal that does not end it: SIGSTOP, SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.#running().kill(signal);
  }

  /** Ends whatever still runs, and removes the data directory unless it is to be looked at. */
  async remove(options: { readonly keepData?: boolean } = {}): Promise<void> {
    this.#startsAgain = false;
    if (this.#child !== undefined) await this.end("SIGKILL");
    await stopServer(await clusterOf(this.dataDir));
    if (options.keepData === true) return;
    const cluster = await clusterOf(this.dataDir);
    await rm(cluster, { recursive: true, force: true });
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** Runs a command of the CLI on the same data directory; answers its standard output. */
  async command(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [this.#main, ...args], {
      cwd: "/",
      env: this.#environment(),
    });
    return stdout;
  }

  get #main(): string {
    return join(this.#checkout, "src/main.ts");
  }

  #running(): ChildProcess {
    if (this.#child === undefined) throw new Error("The service has not been started.");
    return this.#child;
  }

  #environment(): NodeJS.ProcessEnv {
    // As little as a service manager gives: no setting of whoever runs this reaches the service.
    return {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      NODE_ENV: "production",
      LOG_LEVEL: "warn",
      DATA_DIR: this.dataDir,
      PORT: String(this.#port),
      HTTP_THREADS: String(HTTP_THREADS),
      APPLY_WRITERS: String(APPLY_WRITERS),
      // Not a setting: without it each start compiles the sources again.
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...this.#options.environment,
    };
  }

  #planted(): string[] {
    const { plant, imports = [] } = this.#options;
    const planted =
      plant === undefined ? imports : [new URL(`./plant.ts?fault=${plant}`, import.meta.url).href];
    return planted.flatMap((module) => ["--import", module]);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
