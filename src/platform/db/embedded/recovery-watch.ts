import { processActivities } from "./postmaster.ts";

/** The processes of recovery: one replays the WAL, the other writes the checkpoint at the end. */
const RECOVERING = /: (startup|checkpointer)\b/;
const STARTUP = /: startup\b/;
/** Running, or waiting for the CPU or the disk (D on Linux, U on macOS). */
const ACTIVE = /^\d+ +[RDU]/;
const SAMPLE_INTERVAL_MS = 500;
/** 30 s. On some file systems (FUSE) an fsync of 256 MB appears as sleep; the postmaster's own waits last at most 5 s. */
const IDLE_SAMPLES_MAX = 60;
/** 7 s. A postmaster of 18.4 whose startup process has panicked may wait forever for processes that it did not end. */
const IDLE_SAMPLES_WITHOUT_STARTUP_MAX = 14;

/** Distinguishes a slow recovery from a hanging one. Counts samples instead of time, because the machine may be suspended. */
export class RecoveryWatch {
  #sampledAt = Number.NEGATIVE_INFINITY;
  #before: string | undefined;
  #idleSamples = 0;
  readonly #dataDirectory: string;

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory;
  }

  /** Takes a sample; called repeatedly, twice a second, while the server refuses sessions. */
  async sample(): Promise<"works" | "idle" | "stalled"> {
    if (performance.now() - this.#sampledAt < SAMPLE_INTERVAL_MS) return "idle";
    this.#sampledAt = performance.now();
    const recovering = (await processActivities(this.#dataDirectory)).filter((line) => RECOVERING.test(line));
    const now = recovering.join("\n");
    const works = now !== this.#before || recovering.some((line) => ACTIVE.test(line));
    this.#before = now;
    this.#idleSamples = works ? 0 : this.#idleSamples + 1;
    if (works) return "works";
    const hasStartup = recovering.some((line) => STARTUP.test(line));
    if (this.#idleSamples < (hasStartup ? IDLE_SAMPLES_MAX : IDLE_SAMPLES_WITHOUT_STARTUP_MAX)) return "idle";
    this.#idleSamples = 0;
    return "stalled";
  }
}
