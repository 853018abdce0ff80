import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import type { Role } from "../db/coordination.ts";
import {
  createLogger,
  createLoggerTo,
  type Logger,
  type LoggerOptions,
  writeLines,
} from "../telemetry/log.ts";
import type { MetricValues } from "../telemetry/metrics.ts";
import { Channel } from "./channel.ts";

/** The threads a service has beside its main one. */
type ThreadKind = "apply" | "http";

/** What a thread is started with; everything else comes with its first call. */
export interface ThreadData {
  readonly kind: ThreadKind;
  readonly name: string;
  readonly log: ThreadLog;
}

/** What the main thread answers to the others, about the whole process. */
export type MainCalls = {
  blockedReason(_: undefined): Promise<string | undefined>;
  /** In the Prometheus text format. */
  metrics(_: undefined): Promise<string>;
};

/** What every thread answers to the main one. */
export type ThreadCalls = {
  /** Why it cannot do now what the role is for. */
  blockedReason(role: Role): string | undefined;
  /** Values of the thread's own metrics. */
  metrics(_: undefined): Promise<MetricValues>;
  /** Ends what is under way and closes every connection. */
  stop(_: undefined): Promise<void>;
};

/** What a thread's own module begins with. */
export interface ThreadContext {
  readonly name: string;
  readonly log: Logger;
  readonly main: Channel<MainCalls>;
}

/**
 * How a thread writes its log: to the same place as the process, in turn with the other threads, so that a crash
 * loses no line; or, where that place is known to the main thread alone (a test's), by way of it.
 */
type ThreadLog =
  | { readonly to: "descriptor"; readonly options: LoggerOptions }
  | { readonly to: "main thread"; readonly level: string };

/** How the threads of a process log whose own log is `log`, made with `options` or, without them, to a stream. */
export function threadLogOf(log: Logger, options: LoggerOptions | undefined): ThreadLog {
  return options === undefined ? { to: "main thread", level: log.level } : { to: "descriptor", options };
}

/** A thread's own logger; `name` says in each line which thread wrote it. */
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
 * How much the old generation of a heap may grow beyond what was alive, in percent, until it is collected whole. V8 chooses about a
 * third for heaps of some 15 MB, which then were collected after each 1,500 applied records: a third of the CPU of a record.
 */
const HEAP_GROWTH_PERCENT = 150;

/** Sets what holds for the heaps of all threads; before the first is started. */
export function letHeapsGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
}

/** How long a thread that was asked to stop may take; after that it is terminated. */
const LEAVE_MS_MAX = 1_000;

/** What every thread of a service is started with. */
export interface ThreadParts {
  readonly threadLog: ThreadLog;
  /** The service's log, for what goes there by way of the main thread. */
  readonly log: Logger;
  readonly main: MainCalls;
  /** Most of a thread's heap but its youngest objects: one that needs more ends, and with it the process. */
  readonly heapMbMax: number;
}

/**
 * A thread of the service, as the main thread sees it. It loads its modules at once and does nothing before its first
 * call. `died` settles when it ends unexpectedly: an uncaught error, or its heap's limit.
 */
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
    this.#worker = new Worker(new URL("../../service/thread-entry.ts", import.meta.url), {
      name,
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: parts.heapMbMax },
    });
    this.#channel = new Channel(this.#worker, { ...main, log: (lines: string) => writeLines(log, lines) });
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.died = promise;
    this.#worker.on("error", (cause) =>
      this.#end(new Error(`The thread ${name} failed.`, { cause }), resolve),
    );
    this.#worker.once("exit", () => this.#end(new Error(`The thread ${name} ended unexpectedly.`), resolve));
  }

  /** As `Channel.call`. */
  call: Channel<Theirs>["call"] = (name, argument, waitMsMax) =>
    this.#channel.call(name as never, argument as never, waitMsMax);

  /** Asks it to stop what it does; a thread that has ended has stopped. */
  async stop(): Promise<void> {
    await this.call("stop", undefined as never).catch((error: unknown) => {
      if (!this.#leaving) throw error;
    });
  }

  /** Ends the thread, which has stopped what it did: at once, or by force after a second. */
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
