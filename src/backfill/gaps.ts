import { isCalendarDate } from "#contract/calendar.ts";
import { letterOf, type Resource } from "#contract/resource.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { isIndex, isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import { identityOf } from "../query/list-request-records.ts";
import { loadRecords } from "../query/load-records.ts";
import { forEachResource } from "../query/version-statement.ts";
import { type Backfill, DAYS_MAX, daysIn, type ManifestResource } from "./backfill.ts";
import type { ResourceTally, Tally } from "./tally.ts";

/**
 * Dates from $3 to $4 that the property $2 in the bucket $1 has no inventory of, in order: after the date $5, at most $6.
 * An inventory's key is its date, so each is a look into current_record's primary key.
 */
const readMissingDates = namedStatement(
  "read-missing-dates",
  `select day.date::date::text as date
  from generate_series(greatest($3::date, $5::date + 1), $4::date, interval '1 day') as day (date)
  where not exists (
    select from bellhop_state.current_record as known
    where known.bucket = $1::smallint and known.property_id = $2 and known.resource = 'i'
      and known.key = to_char(day.date, 'YYYY-MM-DD')
  )
  order by day.date
  limit $6`,
);
const readMissingDatesAsOf = readStatement(new URL("./sql/read-missing-dates-as-of.sql", import.meta.url));

/** One gap between what was said to be coming and what has come. */
export type Gap =
  | {
      readonly kind: "records-short";
      readonly resource: Resource;
      readonly expected: number;
      readonly distinct: number;
      readonly missing: number;
    }
  | { readonly kind: "date-missing"; readonly resource: Resource; readonly date: string }
  | ({ readonly kind: "record-failed"; readonly resource: Resource } & FailedRecord);

/** What of a list of gaps was told last: the resource's place, the kind's place, and where in that. */
export const GAP_POSITION: PositionShape = [
  isIndex,
  (part) => typeof part === "number" && part >= 0 && part < STAGES,
  (part) => typeof part === "string" && (part === "" || isCalendarDate(part) || isUuid(part)),
  (part) => typeof part === "number" && Number.isInteger(part) && part >= -1 && part < 2 ** 31,
];

/** The kinds of gaps of a resource, in their order. */
const SHORT = 0;
const DATES = 1;
const FAILED = 2;
const STAGES = 3;

/** Whose gaps, as of when. `asOf` is null for now, else a settled request. */
export interface GapsAsked {
  readonly backfill: Backfill;
  readonly propertyId: number | null;
  readonly asOf: string | null;
  readonly upTo: string;
}

/** Dates of a resource's range that the property has no record of, whoever sent it; of inventories only, whose key is a date. */
export async function missingDates(
  client: Queryable,
  { backfill, propertyId, asOf }: GapsAsked,
  named: ManifestResource,
  after = "0001-01-01",
  limit = DAYS_MAX,
): Promise<string[]> {
  if (named.resource !== "inventories") return [];
  const of = [backfill.bucket, propertyId ?? -1, named.from, named.to];
  const statement =
    asOf === null
      ? { ...readMissingDates, values: [...of, after, limit] }
      : { ...readMissingDatesAsOf, values: [...of, asOf] };
  const { rows } = await client.query<{ date: string }>(statement);
  return asOf === null
    ? rows.map(({ date }) => date)
    : rows.flatMap(({ date }) => (date > after ? [date] : [])).slice(0, limit);
}

/** How many dates are named and how many of them have a record; nulls where a record has no one date. */
export async function coverageOf(
  client: Queryable,
  asked: GapsAsked,
  named: ManifestResource,
): Promise<{ readonly datesNamed: number | null; readonly datesCovered: number | null }> {
  if (named.resource !== "inventories") return { datesNamed: null, datesCovered: null };
  const datesNamed = daysIn(named);
  return { datesNamed, datesCovered: datesNamed - (await missingDates(client, asked, named)).length };
}

function shortOf({ resource, expectedRecords, distinctRecords, missingRecords }: ResourceTally): Gap[] {
  if (expectedRecords === null || missingRecords === null || missingRecords === 0) return [];
  const [expected, distinct, missing] = [expectedRecords, distinctRecords, missingRecords];
  return [{ kind: "records-short", resource, expected, distinct, missing }];
}

interface Told {
  readonly gap: Gap;
  readonly position: Position;
}

async function readStage(
  client: Queryable,
  asked: GapsAsked,
  of: ResourceTally,
  place: number,
  [, stage, text, index]: readonly [number, number, string, number],
  limit: number,
): Promise<Told[]> {
  const { resource } = of;
  if (stage === SHORT)
    return text === "" ? shortOf(of).map((gap) => ({ gap, position: [place, DATES, "", -1] })) : [];
  if (stage === DATES) {
    const dates = await missingDates(client, asked, of, text === "" ? undefined : text, limit);
    return dates.map((date) => ({
      gap: { kind: "date-missing", resource, date },
      position: [place, DATES, date, -1],
    }));
  }
  const failed = await readFailedRecords(
    client,
    { ...asked, resource },
    text === "" ? null : { requestId: text, index },
    limit,
  );
  return failed.map((record) => ({
    gap: { kind: "record-failed", resource, ...record },
    position: [place, FAILED, record.requestId, record.index],
  }));
}

/** The gaps of one page, and where the next goes on: by resource, and of each first what is short, then dates, then failed records. */
export async function readGaps(
  client: Queryable,
  asked: GapsAsked,
  tally: Tally,
  start: Position | null,
  limit: number,
): Promise<{ readonly items: readonly Gap[]; readonly next: Position | null }> {
  const told: Told[] = [];
  let [place, stage, text, index] = (start ?? [0, SHORT, "", -1]) as [number, number, string, number];
  for (
    let of = tally.resources[place];
    of !== undefined && told.length <= limit;
    of = tally.resources[place]
  ) {
    const wanted = limit + 1 - told.length;
    for (const one of await readStage(client, asked, of, place, [place, stage, text, index], wanted))
      told.push(one);
    [text, index] = ["", -1];
    stage += 1;
    if (stage < STAGES) continue;
    stage = SHORT;
    place += 1;
  }
  const page = told.slice(0, limit);
  const last = page.at(-1);
  return {
    items: page.map(({ gap }) => gap),
    next: told.length > limit && last !== undefined ? last.position : null,
  };
}

/**
 * The next $6 requests of the backfill $2 in the bucket $1, of the resource $3 and up to $4, from the id $5 on, that have a record
 * which was rejected or held.
 */
const findFailing = namedStatement(
  "find-failing-requests",
  `select log.request_id
  from bellhop.accept_log as log
  left join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = log.request_id
  where log.bucket = $1::smallint and log.backfill_id = $2::uuid and log.resource = $3::"char"
    and log.request_id <= $4::uuid and log.request_id >= $5::uuid
    and (log.batch_record_count > log.record_count or position('q' in outcome.outcomes) > 0)
  order by log.request_id
  limit $6`,
);
const readFailed = readStatement(new URL("./sql/read-failed-records.sql", import.meta.url));
const findMended = forEachResource(
  namedStatement(
    "find-mended",
    `-- Which of the keys $3 have a version, in the property $2 of the bucket $1, that was received after the request of the same place in $4, up
  -- to $5: the places, from 1.
  -- Written for reservations; the table of the other resources is put in its place.
  select distinct failed.place::integer as place
  from unnest($3::text[], $4::uuid[]) with ordinality as failed (key, request_id, place)
  join bellhop_state.reservation_version as version
    on version.bucket = $1::smallint and version.property_id = $2 and version.key = failed.key
      and version.request_id > failed.request_id and version.request_id <= $5::uuid`,
  ),
);

/** Of each a full batch may be rejected: some 80,000 small objects. */
const REQUESTS_AT_ONCE = 8;
const ID_LOWEST = "00000000-0000-0000-0000-000000000000";

/** A record of a backfill that is not applied, and will not be by itself. */
interface FailedRecord {
  readonly requestId: string;
  readonly index: number;
  /** Null where it cannot be read. */
  readonly key: string | null;
  readonly outcome: "rejected" | "quarantined" | "discarded";
  readonly code: string | null;
  readonly message: string | null;
  /** A record of the same key that came later was applied: nothing is missing. */
  readonly mended: boolean;
}

/** Which of a backfill's failed records: of one resource, as of a request. */
interface FailedAsked {
  readonly backfill: Pick<Backfill, "backfillId" | "bucket">;
  readonly propertyId: number | null;
  readonly resource: Resource;
  readonly upTo: string;
}

/** The last record that was looked at. */
interface FailedPosition {
  readonly requestId: string;
  readonly index: number;
}

interface Row {
  readonly request_id: string;
  readonly record_index: number;
  readonly outcome: FailedRecord["outcome"];
  readonly key: string | null;
  readonly code: string | null;
  readonly message: string | null;
}

/** The next failed records in the order of their requests, at most `limit`; fewer only at the end. */
export async function readFailedRecords(
  client: Queryable,
  asked: FailedAsked,
  after: FailedPosition | null,
  limit: number,
): Promise<FailedRecord[]> {
  const { backfill, resource, upTo } = asked;
  const { bucket, backfillId } = backfill;
  const rows: Row[] = [];
  let { requestId, index } = after ?? { requestId: ID_LOWEST, index: -1 };
  while (rows.length < limit) {
    const failing = await client.query<{ request_id: string }>({
      ...findFailing,
      values: [bucket, backfillId, letterOf(resource), upTo, requestId, REQUESTS_AT_ONCE],
    });
    const requestIds = failing.rows.map(({ request_id }) => request_id);
    const found = await client.query<Row>({
      ...readFailed,
      values: [bucket, requestIds, upTo, requestId, index, limit - rows.length],
    });
    for (const row of found.rows) rows.push(row);
    const last = requestIds.at(-1);
    if (last === undefined || requestIds.length < REQUESTS_AT_ONCE) break;
    // All of the last one's records were told, or there is no room for more.
    requestId = last;
    index = 2 ** 31 - 1;
  }
  return withMended(client, asked, await withKeys(client, asked, rows));
}

/** Reads the keys of rejected records as they were sent: they may hold anything. */
async function withKeys(
  client: Queryable,
  { backfill, resource }: FailedAsked,
  rows: readonly Row[],
): Promise<Row[]> {
  const { bucket } = backfill;
  const rejected = rows.filter(({ outcome }) => outcome === "rejected");
  const keys = new Map<Row, string | null>();
  let at = 0;
  const pointers = rejected.map(({ request_id, record_index }) => ({
    bucket,
    requestId: request_id,
    index: record_index,
  }));
  for await (const bytes of loadRecords(client, pointers)) {
    keys.set(rejected[at] as Row, identityOf(resource, bytes).key);
    at += 1;
  }
  return rows.map((row) => ({ ...row, key: row.key ?? keys.get(row) ?? null }));
}

async function withMended(
  client: Queryable,
  { backfill, propertyId, resource, upTo }: FailedAsked,
  rows: readonly Row[],
): Promise<FailedRecord[]> {
  // A key with a character that cannot be stored is no key of a version.
  const known = rows.filter(({ key }) => key?.isWellFormed() === true && !key.includes("\0"));
  const mended = new Set<Row | undefined>();
  if (known.length > 0 && propertyId !== null) {
    const found = await client.query<{ place: number }>({
      ...findMended[letterOf(resource)],
      values: [
        backfill.bucket,
        propertyId,
        known.map(({ key }) => key),
        known.map(({ request_id }) => request_id),
        upTo,
      ],
    });
    for (const { place } of found.rows) mended.add(known[place - 1]);
  }
  return rows.map((row) => ({
    requestId: row.request_id,
    index: row.record_index,
    key: row.key,
    outcome: row.outcome,
    code: row.code,
    message: row.message,
    mended: mended.has(row),
  }));
}
