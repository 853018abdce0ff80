import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { until } from "../support/until.ts";
import { NotHere } from "./campaign-command.ts";

const ATTACH_MS_MAX = 10_000;

/** Throws NotHere where system calls cannot be made to fail: that takes Linux, strace, and its leave to trace. */
export async function mayInject(): Promise<void> {
  const harmless = ["-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=1000"];
  await promisify(execFile)("strace", [...harmless, "true"]).catch((error: Error) => {
    throw new NotHere(`strace cannot make system calls fail here: ${error.message.split("\n")[0]}`);
  });
}

/**
 * System calls of running processes, and of what these fork, that fail or are slow for as long as strace is attached to
 * them. `injections` are strace's, such as `fdatasync:error=EIO:when=1`.
 */
export class FaultyCalls {
  readonly #strace: ChildProcess;
  #said = "";

  private constructor(pids: readonly number[], injections: readonly string[]) {
    const calls = [...new Set(injections.flatMap((injection) => injection.split(":")[0] ?? []))];
    const args = pids.flatMap((pid) => ["-p", String(pid)]);
    const inject = injections.flatMap((injection) => ["-e", `inject=${injection}`]);
    this.#strace = spawn(
      "strace",
      ["-f", "-o", "/dev/null", "-e", `trace=${calls.join()}`, ...inject, ...args],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    this.#strace.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-65_536);
    });
  }

  /** Resolves once it is attached to all of them that still live. */
  static async attach(pids: readonly number[], injections: readonly string[]): Promise<FaultyCalls> {
    const faulty = new FaultyCalls(pids, injections);
    await until(
      () => faulty.#ended || pids.every((pid) => new RegExp(`\\b${pid}\\b`).test(faulty.#said)),
      ATTACH_MS_MAX,
    );
    return faulty;
  }

  /** From now on calls are what they were. */
  async detach(): Promise<void> {
    if (this.#ended) return;
    const exit = once(this.#strace, "exit");
    this.#strace.kill("SIGINT");
    await exit;
  }

  get #ended(): boolean {
    return this.#strace.exitCode !== null || this.#strace.signalCode !== null;
  }
}
