import { letterOf, type Resource } from "#contract/resource.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { identityOf } from "../query/list-request-records.ts";
import { loadRecords } from "../query/load-records.ts";
import { forEachResource } from "../query/version-statement.ts";
import type { Backfill } from "./backfill.ts";

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
export interface FailedRecord {
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
export interface FailedAsked {
  readonly backfill: Pick<Backfill, "backfillId" | "bucket">;
  readonly propertyId: number | null;
  readonly resource: Resource;
  readonly upTo: string;
}

/** The last record that was looked at. */
export interface FailedPosition {
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
