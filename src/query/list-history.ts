import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { isUtcTimestamp } from "#contract/walk-value.ts";
import { isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { readStatement } from "../platform/db/statement.ts";
import { isIndex, isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import { scanPage } from "./bounded-scan.ts";
import { isNoLongerKept, loadRecords } from "./load-records.ts";
import { outcomeName } from "./outcome.ts";
import type { Property } from "./property.ts";
import { forEachResource } from "./version-statement.ts";

const readHistory = forEachResource(readStatement(new URL("./sql/read-history.sql", import.meta.url)));

/** A version: when its source wrote it, where its record lies, and the letter of its outcome. */
export interface HistoryRow {
  readonly source_time: string;
  readonly request_id: string;
  readonly record_index: number;
  readonly outcome: string;
}

/** Source time, request and index of the last version seen. */
export const HISTORY_POSITION: PositionShape = [
  (part) => typeof part === "string" && isUtcTimestamp(part),
  isUuid,
  isIndex,
];

const BEGINNING: Position = ["-infinity", "00000000-0000-0000-0000-000000000000", -1];
const VERSIONS_MAX = 1_000;

/** A version as JSON, its record as the very bytes that were sent. */
function itemOf(row: HistoryRow, record: Buffer): Buffer {
  const head = JSON.stringify({
    sourceTime: row.source_time,
    receivedAt: isoOfMicroseconds(microsecondsOf(row.request_id)),
    requestId: row.request_id,
    index: row.record_index,
    outcome: outcomeName(row.outcome),
  });
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"record":`), record, Buffer.from("}")]);
}

/** Yields the versions of one page without their payloads, oldest first by (source time, receipt); returns the position of the next, or null. */
export function scanHistory(
  pool: pg.Pool,
  property: Property,
  resource: ResourceLetter,
  key: string,
  start: Position | null,
  limit: number,
): AsyncGenerator<readonly HistoryRow[], Position | null> {
  const positionOf = (row: HistoryRow): Position => [row.source_time, row.request_id, row.record_index];
  return scanPage<HistoryRow>(
    {
      stepMax: VERSIONS_MAX + 1,
      examinedMax: VERSIONS_MAX + 1,
      everyRowMatches: true,
      positionOf,
      async step(after, count) {
        const values = [property.bucket, property.propertyId, key, ...(after ?? BEGINNING), count];
        const { rows } = await pool.query<HistoryRow>({ ...readHistory[resource], values });
        const last = rows.at(-1);
        return { matching: rows, examined: rows.length, last: last === undefined ? null : positionOf(last) };
      },
    },
    start,
    limit,
  );
}

/**
 * Yields every version of one record whose payload is kept (docs/retention.md), oldest first by (source time, receipt), as JSON; returns the position of the next
 * page, or null at the end.
 */
export async function* listHistory(
  pool: pg.Pool,
  property: Property,
  resource: ResourceLetter,
  key: string,
  start: Position | null,
  limit: number,
): AsyncGenerator<Buffer, Position | null> {
  const scan = scanHistory(pool, property, resource, key, start, limit);
  for (;;) {
    const step = await scan.next();
    if (step.done === true) return step.value;
    const { bucket } = property;
    const records = loadRecords(
      pool,
      step.value.map((row) => ({ bucket, requestId: row.request_id, index: row.record_index })),
    );
    let at = 0;
    for await (const record of records) {
      if (!isNoLongerKept(record)) yield itemOf(step.value[at] as HistoryRow, record);
      at += 1;
    }
  }
}
