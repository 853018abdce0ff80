import type pg from "pg";
import { query } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ensureWindows, type WindowedTable } from "../../platform/db/time-windows.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { Repeat } from "../../platform/runtime/repeat.ts";
import { lowestIdAt, microsecondsOf } from "./part-name.ts";

/** Length of a window unless RETENTION_WINDOW is set: few enough windows for lookups by id, small enough to drop one at a time. */
const DEFAULT_WINDOW_MS = 7 * 86_400_000;
const WINDOWS_AHEAD = 2;

/** Name of the window length (ms) in `bellhop.instance`, which all nodes use. */
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

/** The log. Bodies up to half a page stay in their row; by default one reservation would be toasted (docs/decisions/0006). */
export const ACCEPT_LOG: WindowedTable = {
  ...byRequestId("accept_log"),
  storage: "toast_tuple_target = 4080",
};
export const REQUEST_OUTCOME = byRequestId("request_outcome");

/** The length of new windows in milliseconds. */
export async function readWindowMs(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ value: string }>(
    "select value from bellhop.instance where name = $1",
    [WINDOW_NAME],
  );
  return Number(rows[0]?.value ?? DEFAULT_WINDOW_MS);
}

/** Sets the length of new windows, for all nodes. Existing windows are unchanged. */
export async function setWindowMs(client: Queryable, windowMs: number): Promise<void> {
  await client.query(
    `insert into bellhop.instance as kept (name, value) values ($1, $2)
    on conflict (name) do update set value = excluded.value where kept.value <> excluded.value`,
    [WINDOW_NAME, String(windowMs)],
  );
}

/** Creates windows for the given time and two ahead. The log comes last, so that every accepted part has a window for its outcomes. */
export async function ensurePartitions(
  client: pg.ClientBase,
  atMs: number,
  others: readonly WindowedTable[] = [],
): Promise<void> {
  const windowMs = await readWindowMs(client);
  const tables = [...others, REQUEST_OUTCOME, ACCEPT_LOG];
  await ensureWindows(client, tables, { atMs, windowMs, ahead: WINDOWS_AHEAD });
}

/** Deletes 1,000 keys at a time, so that few rows are locked that a flush may claim. */
const deleteExpiredKeys = namedStatement(
  "delete-expired-keys",
  `delete from bellhop.idempotency_key
  where (client_id, key, bucket) in (
    select client_id, key, bucket from bellhop.idempotency_key
    where created_at < clock_timestamp() - interval '25 hours'
    order by created_at
    limit 1000
    for update skip locked
  )`,
);

/** Windows are created two ahead, and an expired key may stay for an hour. */
const UPKEEP_MS_MAX = 3_600_000;

/** Creates the next windows, and deletes idempotency keys that have expired. */
export async function upkeepAcceptLog(pool: pg.Pool, others: readonly WindowedTable[] = []): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ now_ms: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms",
    );
    await ensurePartitions(client, rows[0]?.now_ms ?? Date.now(), others);
    while ((await query(client, deleteExpiredKeys)).rowCount > 0);
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Sets the length of new windows and runs the upkeep every hour, or twice per window if that is shorter. */
export async function keepUpAcceptLog(
  pool: pg.Pool,
  windowMs: number,
  others: readonly WindowedTable[],
  failed: (error: unknown) => void,
): Promise<Repeat> {
  await setWindowMs(pool, windowMs);
  const everyMs = Math.min(UPKEEP_MS_MAX, windowMs / 2);
  return new Repeat(() => upkeepAcceptLog(pool, others), everyMs, failed);
}
