import type pg from "pg";
import type { Resource } from "../contract/resource.ts";
import { readStatement } from "../db/statement.ts";
import { scanPage } from "./bounded-scan.ts";
import { after, type Instant, lowestIdFrom } from "./instant.ts";
import { namesProperty, SearchBudget } from "./names-property.ts";
import { OUTCOMES } from "./outcome.ts";
import { isUuid, type Position, type PositionShape } from "./position.ts";
import {
  type FoundRequest,
  type RequestCounts,
  type RequestOfClient,
  readSummariesOf,
} from "./request-summary.ts";

const readRequestIds = readStatement(new URL("./sql/read-request-ids.sql", import.meta.url));
const readRequestIdsOfAll = readStatement(new URL("./sql/read-request-ids-of-all.sql", import.meta.url));

/** What at least one record has become: an outcome, or what an operator looks for. */
export const OUTCOME_FILTERS = [...OUTCOMES, "failed", "warned", "pending"] as const;

export type OutcomeFilter = (typeof OUTCOME_FILTERS)[number];

/** Which requests are wanted. Instants are inclusive. */
export interface RequestFilter {
  readonly resource: Resource | undefined;
  readonly outcome: OutcomeFilter | undefined;
  readonly from: Instant | undefined;
  readonly to: Instant | undefined;
  /** How the id begins, as the service writes it. */
  readonly idPrefix?: string | undefined;
  /** Requests with a record of this property, in this bucket. */
  readonly property:
    | { readonly clientCode: string; readonly propertyCode: string; readonly bucket: number }
    | undefined;
}

/** The id of the last request looked at. */
export const REQUEST_POSITION: PositionShape = [isUuid];

const ID_LOWEST = "00000000-0000-0000-0000-000000000000";
const ID_HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** A summary takes the database about 125 µs, so a page whose filter matches little ends after some 0.6 s. */
const STEP_MAX = 201;
const EXAMINED_MAX = 5_000;

function has(outcome: OutcomeFilter, counts: RequestCounts): boolean {
  if (outcome === "failed") return counts.quarantined + counts.discarded + counts.rejected > 0;
  return counts[outcome] > 0;
}

/** The id after this one; of the highest, itself. */
function idAfter(id: string): string {
  if (id === ID_HIGHEST) return id;
  const hex = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The lowest id that begins so, and the one after the highest. */
function boundsOf(prefix: string): { readonly lowest: string; readonly below: string } {
  return {
    lowest: prefix + ID_LOWEST.slice(prefix.length),
    below: idAfter(prefix + ID_HIGHEST.slice(prefix.length)),
  };
}

/** Whether a text is how an id of the service begins. */
export function isIdPrefix(text: string): boolean {
  return text.length <= ID_LOWEST.length && isUuid(text + ID_LOWEST.slice(text.length));
}

/** From where to below where ids are looked at. */
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
 * Yields the requests of one page, newest first, of one client or (null) of all; returns the position of the next page, or
 * null at the end. What a page may cost is bounded by the requests looked at (5,000) and, with a property, by the bytes
 * searched.
 */
export async function* findRequests(
  pool: pg.Pool,
  clientId: string | null,
  filter: RequestFilter,
  start: Position | null,
  limit: number,
): AsyncGenerator<readonly FoundRequest[], Position | null> {
  const { resource, outcome, property } = filter;
  const { lowest, below: highest } = rangeOf(filter);
  const budget = new SearchBudget();

  const isWanted = async ({ summary, inBucket }: FoundRequest): Promise<boolean> => {
    if (!inBucket || (resource !== undefined && summary.resource !== resource)) return false;
    if (outcome !== undefined && !has(outcome, summary.counts)) return false;
    return (
      property === undefined || namesProperty(pool, summary.requestId, property.bucket, property, budget)
    );
  };
  return yield* scanPage<FoundRequest>(
    {
      stepMax: STEP_MAX,
      examinedMax: EXAMINED_MAX,
      everyRowMatches: (resource ?? outcome ?? property) === undefined,
      positionOf: ({ summary }) => [summary.requestId],
      async step(position, count) {
        const requests = await nextIds(pool, clientId, position?.[0] ?? highest, lowest, count);
        const found = await readSummariesOf(pool, requests, property?.bucket ?? null);
        const matching: FoundRequest[] = [];
        for (const [at, request] of found.entries()) {
          if (budget.isSpent) {
            const before = found[at - 1];
            return {
              matching,
              examined: at,
              last: before === undefined ? position : [before.summary.requestId],
              stopped: true,
            };
          }
          if (await isWanted(request)) matching.push(request);
        }
        const last = requests.at(-1)?.requestId;
        return { matching, examined: requests.length, last: last === undefined ? null : [last] };
      },
    },
    start,
    limit,
  );
}

/** Yields the summaries of one page of a client's requests as JSON, as findRequests. */
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
