import type pg from "pg";
import type { Resource } from "../contract/resource.ts";
import { readStatement } from "../db/statement.ts";
import { scanPage } from "./bounded-scan.ts";
import { after, type Instant, lowestIdFrom } from "./instant.ts";
import { namesProperty, SearchBudget } from "./names-property.ts";
import type { Outcome } from "./outcome.ts";
import { isUuid, type Position, type PositionShape } from "./position.ts";
import { type FoundRequest, readSummariesOf } from "./request-summary.ts";

const readRequestIds = readStatement(new URL("./sql/read-request-ids.sql", import.meta.url));

/** Which of a client's requests are wanted. Instants are inclusive. */
export interface RequestFilter {
  readonly resource: Resource | undefined;
  readonly outcome: Outcome | undefined;
  readonly from: Instant | undefined;
  readonly to: Instant | undefined;
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

/**
 * Yields the summaries of one page, newest first; returns the position of the next page, or null at the end. What a page
 * may cost is bounded by the requests looked at (5,000) and, with a property, by the bytes searched.
 */
export async function* listRequests(
  pool: pg.Pool,
  clientId: string,
  filter: RequestFilter,
  start: Position | null,
  limit: number,
): AsyncGenerator<Buffer, Position | null> {
  const { resource, outcome, from, to, property } = filter;
  const lowest = from === undefined ? ID_LOWEST : lowestIdFrom(from);
  const highest = to === undefined ? ID_HIGHEST : lowestIdFrom(after(to));
  const budget = new SearchBudget();

  const isWanted = async ({ summary, inBucket }: FoundRequest): Promise<boolean> => {
    if (!inBucket || (resource !== undefined && summary.resource !== resource)) return false;
    if (outcome !== undefined && summary.counts[outcome] === 0) return false;
    return (
      property === undefined || namesProperty(pool, summary.requestId, property.bucket, property, budget)
    );
  };
  const scan = scanPage<FoundRequest>(
    {
      stepMax: STEP_MAX,
      examinedMax: EXAMINED_MAX,
      everyRowMatches: (resource ?? outcome ?? property) === undefined,
      positionOf: ({ summary }) => [summary.requestId],
      async step(position, count) {
        const below = position?.[0] ?? highest;
        const { rows } = await pool.query<{ request_id: string }>({
          ...readRequestIds,
          values: [clientId, below, lowest, count],
        });
        const ids = rows.map((row) => row.request_id);
        const found = await readSummariesOf(pool, clientId, ids, property?.bucket ?? null);
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
        const last = ids.at(-1);
        return { matching, examined: ids.length, last: last === undefined ? null : [last] };
      },
    },
    start,
    limit,
  );
  for (;;) {
    const step = await scan.next();
    if (step.done === true) return step.value;
    for (const { summary } of step.value) yield Buffer.from(JSON.stringify(summary));
  }
}
