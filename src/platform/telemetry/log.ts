import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { type DestinationStream, type LogFn, type Logger as PinoLogger, pino } from "pino";
import { SharedLock } from "../runtime/shared-memory.ts";

export type Logger = PinoLogger;

export interface LoggerOptions {
  /** fatal, error, warn, info, debug or silent. */
  readonly level: string;
  /** For people at a terminal: coloured lines instead of JSON. The caller decides (terminal and not production). */
  readonly pretty: boolean;
  /** Where lines go; by default standard output. Commands whose output is read by programs pass standard error (2). */
  readonly fileDescriptor?: 1 | 2;
  /** Memory that the loggers of several threads share to take turns (`allocateTurns`). */
  readonly turns?: SharedArrayBuffer;
  /** Hears the messages below a warning, which are then not written. */
  readonly onInfo?: (message: string) => void;
}

/** Whatever carries one of these names is a secret, wherever it stands up to three levels deep. */
const SECRET_NAMES = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "password",
  "secret",
  "clientSecret",
  "client_secret",
  "token",
  "accessToken",
  "access_token",
  "assertion",
  "pepper",
  "privateKey",
  "keyEncryptionKey",
  "keyEncryptionKeysPrevious",
  "connectionString",
]);
const SECRET_LEVELS = 3;
const CENSOR = "[redacted]";
/** Pino's number of it. */
const WARN_LEVEL = 40;

/** The same fields with secrets replaced, copied only where there is one. pino's redaction by path takes twenty times as long. */
function withoutSecrets(
  fields: Readonly<Record<string, unknown>>,
  levels = SECRET_LEVELS,
): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const shown = SECRET_NAMES.has(name) ? CENSOR : shownBelow(value, levels - 1);
    if (shown === value) continue;
    copy ??= (Array.isArray(fields) ? [...fields] : { ...fields }) as Record<string, unknown>;
    copy[name] = shown;
  }
  return copy ?? fields;
}

function shownBelow(value: unknown, levels: number): unknown {
  // Errors have a serializer of their own, which keeps known fields only.
  if (levels === 0 || typeof value !== "object" || value === null || value instanceof Error) return value;
  return withoutSecrets(value as Record<string, unknown>, levels);
}

/**
 * The service's log: one JSON object a line (pino), so a line break or an escape code in a partner's text stays inside
 * its string. Fields whose name says that they are secret are redacted, and database errors lose the values they quote.
 */
export function createLogger(options: LoggerOptions): Logger {
  const file = openDestination(options.fileDescriptor ?? 1);
  const destination = options.pretty ? prettyStream(file) : file;
  const inTurn = options.turns === undefined ? destination : takeTurns(destination, options.turns);
  return createLoggerTo(options.pretty ? inTurn : gatherLines(inTurn), options.level, options.onInfo);
}

/** Runs inside this process: a worker would lose the last lines of a crash. Its module takes 16 ms to load. */
function prettyStream(destination: DestinationStream): DestinationStream {
  const { build } = createRequire(import.meta.url)("pino-pretty") as typeof import("pino-pretty");
  return build({ destination, ignore: "pid,hostname", translateTime: "HH:MM:ss.l", singleLine: true });
}

/** More than this is not kept waiting for the end of the turn. */
const CHARACTERS_MAX = 65_536;

/**
 * Gathers the lines of one turn of the event loop and writes them in one system call. A regular exit, an error or a
 * fatal line (pino calls `flushSync`) writes the remaining lines; only a kill loses those of its turn.
 */
function gatherLines(destination: DestinationStream) {
  let gathered = "";
  let isScheduled = false;
  const flushSync = () => {
    const lines = gathered;
    gathered = "";
    if (lines !== "") destination.write(lines);
  };
  process.on("exit", flushSync);
  return {
    flushSync,
    write(line: string) {
      gathered += line;
      if (gathered.length > CHARACTERS_MAX) flushSync();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(() => {
          isScheduled = false;
          flushSync();
        });
      }
    },
  };
}

/** Memory for the lock under which the threads of a process write to one place. */
export function allocateTurns(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Writes while no other thread does, so that lines stay whole: a pipe with a slow reader takes a write in pieces, and
 * those of several threads would mix. A thread that waits for a slow reader blocks the others. `destination` writes at once and whole.
 */
function takeTurns(destination: DestinationStream, turns: SharedArrayBuffer): DestinationStream {
  const lock = new SharedLock(new Int32Array(turns), 0, Number.POSITIVE_INFINITY);
  return { write: (lines) => lock.run(() => destination.write(lines)) };
}

/** So much of what cannot be written is kept; what comes after it is lost. */
const UNWRITTEN_BYTES_MAX = 1_048_576;

/**
 * Writes at once. A log that cannot be written (its disk is full) must not end the service: what was not written goes
 * ahead of the next line that can be.
 */
function openDestination(fileDescriptor: number) {
  const file = pino.destination({ fd: fileDescriptor, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  file.on("error", () => undefined);
  return file;
}

/** As createLogger, to a stream of the caller's. */
export function createLoggerTo(
  destination: DestinationStream,
  level: string,
  onInfo?: (message: string) => void,
): Logger {
  const log: Logger = pino(
    {
      level,
      formatters: { log: (fields) => withoutSecrets(fields) },
      serializers: { err: serializeError, error: serializeError },
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: {
        logMethod(entry, write, level) {
          if (onInfo === undefined || level >= WARN_LEVEL) write.apply(this, withoutQuotedMessage(entry));
          else onInfo(String(entry.find((part) => typeof part === "string") ?? ""));
        },
      },
    },
    destination,
  );
  // A child's own fields do not pass the formatter. Children inherit this from their parent.
  const child: (this: unknown, fields: pino.Bindings, options?: pino.ChildLoggerOptions) => unknown =
    log.child as never;
  log.child = function (this: unknown, fields: pino.Bindings, options?: pino.ChildLoggerOptions) {
    return child.call(this, withoutSecrets(fields), options);
  } as Logger["child"];
  return log;
}

/** Writes lines that a logger of another thread made to where `log` writes its own. */
export function writeLines(log: Logger, lines: string): void {
  (log as unknown as { readonly [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym].write(
    lines,
  );
}

type LogEntry = Parameters<LogFn>;

/** An entry without a message of its own takes its error's, which may quote data as the error itself may. */
function withoutQuotedMessage(entry: LogEntry): LogEntry {
  const [subject, message]: unknown[] = entry;
  const error = subject instanceof Error ? subject : (subject as { err?: unknown } | undefined)?.err;
  if (!(error instanceof Error) || (message !== undefined && message !== error.message)) return entry;
  const { message: shown } = serializeError(error) as { message: string };
  return [subject instanceof Error ? { err: error } : subject, shown];
}

/**
 * What of an error is logged. Others are left out: PostgreSQL's `detail`, `where` and `hint` quote data (a guest's name
 * must not reach the log by way of a failed statement), and pg hangs the whole connection with its keys on an error.
 */
const LOGGED_FIELDS = [
  "type",
  "message",
  "stack",
  "code",
  "status",
  "syscall",
  "address",
  "port",
  "severity",
  "schema",
  "table",
  "constraint",
  "routine",
];

/** A chain of causes is followed this far; deeper ones, or a circle, say nothing new. */
const CAUSES_MAX = 5;

function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return depth === 0 ? error : undefined;
  const all = { ...error, type: error.name, message: error.message, stack: error.stack } as Record<
    string,
    unknown
  >;
  const fields = Object.fromEntries(
    LOGGED_FIELDS.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]),
  );
  // Class 22 (data exception) messages end in the offending value: invalid input syntax for type date: "…".
  if ("severity" in fields && String(fields["code"]).startsWith("22")) {
    for (const field of ["message", "stack"])
      fields[field] = String(fields[field]).replace(/"[^"]*"/g, '"…"');
  }
  const causes =
    error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  if (causes.length > 0 && depth < CAUSES_MAX)
    fields["cause"] = causes.map((cause) => serializeError(cause, depth + 1));
  return fields;
}

/**
 * What a request waited for, in milliseconds each; the rest of its time was work, its own or that of others on the same
 * thread. Nothing waits for the body budget: without room a request is refused at once.
 */
export interface RequestWaits {
  /** Its token had to be asked of the database. */
  authentication: number;
  /** Its body, from the first look at it to its last byte. */
  body: number;
  /** Its records were read and judged, with the turns that others had in between. */
  records: number;
  /** Statements, and connections of the pool or a turn among those of the same client; those at the same time count each. */
  database: number;
  /** A log writer that was free to write it. */
  logWriter: number;
  /** The commit that it shared. */
  flush: number;
  /** What it had asked to wait for: a change, or a batch to be applied. */
  asked: number;
  /** Its answer, until its client had taken it. */
  answer: number;
}

export type Wait = keyof RequestWaits;

/** Of a request that has waited for nothing yet. */
export function noWaits(): RequestWaits {
  return { authentication: 0, body: 0, records: 0, database: 0, logWriter: 0, flush: 0, asked: 0, answer: 0 };
}

/** The waits of the request that is being answered, for what is too far below to be handed them. */
const current = new AsyncLocalStorage<RequestWaits>();

/** Runs what answers a request: what it waits for from now on is counted as its waits. */
export function runWithWaits(waits: RequestWaits, answer: () => void): void {
  current.run(waits, answer);
}

/** The waits of the request that this is done for; undefined where it is done for none. */
export function currentWaits(): RequestWaits | undefined {
  return current.getStore();
}

/** All of them together. */
export function sumOfWaits(waits: RequestWaits): number {
  return Object.values(waits).reduce((sum, ms) => sum + ms);
}

/** Of the waits that were not asked for, what took longest, and `work` where that was more than each. */
export function longestWait(waits: RequestWaits, elapsedMs: number): Wait | "work" {
  let longest: Wait | "work" = "work";
  let longestMs = elapsedMs - sumOfWaits(waits);
  for (const wait of Object.keys(waits) as Wait[]) {
    if (wait === "asked" || waits[wait] <= longestMs) continue;
    longest = wait;
    longestMs = waits[wait];
  }
  return longest;
}

/** Those that were there, to the tenth of a millisecond, for a line of the log. */
export function shownWaits(waits: RequestWaits): Readonly<Partial<Record<Wait, number>>> {
  const shown: Partial<Record<Wait, number>> = {};
  for (const wait of Object.keys(waits) as Wait[]) {
    const ms = Math.round(waits[wait] * 10) / 10;
    if (ms > 0) shown[wait] = ms;
  }
  return shown;
}
