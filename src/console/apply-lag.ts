import { isoOfMicroseconds, microsecondsOf } from "../accept/request-id.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";

const readLag = readStatement(new URL("./sql/read-lag.sql", import.meta.url));
const readOpenLanes = readStatement(new URL("./sql/read-open-lanes.sql", import.meta.url));

/** Parts counted in each bucket and lane. */
const WAITING_MAX = 100;

/** What is accepted and not applied, on all nodes together. */
export interface ApplyLag {
  /** Age of the oldest part that waits; 0 where none does. */
  readonly seconds: number;
  readonly oldestReceivedAt: string | null;
  /** Parts that wait, `waitingMax` at most of each bucket and lane. */
  readonly waiting: number;
  readonly waitingMax: number;
}

/** Looks what waits to be applied at `now`, a moment of the database's clock: one row of an index a bucket and lane. */
async function readLagOf(pool: Queryable, lanes: readonly string[], now: Date): Promise<ApplyLag> {
  const { rows } = await pool.query<{ oldest: string | null; waiting: number }>({
    ...readLag,
    values: [WAITING_MAX, lanes],
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
  const { rows } = await pool.query<{ now: Date; lanes: string[] }>(readOpenLanes);
  const { now, lanes } = rows[0] ?? { now: new Date(), lanes: [] };
  return { now, read: () => readLagOf(pool, lanes, now) };
}
