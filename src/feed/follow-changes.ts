import type { Queryable } from "../db/transaction.ts";
import type { ChangeFilter } from "./change-filter.ts";
import { changeObjects } from "./change-lines.ts";
import type { ChangeWatch } from "./change-watch.ts";
import type { Positions } from "./positions.ts";
import { type ChangePage, readChanges } from "./read-changes.ts";

/** Changes whose rows are in memory at a time. */
const READ_AT_ONCE = 1_000;
/** Calls for one answer, at most: bounds what a filter that matches little may cost. */
const CALLS_MAX = 20;
/** Who is woken by changes of others waits at least so long for the next, twice as long each time. */
const WOKEN_MS_MIN = 100;
const WOKEN_MS_MAX = 1_000;

/** What one answer of the feed is to have. */
export interface Following {
  readonly who: string;
  readonly from: Positions;
  readonly limit: number;
  readonly waitMs: number;
  /** Whoever asked is gone. */
  readonly signal: AbortSignal;
  /** The filter as it is now: rights may have been taken away while it was waited. Undefined when nothing is to be told any more. */
  filterNow(): Promise<ChangeFilter | undefined>;
}

/** The beginning of an answer: its first changes, if there are any, and the filter by which they were chosen. */
export interface FollowedStart {
  readonly page: ChangePage;
  readonly filter: ChangeFilter;
}

/** Where the feed stands at the end of an answer. */
export type FollowedEnd = Pick<ChangePage, "positions" | "caughtUp">;

/** The next changes; where there are none, waits for them as long as was asked. Undefined when nothing is to be told any more. */
export async function awaitChanges(
  on: Queryable,
  watch: ChangeWatch,
  { who, from, limit, waitMs, signal, filterNow }: Following,
): Promise<FollowedStart | undefined> {
  const until = performance.now() + waitMs;
  let positions = from;
  let waitMsMin = 0;
  for (;;) {
    const filter = await filterNow();
    if (filter === undefined) return undefined;
    const page = await readChanges(on, positions, filter, Math.min(limit, READ_AT_ONCE));
    const waitMsMax = until - performance.now();
    if (page.changes.length > 0 || !page.caughtUp || waitMsMax <= 0) return { page, filter };
    positions = page.positions;
    if (!(await watch.wait({ who, positions, waitMsMax, waitMsMin, signal }))) return { page, filter };
    waitMsMin = Math.min(WOKEN_MS_MAX, Math.max(WOKEN_MS_MIN, 2 * waitMsMin));
  }
}

/**
 * Yields changes as JSON objects, from the start on and at most `limit`, each with the cursor that goes on behind it; returns
 * where the feed then stands. What is not asked for is not read.
 */
export async function* followChanges(
  on: Queryable,
  { page: first, filter }: FollowedStart,
  limit: number,
  cursorAt: (positions: Positions) => string,
): AsyncGenerator<Buffer, FollowedEnd> {
  let page = first;
  let left = limit;
  for (let call = 1; ; call += 1) {
    yield* changeObjects(on, page, cursorAt);
    left -= page.changes.length;
    if (page.caughtUp || left <= 0 || call === CALLS_MAX) return page;
    page = await readChanges(on, page.positions, filter, Math.min(left, READ_AT_ONCE));
  }
}
