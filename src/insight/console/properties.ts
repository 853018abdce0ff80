import type pg from "pg";
import { datesFrom, daysBetween } from "#contract/dates.ts";
import { isWithinKeys, type Scope } from "../../identity/scope.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { ofBucket, queryEachBucket } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import type { Property } from "../../query/property.ts";
import type { Calendar, CalendarNight } from "./answers.ts";

/** First and last night with inventory. Plan: two index scans of one row. */
const readBounds = namedStatement(
  "read-inventory-bounds",
  `select
    (select key from bellhop_state.current_record where bucket = $1 and property_id = $2 and resource = 'i' order by key limit 1)
      as first,
    (select key from bellhop_state.current_record where bucket = $1 and property_id = $2 and resource = 'i'
      order by key desc limit 1) as last`,
);
/** Nights from $3 to $4 with inventory. Plan: an index scan of current_record's primary key, whose key is the date. */
const readNights = namedStatement(
  "read-inventory-calendar",
  `select key, request_id as "requestId",
    to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime"
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource = 'i' and key >= $3 and key <= $4
  order by key
  limit 1000`,
);

/** Number of nights from one date to another, inclusive. */
export const nightsBetween = (from: string, to: string): number => daysBetween(from, to) + 1;

/**
 * The nights from `from` to `to` (inclusive, limited by the caller) and those missing inventory although earlier and later nights have it.
 * `property` is undefined if it is unknown to Bellhop.
 */
export async function readCalendar(
  pool: pg.Pool,
  property: Property | undefined,
  from: string,
  to: string,
): Promise<Calendar> {
  const values = [property?.bucket ?? null, property?.propertyId ?? null];
  const bounds = await pool.query<{ first: string | null; last: string | null }>({ ...readBounds, values });
  const { first: firstNight = null, last: lastNight = null } = bounds.rows[0] ?? {};
  const { rows } = await pool.query<{ key: string; requestId: string; sourceTime: string }>({
    ...readNights,
    values: [...values, from, to],
  });
  const found = new Map(rows.map((row) => [row.key, row]));
  const nights = datesFrom(from, nightsBetween(from, to)).map((date): CalendarNight => {
    const row = found.get(date);
    const isWithin = firstNight !== null && lastNight !== null && date >= firstNight && date <= lastNight;
    return {
      date,
      inventory: row !== undefined ? "reported" : isWithin ? "missing" : "outside",
      receivedAt: row === undefined ? null : isoOfMicroseconds(microsecondsOf(row.requestId)),
      sourceTime: row?.sourceTime ?? null,
    };
  });
  return { firstNight, lastNight, nights };
}

/**
 * Quarantined records of each of the properties $2 in the buckets $1, at most $3 each; no row for properties without any. Plan: an
 * index-only scan of quarantine_unresolved per property.
 */
const countEach = {
  name: "count-quarantined-of-properties",
  ...ofBucket(
    4,
    ({ andBucket }) => `select wanted.property_id as "propertyId", quarantined.records
  from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
  cross join lateral (
    select count(*)::integer as records
    from (
      select t.bucket
      from bellhop.quarantine as t
      where t.state = 'q' and t.bucket = wanted.bucket and t.property_id = wanted.property_id ${andBucket}
      limit $3
    ) as counted
  ) as quarantined
  where quarantined.records > 0`,
  ),
};
const listCodesStatement = namedStatement(
  "list-client-codes",
  `select client_code as "clientCode", count(*)::integer as properties
  from bellhop.property
  where ${isWithinKeys("$2")}
  group by client_code
  order by client_code
  limit $1`,
);

const CLIENT_CODES_MAX = 1_000;
/** Per property. */
const COUNTED_MAX = 1_000;

/** Number of quarantined records per property id. */
export async function countQuarantined(
  on: Queryable,
  properties: readonly Property[],
): Promise<Map<number, number>> {
  const { rows } = await queryEachBucket<{ propertyId: number; records: number }, Property>(
    on,
    countEach,
    properties,
    (some) => [some.map(({ bucket }) => bucket), some.map(({ propertyId }) => propertyId), COUNTED_MAX],
  );
  return new Map(rows.map(({ propertyId, records }) => [propertyId, records]));
}

/** The first 1,000 client codes with a property within the scope, in order. */
export async function listClientCodes(
  pool: pg.Pool,
  { keys }: Scope,
): Promise<{ clientCode: string; properties: number }[]> {
  const { rows } = await pool.query<{ clientCode: string; properties: number }>({
    ...listCodesStatement,
    values: [CLIENT_CODES_MAX, keys],
  });
  return rows;
}
