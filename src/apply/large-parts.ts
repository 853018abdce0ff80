import { recordCountOf } from "../ingest/log/body-layout.ts";
import type { LogPart } from "./backlog.ts";
import type { ResourceLetter } from "./state/version-tables.ts";

/**
 * Some 20 ms of an applier. A hotel's two years of inventory, 730 dates, are not large: with them by themselves a backlog of pushes
 * and small batches took a tenth more of both processors' time.
 */
const LARGE_RECORDS: Readonly<Record<ResourceLetter, number>> = { i: 1_000, r: 256, g: 256 };

/** Whether whoever waits for a part to be applied notices it. */
export function isLargePart({ resource, layout, rejectedIndexes }: LogPart): boolean {
  return layout !== null && recordCountOf(layout) - rejectedIndexes.size >= LARGE_RECORDS[resource];
}

/**
 * Which of the parts that are next one transaction takes, so that small parts do not wait for large ones of other buckets: those
 * without a large one before them, then the first of the large ones by itself, and so in turn. What it leaves out is read again, and
 * of each bucket it takes a beginning. Where nothing small waits it takes all.
 */
export class PartsInTurn {
  readonly #isLarge: (part: LogPart) => boolean;
  #isLargeNext = false;

  constructor(isLarge: (part: LogPart) => boolean = isLargePart) {
    this.#isLarge = isLarge;
  }

  choose(parts: readonly LogPart[]): readonly LogPart[] {
    const behind = new Set<number>();
    let first: LogPart | undefined;
    const small = parts.filter((part) => {
      if (!behind.has(part.bucket) && this.#isLarge(part)) {
        first ??= part;
        behind.add(part.bucket);
      }
      return !behind.has(part.bucket);
    });
    const isLargeNext = this.#isLargeNext;
    this.#isLargeNext = false;
    if (first === undefined || small.length === 0) return parts;
    if (!isLargeNext) {
      this.#isLargeNext = true;
      return small;
    }
    const { bucket } = first;
    return parts.slice(0, parts.indexOf(first) + 1).filter((part) => part.bucket === bucket);
  }
}
