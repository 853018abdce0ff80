/** The SQLSTATE of a PostgreSQL error; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Whether an error is caused by the data (SQLSTATE classes 22 and 23), so that the statement had no effect. */
export function isDataError(error: unknown): boolean {
  return /^2[23]\w{3}$/.test(sqlState(error) ?? "");
}

const CHECK_VIOLATION = "23514";

/** Whether a partitioned table has no partition for a row: a check violation without a constraint. */
export function isMissingWindow(error: unknown): boolean {
  if (sqlState(error) !== CHECK_VIOLATION) return false;
  const { routine, message } = error as Error & { readonly routine?: string };
  return routine === "ExecFindPartition" || message.startsWith("no partition of relation");
}

/** SQLSTATE classes of an outage: connection, resources, shutdown, system error. */
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

/** Messages of pg errors without a code. */
const DRIVER_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** Severities that end a session or refuse one: shutting down, no such database, connections not allowed. */
const ENDS_SESSION: ReadonlySet<unknown> = new Set(["FATAL", "PANIC"]);

/** Whether an error means that the database is unavailable, not that a statement is wrong. */
export function isDatabaseOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("severity" in error && ENDS_SESSION.has(error.severity)) return true;
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code === "string")
    return NETWORK_CODES.has(code) || (/^[0-9A-Z]{5}$/.test(code) && OUTAGE_STATES.test(code));
  return DRIVER_MESSAGES.test(error.message);
}
