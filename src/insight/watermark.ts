import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { isoOfMicroseconds, lowestIdAt, microsecondsOf } from "../accept/request-id.ts";
import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import type { Property } from "../read/property.ts";
import { BucketPromise, LOOK_AGAIN_MS, LOOKS_MAX, NEVER } from "./bucket-promise.ts";

const lookAtPromise = readStatement(new URL("./sql/look-at-promise.sql", import.meta.url));
const promiseReceipts = readStatement(new URL("./sql/promise-receipts.sql", import.meta.url));
const settleReceipts = readStatement(new URL("./sql/settle-receipts.sql", import.meta.url));
const findAppending = readStatement(new URL("./sql/find-appending.sql", import.meta.url));
const findAppendingDistributed = readStatement(
  new URL("./sql/find-appending-distributed.sql", import.meta.url),
);
const findUnretiredLanes = readStatement(new URL("./sql/find-unretired-lanes.sql", import.meta.url));
const readOldestUnapplied = readStatement(new URL("./sql/read-oldest-unapplied.sql", import.meta.url));

/**
 * How far behind the database's clock receipts are promised. An id that was taken earlier when its append begins is taken anew
 * (src/accept/lane.ts), which costs that append a round trip: two seconds are more than a busy event loop waits.
 */
const PROMISED_BEHIND_MS = 2_000;
/** A promise so much older than the next would be is good enough: one a second is written at most. */
const PROMISE_AGE_MS_MAX = 1_000;

interface PromiseRow {
  readonly promised: string;
  readonly settled: string;
  readonly now_ms: number;
}

/** Lanes with a transaction under way, and which; null of one whose session is gone and whose end nobody has noted. */
async function appending(pool: pg.Pool): Promise<Map<string, string | null>> {
  const statement = (await isDistributed(pool)) ? findAppendingDistributed : findAppending;
  const { rows } = await pool.query<{ lane_id: string; transaction: string | null }>(statement);
  return new Map(rows.map(({ lane_id, transaction }) => [lane_id, transaction]));
}

/** Whether all appends that were under way when it was called have ended: what begins later sees what is promised. */
async function haveAppendsEnded(pool: pg.Pool): Promise<boolean> {
  const before = await appending(pool);
  for (let look = 0; before.size > 0 && look < LOOKS_MAX; look += 1) {
    await delay(LOOK_AGAIN_MS);
    const now = await appending(pool);
    for (const [lane, transaction] of before) {
      const other = now.get(lane);
      if (other === undefined || (other !== null && other !== transaction)) before.delete(lane);
    }
  }
  return before.size === 0;
}

/**
 * The id at or below which no lane will have anything committed in this bucket that is not visible now: to be asked for before the
 * snapshot that is to be read. Nobody's clock is trusted for it. It is written down as a promise that every append keeps, and good
 * once the appends have ended that began before they could see it. Null where none has been settled yet.
 */
export async function settledReceipts(
  pool: pg.Pool,
  { bucket }: Pick<Property, "bucket">,
): Promise<string | null> {
  const { rows } = await pool.query<PromiseRow>(lookAtPromise);
  const [now] = rows;
  if (now === undefined) return null;
  const ofBucket = (await isDistributed(pool)) ? new BucketPromise(pool, bucket) : undefined;
  const settled = ofBucket === undefined ? now.settled : await ofBucket.settled();
  const wantedMs = Math.floor(now.now_ms) - PROMISED_BEHIND_MS;
  if (settled >= lowestIdAt(wantedMs - PROMISE_AGE_MS_MAX)) return settled;
  const promised = await pool.query<Pick<PromiseRow, "promised">>({
    ...promiseReceipts,
    values: [lowestIdAt(wantedMs)],
  });
  const promise = promised.rows[0]?.promised ?? NEVER;
  await ofBucket?.promise(promise);
  const hasSettled = (await haveAppendsEnded(pool)) && (await ofBucket?.haveCommitsArrived()) !== false;
  if (!hasSettled) return settled === NEVER ? null : settled;
  if (ofBucket === undefined) await pool.query({ ...settleReceipts, values: [promise] });
  else await ofBucket.settle(promise);
  return promise;
}

/**
 * The watermark of a property as of the snapshot that `client` reads: nothing received at or before this instant (ISO 8601, to
 * the microsecond) is yet to be applied or can still appear. `settled` is what `settledReceipts` answered before the snapshot
 * was taken; null stays null.
 */
export async function watermarkOf(
  client: Queryable,
  { bucket }: Pick<Property, "bucket">,
  settled: string | null,
): Promise<string | null> {
  if (settled === null) return null;
  const lanes = await client.query<{ lane_id: string }>(findUnretiredLanes);
  const { rows } = await client.query<{ request_id: string }>({
    ...readOldestUnapplied,
    values: [bucket, lanes.rows.map(({ lane_id }) => lane_id)],
  });
  const oldest = rows[0]?.request_id ?? settled;
  const first = oldest < settled ? oldest : settled;
  // Ids of one microsecond are told apart only by what follows it.
  return isoOfMicroseconds(microsecondsOf(first) - 1);
}
