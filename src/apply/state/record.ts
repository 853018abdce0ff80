import type { FactsText, RecordFilters, RecordReading } from "#contract/read-record.ts";
import type { ResourceLetter } from "#contract/resource.ts";
import type { Warning } from "#contract/warnings.ts";

export const RESOURCE_LETTERS = ["i", "r", "g"] as const satisfies readonly ResourceLetter[];

export const VERSION_TABLES: Readonly<Record<ResourceLetter, string>> = {
  i: "inventory_version",
  r: "reservation_version",
  g: "group_version",
};

/** Identity of a record within the whole service. */
export interface RecordKey {
  readonly bucket: number;
  readonly propertyId: number;
  readonly resource: ResourceLetter;
  readonly key: string;
}

/** The position of a record in the log. Receipts of one bucket are ordered by request id, then index. */
export interface Receipt {
  readonly requestId: string;
  readonly index: number;
}

/** A version as far as needed to order it. Times are ISO 8601 in UTC with six fraction digits, hashes hexadecimal. */
export interface RankedVersion extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  /** Source time of the version that stores the facts of this content. */
  readonly factsSourceTime: string;
}

export interface Version extends RankedVersion {
  /** Columns that lists filter by. May parse the record. */
  readonly filters: () => RecordFilters;
  /** The facts as text, if loaded. */
  readonly facts?: string | undefined;
  /** See `encodeCompact`; if loaded. */
  readonly compactNights?: string | null;
}

/** The outcomes that create a version: applied, unchanged, stale. */
export type VersionOutcome = "a" | "u" | "s";

/** A version to be written. `facts` is null if another version of the same content stores them (an unchanged record). */
export interface NewVersion {
  readonly of: RecordKey;
  readonly version: Version;
  readonly outcome: VersionOutcome;
  readonly changeNumber: number | null;
  /** Whether the record had a version before. */
  readonly isUpdate: boolean;
  readonly facts: FactsText | null;
}

/** A RecordKey as a map key. */
export function textOfKey(of: RecordKey): string {
  return `${of.propertyId}\0${of.resource}\0${of.key}`;
}

/** Whether a record of the same content has no warnings: always, or until the property's inventory names a room type. */
export type WarningFree = "always" | "while-unnamed" | "no";

/** Values of `current_record.warning_free`. */
const STORED: Readonly<Record<WarningFree, boolean | null>> = {
  always: true,
  "while-unnamed": null,
  no: false,
};

export function storedWarningFree(warningFree: WarningFree): boolean | null {
  return STORED[warningFree];
}

export function warningFreeOfStored(stored: boolean | null): WarningFree {
  if (stored === null) return "while-unnamed";
  return stored ? "always" : "no";
}

/** A record to be classified. */
export interface Incoming extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  /** Parses the record on the first call. */
  readonly content: () => RecordFilters;
}

/** An accepted record, read from the log and ready to be applied. */
export interface ApplicableRecord extends Incoming {
  readonly clientCode: string;
  readonly of: RecordKey;
  /** For a released record: the request of its release, from which it counts. */
  readonly countsFrom?: string;
  readonly content: RecordReading["content"];
}

/** A record to be quarantined, with a message for its sender. */
export interface QuarantinedRecord {
  readonly of: RecordKey;
  readonly requestId: string;
  readonly index: number;
  readonly code: QuarantineCode;
  readonly message: string;
}

export const UNREADABLE =
  "The record could not be read again after it was accepted; an operator has been notified.";

/** Why a record is quarantined. Stable codes, listed in docs/contract.md. */
export type QuarantineCode =
  | "time.future"
  | "count.negative"
  | "data.unstorable"
  | "record.unreadable"
  | "state.incomplete";

/** a applied, u unchanged, s stale, d duplicate, q quarantined, x discarded. */
export type OutcomeLetter = "a" | "u" | "s" | "d" | "q" | "x";

/** The reason for quarantining a record, or its warnings. */
export type RecordDetails =
  | { readonly code: QuarantineCode; readonly message: string }
  | { readonly warnings: readonly Warning[] };
