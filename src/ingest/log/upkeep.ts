import type pg from "pg";
import { namedStatement } from "../../platform/db/statement.ts";
import type { WindowedTable } from "../../platform/db/time-windows.ts";
import { ensurePartitions, setWindowMs } from "./partitions.ts";

/** A thousand at a time, so that no transaction holds many rows that a flush may want to claim. */
const deleteExpiredKeys = namedStatement(
  "delete-expired-keys",
  `delete from bellhop.idempotency_key
  where (client_id, key) in (
    select client_id, key from bellhop.idempotency_key
    where created_at < clock_timestamp() - interval '25 hours'
    order by created_at
    limit 1000
    for update skip locked
  )`,
);

/** Windows are made two ahead and keys are kept a day, so an hour's delay harms neither. */
const UPKEEP_MS_MAX = 3_600_000;

/** Makes the next windows of the log, its outcomes and other tables, and deletes Idempotency-Keys past their 24 hours. */
export async function upkeepAcceptLog(pool: pg.Pool, others: readonly WindowedTable[] = []): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ now_ms: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms",
    );
    await ensurePartitions(client, rows[0]?.now_ms ?? Date.now(), others);
    let deleted: number | null;
    do deleted = (await client.query(deleteExpiredKeys)).rowCount;
    while (deleted !== null && deleted > 0);
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/**
 * Has the windows be `windowMs` long from now on, and does the upkeep every hour, or twice a window where those are shorter; what
 * fails is told and tried again the next time.
 */
export async function keepUpAcceptLog(
  pool: pg.Pool,
  windowMs: number,
  others: readonly WindowedTable[],
  failed: (error: unknown) => void,
): Promise<{ stop(): void }> {
  const client = await pool.connect();
  try {
    await setWindowMs(client, windowMs);
  } finally {
    client.release();
  }
  const everyMs = Math.min(UPKEEP_MS_MAX, windowMs / 2);
  const timer = setInterval(() => void upkeepAcceptLog(pool, others).catch(failed), everyMs).unref();
  return { stop: () => clearInterval(timer) };
}
