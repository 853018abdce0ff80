import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { ID_LOWEST, isoOfMicroseconds, lowestIdAt, microsecondsOf } from "../ingest/log/part-name.ts";
import { closedTimestampOf, query } from "../platform/db/dialect.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Property } from "../query/property.ts";

/** Checks for the end of transactions in progress; most appends take some milliseconds. */
const CHECKS_MAX = 10;
const CHECK_INTERVAL_MS = 25;

/** The promised and the settled closed timestamp, and the database's clock in milliseconds. */
const readPromised = namedStatement(
  "look-at-promise",
  `select promised::text as promised, settled::text as settled,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
  from bellhop.closed_timestamp`,
);
/** Raises the promised closed timestamp to $1, unless it is higher. */
const promiseReceipts = namedStatement(
  "promise-receipts",
  `update bellhop.closed_timestamp set promised = greatest(promised, $1::uuid) returning promised::text as promised`,
);
const settleReceipts = namedStatement(
  "settle-receipts",
  `update bellhop.closed_timestamp set settled = greatest(settled, $1::uuid)`,
);
/**
 * Log writers with a transaction in progress, and the start of that transaction. One whose session is not visible (its backend's process id
 * now belongs to another role's session) counts as in progress. A log writer missing here registered later.
 */
const findAppending = namedStatement(
  "find-appending",
  `select log_writer.log_writer_id::text as log_writer_id, coalesce(writer.xact_start::text, 'unknown') as transaction
  from bellhop.log_writer as log_writer
  join pg_stat_activity as writer
    on writer.pid = log_writer.backend_pid and coalesce(writer.backend_start, log_writer.backend_start) = log_writer.backend_start
  where log_writer.closed_at is null and (writer.xact_start is not null or writer.backend_start is null)`,
);
const readOpen = namedStatement(
  "read-open-log-writers",
  `select clock_timestamp() as now,
    array(select log_writer_id::text from bellhop.log_writer where retired_at is null order by log_writer_id) as "logWriters"`,
);
const readOldestUnapplied = readStatement(new URL("./sql/read-oldest-unapplied.sql", import.meta.url));

/**
 * How far the closed timestamp stays behind the database's clock. An append whose id is older takes a new one
 * (src/ingest/log/log-writer-session.ts), which costs a round trip; two seconds exceed the delays of a busy event loop.
 */
const PROMISED_BEHIND_MS = 2_000;
/** A closed timestamp at most this much behind the next one is reused, so at most one is written per second. */
const PROMISE_AGE_MS_MAX = 1_000;

/** Log writers that may have unapplied entries, and the database's clock. */
interface OpenLogWriters {
  readonly now: Date;
  readonly logWriters: readonly string[];
}

export async function readOpenLogWriters(on: Queryable): Promise<OpenLogWriters> {
  const { rows } = await on.query<OpenLogWriters>(readOpen);
  return rows[0] as OpenLogWriters;
}

interface PromiseRow {
  readonly promised: string;
  readonly settled: string;
  readonly now_ms: number;
}

/** Log writers with a transaction in progress, and which one; null if its session has ended and is not yet marked closed. */
async function appending(pool: pg.Pool): Promise<Map<string, string | null>> {
  const { rows } = await query<{ log_writer_id: string; transaction: string | null }>(pool, findAppending);
  return new Map(rows.map(({ log_writer_id, transaction }) => [log_writer_id, transaction]));
}

/** Whether all appends in progress at the call have ended. Later ones see the promised closed timestamp. */
async function haveAppendsEnded(pool: pg.Pool): Promise<boolean> {
  const before = await appending(pool);
  for (let look = 0; before.size > 0 && look < CHECKS_MAX; look += 1) {
    await delay(CHECK_INTERVAL_MS);
    const now = await appending(pool);
    for (const [logWriter, transaction] of before) {
      const other = now.get(logWriter);
      if (other === undefined || (other !== null && other !== transaction)) before.delete(logWriter);
    }
  }
  return before.size === 0;
}

/**
 * The closed timestamp of this bucket: no later commit can add an id at or before it. Must be read before the snapshot. Independent of any
 * node's clock: it is first written as a promise that every append respects, and settled once the appends that began before have ended.
 * Null if none is settled yet.
 */
export async function settledReceipts(
  pool: pg.Pool,
  { bucket }: Pick<Property, "bucket">,
): Promise<string | null> {
  const { rows } = await pool.query<PromiseRow>(readPromised);
  const [now] = rows;
  if (now === undefined) return null;
  const ofBucket = await closedTimestampOf(pool, bucket);
  const settled = ofBucket === undefined ? now.settled : await ofBucket.settled();
  const wantedMs = Math.floor(now.now_ms) - PROMISED_BEHIND_MS;
  if (settled >= lowestIdAt(wantedMs - PROMISE_AGE_MS_MAX)) return settled;
  const promised = await pool.query<Pick<PromiseRow, "promised">>({
    ...promiseReceipts,
    values: [lowestIdAt(wantedMs)],
  });
  const promise = promised.rows[0]?.promised ?? ID_LOWEST;
  await ofBucket?.promise(promise);
  const hasSettled = (await haveAppendsEnded(pool)) && (await ofBucket?.haveAppendsEnded()) !== false;
  if (!hasSettled) return settled === ID_LOWEST ? null : settled;
  if (ofBucket === undefined) await pool.query({ ...settleReceipts, values: [promise] });
  else await ofBucket.settle(promise);
  return promise;
}

/**
 * The watermark of a property as of the snapshot of `client`: nothing received at or before this instant (ISO 8601 in microseconds) is
 * unapplied or can still appear. `settled` is the result of `settledReceipts` before the snapshot; null stays null.
 */
export async function watermarkOf(
  client: Queryable,
  { bucket }: Pick<Property, "bucket">,
  settled: string | null,
): Promise<string | null> {
  if (settled === null) return null;
  const { logWriters } = await readOpenLogWriters(client);
  const { rows } = await client.query<{ request_id: string }>({
    ...readOldestUnapplied,
    values: [bucket, logWriters],
  });
  const oldest = rows[0]?.request_id ?? settled;
  const first = oldest < settled ? oldest : settled;
  // Ids of the same microsecond differ only after the timestamp, so exclude that microsecond.
  return isoOfMicroseconds(microsecondsOf(first) - 1);
}
