import { readFileSync } from "node:fs";

/** How the time of all hardware threads of a machine was spent, as shares that make 1 with what was idle. */
export interface ProcessorShares {
  readonly busy: number;
  /** Idle while something waited for a disk. */
  readonly disk: number;
  /** Kept back by the host of a virtual machine while something wanted to run. */
  readonly stolen: number;
}

/** Counts since the machine began, by the columns of the first line of /proc/stat. */
function ticks(): number[] {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n");
  // What guests had (the last two) is in the first two as well.
  return line.trim().split(/ +/).slice(1, 9).map(Number);
}

/** Returns, each time it is called, the time since the last call; undefined where there is no /proc. */
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
