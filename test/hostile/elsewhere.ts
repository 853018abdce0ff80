import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { setPriority } from "node:os";

const LOWEST_PRIORITY_NICE = 19;

/**
 * Starts a module as a process that stands for a machine elsewhere: it runs only while nothing else wants the processor. Linux
 * lets a waking thread wait for milliseconds behind one that is merely nice, but never behind one of its idle class.
 */
export function startElsewhere(module: URL): ChildProcess {
  const child = fork(module);
  const pid = child.pid as number;
  setPriority(pid, LOWEST_PRIORITY_NICE);
  try {
    execFileSync("chrt", ["--idle", "--all-tasks", "--pid", "0", String(pid)], { stdio: "ignore" });
  } catch {
    // No Linux, or no util-linux: merely nice, then.
  }
  return child;
}
