import type pg from "pg";
import { ensureWindows, type WindowedTable } from "../../platform/db/time-windows.ts";
import { lowestIdAt, microsecondsOf } from "./request-id.ts";

/** A window holds seven days unless RETENTION_WINDOW says otherwise: few enough for lookups by id, small enough to drop one at a time. */
const DEFAULT_WINDOW_MS = 7 * 86_400_000;
const WINDOWS_AHEAD = 2;

/** Under which name the length of windows, in milliseconds, stands in `bellhop.instance`: every node makes the same ones. */
const WINDOW_NAME = "retention.window";

/** Request ids are UUIDv7, so their order is that of time. */
function byRequestId(table: string): WindowedTable {
  return {
    schema: "bellhop",
    table,
    column: "request_id",
    boundOf: lowestIdAt,
    timeOf: (bound) => Math.floor(microsecondsOf(bound) / 1000),
  };
}

/** The log, in windows of its request ids. */
export const ACCEPT_LOG = byRequestId("accept_log");
/** What became of its parts, in the same ones. */
export const REQUEST_OUTCOME = byRequestId("request_outcome");

/** How long windows are that are made from now on, in milliseconds. */
export async function readWindowMs(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ value: string }>(
    "select value from bellhop.instance where name = $1",
    [WINDOW_NAME],
  );
  return Number(rows[0]?.value ?? DEFAULT_WINDOW_MS);
}

/** Says how long windows are that are made from now on, by whatever node; those that there are stay as they are. */
export async function setWindowMs(client: pg.ClientBase, windowMs: number): Promise<void> {
  await client.query(
    `insert into bellhop.instance as kept (name, value) values ($1, $2)
    on conflict (name) do update set value = excluded.value where kept.value <> excluded.value`,
    [WINDOW_NAME, String(windowMs)],
  );
}

/**
 * Makes the windows of the log and of its outcomes for the given time and two ahead (`ensureWindows`). Outcomes come first:
 * what is accepted into a window can then be told of. So do `others`.
 */
export async function ensurePartitions(
  client: pg.ClientBase,
  atMs: number,
  others: readonly WindowedTable[] = [],
): Promise<void> {
  const windowMs = await readWindowMs(client);
  const tables = [...others, REQUEST_OUTCOME, ACCEPT_LOG];
  await ensureWindows(client, tables, { atMs, windowMs, ahead: WINDOWS_AHEAD });
}
