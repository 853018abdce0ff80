import type { Incoming, RankedVersion, Receipt, Version } from "./record.ts";

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
