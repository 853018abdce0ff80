import type pg from "pg";
import type { Warning } from "#contract/warning.ts";
import type { ApplyMemory } from "./apply-memory.ts";
import type { ContextWarnings, TellingOf } from "./context-warnings.ts";
import { isCompactOf } from "./ledger/content-nights.ts";
import type { AppliedStep } from "./ledger/night-ledger.ts";
import {
  type ApplicableRecord,
  classify,
  type Decision,
  type KnownRecord,
  type OutcomeLetter,
  VersionsByTime,
} from "./record.ts";
import { ADVANCED, loadOrAdvance } from "./state/advance-unchanged.ts";
import { readKnownVersions } from "./state/known-versions.ts";
import { loadVersionsAt, type StoredCurrent } from "./state/load-versions.ts";
import { type NewVersion, type RecordKey, textOfKey, type Version } from "./state/record-state.ts";
import type { WarningFree } from "./state/warning-free.ts";
import { type NewCurrent, writeCurrent } from "./state/write-current.ts";
import { insertVersions, writeReceipts } from "./state/write-versions.ts";

/** Hands out the next change number of a bucket, or null where changes are not numbered (a replay). */
export type NextChange = (bucket: number) => number | null;

/** A key of a transaction: what is known of it, what was stored before, and the newest version if there is a new one. */
interface TouchedKey {
  readonly of: RecordKey;
  readonly text: string;
  /** What arrived of it, if that is one record. */
  arrived: ApplicableRecord["incoming"] | null;
  /** That record was plainly unchanged, and has been written. */
  isAdvanced: boolean;
  readonly known: KnownRecord;
  stored: StoredCurrent | null;
  newest: Version | null;
  warningFree: WarningFree;
  /** See ArrivedKey. */
  readonly isUnnamed: boolean;
}

/** What became of a record that was applied, and what is to be told of it. */
export interface AppliedRecord {
  readonly outcome: Exclude<OutcomeLetter, "q" | "x">;
  readonly warnings: readonly Warning[];
}

interface Writes {
  readonly versions: NewVersion[];
  readonly received: { of: RecordKey; version: Version; changeNumber: number | null }[];
}

/** The keys of records, each once, and the key of each record. */
function keysOf(
  records: readonly ApplicableRecord[],
  unnamed: ReadonlySet<number>,
  releases: ReadonlyMap<string, string>,
): { keys: TouchedKey[]; ofRecord: TouchedKey[] } {
  const byText = new Map<string, TouchedKey>();
  const ofRecord = records.map(({ of, incoming, countsFrom }) => {
    const text = textOfKey(of);
    let key = byText.get(text);
    if (key !== undefined) key.arrived = null;
    else {
      key = {
        of,
        text,
        // What is released, or was received before a release of its key, counts from another instant than its version says: the
        // ledger has to hear of it, although nothing changes now.
        arrived:
          countsFrom === undefined && incoming.requestId > (releases.get(text) ?? "") ? incoming : null,
        isAdvanced: false,
        known: { current: null, versions: new VersionsByTime() },
        stored: null,
        newest: null,
        warningFree: "no",
        isUnnamed: unnamed.has(of.propertyId),
      };
      byText.set(text, key);
    }
    return key;
  });
  return { keys: [...byText.values()], ofRecord };
}

async function loadKnown(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  keys: readonly TouchedKey[],
  ofRecord: readonly TouchedKey[],
): Promise<void> {
  const found = await loadOrAdvance(client, keys);
  keys.forEach((key, at) => {
    const stored = found[at] ?? null;
    if (stored === ADVANCED) {
      key.isAdvanced = true;
      return;
    }
    key.stored = stored;
    key.known.current = stored?.version ?? null;
    key.warningFree = stored?.warningFree ?? "no";
  });
  // A source time later than the current one has no versions yet, so in a steady feed nothing is looked up here.
  const mayExist = records.filter(({ incoming }, at) => {
    const newest = ofRecord[at]?.known.current ?? null;
    return newest !== null && incoming.sourceTime <= newest.sourceTime;
  });
  if (mayExist.length === 0) return;
  const versions = await loadVersionsAt(
    client,
    mayExist.map(({ of, incoming }) => ({ of, sourceTime: incoming.sourceTime })),
  );
  for (const { text, known } of keys) {
    for (const version of versions.get(text) ?? []) known.versions.add(version);
  }
}

function note(
  writes: Writes,
  record: ApplicableRecord,
  before: Version | null,
  decision: Decision,
  nextChange: NextChange,
): void {
  const { of } = record;
  if (decision.outcome === "d") {
    const { lowered, becameCurrent } = decision;
    if (lowered !== null) writes.received.push({ of, version: lowered, changeNumber: null });
    if (becameCurrent !== null)
      writes.received.push({ of, version: becameCurrent, changeNumber: nextChange(of.bucket) });
    return;
  }
  writes.versions.push({
    of,
    version: decision.version,
    outcome: decision.outcome,
    changeNumber: decision.outcome === "a" ? nextChange(of.bucket) : null,
    isUpdate: before !== null,
    facts: decision.ownFacts ? record.content().facts : null,
  });
}

const BECAME = { a: "newest", u: "newest", s: "older" } as const;

/** What a record did to the versions of its key, for the ledger; `before` was the newest. */
function stepOf(
  { of, incoming, countsFrom, content }: ApplicableRecord,
  text: string,
  before: Version | null,
  decision: Decision,
): AppliedStep {
  const isCopy = decision.outcome === "d";
  return {
    of,
    text,
    record: incoming,
    countsFrom: countsFrom ?? incoming.requestId,
    before,
    made: isCopy ? null : decision.version,
    became: isCopy ? (decision.lowered === null ? "copy" : "first copy") : BECAME[decision.outcome],
    ownFacts: !isCopy && decision.ownFacts,
    content,
  };
}

/** The version that a decision makes the newest of its key, if it does. */
function newestBy(decision: Decision): Version | null {
  if (decision.outcome === "d") return decision.newest;
  return decision.outcome === "s" ? null : decision.version;
}

/** Whether the current content of a key, sent again in this transaction, is sure to have no warnings. */
function isStoredWarningFree({ stored, isUnnamed }: TouchedKey): boolean {
  return stored?.warningFree === "always" || (stored?.warningFree === "while-unnamed" && isUnnamed);
}

/**
 * Says what is to be told of each record, in order, and of each key whether its newest content is sure to have no warnings.
 * Of a record whose content is current and quiet nothing is, and it need not even be parsed.
 */
async function tell(
  records: readonly ApplicableRecord[],
  decisions: readonly Decision[],
  ofRecord: readonly TouchedKey[],
  context: ContextWarnings,
): Promise<(readonly Warning[])[]> {
  const warningFreeContent = new Map<TouchedKey, string>();
  for (const key of ofRecord) {
    const { stored } = key;
    if (stored !== null && isStoredWarningFree(key)) warningFreeContent.set(key, stored.version.contentHash);
  }
  const isKnownWarningFree = ({ incoming }: ApplicableRecord, at: number) =>
    warningFreeContent.get(ofRecord[at] as TouchedKey) === incoming.contentHash;
  await context.prepare(records.filter((record, at) => !isKnownWarningFree(record, at)));
  return records.map((record, at) => {
    const key = ofRecord[at] as TouchedKey;
    const decision = decisions[at] as Decision;
    const told: TellingOf = isKnownWarningFree(record, at)
      ? { warnings: [], warningFree: key.stored?.warningFree ?? "no" }
      : context.of(record);
    if (decision.outcome === "a" || decision.outcome === "u") key.warningFree = told.warningFree;
    // What became current by the copy of another is told anew when it is sent again.
    else if (decision.outcome === "d" && decision.becameCurrent !== null) key.warningFree = "no";
    return told.warnings;
  });
}

/** Applies records of keys that were looked up, one by one. */
async function applyKnown(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  ofRecord: readonly TouchedKey[],
  nextChange: NextChange,
  { context, ledger }: ApplyMemory,
  releases: ReadonlyMap<string, string>,
): Promise<AppliedRecord[]> {
  const steps: AppliedStep[] = [];
  const writes: Writes = { versions: [], received: [] };
  const isPastTerm = await pastTerm(client, records, ofRecord);
  const decisions = records.map((record, at): Decision => {
    const key = ofRecord[at] as TouchedKey;
    const before = key.known.current;
    const decision = classify(key.known, record.incoming);
    // It would have been taken out: what it stood between is gone, so neither history nor the ledger has a place for it.
    if (decision.outcome === "s" && isPastTerm(record)) return decision;
    if (key.of.resource !== "i") steps.push(stepOf(record, key.text, before, decision));
    note(writes, record, before, decision, nextChange);
    key.newest = newestBy(decision) ?? key.newest;
    return decision;
  });
  const told = await tell(records, decisions, ofRecord, context);
  const entered = await ledger.enter(steps, releases);
  await insertVersions(client, writes.versions);
  await writeReceipts(client, writes.received);
  const current: NewCurrent[] = [];
  for (const { of, text, stored, newest, warningFree } of new Set(ofRecord)) {
    if (newest === null) continue;
    const kept = entered.get(text) ?? stored?.version.compactNights ?? null;
    const compactNights = kept !== null && isCompactOf(kept, newest.contentHash) ? kept : null;
    current.push({ of, current: newest, before: stored, warningFree, compactNights });
  }
  await writeCurrent(client, current);
  return decisions.map(({ outcome }, at) => ({ outcome, warnings: told[at] ?? [] }));
}

function newestSourceTime(records: readonly ApplicableRecord[]): string {
  let latest = "";
  for (const { incoming } of records) if (incoming.sourceTime > latest) latest = incoming.sourceTime;
  return latest;
}

/** Whether a record that is not the newest is older than what is known of its client code (docs/retention.md). */
async function pastTerm(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  ofRecord: readonly TouchedKey[],
): Promise<(record: ApplicableRecord) => boolean> {
  const isOld = ({ incoming }: ApplicableRecord, at: number) =>
    incoming.sourceTime < (ofRecord[at]?.known.current?.sourceTime ?? "");
  if (!records.some(isOld)) return () => false;
  const knownFrom = await readKnownVersions(client);
  if (knownFrom.size === 0) return () => false;
  return ({ clientCode, of, incoming }) =>
    incoming.sourceTime < (knownFrom.get(`${of.resource} ${clientCode}`) ?? "");
}

const UNCHANGED: AppliedRecord = { outcome: "u", warnings: [] };

/**
 * Applies records as if one by one, in the order given, to the state schema on the connection's search path, inside the
 * caller's transaction and under the caller's ownership of their buckets. Answers what became of each, in order.
 * The connection is one of `openStateSession`.
 */
export async function applyRecords(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  nextChange: NextChange,
  memory: ApplyMemory,
): Promise<AppliedRecord[]> {
  await memory.cover.reach(newestSourceTime(records));
  const releases = await memory.ledger.latestReleases(records);
  const unnamed = await memory.context.unnamedProperties(records);
  const { keys, ofRecord } = keysOf(records, unnamed, releases);
  await loadKnown(client, records, keys, ofRecord);
  const isLeft = (_: unknown, at: number) => ofRecord[at]?.isAdvanced === false;
  const left = records.filter(isLeft);
  if (left.length === 0) return records.map(() => UNCHANGED);
  const applied = await applyKnown(client, left, ofRecord.filter(isLeft), nextChange, memory, releases);
  let next = 0;
  return ofRecord.map(({ isAdvanced }) => (isAdvanced ? UNCHANGED : (applied[next++] as AppliedRecord)));
}
