import type pg from "pg";
import type { Resource } from "#contract/resource.ts";
import { ID_LOWEST } from "../ingest/log/part-name.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { after, type Instant, lowestIdFrom } from "../platform/http/instant.ts";
import { isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import { scanPage } from "./bounded-scan.ts";
import { findRecordsOf, listRequestRecords, type PropertyTest } from "./list-request-records.ts";
import { loadPart } from "./load-records.ts";
import { OUTCOMES, type Outcome } from "./outcome.ts";
import { textsOfRecord } from "./record-texts.ts";
import {
  type FoundRequest,
  type RequestCounts,
  type RequestOfClient,
  readSummariesOf,
} from "./request-summary.ts";

/** Maximum bytes parsed to search bodies for one page: about half a second. */
const SEARCHED_BYTES_MAX = 64 * 1_048_576;
/** Bytes parsed before yielding to the event loop: about a millisecond. */
const TURN_BYTES = 131_072;

/** Bytes that a page may still parse. The request that exceeds the limit is searched to its end. */
interface SearchBudget {
  left: number;
}

/**
 * The codes of a part's retained records. A bucket contains many properties and the log has no column for them, so the records are read.
 */
async function* codesIn(
  pool: pg.Pool,
  requestId: string,
  bucket: number,
  budget: SearchBudget,
): AsyncGenerator<{ readonly clientCode?: string; readonly propertyCode?: string }, void> {
  let sinceTurn = 0;
  for await (const bytes of loadPart(pool, bucket, requestId)) {
    budget.left -= bytes.length;
    sinceTurn += bytes.length;
    if (sinceTurn > TURN_BYTES) {
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
    // Accepted records have each code once, as a string; rejected ones may be any JSON.
    yield await textsOfRecord(bytes, ["clientCode", "propertyCode"]);
  }
}

/** Whether a part of a request has a record of this property. In a batch of one property the first record decides. */
async function namesProperty(
  pool: pg.Pool,
  requestId: string,
  property: NonNullable<RequestFilter["property"]>,
  budget: SearchBudget,
): Promise<boolean> {
  for await (const { clientCode, propertyCode } of codesIn(pool, requestId, property.bucket, budget))
    if (clientCode === property.clientCode && propertyCode === property.propertyCode) return true;
  return false;
}

/** Cost of reading a record's details, in bytes of the search budget. */
const DETAILS_BYTES = 4_096;

/**
 * Confines a request to the properties that the reader may see: counts cover only their records; undefined if it has none. Most batches are
 * within or outside as a whole, which their codes show; only for others are records counted.
 */
export async function confineRequest(
  pool: pg.Pool,
  found: FoundRequest,
  within: PropertyTest,
  budget: SearchBudget = { left: SEARCHED_BYTES_MAX },
): Promise<FoundRequest | undefined> {
  const { clientId, summary } = found;
  const { requestId } = summary;
  const all = await findRecordsOf(pool, clientId, requestId, "all");
  let records = 0;
  for (const bucket of new Set(all.map((record) => record.bucket)))
    for await (const { clientCode, propertyCode } of codesIn(pool, requestId, bucket, budget))
      if (clientCode !== undefined && propertyCode !== undefined)
        records += within.permits(clientCode, propertyCode) ? 1 : 0;
  if (records === 0) return undefined;
  if (records === summary.counts.records) return found;
  budget.left -= records * DETAILS_BYTES;
  const counts = { ...NO_RECORDS, records };
  const listed = listRequestRecords(
    pool,
    clientId,
    summary,
    { start: null, limit: all.length },
    { which: "all", within },
  );
  for await (const item of listed) {
    const { outcome, warnings } = JSON.parse(item.toString("utf8")) as ListedRecord;
    counts[outcome] += 1;
    if (warnings.length > 0) counts.warned += 1;
  }
  return { ...found, summary: { ...summary, counts } };
}

interface ListedRecord {
  readonly outcome: Outcome | "pending";
  readonly warnings: readonly unknown[];
}

/** The counts of a request without records. */
export const NO_RECORDS = Object.fromEntries(
  [...OUTCOMES, "records", "pending", "warned"].map((name) => [name, 0]),
) as Record<keyof RequestCounts, number>;

/**
 * The next $4 requests of a client before id $2, newest first, from id $3 on. Plan: Limit over Unique over an Append of backward index
 * scans of accept_log_client, newest partition first. 201 of 6,700: 0.5 ms.
 */
const readRequestIds = namedStatement(
  "read-request-ids",
  `select distinct request_id
  from bellhop.accept_log
  where client_id = $1 and request_id < $2 and request_id >= $3 and kind = 'b'
  order by request_id desc
  limit $4`,
);
/** The next $3 requests of any client before id $1, newest first, from id $2 on. Plan: accept_log_request. */
const readRequestIdsOfAll = namedStatement(
  "read-request-ids-of-all",
  `select distinct on (request_id) request_id, client_id
  from bellhop.accept_log
  where request_id < $1 and request_id >= $2 and kind = 'b'
  order by request_id desc
  limit $3`,
);

/** Filters for at least one record: an outcome, or a group of them. */
export const OUTCOME_FILTERS = [...OUTCOMES, "failed", "warned", "pending"] as const;

export type OutcomeFilter = (typeof OUTCOME_FILTERS)[number];

/** Selects requests. Instants are inclusive. */
export interface RequestFilter {
  readonly resource: Resource | undefined;
  readonly outcome: OutcomeFilter | undefined;
  readonly from: Instant | undefined;
  readonly to: Instant | undefined;
  /** Prefix of the id, in lower case. */
  readonly idPrefix?: string | undefined;
  /** Requests with a record of this property, in its bucket. */
  readonly property:
    | { readonly clientCode: string; readonly propertyCode: string; readonly bucket: number }
    | undefined;
  /** Requests with a record of these properties, in their buckets; includes `property`. */
  readonly within?: (PropertyTest & { readonly buckets: readonly number[] }) | undefined;
}

/** The id of the last request examined. */
export const REQUEST_POSITION: PositionShape = [isUuid];

const ID_HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** A summary takes the database about 125 µs, so a page with few matches ends after about 0.6 s. */
const STEP_MAX = 201;
const EXAMINED_MAX = 5_000;

function has(outcome: OutcomeFilter, counts: RequestCounts): boolean {
  if (outcome === "failed") return counts.quarantined + counts.discarded + counts.rejected > 0;
  return counts[outcome] > 0;
}

/** The next id; the highest id returns itself. */
function idAfter(id: string): string {
  if (id === ID_HIGHEST) return id;
  const hex = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The lowest id with this prefix, and the one after the highest. */
function boundsOf(prefix: string): { readonly lowest: string; readonly below: string } {
  return {
    lowest: prefix + ID_LOWEST.slice(prefix.length),
    below: idAfter(prefix + ID_HIGHEST.slice(prefix.length)),
  };
}

/** Whether the text is a prefix of a request id. */
export function isIdPrefix(text: string): boolean {
  return text.length <= ID_LOWEST.length && isUuid(text + ID_LOWEST.slice(text.length));
}

/** The range of ids to search: `lowest` is inclusive, `below` is exclusive. */
function rangeOf({ from, to, idPrefix = "" }: RequestFilter): { lowest: string; below: string } {
  const named = boundsOf(idPrefix);
  const earliest = from === undefined ? ID_LOWEST : lowestIdFrom(from);
  const latest = to === undefined ? ID_HIGHEST : lowestIdFrom(after(to));
  return {
    lowest: earliest > named.lowest ? earliest : named.lowest,
    below: latest < named.below ? latest : named.below,
  };
}

async function nextIds(
  pool: pg.Pool,
  clientId: string | null,
  below: string | number,
  lowest: string,
  count: number,
): Promise<RequestOfClient[]> {
  const statement =
    clientId === null
      ? { ...readRequestIdsOfAll, values: [below, lowest, count] }
      : { ...readRequestIds, values: [clientId, below, lowest, count] };
  const { rows } = await pool.query<{ request_id: string; client_id?: string }>(statement);
  return rows.map((row) => ({ requestId: row.request_id, clientId: row.client_id ?? clientId ?? "" }));
}

/**
 * Yields the requests of one page, newest first, of one client or (null) of all; returns the position of the next page, or null at the end.
 * A page examines at most 5,000 requests and, with a property, searches a limited number of bytes.
 */
export async function* findRequests(
  pool: pg.Pool,
  clientId: string | null,
  filter: RequestFilter,
  start: Position | null,
  limit: number,
): AsyncGenerator<readonly FoundRequest[], Position | null> {
  const { resource, outcome, property, within } = filter;
  const { lowest, below: highest } = rangeOf(filter);
  const budget: SearchBudget = { left: SEARCHED_BYTES_MAX };

  const asked = property === undefined ? within?.buckets : [property.bucket];
  const buckets = asked === undefined ? null : new Set(asked);

  /** The request as shown in the answer; undefined if it does not match the filter. */
  const wanted = async (found: FoundRequest): Promise<FoundRequest | undefined> => {
    const isElsewhere = buckets !== null && !found.buckets.some((bucket) => buckets.has(bucket));
    if (isElsewhere || (resource !== undefined && found.summary.resource !== resource)) return undefined;
    if (property !== undefined && !(await namesProperty(pool, found.summary.requestId, property, budget)))
      return undefined;
    const listed = within === undefined ? found : await confineRequest(pool, found, within, budget);
    return listed !== undefined && outcome !== undefined && !has(outcome, listed.summary.counts)
      ? undefined
      : listed;
  };
  return yield* scanPage<FoundRequest>(
    {
      stepMax: STEP_MAX,
      examinedMax: EXAMINED_MAX,
      everyRowMatches: (resource ?? outcome ?? property ?? within) === undefined,
      positionOf: ({ summary }) => [summary.requestId],
      async step(position, count) {
        const requests = await nextIds(pool, clientId, position?.[0] ?? highest, lowest, count);
        const found = await readSummariesOf(pool, requests);
        const matching: FoundRequest[] = [];
        for (const [at, request] of found.entries()) {
          if (budget.left <= 0) {
            const before = found[at - 1]?.summary.requestId;
            const last = before === undefined ? position : [before];
            return { matching, examined: at, last, stopped: true };
          }
          const listed = await wanted(request);
          if (listed !== undefined) matching.push(listed);
        }
        const last = requests.at(-1)?.requestId;
        return { matching, examined: requests.length, last: last === undefined ? null : [last] };
      },
    },
    start,
    limit,
  );
}

/** As findRequests; yields the summaries as JSON. */
export async function* listRequests(
  pool: pg.Pool,
  clientId: string,
  filter: RequestFilter,
  start: Position | null,
  limit: number,
): AsyncGenerator<Buffer, Position | null> {
  const page = findRequests(pool, clientId, filter, start, limit);
  for (;;) {
    const step = await page.next();
    if (step.done === true) return step.value;
    for (const { summary } of step.value) yield Buffer.from(JSON.stringify(summary));
  }
}
