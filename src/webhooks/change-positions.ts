import { ALL_BUCKETS } from "../ingest/log/bucket.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { readChangeEnds } from "../query/changes/change-ends.ts";
import type { Positions } from "../query/changes/positions.ts";

/** Where the change feed ends now: who begins here is told of what comes next. */
export function readEnds(on: Queryable): Promise<Positions> {
  return readChangeEnds(on, ALL_BUCKETS);
}

/** Positions as they are stored with an endpoint. */
export function positionsText(positions: Positions): string {
  return JSON.stringify([...positions]);
}

export function readPositions(text: string): Positions {
  return new Map(JSON.parse(text) as [number, number][]);
}
