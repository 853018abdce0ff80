import type pg from "pg";

/**
 * Records are read, and rows made of them, between two statements of a transaction: seconds at most, but on a machine that
 * is busy with other things. An applier that hangs is ended by the others sooner.
 */
const IDLE_IN_TRANSACTION_SECONDS_MAX = 60;

/** Prepares a connection to work on the state in `schema` (one of our own names): texts of times come as `isoOfStored` reads them. */
export async function openStateSession(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(
    `set search_path = ${schema}; set datestyle = 'ISO'; set timezone = 'UTC';
    set idle_in_transaction_session_timeout = '${IDLE_IN_TRANSACTION_SECONDS_MAX}s'`,
  );
}

/**
 * Has statements find their rows by index or place, and never by reading a table through. Those of apply do, but prepared
 * while the tables are empty their plans would be scans, and stay that until the next analyze.
 */
export async function planByKeys(client: pg.ClientBase, on: boolean): Promise<void> {
  await client.query(
    ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_material"]
      .map((setting) => (on ? `set ${setting} = off` : `reset ${setting}`))
      .join("; "),
  );
}

const FRACTION_DIGITS = 6;

/**
 * A timestamptz as a session of `openStateSession` writes it, as ISO 8601 with all its microseconds: the text by which
 * source times are compared. Here and not by `to_char`, which costs the server more than the lookup of the row.
 *
 * @example isoOfStored("2026-01-31 12:00:00.5+00") // "2026-01-31T12:00:00.500000Z"
 */
export function isoOfStored(text: string): string {
  if (!text.endsWith("+00") || text[10] !== " ") throw new Error(`Not a stored time in UTC: ${text}`);
  const fraction = text.slice(20, -3).padEnd(FRACTION_DIGITS, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

/** A list of texts without quotes in them (numbers, ids, times), or nulls, as the text of an array. */
export function arrayOf(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

const TO_ESCAPE = /["\\]/;
const ALL_TO_ESCAPE = /["\\]/g;

/** Looked at first, as hardly any key needs it. */
function escaped(text: string): string {
  return TO_ESCAPE.test(text) ? text.replace(ALL_TO_ESCAPE, "\\$&") : text;
}

/** A list of any texts as the text of an array. */
export function textArrayOf(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${escaped(value)}"`)).join(",")}}`;
}
