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
  /** Lines of its log so far. */
  logLines(): number;
  /** From now on a line of the log with one of these words in it is a complaint. */
  watchFor(words: readonly string[]): void;
  /** What was wrong with its log since this was last asked: errors, watched words, lines that are not one JSON object. */
  takeComplaints(): string[];
  /** Resident memory now, in MiB. */
  residentMib(): Promise<number>;
  stop(): Promise<void>;
}

const COMPLAINTS_MAX = 10;
/** Of pino's levels. */
const ERROR_LEVEL = 50;

/** Starts it on a free port; `environment` holds further settings. */
export async function startServiceProcess(
  databaseUrl: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [`${root}/src/main.ts`, "serve", "--no-sandbox"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, DATABASE_URL: databaseUrl, PORT: "0", ...environment },
  });
  const log = new WatchedLog();
  const address = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the service ended with ${code} before it listened`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const listening = /^Bellhop listens on (\S+)/.exec(line)?.[1];
      if (listening !== undefined) resolve(listening);
      else if (line.startsWith("{")) log.take(line);
    });
  });
  return {
    address,
    process: child,
    logLines: () => log.lines,
    watchFor: (words) => log.watchFor(words),
    takeComplaints: () => log.complaints.splice(0),
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

class WatchedLog {
  lines = 0;
  readonly complaints: string[] = [];
  #words: readonly string[] = [];

  watchFor(words: readonly string[]): void {
    this.#words = words;
  }

  take(line: string): void {
    this.lines += 1;
    const fault = this.#faultOf(line);
    if (fault !== undefined && this.complaints.length < COMPLAINTS_MAX) this.complaints.push(fault);
  }

  #faultOf(line: string): string | undefined {
    const word = this.#words.find((one) => line.includes(one));
    if (word !== undefined) return `${word.slice(0, 8)}… is in the log: ${line.slice(0, 300)}`;
    if (/\p{Cc}/u.test(line)) return `a control character is in the log: ${JSON.stringify(line)}`;
    try {
      const { level } = JSON.parse(line) as { level: unknown };
      if (typeof level === "number" && level >= ERROR_LEVEL)
        return `the service logged ${line.slice(0, 2_000)}`;
      return undefined;
    } catch {
      return `a line of the log is no JSON: ${line.slice(0, 300)}`;
    }
  }
}
