import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** `bellhop serve` in a process of its own, as it is run in production, on a database of the caller's. */
export interface ServiceProcess {
  readonly address: string;
  readonly process: ChildProcess;
  /** Lines that it logged as errors. */
  readonly errors: readonly string[];
  /** Resident memory now, in MiB. */
  residentMib(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts it on a free port; `environment` holds further settings. Only errors are logged. */
export async function startServiceProcess(
  databaseUrl: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [`${root}/src/main.ts`, "serve", "--no-sandbox"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, DATABASE_URL: databaseUrl, PORT: "0", LOG_LEVEL: "error", ...environment },
  });
  const errors: string[] = [];
  const address = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the service ended with ${code} before it listened`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) errors.push(line);
      const listening = /^Bellhop listens on (\S+)/.exec(line)?.[1];
      if (listening !== undefined) resolve(listening);
    });
  });
  return {
    address,
    process: child,
    errors,
    async residentMib() {
      // Linux; elsewhere the fire has no memory check.
      const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
      return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}
