import { createHash } from "node:crypto";
import type { Resource } from "#contract/resource.ts";

/**
 * What the contract says becomes of a sequence of records, written from the contract ("Records") and not from src/apply,
 * in the plainest way: no buckets, no log writers, no database.
 */

/** A record as received. `json` is the record's text, `sourceTime` as it stands in it. */
export interface ReceivedRecord {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
  readonly sourceTime: string;
  readonly json: string;
}

/** What the contract's rules look at in a record. */
export interface JudgedRecord {
  readonly identity: string;
  /** With exactly six fraction digits, so that text order is time order. */
  readonly sourceTime: string;
  readonly content: string;
}

/** a applied, u unchanged, s stale, d duplicate. */
export type ExpectedOutcome = "a" | "u" | "s" | "d";

export interface ExpectedVersion {
  /** With exactly six fraction digits, so that text order is time order. */
  readonly sourceTime: string;
  readonly content: string;
  readonly outcome: Exclude<ExpectedOutcome, "d">;
}

export interface ExpectedRecord {
  readonly identity: string;
  current: ExpectedVersion;
  /** In the order of receipt of the first copy of each. */
  readonly versions: ExpectedVersion[];
}

export interface ExpectedState {
  readonly records: ReadonlyMap<string, ExpectedRecord>;
  /** One a received record, in the order given. */
  readonly outcomes: readonly ExpectedOutcome[];
}

/** Resource, codes and key as one text. None of them can hold a NUL. */
export function identityOf(record: Omit<ReceivedRecord, "sourceTime" | "json">): string {
  return [record.resource, record.clientCode, record.propertyCode, record.key].join("\0");
}

/** `2016-03-01T08:30:00Z` and `2016-03-01T08:30:00.000Z` are one instant: both become `2016-03-01T08:30:00.000000Z`. */
export function instantText(sourceTime: string): string {
  const [seconds = "", fraction = ""] = sourceTime.slice(0, -1).split(".");
  return `${seconds}.${fraction.padEnd(6, "0")}Z`;
}

/** A digest of a record less its source time and correlation id: the same for the same content spelled the same way. */
export function contentOf(resource: Resource, json: string): string {
  const record = JSON.parse(json) as Record<string, unknown>;
  delete record["correlationId"];
  delete record[resource === "inventories" ? "createDateTime" : "lastModifiedDateTime"];
  return createHash("sha256").update(JSON.stringify(record)).digest("hex").slice(0, 24);
}

export function judge(record: ReceivedRecord): JudgedRecord {
  return {
    identity: identityOf(record),
    sourceTime: instantText(record.sourceTime),
    content: contentOf(record.resource, record.json),
  };
}

/** The current record, the history and each outcome, of records in the order of their receipt. */
export function expectedState(received: readonly ReceivedRecord[]): ExpectedState {
  return stateAfter(received.map(judge));
}

/** The same of records that were judged before. */
export function stateAfter(received: readonly JudgedRecord[]): ExpectedState {
  const records = new Map<string, ExpectedRecord>();
  const copies = new Set<string>();
  const outcomes = received.map(({ identity, sourceTime, content }): ExpectedOutcome => {
    const known = records.get(identity);
    const copy = `${identity}\0${sourceTime}\0${content}`;
    if (copies.has(copy)) return "d";
    copies.add(copy);
    if (known === undefined) {
      const version: ExpectedVersion = { sourceTime, content, outcome: "a" };
      records.set(identity, { identity, current: version, versions: [version] });
      return "a";
    }
    const { current, versions } = known;
    // Equal times: the one received later wins, and this one is received later than all before it.
    const newest = sourceTime >= current.sourceTime;
    const outcome = !newest ? "s" : content === current.content ? "u" : "a";
    const version: ExpectedVersion = { sourceTime, content, outcome };
    versions.push(version);
    if (newest) known.current = version;
    return outcome;
  });
  return { records, outcomes };
}

/** The state as sorted lines: one a version, `*` before the current one. Equal lines are an equal state. */
export function linesOf(state: ExpectedState): string[] {
  return [...state.records.values()]
    .flatMap(({ identity, current, versions }) =>
      versions.map((version) =>
        stateLine(identity, version.sourceTime, version.content, version === current),
      ),
    )
    .sort();
}

export function stateLine(identity: string, sourceTime: string, content: string, current: boolean): string {
  return `${identity.replaceAll("\0", " ")} ${sourceTime} ${content}${current ? " *" : ""}`;
}
