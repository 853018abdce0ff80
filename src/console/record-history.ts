import type pg from "pg";
import { isoOfMicroseconds, microsecondsOf } from "../accept/request-id.ts";
import type { ResourceLetter } from "../contract/resource.ts";
import { type HistoryRow, historyPage } from "../read/list-history.ts";
import { loadRecords } from "../read/load-records.ts";
import { outcomeName } from "../read/outcome.ts";
import type { Position } from "../read/position.ts";
import type { Property } from "../read/property.ts";
import type { VersionItem } from "./answers.ts";
import { changesBetween } from "./json-changes.ts";
import { payloadOf } from "./payload.ts";

const CHANGES_MAX = 200;
/** Of a version that is shown among others; larger ones are to be looked at by themselves, and are not compared. */
const COMPARED_BYTES_MAX = 262_144;

/**
 * One page of the versions of a record, oldest first by (source time, receipt), each with what is different from the one
 * before it: also the first of a page, for which the last of the page before is read again.
 */
export async function readRecordHistory(
  pool: pg.Pool,
  property: Property,
  resource: ResourceLetter,
  key: string,
  start: Position | null,
  limit: number,
): Promise<{ items: VersionItem[]; next: Position | null }> {
  const { rows, next } = await historyPage(pool, property, resource, key, start, limit);
  const before: HistoryRow[] = start === null ? [] : [rowOfPosition(start)];
  const wanted = [...before, ...rows];
  const pointers = wanted.map((row) => ({
    bucket: property.bucket,
    requestId: row.request_id,
    index: row.record_index,
  }));
  const items: VersionItem[] = [];
  let previous: Buffer | undefined;
  let at = 0;
  for await (const bytes of loadRecords(pool, pointers)) {
    const row = wanted[at] as HistoryRow;
    // The bytes are good until the next record is asked for.
    const record = Buffer.from(bytes);
    if (at >= before.length) items.push(itemOf(resource, row, record, previous));
    previous = record;
    at += 1;
  }
  return { items, next };
}

function rowOfPosition([sourceTime, requestId, index]: Position): HistoryRow {
  return {
    source_time: String(sourceTime),
    request_id: String(requestId),
    record_index: Number(index),
    outcome: "a",
  };
}

const STATUS_FIELD: Readonly<Partial<Record<ResourceLetter, string>>> = { r: "status", g: "groupStatusCode" };

/** The label that the record carries; null where it has none. */
function statusOf(resource: ResourceLetter, record: Buffer): string | null {
  const field = STATUS_FIELD[resource];
  if (field === undefined || record.length > COMPARED_BYTES_MAX) return null;
  const value = (JSON.parse(record.toString("utf8")) as Readonly<Record<string, unknown>>)[field];
  return typeof value === "string" ? value : null;
}

function itemOf(
  resource: ResourceLetter,
  row: HistoryRow,
  record: Buffer,
  previous: Buffer | undefined,
): VersionItem {
  const isCompared =
    previous !== undefined && previous.length <= COMPARED_BYTES_MAX && record.length <= COMPARED_BYTES_MAX;
  const { changes, total } = isCompared
    ? changesBetween(previous.toString("utf8"), record.toString("utf8"), CHANGES_MAX)
    : { changes: [], total: 0 };
  return {
    sourceTime: row.source_time,
    receivedAt: isoOfMicroseconds(microsecondsOf(row.request_id)),
    requestId: row.request_id,
    index: row.record_index,
    outcome: outcomeName(row.outcome),
    status: statusOf(resource, record),
    // A newer version was current when this one was applied.
    late: row.outcome === "s",
    changes,
    changeTotal: total,
    payload: payloadOf(record, COMPARED_BYTES_MAX),
  };
}
