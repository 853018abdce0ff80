import { BUCKET_COUNT } from "../../accept/bucket.ts";
import type { Queryable } from "../../db/transaction.ts";
import { readChangeEnds } from "../change-ends.ts";
import type { Positions } from "../positions.ts";

const EVERY_BUCKET = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket);

/** Where the change feed ends now: who begins here is told of what comes next. */
export function readEnds(on: Queryable): Promise<Positions> {
  return readChangeEnds(on, EVERY_BUCKET);
}

/** Positions as they are stored with an endpoint. */
export function positionsText(positions: Positions): string {
  return JSON.stringify([...positions]);
}

export function readPositions(text: string): Positions {
  return new Map(JSON.parse(text) as [number, number][]);
}
