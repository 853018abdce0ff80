import type { ResourceLetter } from "#contract/resource.ts";
import { AFTER_ALL, BEFORE_ALL, type LogPart, readLog } from "../apply/backlog.ts";
import type { BodyLayout } from "../ingest/log/body-layout.ts";
import { openLayout } from "../ingest/log/open-layout.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

const findLogWriters = readStatement(new URL("./sql/find-log-writers-of-bucket.sql", import.meta.url));
/** A full batch is 64 MiB at most, a stored one a tenth of that. */
const PARTS_AT_ONCE = 16;

/** How far each log writer of a bucket has been read; a later scan goes on behind it. */
export type LogWriterPositions = Map<string, string>;

/** A part of the log with its records, each by its place and its bytes as they are stored; those that were dropped are left out. */
export interface ScannedPart {
  readonly part: LogPart;
  readonly records: readonly ScannedRecord[];
}

export interface ScannedRecord {
  readonly index: number;
  readonly bytes: Buffer;
  /** Its content hash, where that is not the one of its bytes. */
  readonly hashOverride: string | undefined;
  readonly isRejected: boolean;
}

/** Reads the records of one part. */
export async function scanPart(part: LogPart): Promise<ScannedPart> {
  const { layout, body } = part;
  if (layout === null || body === null) return { part, records: [] };
  const opened = await openLayout(part, layout);
  return { part, records: [...recordsOf(part, opened, body)] };
}

function* recordsOf(part: LogPart, layout: BodyLayout, body: Buffer): Generator<ScannedRecord> {
  let position = -1;
  for (const { index, bytes } of layout.allRecords(body)) {
    position += 1;
    if (bytes.length === 0) continue;
    yield {
      index,
      bytes,
      hashOverride: layout.hashOverrideAt(position),
      isRejected: part.rejectedIndexes.has(index),
    };
  }
}

/**
 * Reads the batches of one bucket, log writer by log writer and in each in the order of receipt, from `positions` on, which are moved. Some
 * parts are in memory at a time.
 */
export async function* scanBucket(
  client: Queryable,
  bucket: number,
  resources: readonly ResourceLetter[],
  positions: LogWriterPositions,
): AsyncGenerator<ScannedPart, void> {
  const logWriters = await client.query<{ log_writer_id: string }>({ ...findLogWriters, values: [bucket] });
  for (const { log_writer_id: logWriterId } of logWriters.rows) {
    for (;;) {
      const from_id = positions.get(logWriterId) ?? BEFORE_ALL;
      const stretch = { log_writer_id: logWriterId, from_id, request_id: AFTER_ALL };
      const read = await readLog(client, bucket, [stretch], { partsMax: PARTS_AT_ONCE, resources });
      if (read.length === 0) break;
      for (const { part } of read) {
        yield await scanPart(part);
        positions.set(logWriterId, part.requestId);
      }
    }
  }
}
