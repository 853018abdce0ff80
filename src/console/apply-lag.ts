import type pg from "pg";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import { isoOfMicroseconds, microsecondsOf } from "../accept/request-id.ts";
import { isDistributed, ofOneBucket } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";

const readLag = readStatement(new URL("./sql/read-lag.sql", import.meta.url));
const readLagOfBucket = ofOneBucket(readLag, 3);
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

interface Waiting {
  readonly oldest: string | null;
  readonly waiting: number;
}

/** On Citus a statement a bucket, each of the worker that has it. */
async function readWaiting(pool: pg.Pool, lanes: readonly string[]): Promise<Waiting> {
  const values = [WAITING_MAX, lanes];
  if (!(await isDistributed(pool)))
    return (await pool.query<Waiting>({ ...readLag, values })).rows[0] ?? { oldest: null, waiting: 0 };
  let oldest: string | null = null;
  let waiting = 0;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
    const { rows } = await pool.query<Waiting>({ ...readLagOfBucket, values: [...values, bucket] });
    const [of] = rows;
    if (of === undefined || of.oldest === null) continue;
    if (oldest === null || of.oldest < oldest) oldest = of.oldest;
    waiting += of.waiting;
  }
  return { oldest, waiting };
}

/** Looks what waits to be applied at `now`, a moment of the database's clock: one row of an index a bucket and lane. */
async function readLagOf(pool: pg.Pool, lanes: readonly string[], now: Date): Promise<ApplyLag> {
  const { oldest, waiting } = await readWaiting(pool, lanes);
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
export async function lookForLag(pool: pg.Pool): Promise<{ now: Date; read(): Promise<ApplyLag> }> {
  const { rows } = await pool.query<{ now: Date; lanes: string[] }>(readOpenLanes);
  const { now, lanes } = rows[0] ?? { now: new Date(), lanes: [] };
  return { now, read: () => readLagOf(pool, lanes, now) };
}
