import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { RequestSummary } from "../console/api-types.ts";
import { isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { query } from "../platform/db/dialect.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { RequestCounts } from "./console/answers.ts";

const READ_SUMMARIES = readStatement(new URL("./sql/read-request-summaries.sql", import.meta.url));

export type { RequestCounts, RequestSummary };

type Decided = Omit<RequestCounts, "pending">;

interface Row extends Decided, Pick<RequestSummary, "correlationId" | "replyTo" | "backfillId"> {
  readonly requestId: string;
  readonly clientId: string;
  readonly resource: ResourceLetter;
  readonly lenient: boolean;
  readonly appliedAt: Date | null;
  readonly buckets: readonly number[];
}

/** A summary, the request's client, and the buckets of its parts. */
export interface FoundRequest {
  readonly clientId: string;
  readonly summary: RequestSummary;
  readonly buckets: readonly number[];
}

function countsOf(row: Decided): RequestCounts {
  const { records, applied, unchanged, stale, duplicate, quarantined, discarded, rejected, warned } = row;
  const outcomes = { applied, unchanged, stale, duplicate, quarantined, discarded, rejected };
  const decided = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return { records, pending: records - decided, ...outcomes, warned };
}

export interface RequestOfClient {
  readonly requestId: string;
  readonly clientId: string;
}

/** Reads the summaries of requests in order. Omits requests of other clients. */
export async function readSummariesOf(
  pool: pg.Pool,
  requests: readonly RequestOfClient[],
): Promise<FoundRequest[]> {
  const requestIds = requests.map(({ requestId }) => requestId);
  const clientIds = requests.map(({ clientId }) => clientId);
  const { rows } = await query<Row>(pool, READ_SUMMARIES, [clientIds, requestIds]);
  const places = new Map(requestIds.map((id, place) => [id, place]));
  rows.sort((left, right) => (places.get(left.requestId) ?? 0) - (places.get(right.requestId) ?? 0));
  return rows.map((row) => {
    const { requestId, clientId, buckets, correlationId, replyTo, backfillId } = row;
    const summary: RequestSummary = {
      requestId,
      status: row.appliedAt === null ? "accepted" : "applied",
      resource: resourceOf(row.resource),
      receivedAt: isoOfMicroseconds(microsecondsOf(requestId)),
      appliedAt: row.appliedAt?.toISOString() ?? null,
      correlationId,
      replyTo,
      backfillId,
      handling: row.lenient ? "lenient" : "strict",
      counts: countsOf(row),
    };
    return { clientId, buckets, summary };
  });
}
