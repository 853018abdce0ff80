import { BellhopError } from "#client";
import { OperatorError, UsageError } from "../platform/errors/operator-error.ts";

/** An operating system error of a socket (Node's SystemError). */
interface SocketError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly hostname?: string;
  readonly address?: string;
  readonly port?: number;
}

function isSystemError(error: Error): error is SocketError & { readonly path?: string } {
  return "code" in error && typeof error.code === "string" && "syscall" in error;
}

/** File errors that an operator can fix; any other is a defect. */
const OF_FILES: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "its file system is read-only",
  EISDIR: "it is a directory",
  ENOTDIR: "a component of its path is not a directory",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "its symbolic links form a loop",
  EBUSY: "it is in use",
};

/** Errors that prevent any write. */
const OF_DISKS: Readonly<Record<string, string>> = {
  ENOSPC: "The disk is full",
  EDQUOT: "The quota of the disk is used up",
  EIO: "The disk fails",
};

function ofFile({ code, path }: { readonly code: string; readonly path?: string }): string | undefined {
  const where = path === undefined ? "" : `: ${path}`;
  const disk = OF_DISKS[code];
  if (disk !== undefined) return `${disk} (${code})${where}.`;
  const why = OF_FILES[code];
  return why === undefined || path === undefined ? undefined : `${path} cannot be used: ${why} (${code}).`;
}

/** A failed listen concerns HOST and PORT; every other address at startup is the database's. */
function ofSocket(error: SocketError, environment: NodeJS.ProcessEnv): string | undefined {
  const { code, syscall, address, port, hostname } = error;
  if (syscall === "listen") {
    const where = `port ${port} of ${address}`;
    if (code === "EADDRINUSE") return `Another program listens on ${where}: stop it, or set another PORT.`;
    if (code === "EACCES") return `Listening on ${where} is not allowed: set another PORT.`;
    return `Listening on ${where} failed (${code}): see HOST and PORT.`;
  }
  if (syscall === "getaddrinfo" && hostname !== undefined) {
    const setting = hostname === environment["HOST"] ? "HOST" : "DATABASE_URL";
    return `${setting} names ${hostname}, which cannot be resolved (${code}).`;
  }
  if (syscall === "connect" && environment["DATABASE_URL"]) {
    return `The database of DATABASE_URL cannot be reached (${code}): is it running, and is its address right?`;
  }
  return undefined;
}

/** Connection errors of PostgreSQL that concern a setting. Its message has the details and contains no password. */
function ofDatabase(error: Error & { readonly code: string }): string | undefined {
  const { code, message } = error;
  if (code.startsWith("28") || code === "3D000") {
    const advice = /no encryption$/.test(message) ? " Append ?sslmode=verify-full to it." : "";
    return `The database refuses DATABASE_URL: ${message}.${advice}`;
  }
  if (code === "42501") return `The database user lacks permission: ${message}.`;
  if (code === "53300") return `The database has no connection left: ${message}.`;
  if (code === "53100") return `The database's disk is full: ${message}. The command had no effect.`;
  if (code.startsWith("57P0")) return `The database is stopping or starting: ${message}. Try again.`;
  return undefined;
}

/** Codes of Node's TLS errors, and node-postgres's error for a server without TLS. */
const NO_TLS = /CERT|^ERR_(?:SSL|TLS)_|^UNABLE_TO_|support SSL connections/;

/** Codes of a certificate whose authority Node does not know. */
const UNKNOWN_AUTHORITY = /SELF_SIGNED|^UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)/;

function ofTls(error: Error): string {
  const code = "code" in error ? String(error.code) : "";
  // Node adds how to run it otherwise.
  const [message] = error.message.split(";");
  const advice = UNKNOWN_AUTHORITY.test(code)
    ? " Append &sslrootcert=FILE to it, the certificate of the authority that signed the server's."
    : "";
  return `DATABASE_URL asks for TLS, which fails: ${message}.${advice}`;
}

/** node-postgres errors without a code, for a closed or timed-out connection. */
const LOST_CONNECTION = /^(?:Connection terminated|timeout expired)/;

/** One line for the operator about why the service or a command failed; undefined for a defect, which shows its stack. */
export function failureText(error: unknown, environment: NodeJS.ProcessEnv): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof OperatorError || error instanceof BellhopError) return error.message;
  // None of a host's addresses answered.
  const first = error instanceof AggregateError ? (error.errors[0] as Error) : error;
  if (isSystemError(first)) return ofSocket(first, environment) ?? ofFile(first);
  if (LOST_CONNECTION.test(first.message)) {
    return environment["DATABASE_URL"]
      ? "The database of DATABASE_URL did not answer in time or closed the connection: is its address right, and is it PostgreSQL?"
      : "The embedded database closed the connection: its log says why (DATA_DIR/postgres/log). Try again.";
  }
  const isTls = NO_TLS.test("code" in first ? String(first.code) : first.message);
  if (isTls && environment["DATABASE_URL"]) return ofTls(first);
  if ("severity" in first && "code" in first) return ofDatabase(first as Error & { code: string });
  return undefined;
}

/** A failure as reported by the command line; a defect shows its stack. */
export function failureOf(
  error: unknown,
  environment: NodeJS.ProcessEnv,
): { readonly message: string; readonly exitCode: 1 | 2; readonly isUsage: boolean } {
  const isUsage =
    error instanceof UsageError ||
    (error instanceof BellhopError && error.exception === "client.InvalidOption");
  const stack = String(error instanceof Error ? error.stack : error);
  return { message: failureText(error, environment) ?? stack, exitCode: isUsage ? 2 : 1, isUsage };
}
