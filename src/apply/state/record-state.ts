import type { FactsText, RecordFilters } from "#contract/record-reading.ts";
import type { ResourceLetter } from "./version-tables.ts";

/** Identity of a record within the whole service. */
export interface RecordKey {
  readonly bucket: number;
  readonly propertyId: number;
  readonly resource: ResourceLetter;
  readonly key: string;
}

/** Where a document lies in the log, and at once when it was received relative to others: ids of one bucket are ordered. */
export interface Receipt {
  readonly requestId: string;
  readonly index: number;
}

/** What decides between two versions. Times are ISO UTC with six fraction digits, hashes hex. */
export interface RankedVersion extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  /** Source time of the version that holds the typed facts of this content. */
  readonly factsSourceTime: string;
}

/** One version as it is written. */
export interface Version extends RankedVersion {
  /** What lists filter by. Asking may parse the record. */
  readonly filters: () => RecordFilters;
  /** The text of its facts, where that was loaded with it. */
  readonly facts?: string | undefined;
  /** What its nights are in short, where that was loaded with it (`src/apply/ledger/content-nights.ts`). */
  readonly compactNights?: string | null;
}

/** `a` applied, `u` unchanged, `s` stale: the outcomes that make a version. */
export type VersionOutcome = "a" | "u" | "s";

/** A version to be written. `facts` is null where another version of the same content holds them (an unchanged record). */
export interface NewVersion {
  readonly of: RecordKey;
  readonly version: Version;
  readonly outcome: VersionOutcome;
  readonly changeNumber: number | null;
  /** Whether it replaced another version of its record; told of what has a change number. */
  readonly isUpdate: boolean;
  readonly facts: FactsText | null;
}

/** One string for a RecordKey, for maps. */
export function textOfKey(of: RecordKey): string {
  return `${of.propertyId}\0${of.resource}\0${of.key}`;
}
