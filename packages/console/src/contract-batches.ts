/** What batches are of, what their records become and how they are counted; `contract.ts` says what holds for all of it. */

export type Resource = "inventories" | "reservations" | "groups";
export type Outcome =
  | "applied"
  | "unchanged"
  | "stale"
  | "duplicate"
  | "quarantined"
  | "discarded"
  | "rejected";

/** `records` is the sum of all others but `warned`. */
export interface RequestCounts {
  readonly records: number;
  readonly pending: number;
  readonly applied: number;
  readonly unchanged: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly discarded: number;
  readonly rejected: number;
  /** Records with warnings, whatever their outcome. */
  readonly warned: number;
}
