import type pg from "pg";
import { isDistributed } from "../platform/db/distribution.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { READING, SHORT } from "./answer-bounds.ts";
import type { ResourceLetter } from "./state/version-tables.ts";

export const readBacklogStatement = readStatement(new URL("./sql/read-backlog.sql", import.meta.url));
const readLogStatement = readStatement(new URL("./sql/read-log.sql", import.meta.url));
const readOfBucket = readStatement(new URL("./sql/read-backlog-distributed.sql", import.meta.url));
const findBacklog = readStatement(new URL("./sql/find-backlog-distributed.sql", import.meta.url));
const readLogWriters = namedStatement(
  "read-log-writers",
  `select log_writer_id::text as log_writer_id, is_backfill from bellhop.log_writer where retired_at is null`,
);

/** At most this many parts a log writer and bucket are read for one transaction. */
const PARTS_MAX = 64;
/** Stored bytes read at once: the part that passes it is the last. */
const STORED_BYTES_TARGET = 8 * 1_048_576;

/**
 * So long a part of a backfill comes only where nothing else is waiting; then it is one among the others, so that a flood of
 * those holds it up no longer than this.
 */
const BACKFILL_YIELDS_MS = 10_000;
/** Whatever comes while a transaction of these is under way waits for it: some 20 ms of an applier. */
const BACKFILL_RECORDS_TARGET = 200;

/** One row of the log: the part of a batch that lies in one bucket, or a resolution. */
export interface LogPart {
  readonly bucket: number;
  readonly logWriterId: string;
  readonly requestId: string;
  readonly kind: "b" | "r" | "d";
  readonly resource: ResourceLetter;
  readonly receivedAt: Date;
  /** Who sent it; only of what is read to be applied. */
  readonly clientId?: string;
  readonly target: { readonly requestId: string; readonly index: number } | null;
  readonly rejectedIndexes: ReadonlySet<number>;
  /** It belongs to a backfill, so that others go first. */
  readonly isBackfill?: boolean;
  /** The span that it was accepted in, in hexadecimal digits, where that is traced. */
  readonly traceContext?: string | null;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

/** A row of the log as every reader selects it. */
export interface LogRow {
  bucket: number;
  log_writer_id: string;
  request_id: string;
  kind: "b" | "r" | "d";
  resource: ResourceLetter;
  received_at: Date;
  client_id?: string;
  target_request_id: string | null;
  target_index: number | null;
  rejections: { index: number }[] | null;
  backfill_id?: string | null;
  trace_context?: string | null;
  layout: Buffer | null;
  body: Buffer | null;
}

export function partOf(row: LogRow): LogPart {
  return {
    bucket: row.bucket,
    logWriterId: row.log_writer_id,
    requestId: row.request_id,
    kind: row.kind,
    resource: row.resource,
    receivedAt: row.received_at,
    ...(row.client_id === undefined ? {} : { clientId: row.client_id }),
    target:
      row.target_request_id === null || row.target_index === null
        ? null
        : { requestId: row.target_request_id, index: row.target_index },
    rejectedIndexes: new Set((row.rejections ?? []).map(({ index }) => index)),
    isBackfill: (row.backfill_id ?? null) !== null,
    traceContext: row.trace_context ?? null,
    layout: row.layout,
    body: row.body,
  };
}

/** Sorts before every id. */
export const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
/** Sorts after every id. */
export const AFTER_ALL = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** What lies in one log writer after `from_id`, up to and including `request_id`. */
export interface LogStretch {
  readonly log_writer_id: string;
  readonly from_id: string;
  readonly request_id: string;
}

/** A part that was read again, and the indexes of its records that were quarantined when it was applied, whatever became of them since. */
export interface LoggedPart {
  readonly part: LogPart;
  readonly quarantined: ReadonlySet<number>;
}

/**
 * Reads the log of one bucket again, applied or not, some parts at a time: those of all stretches together in the order of receipt,
 * after `after` where that is given; of batches of some resources only where they are named. Nothing at its end.
 */
export async function readLog(
  client: Queryable,
  bucket: number,
  stretches: readonly LogStretch[],
  { after, partsMax, resources }: { after?: string; partsMax: number; resources?: readonly ResourceLetter[] },
): Promise<LoggedPart[]> {
  const { rows } = await client.query<LogRow & { readonly quarantined: readonly number[] }>({
    ...readLogStatement,
    values: [
      bucket,
      after ?? BEFORE_ALL,
      JSON.stringify(stretches),
      partsMax,
      STORED_BYTES_TARGET,
      resources ?? null,
    ],
  });
  return rows.map((row) => ({ part: partOf(row), quarantined: new Set(row.quarantined) }));
}

/**
 * On Citus: so few buckets are read one after another; of more, every worker is asked first which of them have something, as long
 * as every worker answers.
 */
const BUCKETS_TRIED_MAX = 2;

interface LogWriterRow {
  readonly log_writer_id: string;
  readonly is_backfill: boolean;
}

/** Log writers as two parameters: their ids, and which are of backfills. */
function columnsOf(logWriters: readonly LogWriterRow[]): [string[], boolean[]] {
  return [
    logWriters.map(({ log_writer_id }) => log_writer_id),
    logWriters.map(({ is_backfill }) => is_backfill),
  ];
}

/** Which buckets a connection has found to have something, the longest waiting first. */
const found = new WeakMap<pg.ClientBase, number[]>();

/**
 * On Citus a transaction has one bucket, so that it takes place on one worker: of these buckets, one that has something.
 * What was found for the others is remembered for the next times.
 */
async function readBacklogOfOne(
  client: pg.ClientBase,
  buckets: readonly number[],
  recordsMax: number,
  everyWorkerAnswers: boolean,
): Promise<LogPart[]> {
  const { rows: logWriters } = await client.query<LogWriterRow>({ ...readLogWriters, ...SHORT });
  if (logWriters.length === 0) return [];
  const remembered = (found.get(client) ?? []).filter((bucket) => buckets.includes(bucket));
  found.set(client, remembered);
  const parts = await readFirstOf(client, remembered, logWriters, recordsMax);
  if (parts.length > 0) return parts;
  let wanted = [...buckets];
  if (wanted.length > BUCKETS_TRIED_MAX && everyWorkerAnswers) {
    const waiting = await client.query<{ bucket: number }>({
      ...findBacklog,
      ...SHORT,
      values: [buckets, ...columnsOf(logWriters), BACKFILL_YIELDS_MS],
    });
    wanted = waiting.rows.map(({ bucket }) => bucket);
  }
  found.set(client, wanted);
  return readFirstOf(client, wanted, logWriters, recordsMax);
}

/** Reads the first of these buckets that has something, and takes it and those before it off the list. */
async function readFirstOf(
  client: pg.ClientBase,
  buckets: number[],
  logWriters: readonly LogWriterRow[],
  recordsMax: number,
): Promise<LogPart[]> {
  for (let bucket = buckets.shift(); bucket !== undefined; bucket = buckets.shift()) {
    const { rows } = await client.query<LogRow>({
      ...readOfBucket,
      ...READING,
      values: [
        bucket,
        PARTS_MAX,
        recordsMax,
        STORED_BYTES_TARGET,
        ...columnsOf(logWriters),
        BACKFILL_YIELDS_MS,
        Math.min(BACKFILL_RECORDS_TARGET, recordsMax),
      ],
    });
    if (rows.length > 0) return rows.map(partOf);
  }
  return [];
}

/**
 * Reads what is next to be applied of these buckets, in the order of receipt, backfills after all else; on Citus of one of
 * them, and nothing only when there is nothing in any. The part that reaches `recordsMax` is the last.
 */
export async function readBacklog(
  client: pg.ClientBase,
  buckets: readonly number[],
  recordsMax: number,
  everyWorkerAnswers = true,
): Promise<LogPart[]> {
  if (await isDistributed(client)) return readBacklogOfOne(client, buckets, recordsMax, everyWorkerAnswers);
  const { rows } = await client.query<LogRow>({
    ...readBacklogStatement,
    ...READING,
    values: [
      buckets,
      PARTS_MAX,
      recordsMax,
      STORED_BYTES_TARGET,
      BACKFILL_YIELDS_MS,
      Math.min(BACKFILL_RECORDS_TARGET, recordsMax),
    ],
  });
  return rows.map(partOf);
}
