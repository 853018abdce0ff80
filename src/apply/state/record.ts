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

const NONE: readonly Version[] = [];

/** Versions of one key by source time. Nearly all keys have one version; a map for each would be a tenth of apply's garbage. */
export class VersionsByTime {
  #time: string | undefined;
  #atTime: Version[] = [];
  #others: Map<string, Version[]> | undefined;

  /** The versions at a source time, in the order added. */
  at(sourceTime: string): readonly Version[] {
    if (sourceTime === this.#time) return this.#atTime;
    return this.#others?.get(sourceTime) ?? NONE;
  }

  add(version: Version): void {
    const { sourceTime } = version;
    if (this.#time === undefined) {
      this.#time = sourceTime;
      this.#atTime = [version];
      return;
    }
    const there = sourceTime === this.#time ? this.#atTime : this.#others?.get(sourceTime);
    if (there !== undefined) there.push(version);
    else {
      this.#others ??= new Map();
      this.#others.set(sourceTime, [version]);
    }
  }

  /** Replaces a version by one of the same source time. */
  replace(version: Version, by: Version): void {
    const there = version.sourceTime === this.#time ? this.#atTime : this.#others?.get(version.sourceTime);
    const at = there?.indexOf(version) ?? -1;
    if (there === undefined || at < 0) throw new Error("The version to be replaced is not known.");
    there[at] = by;
  }

  all(): Version[] {
    return [...this.#atTime, ...[...(this.#others?.values() ?? [])].flat()];
  }
}

/** The newest version of a key, and its versions at the source times being applied. `classify` updates both. */
export interface KnownRecord {
  current: Version | null;
  readonly versions: VersionsByTime;
}

/** A record to be classified. */
export interface Incoming extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  /** Parses the record on the first call. */
  readonly content: () => RecordFilters;
}

export type Decision =
  | { readonly outcome: "a" | "s"; readonly version: Version; readonly ownFacts: true }
  | { readonly outcome: "u"; readonly version: Version; readonly ownFacts: false }
  | {
      readonly outcome: "d";
      /** The version with its lowered receipt, if the duplicate was received earlier. */
      readonly lowered: Version | null;
      readonly becameCurrent: Version | null;
      /** The newest version, if it or its receipt has changed. */
      readonly newest: Version | null;
    };

export function isReceivedBefore(left: Receipt, right: Receipt): boolean {
  return left.requestId < right.requestId || (left.requestId === right.requestId && left.index < right.index);
}

/** Compares versions of one key by source time, then receipt. */
function isNewer(left: RankedVersion, right: RankedVersion): boolean {
  return (
    left.sourceTime > right.sourceTime ||
    (left.sourceTime === right.sourceTime && isReceivedBefore(right, left))
  );
}

/**
 * The receipt of a version is the earliest of its copies, in whatever order they are applied. Lowering it may make another version
 * of its source time current.
 */
function classifyDuplicate(known: KnownRecord, incoming: Incoming, existing: Version): Decision {
  if (!isReceivedBefore(incoming, existing))
    return { outcome: "d", lowered: null, becameCurrent: null, newest: null };
  const lowered: Version = { ...existing, requestId: incoming.requestId, index: incoming.index };
  known.versions.replace(existing, lowered);
  if (known.current === null || known.current.sourceTime !== incoming.sourceTime) {
    return { outcome: "d", lowered, becameCurrent: null, newest: null };
  }
  const newest = known.versions
    .at(incoming.sourceTime)
    .reduce((left, right) => (isNewer(right, left) ? right : left));
  const becameCurrent = newest.contentHash === known.current.contentHash ? null : newest;
  known.current = newest;
  return { outcome: "d", lowered, becameCurrent, newest };
}

/** Classifies a record and updates `known`. The newest version by (source time, receipt) is current, including unchanged ones. */
export function classify(known: KnownRecord, incoming: Incoming): Decision {
  const existing = known.versions
    .at(incoming.sourceTime)
    .find((version) => version.contentHash === incoming.contentHash);
  if (existing !== undefined) return classifyDuplicate(known, incoming, existing);
  const { current } = known;
  const { sourceTime, contentHash, requestId, index, content: filters } = incoming;
  const version: Version = {
    sourceTime,
    contentHash,
    requestId,
    index,
    factsSourceTime: sourceTime,
    filters,
  };
  if (current !== null && !isNewer(version, current)) {
    known.versions.add(version);
    return { outcome: "s", version, ownFacts: true };
  }
  if (current !== null && current.contentHash === contentHash) {
    // Same content, so its filters are known without parsing the record.
    const narrow: Version = {
      ...version,
      factsSourceTime: current.factsSourceTime,
      filters: current.filters,
    };
    known.versions.add(narrow);
    known.current = narrow;
    return { outcome: "u", version: narrow, ownFacts: false };
  }
  known.versions.add(version);
  known.current = version;
  return { outcome: "a", version, ownFacts: true };
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
