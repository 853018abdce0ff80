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
  /** Whether it replaced another version of its record; present on what has a change number. */
  readonly isUpdate: boolean;
  readonly facts: FactsText | null;
}

/** One string for a RecordKey, for maps. */
export function textOfKey(of: RecordKey): string {
  return `${of.propertyId}\0${of.resource}\0${of.key}`;
}

/**
 * Whether a record of the same content has no warnings: always, or until the property's inventory names a
 * room type.
 */
export type WarningFree = "always" | "while-unnamed" | "no";

/** As `current_record.warning_free` has it. */
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

/**
 * Versions of one key by source time. Nearly all keys have one: a map each would be a tenth of apply's
 * garbage.
 */
export class VersionsByTime {
  #time: string | undefined;
  #atTime: Version[] = [];
  #others: Map<string, Version[]> | undefined;

  /** Those of one source time, in the order in which they were added. */
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

  /** Puts a version in the place of another of the same source time. */
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

/**
 * The newest version of a key, and its versions at the source times being applied. `classify` keeps it up
 * to date.
 */
export interface KnownRecord {
  current: Version | null;
  readonly versions: VersionsByTime;
}

/** A record to be classified. */
export interface Incoming extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  /** Parses the record when it is first asked for. */
  readonly content: () => RecordFilters;
}

export type Decision =
  | { readonly outcome: "a" | "s"; readonly version: Version; readonly ownFacts: true }
  | { readonly outcome: "u"; readonly version: Version; readonly ownFacts: false }
  | {
      readonly outcome: "d";
      readonly lowered: Version | null;
      readonly becameCurrent: Version | null;
      /** What is to be written as the newest version, because it or its receipt is another. */
      readonly newest: Version | null;
    };

/** Whether a receipt is earlier than another. */
export function isReceivedBefore(left: Receipt, right: Receipt): boolean {
  return left.requestId < right.requestId || (left.requestId === right.requestId && left.index < right.index);
}

/** The total order of versions of one key: source time, then receipt. Newest last. */
function isNewer(left: RankedVersion, right: RankedVersion): boolean {
  return (
    left.sourceTime > right.sourceTime ||
    (left.sourceTime === right.sourceTime && isReceivedBefore(right, left))
  );
}

/**
 * A version's receipt is the earliest of its copies', whatever is applied first. Lowering it may make
 * another version of its source time the newest: that one then changed.
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

/**
 * Classifies a record and updates `known`. The newest of (source time, receipt) is current; an unchanged
 * record advances that order too.
 */
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
    // One content, so what it says is known, and the record need not be parsed.
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
  /** The request from which it counts by the clock of receipts, where that is not its own: that of its release. */
  readonly countsFrom?: string;
  readonly content: RecordReading["content"];
}

/** A record that must not be applied now, and why, in words for its sender. */
export interface QuarantinedRecord {
  readonly of: RecordKey;
  readonly requestId: string;
  readonly index: number;
  readonly code: QuarantineCode;
  readonly message: string;
}

/** The message for a record that was accepted and cannot be read any more. */
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

/** What is reported of a record that is not plainly applied: why it is quarantined, or its warnings. */
export type RecordDetails =
  | { readonly code: QuarantineCode; readonly message: string }
  | { readonly warnings: readonly Warning[] };
