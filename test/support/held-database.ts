import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Said {
  readonly ready?: true;
  readonly refused?: string;
  readonly interrupted?: true;
  readonly rows?: Record<string, unknown>[];
  readonly error?: string;
  readonly host?: string;
  readonly dataDirectory?: string;
}

export interface HolderOptions {
  /** The checkout whose code runs; by default this one. */
  readonly checkout?: string;
  /** The Node that runs it; by default this one. */
  readonly node?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A process of hold-database.ts, as a test sees it. */
export class HeldDatabase {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(dataDir: string, role: "service" | "command", options: HolderOptions = {}) {
    const checkout = options.checkout ?? fileURLToPath(new URL("../../", import.meta.url));
    const script = `${checkout}/test/support/hold-database.ts`;
    this.process = spawn(options.node ?? process.execPath, [script, dataDir, role], {
      // A group of its own, so that a test can interrupt it as a terminal would.
      detached: true,
      cwd: "/",
      stdio: ["pipe", "pipe", process.env["SHOW_LOG"] ? "inherit" : "ignore"],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.gid ?? options.uid }),
    });
    if (this.process.stdout === null) throw new Error("no output");
    this.#lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  /** The next thing it says. */
  async said(): Promise<Said> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("The process ended without a word.");
    return JSON.parse(value) as Said;
  }

  async query(sql: string): Promise<Said> {
    this.process.stdin?.write(`${sql.replaceAll("\n", " ")}\n`);
    return await this.said();
  }

  /** Asks again until the answer satisfies: the condition that a test waits for. */
  async queryUntil(sql: string, satisfies: (said: Said) => boolean, waitMsMax: number): Promise<Said> {
    const deadline = Date.now() + waitMsMax;
    for (;;) {
      const said = await this.query(sql);
      if (satisfies(said)) return said;
      if (Date.now() > deadline)
        throw new Error(`Not within ${waitMsMax} ms; the last answer: ${JSON.stringify(said)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, "exit");
    this.process.kill(signal);
    await exit;
  }
}
