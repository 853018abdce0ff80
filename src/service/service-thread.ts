import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import type { Role } from "../platform/db/coordination.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { Channel } from "../platform/runtime/channel.ts";
import {
  createLogger,
  createLoggerTo,
  type Logger,
  type LoggerOptions,
  writeLines,
} from "../platform/telemetry/log.ts";
import type { MetricValues } from "../platform/telemetry/metrics.ts";

/** The threads a service has beside its main one. */
type ThreadKind = "apply" | "http";

/** A thread's workerData; everything else comes with its first call. */
export interface ThreadData {
  readonly kind: ThreadKind;
  readonly name: string;
  readonly log: ThreadLog;
}

/** The functions that the main thread serves to others, about the whole process. */
export type MainCalls = {
  blockedReason(_: undefined): Promise<string | undefined>;
  /** In the Prometheus text format. */
  metrics(_: undefined): Promise<string>;
};

/** The functions that every thread serves to the main thread. */
export type ThreadCalls = {
  /** The reason why the thread cannot serve this role now, if any. */
  blockedReason(role: Role): string | undefined;
  /** Values of the thread's own metrics. */
  metrics(_: undefined): Promise<MetricValues>;
  /** Finishes current work and closes all connections. */
  stop(_: undefined): Promise<void>;
};

export interface ThreadContext {
  readonly name: string;
  readonly log: Logger;
  readonly main: Channel<MainCalls>;
}

/** How a thread logs: directly to the process's destination, so that a crash loses no line, or (in tests) through the main thread. */
type ThreadLog =
  | { readonly to: "descriptor"; readonly options: LoggerOptions }
  | { readonly to: "main thread"; readonly level: string };

/** The ThreadLog for a process whose log was created with `options`, or without them to a stream. */
export function threadLogOf(log: Logger, options: LoggerOptions | undefined): ThreadLog {
  return options === undefined ? { to: "main thread", level: log.level } : { to: "descriptor", options };
}

/** Creates a thread's logger, which adds `name` to each line. */
export function createThreadLogger(
  threadLog: ThreadLog,
  name: string,
  writeLines: (lines: string) => void,
): Logger {
  const log =
    threadLog.to === "descriptor"
      ? createLogger(threadLog.options)
      : createLoggerTo({ write: writeLines }, threadLog.level);
  return log.child({ thread: name });
}

/**
 * Growth of the old generation, in percent of its live size, before a full collection. V8's default for heaps of 15 MB (about a third)
 * collected after every 1,500 applied records, which took a third of the CPU.
 */
const HEAP_GROWTH_PERCENT = 150;

/** The young generations of a thread, of three spaces, in MB. Those of HTTP threads stay small for floods of bodies (docs/decisions/0004). */
const YOUNG_MB: Readonly<Record<ThreadKind, number>> = { http: 12, apply: 24 };

/** Applies to the heaps of all threads. Call before the first one is started. */
export function letHeapsGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // The main thread's heap is made. For the others the option (bin/process-environment.mjs) would override YOUNG_MB.
  setFlagsFromString("--max-semi-space-size=0");
}

/** A stopped thread that takes longer to exit is terminated. */
const LEAVE_MS_MAX = 1_000;

export interface ThreadParts {
  readonly threadLog: ThreadLog;
  /** The service's log, for threads that log through the main thread. */
  readonly log: Logger;
  readonly main: MainCalls;
  /** Limit of a thread's old generation. Exceeding it ends the thread and the process. */
  readonly heapMbMax: number;
}

/** A thread, seen from the main thread. It does nothing before its first call. `died` settles if it ends unexpectedly. */
export class ServiceThread<Theirs extends ThreadCalls> {
  readonly name: string;
  readonly died: Promise<Error>;
  readonly #worker: Worker;
  readonly #channel: Channel<Theirs & { leave(_: undefined): void }>;
  #leaving = false;

  constructor(kind: ThreadKind, name: string, parts: ThreadParts) {
    const { threadLog, log, main } = parts;
    this.name = name;
    const workerData: ThreadData = { kind, name, log: threadLog };
    this.#worker = new Worker(new URL("./thread-entry.ts", import.meta.url), {
      name,
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: parts.heapMbMax, maxYoungGenerationSizeMb: YOUNG_MB[kind] },
    });
    this.#channel = new Channel(this.#worker, { ...main, log: (lines: string) => writeLines(log, lines) });
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.died = promise;
    this.#worker.on("error", (cause) => this.#end(threadFailure(name, cause, parts.heapMbMax), resolve));
    this.#worker.once("exit", (code) => this.#end(threadEnd(name, code), resolve));
  }

  /** As `Channel.call`. */
  call: Channel<Theirs>["call"] = (name, argument, waitMsMax) =>
    this.#channel.call(name as never, argument as never, waitMsMax);

  /** Stops its work; no effect if it has ended. */
  async stop(): Promise<void> {
    await this.call("stop", undefined as never).catch((error: unknown) => {
      if (!this.#leaving) throw error;
    });
  }

  /** Ends the stopped thread, by force after LEAVE_MS_MAX. */
  async leave(): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    this.#channel.send("leave", undefined as never);
    const late = setTimeout(() => void this.#worker.terminate(), LEAVE_MS_MAX);
    await ended;
    clearTimeout(late);
  }

  #end(error: Error, died: (error: Error) => void): void {
    this.#channel.close(error);
    if (this.#leaving) return;
    this.#leaving = true;
    died(error);
  }
}

/** A defect, which shows its stack, unless the machine lacked something. */
export function threadFailure(name: string, cause: unknown, heapMbMax: number): Error {
  switch ((cause as NodeJS.ErrnoException | undefined)?.code) {
    case "ERR_WORKER_OUT_OF_MEMORY":
      return new OperatorError(
        `The thread ${name} failed: it used up its ${heapMbMax} MB of memory. A higher BODIES_IN_FLIGHT_BYTES raises that; please report it.`,
        { cause },
      );
    case "ERR_WORKER_INIT_FAILED":
      return new OperatorError(
        `The thread ${name} failed to start (${(cause as Error).message}): raise the limits of threads, memory and open files of this process.`,
        { cause },
      );
    default:
      return new Error(`The thread ${name} failed.`, { cause });
  }
}

/** It ended without an error of its own. */
export function threadEnd(name: string, code: number): Error {
  return new OperatorError(
    `The thread ${name} ended with exit code ${code}. The log lines above give the reason; if there are none, this process lacks memory, threads or open files: raise their limits.`,
  );
}
