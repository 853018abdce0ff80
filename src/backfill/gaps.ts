import { isCalendarDate } from "#contract/calendar.ts";
import { datesFrom } from "#contract/dates.ts";
import { letterOf, type Resource } from "#contract/resource.ts";
import { ID_LOWEST } from "../ingest/log/part-name.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import {
  firstOf,
  isIndex,
  isUuid,
  type ListPage,
  type Position,
  type PositionShape,
} from "../platform/http/position.ts";
import { identityOf } from "../query/list-request-records.ts";
import { loadRecordsWithPauses } from "../query/load-records.ts";
import { readForEachResource } from "../query/version-statement.ts";
import { type Backfill, DAYS_MAX, daysIn, type ManifestResource } from "./backfill.ts";
import type { BackfillGap } from "./console-answers.ts";
import { type CountRead, type ResourceTally, UP_TO_NOW } from "./tally.ts";

/**
 * At most $6 dates from $3 to $4, after $5, without inventory of property $2 in bucket $1, in order. An inventory's key is its date, so
 * each is a lookup in current_record's primary key.
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

/** A record of a backfill that was not applied. `mended`: a later record of the same key was applied. */
type FailedRecord = Omit<Extract<BackfillGap, { kind: "record-failed" }>, "kind" | "resource">;

/** The last gap of a page: positions of the resource, of the kind, and within the kind. */
export const GAP_POSITION: PositionShape = [
  isIndex,
  (part) => typeof part === "number" && part >= 0 && part < STAGES,
  (part) => typeof part === "string" && (part === "" || isCalendarDate(part) || isUuid(part)),
  (part) => typeof part === "number" && Number.isInteger(part) && part >= -1 && part < 2 ** 31,
];

/** The kinds of gaps of a resource, in order. */
const SHORT = 0;
const DATES = 1;
const FAILED = 2;
const STAGES = 3;

/** The backfill and the request as of which it is read: a settled one, or UP_TO_NOW. */
export interface GapsAsked {
  readonly backfill: Backfill;
  readonly propertyId: number | null;
  readonly upTo: string;
  readonly countRead: CountRead;
}

/** Dates of a manifest without inventory of the property, from any client. */
export async function missingDates(
  client: Queryable,
  { backfill, propertyId, upTo }: GapsAsked,
  named: ManifestResource & Pick<ResourceTally, "missingDates">,
  after = "0001-01-01",
  limit = DAYS_MAX,
): Promise<string[]> {
  if (named.resource !== "inventories") return [];
  if (named.missingDates !== undefined)
    return named.missingDates
      .flatMap((range) => datesFrom(range.from, daysIn(range)))
      .filter((date) => date > after)
      .slice(0, limit);
  const of = [backfill.bucket, propertyId ?? -1, named.from, named.to];
  const { rows } = await client.query<{ date: string }>(
    upTo === UP_TO_NOW
      ? { ...readMissingDates, values: [...of, after, limit] }
      : { ...readMissingDatesAsOf, values: [...of, upTo] },
  );
  return rows.map(({ date }) => date);
}

/** Number of announced dates, and of those with a record; nulls for resources whose records have no single date. */
export async function coverageOf(
  client: Queryable,
  asked: GapsAsked,
  named: ManifestResource,
): Promise<{ readonly datesNamed: number | null; readonly datesCovered: number | null }> {
  if (named.resource !== "inventories") return { datesNamed: null, datesCovered: null };
  const datesNamed = daysIn(named);
  return { datesNamed, datesCovered: datesNamed - (await missingDates(client, asked, named)).length };
}

function shortOf({
  resource,
  expectedRecords,
  distinctRecords,
  missingRecords,
}: ResourceTally): BackfillGap[] {
  if (expectedRecords === null || missingRecords === null || missingRecords === 0) return [];
  const [expected, distinct, missing] = [expectedRecords, distinctRecords, missingRecords];
  return [{ kind: "records-short", resource, expected, distinct, missing }];
}

interface Found {
  readonly gap: BackfillGap;
  readonly position: Position;
}

type Place = readonly [resource: number, stage: number, text: string, index: number];

async function readStage(
  client: Queryable,
  asked: GapsAsked,
  of: ResourceTally,
  [place, stage, text, index]: Place,
  limit: number,
): Promise<Found[]> {
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
  const after = text === "" ? null : { requestId: text, index };
  const failed = await readFailedRecords(client, { ...asked, resource }, after, limit);
  return failed.map((record) => ({
    gap: { kind: "record-failed", resource, ...record },
    position: [place, FAILED, record.requestId, record.index],
  }));
}

/** The gaps of one page by resource: first missing records, then dates, then failed records. */
export async function readGaps(
  client: Queryable,
  asked: GapsAsked,
  tally: readonly ResourceTally[],
  start: Position | null,
  limit: number,
): Promise<ListPage<BackfillGap>> {
  const found: Found[] = [];
  let [place, stage, text, index] = (start ?? [0, SHORT, "", -1]) as Place;
  for (; place < tally.length && found.length <= limit; [stage, text, index] = [SHORT, "", -1]) {
    const of = tally[place] as ResourceTally;
    for (; stage < STAGES && found.length <= limit; [text, index] = ["", -1]) {
      const wanted = limit + 1 - found.length;
      for (const one of await readStage(client, asked, of, [place, stage, text, index], wanted))
        found.push(one);
      stage += 1;
    }
    place += 1;
  }
  const { items, next } = firstOf(found, limit, ({ position }) => position);
  return { items: items.map(({ gap }) => gap), next };
}

/**
 * The next $6 requests of backfill $2 in bucket $1, of resource $3 and up to $4, from id $5 on, with a rejected or quarantined record, and
 * their number of rejected records.
 */
const findFailing = namedStatement(
  "find-failing-requests",
  `select log.request_id, log.batch_record_count - log.record_count as rejected
  from bellhop.accept_log as log
  left join bellhop.request_outcome as outcome on outcome.bucket = $1::smallint and outcome.request_id = log.request_id
  where log.bucket = $1::smallint and log.backfill_id = $2::uuid and log.resource = $3::"char"
    and log.request_id <= $4::uuid and log.request_id >= $5::uuid
    and (log.batch_record_count > log.record_count or position('q' in outcome.outcomes) > 0)
  order by log.request_id
  limit $6`,
);
const readFailed = readStatement(new URL("./sql/read-failed-records.sql", import.meta.url));
const findFixed = readForEachResource(new URL("./sql/find-fixed.sql", import.meta.url));

/** A full batch may be rejected in each: about 80,000 small objects. */
const REQUESTS_AT_ONCE = 8;

/** Selects failed records of a backfill: one resource, as of a request. */
interface FailedAsked {
  readonly backfill: Pick<Backfill, "backfillId" | "bucket">;
  readonly propertyId: number | null;
  readonly resource: Resource;
  readonly upTo: string;
  readonly countRead: CountRead;
}

type FailedRow = Omit<FailedRecord, "mended">;

/** The next failed records in order of their requests, at most `limit`; fewer only at the end. */
export async function readFailedRecords(
  client: Queryable,
  asked: FailedAsked,
  after: Pick<FailedRecord, "requestId" | "index"> | null,
  limit: number,
): Promise<FailedRecord[]> {
  const { backfill, resource, upTo } = asked;
  const { bucket, backfillId } = backfill;
  const rows: FailedRow[] = [];
  let { requestId, index } = after ?? { requestId: ID_LOWEST, index: -1 };
  while (rows.length < limit) {
    const { rows: failing } = await client.query<{ request_id: string; rejected: number }>({
      ...findFailing,
      values: [bucket, backfillId, letterOf(resource), upTo, requestId, REQUESTS_AT_ONCE],
    });
    const requestIds: string[] = [];
    // Stop once these requests have enough records, because reading some of a request's rejections parses all of them.
    for (let room = limit - rows.length, at = 0; room > 0 && at < failing.length; at += 1) {
      const { request_id, rejected } = failing[at] as (typeof failing)[0];
      requestIds.push(request_id);
      // Some records of the request being continued have been returned already.
      if (request_id !== requestId) room -= rejected;
    }
    const values = [bucket, requestIds, upTo, requestId, index, limit - rows.length];
    const found = await client.query<FailedRow>({ ...readFailed, values });
    for (const row of found.rows) rows.push(row);
    const last = requestIds.at(-1);
    const isEnd = failing.length < REQUESTS_AT_ONCE && requestIds.length === failing.length;
    if (last === undefined || isEnd) break;
    // All records of the last request were read, or the limit is reached.
    requestId = last;
    index = 2 ** 31 - 1;
  }
  return withFixed(client, asked, await withKeys(client, asked, rows));
}

/** Reads the keys of rejected records from the log; they may be any JSON. */
async function withKeys(
  client: Queryable,
  { backfill, resource, countRead }: FailedAsked,
  rows: readonly FailedRow[],
) {
  const { bucket } = backfill;
  const rejected = rows.filter(({ outcome }) => outcome === "rejected");
  const pointers = rejected.map(({ requestId, index }) => ({ bucket, requestId, index }));
  const keys = new Map<FailedRow | undefined, string | null>();
  for await (const bytes of loadRecordsWithPauses(client, pointers)) {
    countRead(1, bytes.length);
    keys.set(rejected[keys.size], (await identityOf(resource, bytes)).key);
  }
  return rows.map((row) => ({ ...row, key: row.key ?? keys.get(row) ?? null }));
}

async function withFixed(
  client: Queryable,
  { backfill, propertyId, resource, upTo }: FailedAsked,
  rows: readonly FailedRow[],
): Promise<FailedRecord[]> {
  // Versions cannot have keys with characters that PostgreSQL cannot store.
  const known = rows.filter(({ key }) => key?.isWellFormed() === true && !key.includes("\0"));
  const fixed = new Set<FailedRow | undefined>();
  if (known.length > 0 && propertyId !== null) {
    const [keys, requestIds] = [known.map(({ key }) => key), known.map(({ requestId }) => requestId)];
    const values = [backfill.bucket, propertyId, keys, requestIds, upTo];
    const found = await client.query<{ place: number }>({ ...findFixed[letterOf(resource)], values });
    for (const { place } of found.rows) fixed.add(known[place - 1]);
  }
  return rows.map((row) => ({ ...row, mended: fixed.has(row) }));
}
