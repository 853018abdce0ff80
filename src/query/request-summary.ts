import type pg from "pg";
import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { query } from "../platform/db/dialect.ts";
import { readStatement } from "../platform/db/statement.ts";

const readSummaries = readStatement(new URL("./sql/read-request-summaries.sql", import.meta.url));

/** How many records of a batch had each outcome so far. All but `records` and `warned` add up to `records`. */
export interface RequestCounts {
  readonly records: number;
  /** Not decided yet. */
  readonly pending: number;
  readonly applied: number;
  readonly unchanged: number;
  readonly stale: number;
  readonly duplicate: number;
  /** Held now; a released record is counted by what it became, a discarded one as discarded. */
  readonly quarantined: number;
  readonly discarded: number;
  readonly rejected: number;
  /** Records with warnings, whatever their outcome. */
  readonly warned: number;
}

/** What is told of a request. Times are ISO 8601 UTC. */
export interface RequestSummary {
  readonly requestId: string;
  /** `applied` once every part of the batch has been, else `accepted`. */
  readonly status: "accepted" | "applied";
  readonly resource: Resource;
  readonly receivedAt: string;
  readonly appliedAt: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  /** The backfill that the batch belongs to. */
  readonly backfillId: string | null;
  readonly handling: "strict" | "lenient";
  readonly counts: RequestCounts;
}

type Decided = Omit<RequestCounts, "pending">;

interface Row extends Decided {
  readonly request_id: string;
  readonly client_id: string;
  readonly resource: ResourceLetter;
  readonly correlation_id: string | null;
  readonly reply_to: string | null;
  readonly backfill_id: string | null;
  readonly lenient: boolean;
  readonly applied_at: Date | null;
  readonly in_bucket: boolean;
}

/** A summary, whose request it is, and whether a part of it lies in a bucket that was asked about. */
export interface FoundRequest {
  readonly clientId: string;
  readonly summary: RequestSummary;
  readonly inBucket: boolean;
}

function countsOf(row: Decided): RequestCounts {
  const { records, applied, unchanged, stale, duplicate, quarantined, discarded, rejected, warned } = row;
  const decided = applied + unchanged + stale + duplicate + quarantined + discarded + rejected;
  return {
    records,
    pending: records - decided,
    applied,
    unchanged,
    stale,
    duplicate,
    quarantined,
    discarded,
    rejected,
    warned,
  };
}

/** A request and the client that sent it. */
export interface RequestOfClient {
  readonly requestId: string;
  readonly clientId: string;
}

/** Reads the summaries of requests, in their order; those that are not of the client that is named with them are left out. */
export async function readSummariesOf(
  pool: pg.Pool,
  requests: readonly RequestOfClient[],
  buckets: readonly number[] | null,
): Promise<FoundRequest[]> {
  const requestIds = requests.map(({ requestId }) => requestId);
  const clientIds = requests.map(({ clientId }) => clientId);
  const { rows } = await query<Row>(pool, readSummaries, [clientIds, requestIds, buckets]);
  const places = new Map(requestIds.map((id, place) => [id, place]));
  rows.sort((left, right) => (places.get(left.request_id) ?? 0) - (places.get(right.request_id) ?? 0));
  return rows.map((row) => ({
    clientId: row.client_id,
    inBucket: row.in_bucket,
    summary: {
      requestId: row.request_id,
      status: row.applied_at === null ? "accepted" : "applied",
      resource: resourceOf(row.resource),
      receivedAt: isoOfMicroseconds(microsecondsOf(row.request_id)),
      appliedAt: row.applied_at?.toISOString() ?? null,
      correlationId: row.correlation_id,
      replyTo: row.reply_to,
      backfillId: row.backfill_id,
      handling: row.lenient ? "lenient" : "strict",
      counts: countsOf(row),
    },
  }));
}
