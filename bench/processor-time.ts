import { readFileSync } from "node:fs";

/** Shares of the time of all hardware threads; with idle time they sum to 1. */
export interface ProcessorShares {
  readonly busy: number;
  /** Idle while waiting for a disk. */
  readonly disk: number;
  /** Withheld by the host of a virtual machine. */
  readonly stolen: number;
}

/** The counters since boot, in the columns of the first line of /proc/stat. */
function ticks(): number[] {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n");
  // The last two columns (guests) are included in the first two.
  return line.trim().split(/ +/).slice(1, 9).map(Number);
}

/** Returns the time since the previous call; undefined without /proc. */
export class ProcessorTime {
  #before: number[] | undefined = process.platform === "linux" ? ticks() : undefined;

  since(): ProcessorShares | undefined {
    if (this.#before === undefined) return undefined;
    const now = ticks();
    const spent = now.map((count, at) => count - (this.#before?.[at] ?? 0));
    this.#before = now;
    const [user = 0, nice = 0, system = 0, idle = 0, disk = 0, hard = 0, soft = 0, stolen = 0] = spent;
    const busy = user + nice + system + hard + soft;
    const all = Math.max(1, busy + idle + disk + stolen);
    return { busy: busy / all, disk: disk / all, stolen: stolen / all };
  }
}
