import type pg from "pg";
import { NO_WARNINGS, type Warnings } from "#contract/warnings.ts";
import { firstServerOf } from "../platform/db/dialect.ts";
import { ContextWarnings, type WarningsOf } from "./context-warnings.ts";
import { isCompactOf } from "./ledger/content-nights.ts";
import { KeptLedger, NightLedger } from "./ledger/night-ledger.ts";
import type { AppliedStep } from "./ledger/timeline.ts";
import {
  classify,
  type Decision,
  isReceivedBefore,
  type KnownRecord,
  VersionsByTime,
} from "./state/classify.ts";
import {
  ADVANCED,
  loadLastVersionsAt,
  loadOrAdvance,
  loadVersionsAt,
  readKnownVersions,
  type StoredCurrent,
} from "./state/look-up.ts";
import {
  type ApplicableRecord,
  type NewVersion,
  type OutcomeLetter,
  type RecordKey,
  textOfKey,
  type Version,
  type WarningFree,
} from "./state/record.ts";
import { STATE_SCHEMA } from "./state/state-schema.ts";
import {
  insertVersions,
  type NewCurrent,
  VersionCover,
  writeCurrent,
  writeReceipts,
} from "./state/write-versions.ts";

/** The caches of a session. Call `forget` after a failed transaction and when buckets were taken. */
export class ApplyMemory {
  readonly context: ContextWarnings;
  readonly ledger: NightLedger;
  readonly cover: VersionCover;

  /** `entersNights` is false for a replay that keeps the live ledger. */
  constructor(
    pool: pg.Pool,
    client: pg.ClientBase,
    {
      schema = STATE_SCHEMA,
      entersNights = true,
    }: { readonly schema?: string; readonly entersNights?: boolean } = {},
  ) {
    this.context = new ContextWarnings(pool, client);
    this.ledger = entersNights ? new NightLedger(client) : new KeptLedger(client);
    this.cover = new VersionCover(pool, schema);
  }

  /** Writes the room types and dimensions that are new, and from when on books are known. */
  async write(client: pg.ClientBase): Promise<void> {
    await this.context.write(client);
    await this.ledger.write();
  }

  /** Ends a transaction. Returns the rows of the ledger that it made; see `NightLedger.takeRows`. */
  takeRows(): ReadonlyMap<string, number> {
    return this.ledger.takeRows();
  }

  forget(): void {
    this.forgetRecords();
    this.takeRows();
    this.cover.forget();
  }

  /** Forgets what records have brought, after a rollback to a savepoint. */
  forgetRecords(): void {
    this.context.forget();
    this.ledger.forget();
  }
}

/** Returns the next change number of a bucket, or null where changes are not numbered (a replay). */
export type NextChange = (bucket: number) => number | null;

/** The state of one key during a transaction. */
interface TouchedKey {
  readonly of: RecordKey;
  readonly text: string;
  /** See ArrivedKey. */
  arrived: ApplicableRecord | null;
  /** Null until looked up, and if the lookup found the record unchanged and has already written it. */
  known: KnownRecord | null;
  /** The current record before the transaction. */
  stored: StoredCurrent | null;
  /** The newest version, if this transaction changes it. */
  newest: Version | null;
  warningFree: WarningFree;
  /** See ArrivedKey. */
  readonly isUnnamed: boolean;
}

/** The outcome of an applied record, and the warnings to report. */
export interface AppliedRecord {
  readonly outcome: Exclude<OutcomeLetter, "q" | "x">;
  readonly warnings: Warnings;
}

interface Writes {
  readonly versions: NewVersion[];
  readonly received: { of: RecordKey; version: Version; changeNumber: number | null }[];
}

/** The distinct keys of records, and the key of each record. */
function keysOf(
  records: readonly ApplicableRecord[],
  unnamed: ReadonlySet<number>,
  releases: ReadonlyMap<string, string>,
): { keys: TouchedKey[]; ofRecord: TouchedKey[] } {
  const byText = new Map<string, TouchedKey>();
  const ofRecord = records.map((record) => {
    const { of, requestId, countsFrom } = record;
    const text = textOfKey(of);
    let key = byText.get(text);
    if (key !== undefined) key.arrived = null;
    else {
      key = {
        of,
        text,
        // A released record, or one received before a release of its key, counts from another instant than its version says, so
        // even an unchanged one must reach the ledger.
        arrived: countsFrom === undefined && requestId > (releases.get(text) ?? "") ? record : null,
        known: null,
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
    if (stored === ADVANCED) return;
    key.stored = stored;
    key.known = { current: stored?.version ?? null, versions: new VersionsByTime() };
    key.warningFree = stored?.warningFree ?? "no";
  });
  // A source time after the current one has no versions yet, so a steady feed needs no lookup here.
  const mayExist = records.filter(
    ({ sourceTime }, at) => sourceTime <= (ofRecord[at]?.known?.current?.sourceTime ?? ""),
  );
  if (mayExist.length === 0) return;
  const versions = await loadVersionsAt(client, mayExist);
  const last = await loadLast(client, records, ofRecord);
  for (const { text, known } of keys) {
    const found = versions.get(text) ?? [];
    const isFound = (one: Version) =>
      found.some(
        ({ sourceTime, contentHash }) => sourceTime === one.sourceTime && contentHash === one.contentHash,
      );
    for (const version of found) known?.versions.add(version);
    for (const version of last.get(text) ?? []) if (!isFound(version)) known?.versions.add(version);
  }
}

/**
 * The last versions at the source time of current records, where copies received earlier may lower their receipts, so that another is
 * current: one more than there are records of that source time.
 */
function loadLast(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  ofRecord: readonly TouchedKey[],
): Promise<ReadonlyMap<string, readonly Version[]>> {
  const ofCurrentTime = new Map<TouchedKey, { count: number; mayLower: boolean }>();
  records.forEach((record, at) => {
    const key = ofRecord[at] as TouchedKey;
    const current = key.known?.current ?? null;
    if (current === null || record.sourceTime !== current.sourceTime) return;
    const { count, mayLower } = ofCurrentTime.get(key) ?? { count: 1, mayLower: false };
    ofCurrentTime.set(key, { count: count + 1, mayLower: mayLower || isReceivedBefore(record, current) });
  });
  const wanted = [...ofCurrentTime].flatMap(([{ of, known }, { count, mayLower }]) =>
    mayLower ? [{ of, sourceTime: known?.current?.sourceTime ?? "", count }] : [],
  );
  return loadLastVersionsAt(client, wanted);
}

function addWrites(
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

/** The effect of a record on the versions of its key, for the ledger. `before` is the previous newest version. */
function stepOf(
  record: ApplicableRecord,
  text: string,
  before: Version | null,
  decision: Decision,
): AppliedStep {
  const { of, requestId, countsFrom = requestId, content } = record;
  const isCopy = decision.outcome === "d";
  return {
    of,
    text,
    record,
    countsFrom,
    before,
    made: isCopy ? null : decision.version,
    became: isCopy ? (decision.lowered === null ? "copy" : "first copy") : BECAME[decision.outcome],
    ownFacts: !isCopy && decision.ownFacts,
    content,
  };
}

/** The new newest version of the key; null if the decision does not change it. */
function newestBy(decision: Decision): Version | null {
  if (decision.outcome === "d") return decision.newest;
  return decision.outcome === "s" ? null : decision.version;
}

/** Whether the current content of a key has no warnings if it is sent again in this transaction. */
function isStoredWarningFree({ stored, isUnnamed }: TouchedKey): boolean {
  return stored?.warningFree === "always" || (stored?.warningFree === "while-unnamed" && isUnnamed);
}

/** The warnings of each record, in order. Updates `warningFree` of the keys. Content known to be warning-free is not parsed. */
async function warningsOf(
  records: readonly ApplicableRecord[],
  decisions: readonly Decision[],
  ofRecord: readonly TouchedKey[],
  context: ContextWarnings,
): Promise<Warnings[]> {
  const warningFreeContent = new Map<TouchedKey, string>();
  for (const key of ofRecord) {
    const { stored } = key;
    if (stored !== null && isStoredWarningFree(key)) warningFreeContent.set(key, stored.version.contentHash);
  }
  const isKnownWarningFree = ({ contentHash }: ApplicableRecord, at: number) =>
    warningFreeContent.get(ofRecord[at] as TouchedKey) === contentHash;
  await context.prepare(records.filter((record, at) => !isKnownWarningFree(record, at)));
  return records.map((record, at) => {
    const key = ofRecord[at] as TouchedKey;
    const decision = decisions[at] as Decision;
    const found: WarningsOf = isKnownWarningFree(record, at)
      ? { warnings: NO_WARNINGS, warningFree: key.stored?.warningFree ?? "no" }
      : context.of(record);
    if (decision.outcome === "a" || decision.outcome === "u") key.warningFree = found.warningFree;
    // The current content is now that of another record, whose warnings are to be found when it is next sent.
    else if (decision.outcome === "d" && decision.becameCurrent !== null) key.warningFree = "no";
    return found.warnings;
  });
}

/** Applies records whose keys were looked up, one by one. */
async function applyKnown(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  keys: readonly TouchedKey[],
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
    const known = key.known as KnownRecord;
    const before = known.current;
    const decision = classify(known, record);
    // Retention would have deleted it, along with the versions around it that history and ledger would need.
    if (decision.outcome === "s" && isPastTerm(record)) return decision;
    if (key.of.resource !== "i") steps.push(stepOf(record, key.text, before, decision));
    addWrites(writes, record, before, decision, nextChange);
    key.newest = newestBy(decision) ?? key.newest;
    return decision;
  });
  const warnings = await warningsOf(records, decisions, ofRecord, context);
  const entered = await ledger.enter(steps, releases);
  await insertVersions(client, writes.versions);
  await writeReceipts(client, writes.received);
  const current: NewCurrent[] = [];
  for (const { of, text, stored, newest, warningFree } of keys) {
    if (newest === null) continue;
    const kept = entered.get(text) ?? stored?.version.compactNights ?? null;
    const compactNights = kept !== null && isCompactOf(kept, newest.contentHash) ? kept : null;
    current.push({ of, current: newest, before: stored, warningFree, compactNights });
  }
  await writeCurrent(client, current);
  return decisions.map(({ outcome }, at) => ({ outcome, warnings: warnings[at] ?? NO_WARNINGS }));
}

function newestSourceTime(records: readonly ApplicableRecord[]): string {
  let latest = "";
  for (const { sourceTime } of records) if (sourceTime > latest) latest = sourceTime;
  return latest;
}

/** Returns a predicate: whether a stale record is older than the retention horizon of its client code (docs/retention.md). */
async function pastTerm(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  ofRecord: readonly TouchedKey[],
): Promise<(record: ApplicableRecord) => boolean> {
  const isOld = ({ sourceTime }: ApplicableRecord, at: number) =>
    sourceTime < (ofRecord[at]?.known?.current?.sourceTime ?? "");
  if (!records.some(isOld)) return () => false;
  const knownFrom = await readKnownVersions(firstServerOf(client));
  if (knownFrom.size === 0) return () => false;
  return ({ clientCode, of, sourceTime }) =>
    sourceTime < (knownFrom.get(`${of.resource} ${clientCode}`) ?? "");
}

const UNCHANGED: AppliedRecord = { outcome: "u", warnings: NO_WARNINGS };

/** Applies records as if one by one, inside the transaction of their buckets' owner, on a session of `openStateSession`. */
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
  const isPending = (_: unknown, at: number) => (ofRecord[at] as TouchedKey).known !== null;
  const pending = records.filter(isPending);
  if (pending.length === 0) return records.map(() => UNCHANGED);
  const ofPending = ofRecord.filter(isPending);
  const applied = await applyKnown(client, pending, keys, ofPending, nextChange, memory, releases);
  let next = 0;
  return ofRecord.map(({ known }) => (known === null ? UNCHANGED : (applied[next++] as AppliedRecord)));
}
