import type pg from "pg";
import { isCalendarDate, isUtcTimestamp } from "#contract/calendar.ts";
import type { ResourceLetter } from "#contract/resource.ts";
import { ID_LOWEST, isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { readStatement, type Statement } from "../platform/db/statement.ts";
import { after, type Instant, lowestIdFrom } from "../platform/http/instant.ts";
import {
  firstOf,
  isIndex,
  isKey,
  isUuid,
  type ListPage,
  type PageRange,
  type Position,
  type PositionShape,
} from "../platform/http/position.ts";
import { type Scan, scanPage } from "./bounded-scan.ts";
import { isNoLongerKept, loadManyRecords, loadRecords } from "./load-records.ts";
import { outcomeName } from "./outcome.ts";
import type { Property } from "./property.ts";
import { readForEachResource } from "./version-statement.ts";

const currentByKey = readStatement(new URL("./sql/read-current-by-key.sql", import.meta.url));
const currentByDate = readStatement(new URL("./sql/read-current-by-date.sql", import.meta.url));
const asOfByKey = readForEachResource(new URL("./sql/read-as-of.sql", import.meta.url));
const readHistory = readForEachResource(new URL("./sql/read-history.sql", import.meta.url));

/** Selects records of a property. Dates are inclusive. */
export interface RecordFilter {
  readonly resource: ResourceLetter;
  readonly key: string | undefined;
  /** By occupancy date (inventories), first arrival (reservations) or start (groups). */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly status: string | undefined;
  /** Source time at or after this, ISO 8601 UTC. */
  readonly modifiedSince: string | undefined;
  /** The records as of this receipt time. */
  readonly asOf: Instant | undefined;
}

interface Row {
  readonly key: string;
  readonly fromDate: string | null;
  readonly requestId: string;
  readonly index: number;
  readonly matches: boolean;
  readonly examined: number;
}

const DATE_FIRST = "0001-01-01";
const DATE_LAST = "9999-12-31";
/** The last possible key in byte order: 128 times the last code point. */
const KEY_LAST = "\u{10ffff}".repeat(128);
/** Reading a current row takes about 1.8 µs, an earlier version about 12 µs, so a page ends within 0.1 s. */
const STEP_MAX = 1_001;
const EXAMINED_CURRENT_MAX = 50_000;
const EXAMINED_AS_OF_MAX = 5_000;

/** Reservations and groups are ordered by date only if dates are requested; otherwise by key, which is stable while paging. */
function isByDate({ resource, key, from, to, asOf }: RecordFilter): boolean {
  return resource !== "i" && key === undefined && asOf === undefined && (from ?? to) !== undefined;
}

const BY_KEY: PositionShape = [isKey];
const BY_DATE: PositionShape = [(part) => typeof part === "string" && isCalendarDate(part), isKey];

export function recordPositionShape(filter: RecordFilter): PositionShape {
  return isByDate(filter) ? BY_DATE : BY_KEY;
}

/** First and last key, inclusive. Inventory keys are dates. */
function keyBounds({ resource, key, from, to }: RecordFilter): [string, string] {
  if (key !== undefined) return [key, key];
  return resource === "i" ? [from ?? "", to ?? KEY_LAST] : ["", KEY_LAST];
}

function statementOf(filter: RecordFilter, property: Property, position: Position | null, count: number) {
  const { resource, from = DATE_FIRST, to = DATE_LAST, status = null, modifiedSince = null, asOf } = filter;
  const which = [property.bucket, property.propertyId, resource];
  if (isByDate(filter)) {
    const [date = DATE_FIRST, key = ""] = position ?? [];
    return { ...currentByDate, values: [...which, from, to, count, key, status, modifiedSince, date] };
  }
  const values = [...which, ...keyBounds(filter), count, position?.[0] ?? "", status, modifiedSince];
  // For a single key, isWanted compares the dates.
  if (asOf === undefined) return { ...currentByKey, values };
  return { ...(asOfByKey[resource] as Statement), values: [...values, lowestIdFrom(after(asOf)), from, to] };
}

function isWanted({ key, from, to }: RecordFilter, row: Row): boolean {
  if (!row.matches) return false;
  if (key === undefined || row.fromDate === null) return true;
  return row.fromDate >= (from ?? DATE_FIRST) && row.fromDate <= (to ?? DATE_LAST);
}

function scanOf(pool: pg.Pool, property: Property, filter: RecordFilter): Scan<Row> {
  const positionOf = (row: Row) => (isByDate(filter) ? [row.fromDate ?? DATE_FIRST, row.key] : [row.key]);
  const { status, modifiedSince, asOf } = filter;
  return {
    stepMax: STEP_MAX,
    examinedMax: asOf === undefined ? EXAMINED_CURRENT_MAX : EXAMINED_AS_OF_MAX,
    everyRowMatches: (status ?? modifiedSince ?? asOf) === undefined,
    positionOf,
    async step(position, count) {
      const { rows } = await pool.query<Row>(statementOf(filter, property, position, count));
      const last = rows.at(-1);
      return {
        matching: rows.filter((row) => isWanted(filter, row)),
        examined: last?.examined ?? 0,
        last: last === undefined ? null : positionOf(last),
      };
    },
  };
}

/** Yields the records of one page verbatim, many at a time, omitting those no longer retained; returns the position of the next page, or null. */
export async function* listRecords(
  pool: pg.Pool,
  property: Property,
  filter: RecordFilter,
  start: Position | null,
  limit: number,
): AsyncGenerator<readonly Buffer[], Position | null> {
  const scan = scanPage(scanOf(pool, property, filter), start, limit);
  for (;;) {
    const step = await scan.next();
    if (step.done === true) return step.value;
    const { bucket } = property;
    const pointers = step.value.map(({ requestId, index }) => ({ bucket, requestId, index }));
    for await (const records of loadManyRecords(pool, pointers))
      yield records.filter((record) => !isNoLongerKept(record));
  }
}

/** A version: source time, location of its record, and outcome letter. */
export interface HistoryRow {
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  readonly outcome: string;
}

/** Source time, request and index of the last version. */
export const HISTORY_POSITION: PositionShape = [
  (part) => typeof part === "string" && isUtcTimestamp(part),
  isUuid,
  isIndex,
];

const FIRST_VERSION: Position = ["-infinity", ID_LOWEST, -1];

/** A record of a property. */
export interface RecordName {
  readonly resource: ResourceLetter;
  readonly key: string;
}

/** The versions of one page without their payloads, oldest first by source time and receipt. */
export async function findVersions(
  pool: pg.Pool,
  property: Property,
  { resource, key }: RecordName,
  { start, limit }: PageRange,
): Promise<ListPage<HistoryRow>> {
  const values = [property.bucket, property.propertyId, key, ...(start ?? FIRST_VERSION), limit + 1];
  const { rows } = await pool.query<HistoryRow>({ ...readHistory[resource], values });
  return firstOf(rows, limit, ({ sourceTime, requestId, index }) => [sourceTime, requestId, index]);
}

/** Yields the retained versions of one page as JSON (docs/retention.md); returns the position of the next page, or null. */
export async function* listHistory(
  pool: pg.Pool,
  property: Property,
  record: RecordName,
  page: PageRange,
): AsyncGenerator<Buffer, Position | null> {
  const { items, next } = await findVersions(pool, property, record, page);
  const { bucket } = property;
  const pointers = items.map(({ requestId, index }) => ({ bucket, requestId, index }));
  let at = 0;
  for await (const bytes of loadRecords(pool, pointers)) {
    const { sourceTime, requestId, index, outcome } = items[at] as HistoryRow;
    at += 1;
    if (isNoLongerKept(bytes)) continue;
    const receivedAt = isoOfMicroseconds(microsecondsOf(requestId));
    const head = JSON.stringify({ sourceTime, receivedAt, requestId, index, outcome: outcomeName(outcome) });
    yield Buffer.concat([Buffer.from(`${head.slice(0, -1)},"record":`), bytes, Buffer.from("}")]);
  }
  return next;
}
