import type { Receipt } from "../state/record-state.ts";

/**
 * A copy of a version of one key, as far as the ledger goes by it. `content` tells contents apart: a hash, say. A version is
 * one content at one source time. Its receipt decides between versions of one source time; it counts from another one where
 * it was held aside and released (`countsFrom`, the release's request).
 */
export interface TimelineCopy extends Receipt {
  readonly sourceTime: string;
  readonly content: string;
  readonly countsFrom: string;
}

/** From a source instant on, and for whoever knows what counted from a request on, a content is there so much more often. */
export interface TimelineChange {
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly content: string;
  readonly by: number;
}

/** Whether a receipt is earlier than another. */
export function isReceivedBefore(left: Receipt, right: Receipt): boolean {
  return left.requestId < right.requestId || (left.requestId === right.requestId && left.index < right.index);
}

function compareKnowing(left: TimelineCopy, right: TimelineCopy): number {
  if (left.countsFrom !== right.countsFrom) return left.countsFrom < right.countsFrom ? -1 : 1;
  if (left.requestId !== right.requestId) return left.requestId < right.requestId ? -1 : 1;
  return left.index - right.index;
}

/** The first place whose version is later than a source time; `versions` are in the order of their source times. */
function placeAfter(versions: readonly TimelineCopy[], sourceTime: string): number {
  let [low, high] = [0, versions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((versions[middle] as TimelineCopy).sourceTime <= sourceTime) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Puts a copy among the versions that are known, in the place of a later copy of its version, if it changes anything. */
function learn(known: TimelineCopy[], copy: TimelineCopy): void {
  let place = placeAfter(known, copy.sourceTime);
  for (let at = place - 1; known[at]?.sourceTime === copy.sourceTime; at -= 1) {
    const version = known[at] as TimelineCopy;
    if (version.content !== copy.content) continue;
    if (!isReceivedBefore(copy, version)) return;
    known.splice(at, 1);
    place -= 1;
    break;
  }
  while (
    known[place - 1]?.sourceTime === copy.sourceTime &&
    isReceivedBefore(copy, known[place - 1] as TimelineCopy)
  )
    place -= 1;
  known.splice(place, 0, copy);
}

/** Changes by their two instants and content, so that those which leave nothing go. */
class Changes {
  readonly #changes = new Map<string, TimelineChange>();

  add(sourceTime: string, countsFrom: string, content: string | null, by: number): void {
    if (content === null) return;
    const text = `${sourceTime} ${countsFrom} ${content}`;
    const sum = (this.#changes.get(text)?.by ?? 0) + by;
    if (sum === 0) this.#changes.delete(text);
    else this.#changes.set(text, { sourceTime, countsFrom, content, by: sum });
  }

  /** Adds all that copies amount to, so many times. */
  addAll(copies: readonly TimelineCopy[], times: number): void {
    const known: TimelineCopy[] = [];
    const topAt = (sourceTime: string) => known[placeAfter(known, sourceTime) - 1]?.content ?? null;
    for (const copy of [...copies].sort(compareKnowing)) {
      const { sourceTime, countsFrom } = copy;
      const before = topAt(sourceTime);
      learn(known, copy);
      const after = topAt(sourceTime);
      if (before === after) continue;
      this.add(sourceTime, countsFrom, before, -times);
      this.add(sourceTime, countsFrom, after, times);
      const next = known[placeAfter(known, sourceTime)];
      if (next === undefined) continue;
      this.add(next.sourceTime, countsFrom, after, -times);
      this.add(next.sourceTime, countsFrom, before, times);
    }
  }

  all(): TimelineChange[] {
    return [...this.#changes.values()];
  }
}

/**
 * What must be added to the changes of `before` so that they amount to those of `after`, both by the same definition: the
 * content that counts at source instant T, as known at receipt instant R, is that of the newest version (source time, then
 * the earliest receipt of its copies) of those with source time ≤ T, by the copies that count from R or before; and it is
 * what the changes with source time ≤ T and receipt ≤ R leave, in any order. Made by learning of the copies one by one: each
 * version counts from its source time to that of the next one known.
 */
export function timelineDifference(
  before: readonly TimelineCopy[],
  after: readonly TimelineCopy[],
): TimelineChange[] {
  const changes = new Changes();
  changes.addAll(before, -1);
  changes.addAll(after, 1);
  return changes.all();
}
