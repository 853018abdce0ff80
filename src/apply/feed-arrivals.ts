import type { RecordKey } from "../state/record-state.ts";
import type { LogPart } from "./backlog.ts";
import type { OutcomeLetter } from "./record.ts";

/** What one transaction had of a property and resource: a row of `bellhop.feed_arrival`, under its columns' names. */
export interface FeedArrival {
  readonly bucket: number;
  readonly property_id: number;
  readonly resource: string;
  readonly first_request_id: string;
  last_request_id: string;
  batches: number;
  applied: number;
  unchanged: number;
  stale: number;
  duplicate: number;
  quarantined: number;
  rejected: number;
  warned: number;
}

const COLUMN_OF = { a: "applied", u: "unchanged", s: "stale", d: "duplicate", q: "quarantined" } as const;

/** Counts the records of one transaction by property and resource. Parts come in the order of receipt. */
export class FeedArrivals {
  readonly #rows = new Map<string, FeedArrival>();
  /** Records of one property come together. */
  #last: FeedArrival | undefined;

  /** A record of a part and what became of it. */
  add(part: LogPart, of: RecordKey, outcome: OutcomeLetter, isWarned: boolean): void {
    const row = this.#rowOf(part, of);
    if (row === undefined || outcome === "x") return;
    row[COLUMN_OF[outcome]] += 1;
    if (isWarned) row.warned += 1;
  }

  /** Records of a part that were rejected at acceptance: told beside one of its accepted ones, as their own codes may be anything. */
  addRejected(part: LogPart, beside: RecordKey | undefined): void {
    if (part.rejectedIndexes.size === 0 || beside === undefined) return;
    const row = this.#rowOf(part, beside);
    if (row !== undefined) row.rejected += part.rejectedIndexes.size;
  }

  rows(): FeedArrival[] {
    return [...this.#rows.values()];
  }

  /** Undefined for a record that could not be read: nobody knows whose it is. */
  #rowOf(part: LogPart, { bucket, propertyId, resource }: RecordKey): FeedArrival | undefined {
    if (propertyId === 0) return undefined;
    let row = this.#last;
    if (row?.property_id !== propertyId || row.resource !== resource) {
      const key = `${propertyId}${resource}`;
      row = this.#rows.get(key);
      if (row === undefined) {
        row = {
          ...{
            bucket,
            property_id: propertyId,
            resource,
            first_request_id: part.requestId,
            last_request_id: "",
          },
          ...{
            batches: 0,
            applied: 0,
            unchanged: 0,
            stale: 0,
            duplicate: 0,
            quarantined: 0,
            rejected: 0,
            warned: 0,
          },
        };
        this.#rows.set(key, row);
      }
      this.#last = row;
    }
    if (row.last_request_id !== part.requestId) {
      row.last_request_id = part.requestId;
      row.batches += 1;
    }
    return row;
  }
}
