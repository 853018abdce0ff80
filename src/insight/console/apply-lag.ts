import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/request-id.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

const readLag = readStatement(new URL("./sql/read-lag.sql", import.meta.url));
/** The log writers in which something may not be applied yet, and the database's clock. */
const readOpenLogWriters = namedStatement(
  "read-open-log-writers",
  `select clock_timestamp() as now,
    array(select log_writer_id::text from bellhop.log_writer where retired_at is null order by log_writer_id) as "logWriters"`,
);

/** Parts counted in each bucket and log writer. */
const WAITING_MAX = 100;

/** What is accepted and not applied, on all nodes together. */
export interface ApplyLag {
  /** Age of the oldest part that waits; 0 where none does. */
  readonly seconds: number;
  readonly oldestReceivedAt: string | null;
  /** Parts that wait, `waitingMax` at most of each bucket and log writer. */
  readonly waiting: number;
  readonly waitingMax: number;
}

/** Looks what waits to be applied at `now`, a moment of the database's clock: one row of an index a bucket and log writer. */
async function readLagOf(pool: Queryable, logWriters: readonly string[], now: Date): Promise<ApplyLag> {
  const { rows } = await pool.query<{ oldest: string | null; waiting: number }>({
    ...readLag,
    values: [WAITING_MAX, logWriters],
  });
  const { oldest = null, waiting = 0 } = rows[0] ?? {};
  const receivedUs = oldest === null ? undefined : microsecondsOf(oldest);
  return {
    // What was received after the clock was read waits for no time at all.
    seconds: receivedUs === undefined ? 0 : Math.max(0, now.getTime() - receivedUs / 1000) / 1000,
    oldestReceivedAt: receivedUs === undefined ? null : isoOfMicroseconds(receivedUs),
    waiting,
    waitingMax: WAITING_MAX,
  };
}

/** The database's clock, and how to look what waited to be applied at that moment. */
export async function lookForLag(pool: Queryable): Promise<{ now: Date; read(): Promise<ApplyLag> }> {
  const { rows } = await pool.query<{ now: Date; logWriters: string[] }>(readOpenLogWriters);
  const { now, logWriters } = rows[0] ?? { now: new Date(), logWriters: [] };
  return { now, read: () => readLagOf(pool, logWriters, now) };
}
