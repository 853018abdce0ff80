import { createLogger, createLoggerTo, type Logger, type LoggerOptions } from "../telemetry/log.ts";

/**
 * How a thread writes its log: to the same place as the process, in turn with the other threads, so that a crash
 * loses no line; or, where that place is known to the main thread alone (a test's), by way of it.
 */
export type ThreadLog =
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
  tellLines: (lines: string) => void,
): Logger {
  const log =
    threadLog.to === "descriptor"
      ? createLogger(threadLog.options)
      : createLoggerTo({ write: tellLines }, threadLog.level);
  return log.child({ thread: name });
}
