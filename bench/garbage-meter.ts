import { readdirSync, readFileSync, statSync } from "node:fs";

/** Makes V8 log each collection, for GarbageMeter to read. */
export const TRACE_GARBAGE = "--trace-gc";

const PAUSE = /: (?:Scavenge|Mark-Compact) .*? MB, ([\d.]+) \/ [\d.]+ ms(?: {2}\(\+ ([\d.]+) ms in)?/g;
const NANOSECONDS_A_SECOND = 1e9;
const NO_TIME = { collecting: 0, ran: 0, waited: 0 };

/**
 * CPU time of a service's garbage collection: its pauses, weighted by the share of time in which ready threads ran, and
 * V8's worker threads. An upper bound, because these also compile.
 */
export class GarbageMeter {
  readonly #pid: number;
  readonly #log: string;
  #logged = 0;
  #before = NO_TIME;

  /** `log`: the file with the standard output of the process. */
  constructor(pid: number, log: string) {
    this.#pid = pid;
    this.#log = log;
  }

  start(): void {
    this.#logged = statSync(this.#log).size;
    this.#before = this.#times();
  }

  /** CPU seconds since `start`. */
  stop(): number {
    const { collecting, ran, waited } = this.#times();
    let pausedMs = 0;
    for (const [, pause, steps = "0"] of readFileSync(this.#log, "latin1")
      .slice(this.#logged)
      .matchAll(PAUSE))
      pausedMs += Number(pause) + Number(steps);
    const [own, wait] = [ran - this.#before.ran, waited - this.#before.waited];
    return collecting - this.#before.collecting + ((pausedMs / 1_000) * own) / (own + wait);
  }

  /** In seconds: run time of V8's threads; run time and waiting time of the others. */
  #times(): typeof NO_TIME {
    const times = { ...NO_TIME };
    for (const task of readdirSync(`/proc/${this.#pid}/task`)) {
      const of = `/proc/${this.#pid}/task/${task}`;
      const [ran = 0, waited = 0] = readFileSync(`${of}/schedstat`, "latin1").split(" ").map(Number);
      if (readFileSync(`${of}/comm`, "latin1").startsWith("V8Worker"))
        times.collecting += ran / NANOSECONDS_A_SECOND;
      else {
        times.ran += ran / NANOSECONDS_A_SECOND;
        times.waited += waited / NANOSECONDS_A_SECOND;
      }
    }
    return times;
  }
}
