import type pg from "pg";
import type { Calendar, CalendarNight } from "../../console/answers.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/request-id.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Property } from "../../query/property.ts";

/** The first and last night that inventory was sent for. Two index scans of one row each. */
const readBounds = namedStatement(
  "read-inventory-bounds",
  `select
    (select key from bellhop_state.current_record where bucket = $1 and property_id = $2 and resource = 'i' order by key limit 1)
      as first,
    (select key from bellhop_state.current_record where bucket = $1 and property_id = $2 and resource = 'i'
      order by key desc limit 1) as last`,
);
/** The nights from $3 to $4 that have inventory. An index scan of current_record's primary key: the key is the date. */
const readNights = namedStatement(
  "read-inventory-calendar",
  `select key, request_id as "requestId",
    to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime"
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource = 'i' and key >= $3 and key <= $4
  order by key
  limit 1000`,
);

const DAY_MS = 86_400_000;

/** How many days lie from one date to another, the last included. */
export function nightsBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/**
 * The nights from `from` to `to` (included; the caller has bounded how many) and which of them have no inventory. A night is
 * missing where nights before and after it were sent.
 */
export async function readCalendar(
  pool: pg.Pool,
  { bucket, propertyId }: Property,
  from: string,
  to: string,
): Promise<Calendar> {
  const bounds = await pool.query<{ first: string | null; last: string | null }>({
    ...readBounds,
    values: [bucket, propertyId],
  });
  const { first: firstNight = null, last: lastNight = null } = bounds.rows[0] ?? {};
  const { rows } = await pool.query<{ key: string; requestId: string; sourceTime: string }>({
    ...readNights,
    values: [bucket, propertyId, from, to],
  });
  const found = new Map(rows.map((row) => [row.key, row]));
  const nights = Array.from({ length: nightsBetween(from, to) }, (_, at): CalendarNight => {
    const date = new Date(Date.parse(from) + at * DAY_MS).toISOString().slice(0, 10);
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

/** The calendar of a property that nothing was ever sent for. */
export function emptyCalendar(from: string, to: string): Calendar {
  return {
    firstNight: null,
    lastNight: null,
    nights: Array.from({ length: nightsBetween(from, to) }, (_, at) => ({
      date: new Date(Date.parse(from) + at * DAY_MS).toISOString().slice(0, 10),
      inventory: "outside" as const,
      receivedAt: null,
      sourceTime: null,
    })),
  };
}
