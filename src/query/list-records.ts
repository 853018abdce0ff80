import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { isCalendarDate } from "#contract/walk-value.ts";
import { readStatement, type Statement } from "../platform/db/statement.ts";
import { after, type Instant, lowestIdFrom } from "../platform/http/instant.ts";
import { isKey, type Position, type PositionShape } from "../platform/http/position.ts";
import { type Scan, scanPage } from "./bounded-scan.ts";
import { isNoLongerKept, loadRecords, type RecordPointer } from "./load-records.ts";
import type { Property } from "./property.ts";
import { forEachResource } from "./version-statement.ts";

const currentByKey = readStatement(new URL("./sql/read-current-by-key.sql", import.meta.url));
const currentByDate = readStatement(new URL("./sql/read-current-by-date.sql", import.meta.url));
const asOfByKey = forEachResource(readStatement(new URL("./sql/read-as-of.sql", import.meta.url)));

/** Which records of a property are wanted. Dates are inclusive. */
export interface RecordFilter {
  readonly resource: ResourceLetter;
  readonly key: string | undefined;
  /** By occupancy date (inventories), first arrival (reservations) or start (groups). */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly status: string | undefined;
  /** Source time at or after this, ISO 8601 UTC. */
  readonly modifiedSince: string | undefined;
  /** The records as what had been received by then says. */
  readonly asOf: Instant | undefined;
}

interface Row {
  readonly key: string;
  readonly from_date: string | null;
  readonly request_id: string;
  readonly record_index: number;
  readonly matches: boolean;
  readonly examined: number;
}

const DATE_FIRST = "0001-01-01";
const DATE_LAST = "9999-12-31";
/** No key sorts after it: 128 times the last code point, in the order of bytes. */
const KEY_LAST = "\u{10ffff}".repeat(128);
/** A narrow row takes about 1.8 µs to look at, an instant's version of a key about 12 µs: a page ends within 0.1 s. */
const STEP_MAX = 1_001;
const EXAMINED_CURRENT_MAX = 50_000;
const EXAMINED_AS_OF_MAX = 5_000;

/**
 * Dates order a list of reservations or groups only where dates were asked for: then the index of dates bounds it.
 * Otherwise it is in the order of keys, which never change, so that a record modified meanwhile is not missed either.
 */
function isByDate({ resource, key, from, to, asOf }: RecordFilter): boolean {
  return resource !== "i" && key === undefined && asOf === undefined && (from ?? to) !== undefined;
}

const BY_KEY: PositionShape = [isKey];
const BY_DATE: PositionShape = [(part) => typeof part === "string" && isCalendarDate(part), isKey];

/** What a position of this list looks like. */
export function recordPositionShape(filter: RecordFilter): PositionShape {
  return isByDate(filter) ? BY_DATE : BY_KEY;
}

/** First and last key, both inclusive. An inventory's key is its date, so there dates bound keys. */
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
  if (asOf === undefined) {
    // A single key is asked for together with dates that this statement does not know: they are compared afterwards.
    return { ...currentByKey, values };
  }
  return { ...(asOfByKey[resource] as Statement), values: [...values, lowestIdFrom(after(asOf)), from, to] };
}

function isWanted({ key, from, to }: RecordFilter, row: Row): boolean {
  if (!row.matches) return false;
  if (key === undefined || row.from_date === null) return true;
  return row.from_date >= (from ?? DATE_FIRST) && row.from_date <= (to ?? DATE_LAST);
}

function scanOf(pool: pg.Pool, property: Property, filter: RecordFilter): Scan<Row> {
  const positionOf = (row: Row) => (isByDate(filter) ? [row.from_date ?? DATE_FIRST, row.key] : [row.key]);
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

/**
 * Yields the records of one page exactly as they were sent; returns the position of the next page, or null at the end.
 * Left out are records of an earlier moment that are no longer kept. The bytes are found in the log, which is never changed, so a replay that swaps the state meanwhile does no harm.
 */
export async function* listRecords(
  pool: pg.Pool,
  property: Property,
  filter: RecordFilter,
  start: Position | null,
  limit: number,
): AsyncGenerator<Buffer, Position | null> {
  const scan = scanPage(scanOf(pool, property, filter), start, limit);
  for (;;) {
    const step = await scan.next();
    if (step.done === true) return step.value;
    const pointers = step.value.map(
      (row): RecordPointer => ({
        bucket: property.bucket,
        requestId: row.request_id,
        index: row.record_index,
      }),
    );
    // Of an earlier moment; what is current is kept.
    for await (const record of loadRecords(pool, pointers)) if (!isNoLongerKept(record)) yield record;
  }
}
