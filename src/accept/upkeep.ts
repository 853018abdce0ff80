import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { ensurePartitions } from "./partitions.ts";

const deleteExpiredKeys = readStatement(new URL("./sql/delete-expired-keys.sql", import.meta.url));

/** Partitions are made two weeks ahead and keys are kept a day, so an hour's delay harms neither. */
const UPKEEP_MS = 3_600_000;

/** Makes the log's next partitions and deletes Idempotency-Keys past their 24 hours. */
export async function upkeepAcceptLog(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ now_ms: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms",
    );
    await ensurePartitions(client, rows[0]?.now_ms ?? Date.now());
    let deleted: number | null;
    do deleted = (await client.query(deleteExpiredKeys)).rowCount;
    while (deleted !== null && deleted > 0);
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Does the upkeep every hour; what fails is told and tried again the next hour. */
export function keepUpAcceptLog(pool: pg.Pool, failed: (error: unknown) => void): { stop(): void } {
  const timer = setInterval(() => void upkeepAcceptLog(pool).catch(failed), UPKEEP_MS).unref();
  return { stop: () => clearInterval(timer) };
}
