import { processActivities } from "./postmaster.ts";

/** Which processes recover: one replays the log, the other writes the checkpoint at the end. */
const RECOVERS = /: (startup|checkpointer)\b/;
/** It runs, or waits for the CPU or the disk (D on Linux, U on macOS). */
const WORKS = /^\d+ +[RDU]/;
const LOOK_MS = 500;
/**
 * 30 s. The longest wait that some file systems (FUSE) show as sleep is one fsync of shared_buffers' 256 MB on a slow disk;
 * the postmaster itself waits 5 s at most, for processes that it has ended.
 */
const IDLE_LOOKS_MAX = 60;

/** Distinguishes a recovery that takes long from one that stands still. Counts looks, as a suspended machine's time proves nothing. */
export class RecoveryWatch {
  #lookedAt = Number.NEGATIVE_INFINITY;
  #before: string | undefined;
  #idleLooks = 0;
  readonly #dataDirectory: string;

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory;
  }

  /** To be asked again and again while the server refuses sessions; looks twice a second. */
  async look(): Promise<"works" | "idle" | "stalled"> {
    if (performance.now() - this.#lookedAt < LOOK_MS) return "idle";
    this.#lookedAt = performance.now();
    const recovering = (await processActivities(this.#dataDirectory)).filter((line) => RECOVERS.test(line));
    const now = recovering.join("\n");
    const works = now !== this.#before || recovering.some((line) => WORKS.test(line));
    this.#before = now;
    this.#idleLooks = works ? 0 : this.#idleLooks + 1;
    if (works) return "works";
    if (this.#idleLooks < IDLE_LOOKS_MAX) return "idle";
    this.#idleLooks = 0;
    return "stalled";
  }
}
