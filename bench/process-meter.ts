import { readdirSync, readFileSync } from "node:fs";

/** Resource usage of processes between two moments. */
export interface Usage {
  readonly cpuSeconds: number;
  /** Peak memory in bytes: private pages of all processes, shared pages once. */
  readonly peakBytes: number;
}

/** The unit of CPU time in /proc/PID/stat on Linux, on all architectures of Node. */
const TICKS_PER_SECOND = 100;
const NANOSECONDS_A_SECOND = 1e9;
const SAMPLE_MS = 100;

/** The fields of /proc/PID/stat from the third on. The name before them may contain spaces. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * CPU seconds of the threads of a process, in nanosecond resolution if the scheduler reports it: hundredths would be
 * too coarse for rounds of half a second. Excludes ended threads.
 */
function secondsOf(pid: number): number {
  const tasks = readQuietly(() => readdirSync(`/proc/${pid}/task`), []);
  let nanoseconds = 0;
  for (const task of tasks) {
    const [ran = "0"] = readQuietly(
      () => readFileSync(`/proc/${pid}/task/${task}/schedstat`, "latin1"),
      "0",
    ).split(" ");
    nanoseconds += Number(ran);
  }
  if (nanoseconds > 0) return nanoseconds / NANOSECONDS_A_SECOND;
  const [user = "0", system = "0"] = readQuietly(() => statOf(pid).slice(11, 13), []);
  return (Number(user) + Number(system)) / TICKS_PER_SECOND;
}

export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

export function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        return parentOf(candidate) === pid;
      } catch {
        return false;
      }
    });
}

/**
 * Measures one process (`node`) or a server with its children (PostgreSQL): CPU time from /proc, including ended
 * children, and memory by sampling. Requires /proc; see `supported`.
 */
export class ProcessMeter {
  static readonly supported = process.platform === "linux";
  readonly #pid: number;
  readonly #withChildren: boolean;
  #cpuBefore = 0;
  #peakBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(pid: number, withChildren: boolean) {
    this.#pid = pid;
    this.#withChildren = withChildren;
  }

  start(): void {
    if (!ProcessMeter.supported) return;
    this.#cpuBefore = this.cpuSeconds();
    this.#peakBytes = 0;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  stop(): Usage | undefined {
    if (!ProcessMeter.supported) return undefined;
    clearInterval(this.#timer);
    this.#sample();
    return { cpuSeconds: this.cpuSeconds() - this.#cpuBefore, peakBytes: this.#peakBytes };
  }

  #processes(): number[] {
    return this.#withChildren ? [this.#pid, ...childrenOf(this.#pid)] : [this.#pid];
  }

  /** CPU seconds since the process started. */
  cpuSeconds(): number {
    let seconds = 0;
    for (const pid of this.#processes()) seconds += secondsOf(pid);
    if (!this.#withChildren) return seconds;
    // The parent counts ended children.
    const ended = readQuietly(() => statOf(this.#pid).slice(13, 15), []);
    return ended.reduce((sum, ticks) => sum + Number(ticks) / TICKS_PER_SECOND, seconds);
  }

  #sample(): void {
    let ownKib = 0;
    let sharedKib = 0;
    for (const pid of this.#processes()) {
      const status = readQuietly(() => readFileSync(`/proc/${pid}/status`, "latin1"), "");
      const kibOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
      ownKib += kibOf("RssAnon");
      sharedKib = Math.max(sharedKib, kibOf("RssShmem") + kibOf("RssFile"));
    }
    this.#peakBytes = Math.max(this.#peakBytes, (ownKib + sharedKib) * 1024);
  }
}

/** A process may end between listing and reading. */
function readQuietly<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
