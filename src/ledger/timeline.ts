import type { Receipt } from "../state/record-state.ts";

/** A version of one key, as far as the ledger goes by it. `content` tells contents apart: a hash, say. */
export interface TimelineVersion extends Receipt {
  readonly sourceTime: string;
  readonly content: string;
}

/**
 * From a source instant on, and for whoever knows what had been received by a request, one content counts in the place of
 * another; null is none.
 */
export interface TimelineChange {
  readonly sourceTime: string;
  readonly requestId: string;
  readonly from: string | null;
  readonly to: string | null;
}

function compareReceipts(left: Receipt, right: Receipt): number {
  if (left.requestId !== right.requestId) return left.requestId < right.requestId ? -1 : 1;
  return left.index - right.index;
}

/** The first place whose version is later than a source time; `versions` are in the order of their source times. */
function placeAfter(versions: readonly TimelineVersion[], sourceTime: string): number {
  let [low, high] = [0, versions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((versions[middle] as TimelineVersion).sourceTime <= sourceTime) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The changes that all versions of a key amount to, by both clocks: the content that counts at source instant T, as known at
 * receipt instant R, is that of the newest version (source time, then receipt) of those with source time ≤ T and receipt ≤ R,
 * and it is what the changes with source time ≤ T and receipt ≤ R leave, in any order, when each takes `from` away and
 * adds `to`. Made by receiving the versions one by one: each counts from its source time to that of the next one known.
 */
export function timelineOf(versions: readonly TimelineVersion[]): TimelineChange[] {
  const changes: TimelineChange[] = [];
  const known: TimelineVersion[] = [];
  for (const version of [...versions].sort(compareReceipts)) {
    const { sourceTime, requestId, content } = version;
    // What was received last is the newest of its source time.
    const place = placeAfter(known, sourceTime);
    const before = known[place - 1]?.content ?? null;
    const next = known[place];
    known.splice(place, 0, version);
    if (before === content) continue;
    changes.push({ sourceTime, requestId, from: before, to: content });
    if (next !== undefined)
      changes.push({ sourceTime: next.sourceTime, requestId, from: content, to: before });
  }
  return changes;
}

/** What must be added to the changes of `before` so that they amount to those of `after`. */
export function timelineDifference(
  before: readonly TimelineVersion[],
  after: readonly TimelineVersion[],
): TimelineChange[] {
  const taken = timelineOf(before).map(({ from, to, ...when }) => ({ ...when, from: to, to: from }));
  const left = new Map<string, TimelineChange[]>();
  const textOf = ({ sourceTime, requestId, from, to }: TimelineChange) =>
    JSON.stringify([sourceTime, requestId, from, to]);
  for (const change of timelineOf(after)) {
    const text = textOf(change);
    const same = left.get(text);
    if (same === undefined) left.set(text, [change]);
    else same.push(change);
  }
  const difference: TimelineChange[] = [];
  for (const change of taken) {
    const { from, to } = change;
    if (left.get(textOf({ ...change, from: to, to: from }))?.pop() === undefined) difference.push(change);
  }
  return [...difference, ...[...left.values()].flat()];
}
