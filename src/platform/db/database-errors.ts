/** The SQLSTATE of an error that PostgreSQL answered with; undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** True for an error of the data itself (SQLSTATE classes 22 and 23): the statement surely did nothing. */
export function isDataError(error: unknown): boolean {
  return /^2[23]\w{3}$/.test(sqlState(error) ?? "");
}

const CHECK_VIOLATION = "23514";

/** True where a partitioned table has no partition for a row: a check violation that is no constraint's. */
export function isMissingWindow(error: unknown): boolean {
  if (sqlState(error) !== CHECK_VIOLATION) return false;
  const { routine, message } = error as Error & { readonly routine?: string };
  return routine === "ExecFindPartition" || message.startsWith("no partition of relation");
}

/** SQLSTATE classes of a database that is away for now: connection, resources, shutdown, system error. */
const OUTAGE_STATES = /^(08|53|57P|58)/;

const NETWORK_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);

/** pg gives these errors no code; only their messages identify them. */
const DRIVER_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** The server ends the session with these, or lets none begin: shutting down, no such database, connections not allowed. */
const ENDS_SESSION: ReadonlySet<unknown> = new Set(["FATAL", "PANIC"]);

/** True when the error says that the database could not be reached, rather than that a statement is wrong. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("severity" in error && ENDS_SESSION.has(error.severity)) return true;
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code === "string")
    return NETWORK_CODES.has(code) || (/^[0-9A-Z]{5}$/.test(code) && OUTAGE_STATES.test(code));
  return DRIVER_MESSAGES.test(error.message);
}
