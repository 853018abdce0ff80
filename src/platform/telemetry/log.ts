import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { type DestinationStream, type LogFn, type Logger as PinoLogger, pino } from "pino";
import { SharedLock } from "../runtime/shared-memory.ts";
import { escapeInvisible } from "../runtime/visible-text.ts";

export type Logger = PinoLogger;

export interface LoggerOptions {
  /** fatal, error, warn, info, debug or silent. */
  readonly level: string;
  /** Coloured lines instead of JSON. */
  readonly pretty: boolean;
  /** Default: standard output. Commands whose output is read by programs pass standard error (2). */
  readonly fileDescriptor?: 1 | 2;
  /** Memory of the lock for writing to one destination from several threads: one word. */
  readonly turns?: SharedArrayBuffer;
  /** Receives messages below a warning instead of the log. */
  readonly onInfo?: (message: string) => void;
}

/** Fields with these names are redacted, up to three levels deep. */
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

/** Replaces secrets, copying only if there are any. (pino's redaction by path takes twenty times as long.) */
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
  // `serializeError` keeps only known fields of errors.
  if (levels === 0 || typeof value !== "object" || value === null || value instanceof Error) return value;
  return withoutSecrets(value as Record<string, unknown>, levels);
}

/**
 * Creates the service's log: one JSON object per line (pino), which escapes line breaks and control codes of partners. Redacts secret
 * fields, and the values quoted by database errors.
 */
export function createLogger(options: LoggerOptions): Logger {
  const file = openDestination(options.fileDescriptor ?? 1);
  const destination = options.pretty ? readableLines(prettyStream(file)) : file;
  const inTurn = options.turns === undefined ? destination : takeTurns(destination, options.turns);
  const visible = visibleLines(inTurn);
  return loggerTo(options.pretty ? visible : gatherLines(visible), options.level, options.onInfo);
}

/** Runs in this thread, because a worker would lose the last lines of a crash. The module takes 16 ms to load. */
function prettyStream(destination: DestinationStream): DestinationStream {
  const { build } = createRequire(import.meta.url)("pino-pretty") as typeof import("pino-pretty");
  return build({ destination, ignore: "pid,hostname", translateTime: "HH:MM:ss.l", singleLine: true });
}

/** Escapes of a JSON text, and the pairs of backslashes that begin none. */
const ESCAPES = /\\(?:u00[01][0-9a-f]|[bfr]|["\\/nt]|u[0-9a-f]{4})/g;

/** Doubles escapes of control codes, which pino-pretty would decode. */
export function readableLines(destination: DestinationStream): DestinationStream {
  const shown = (found: string) => (/^\\[ubfr]/.test(found) ? `\\${found}` : found);
  return { write: (line) => destination.write(line.replace(ESCAPES, shown)) };
}

/** More characters are written before the end of the turn. */
const CHARACTERS_MAX = 65_536;

/**
 * Writes the lines of one turn of the event loop in one system call. An exit, an uncaught error or a fatal line (pino calls `flushSync`)
 * writes the remaining lines; only SIGKILL loses them.
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

/**
 * Serialises writes of threads, because a pipe with a slow reader takes a write in pieces. A slow reader blocks all threads. `destination`
 * must write synchronously.
 */
function takeTurns(destination: DestinationStream, turns: SharedArrayBuffer): DestinationStream {
  const lock = new SharedLock(new Int32Array(turns), 0, Number.POSITIVE_INFINITY);
  return { write: (lines) => lock.run(() => destination.write(lines)) };
}

/** Limit of lines kept while the destination cannot be written; further lines are dropped. */
const UNWRITTEN_BYTES_MAX = 1_048_576;

/** Writes synchronously. If that fails (disk full), the service continues, and the lines are written before the next one. */
function openDestination(fileDescriptor: number) {
  const file = pino.destination({ fd: fileDescriptor, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  file.on("error", () => undefined);
  return file;
}

/** As `createLogger`, to a stream. */
export function createLoggerTo(
  destination: DestinationStream,
  level: string,
  onInfo?: (message: string) => void,
): Logger {
  return loggerTo(visibleLines(destination), level, onInfo);
}

function loggerTo(destination: DestinationStream, level: string, onInfo?: (message: string) => void): Logger {
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
  // pino does not pass a child's own fields to the formatter.
  const child: (this: unknown, fields: pino.Bindings, options?: pino.ChildLoggerOptions) => unknown =
    log.child as never;
  log.child = function (this: unknown, fields: pino.Bindings, options?: pino.ChildLoggerOptions) {
    return child.call(this, withoutSecrets(fields), options);
  } as Logger["child"];
  return log;
}

/** Writes lines of another thread's logger to the destination of `log`. */
export function writeLines(log: Logger, lines: string): void {
  (log as unknown as { readonly [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym].write(
    lines,
  );
}

/** Nearly all lines are ASCII, whose control codes but DEL JSON.stringify escapes. */
function isVisible(lines: string): boolean {
  return Buffer.byteLength(lines) === lines.length && !lines.includes("\u007f");
}

/** Escapes the other characters that a terminal or a viewer would execute or not show. This changes no value of the JSON. */
function visibleLines(destination: DestinationStream & { flushSync?: () => void }) {
  const visible = (lines: string) => lines.split("\n").map(escapeInvisible).join("\n");
  return {
    write: (lines: string) => destination.write(isVisible(lines) ? lines : visible(lines)),
    // Called by pino for a fatal line.
    flushSync: () => destination.flushSync?.(),
  };
}

type LogEntry = Parameters<LogFn>;

/** Prevents pino from using an error's message, which may quote data, as the message of the entry. */
function withoutQuotedMessage(entry: LogEntry): LogEntry {
  const [subject, message]: unknown[] = entry;
  const error = subject instanceof Error ? subject : (subject as { err?: unknown } | undefined)?.err;
  if (!(error instanceof Error) || (message !== undefined && message !== error.message)) return entry;
  const { message: shown } = serializeError(error) as { message: string };
  return [subject instanceof Error ? { err: error } : subject, shown];
}

/**
 * The fields of an error that are logged. PostgreSQL's `detail`, `where` and `hint` quote data such as guests' names, and pg attaches the
 * connection with its keys.
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

/** Maximum length of a chain of causes, which may be a cycle. */
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
  // Messages of class 22 (data exception) quote the value: invalid input syntax for type date: "…".
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

/** The waits of a request in milliseconds. The rest of its time was work on the same thread. */
export interface RequestWaits {
  /** For a token that was not cached. */
  authentication: number;
  /** From the start of reading the body to its last byte. */
  body: number;
  /** Reading and validating records, including turns of other requests. */
  records: number;
  /** For statements, pool connections and client semaphores; concurrent waits count each. */
  database: number;
  /** For a free log writer. */
  logWriter: number;
  /** For the commit. */
  flush: number;
  /** As requested by the client: for a change, or until a batch is applied. */
  asked: number;
  /** Until the client has received the response. */
  answer: number;
}

export type Wait = keyof RequestWaits;

export function noWaits(): RequestWaits {
  return { authentication: 0, body: 0, records: 0, database: 0, logWriter: 0, flush: 0, asked: 0, answer: 0 };
}

/** The waits of the current request, for code that does not get them as a parameter. */
const current = new AsyncLocalStorage<RequestWaits>();

/** Handles a request, so that `currentWaits` returns its waits. */
export function runWithWaits(waits: RequestWaits, answer: () => void): void {
  current.run(waits, answer);
}

/** The waits of the current request; undefined outside of requests. */
export function currentWaits(): RequestWaits | undefined {
  return current.getStore();
}

export function sumOfWaits(waits: RequestWaits): number {
  return Object.values(waits).reduce((sum, ms) => sum + ms);
}

/** The longest wait except `asked`, or `work` if that took longer. */
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

/** The non-zero waits, rounded to 0.1 ms, for a log line. */
export function shownWaits(waits: RequestWaits): Readonly<Partial<Record<Wait, number>>> {
  const shown: Partial<Record<Wait, number>> = {};
  for (const wait of Object.keys(waits) as Wait[]) {
    const ms = Math.round(waits[wait] * 10) / 10;
    if (ms > 0) shown[wait] = ms;
  }
  return shown;
}
