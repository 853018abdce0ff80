import { readdirSync, readFileSync } from "node:fs";

/** What processes used between two moments. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The most memory seen at once: private pages of all, shared ones once. */
  readonly peakBytes: number;
}

/** Linux counts CPU time in hundredths of a second here, on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
const SAMPLE_MS = 100;

/** The fields of /proc/PID/stat from the third on: the name before them may hold spaces. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
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
 * Measures one process (`node`) or a server with all its children (PostgreSQL): CPU time from /proc, including that of
 * children that ended meanwhile, and memory by sampling. Only where there is /proc: `supported` says so.
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
    this.#cpuBefore = this.#cpuSeconds();
    this.#peakBytes = 0;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  stop(): Usage | undefined {
    if (!ProcessMeter.supported) return undefined;
    clearInterval(this.#timer);
    this.#sample();
    return { cpuSeconds: this.#cpuSeconds() - this.#cpuBefore, peakBytes: this.#peakBytes };
  }

  #processes(): number[] {
    return this.#withChildren ? [this.#pid, ...childrenOf(this.#pid)] : [this.#pid];
  }

  #cpuSeconds(): number {
    let ticks = 0;
    for (const pid of this.#processes()) {
      const [user = "0", system = "0", endedUser = "0", endedSystem = "0"] = readQuietly(
        () => statOf(pid).slice(11, 15),
        [],
      );
      ticks += Number(user) + Number(system);
      // Children that ended are counted in their parent.
      if (pid === this.#pid && this.#withChildren) ticks += Number(endedUser) + Number(endedSystem);
    }
    return ticks / TICKS_PER_SECOND;
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

/** A process may end between its listing and its reading. */
function readQuietly<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
