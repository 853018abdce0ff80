import type pg from "pg";
import type { RecordContent } from "#contract/record-reading.ts";
import { takesArrays } from "../../platform/db/write-rows.ts";
import type { RankedVersion, Receipt, RecordKey, Version } from "../state/record-state.ts";
import { ContentNights, compactOfText, isCompactOf, textOfCompact } from "./content-nights.ts";
import { Dimensions } from "./dimensions.ts";
import { loadContents, MissingContent, type NightResource } from "./load-contents.ts";
import { loadAllVersions, loadVersionsAround, type StoredVersion } from "./load-versions-around.ts";
import {
  type BlockRun,
  COUNT_MAX,
  type DimensionCodes,
  type NightRun,
  sumOf,
  timesWhole,
} from "./night-run.ts";
import { ReleasedCopies } from "./released-copies.ts";
import { voidSegments } from "./segments.ts";
import { isReceivedBefore, type TimelineCopy, timelineDifference } from "./timeline.ts";
import {
  type BlockEntry,
  type LedgerDelta,
  type NightEntry,
  writeAsEntries,
  writeBlocks,
  writeDeltas,
  writeNights,
} from "./write-ledger.ts";

/** What one record did to the versions of its key. */
export interface AppliedStep {
  readonly of: RecordKey;
  /** `textOfKey` of it. */
  readonly text: string;
  readonly record: Receipt & Pick<RankedVersion, "sourceTime" | "contentHash">;
  /** The request of its own receipt, or that of the release that let it through. */
  readonly countsFrom: string;
  /** The newest version of the key before it. */
  readonly before: Version | null;
  /** The version that it made; null for a copy of one that there was. */
  readonly made: Version | null;
  /** It made the newest version, an older one, or has the earliest receipt of the copies of its version; or it changed nothing. */
  readonly became: "newest" | "older" | "first copy" | "copy";
  /** Whether the version that it made has facts of its own. */
  readonly ownFacts: boolean;
  readonly content: () => RecordContent;
}

/** From an instant of either clock on one content counts in the place of another; null is none. */
interface Delta {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly from: ContentNights | null;
  readonly to: ContentNights | null;
  /** `textOfKey` of it, where `to` is the newest content of its key. */
  readonly newestOf?: string;
}

/** What is to be written, and kept. */
interface Entered {
  readonly deltas: LedgerDelta[];
  readonly nights: NightEntry[];
  readonly blocks: BlockEntry[];
  readonly kept: Map<string, string>;
}

const NO_RUNS: readonly never[] = [];

function isSameNights(left: NightRun, right: NightRun): boolean {
  return (
    left.firstNight === right.firstNight &&
    left.nights === right.nights &&
    left.rooms === right.rooms &&
    left.adults === right.adults &&
    left.children === right.children &&
    left.roomRevenue === right.roomRevenue &&
    left.grossRoomRevenue === right.grossRoomRevenue
  );
}

/** Whether codes are those of one dimension. */
function isSameCodes(left: DimensionCodes, right: DimensionCodes): boolean {
  return (
    left.status === right.status &&
    left.roomTypeCode === right.roomTypeCode &&
    left.bookedRoomTypeCode === right.bookedRoomTypeCode &&
    left.marketSegmentCode === right.marketSegmentCode &&
    left.groupBlockCode === right.groupBlockCode &&
    left.rateCode === right.rateCode &&
    left.channel === right.channel &&
    left.currencyCode === right.currencyCode
  );
}

/**
 * What a run has more than the one in whose place it comes: one entry instead of two. Undefined where two are needed: their nights
 * or codes differ, only one of them tells an amount (rooms without a price are counted), or a count would not fit.
 */
function changeOf(left: NightRun, right: NightRun): NightRun | undefined {
  const { firstNight, nights, codes } = right;
  if (left.firstNight !== firstNight || left.nights !== nights || !isSameCodes(left.codes, codes))
    return undefined;
  if ((left.roomRevenue === null) !== (right.roomRevenue === null)) return undefined;
  if ((left.grossRoomRevenue === null) !== (right.grossRoomRevenue === null)) return undefined;
  const [rooms, adults, children] = [
    right.rooms - left.rooms,
    right.adults - left.adults,
    right.children - left.children,
  ];
  if (Math.max(Math.abs(rooms), Math.abs(adults), Math.abs(children)) > COUNT_MAX) return undefined;
  const roomRevenue = sumOf(right.roomRevenue, timesWhole(left.roomRevenue, -1));
  const grossRoomRevenue = sumOf(right.grossRoomRevenue, timesWhole(left.grossRoomRevenue, -1));
  return { firstNight, nights, rooms, adults, children, roomRevenue, grossRoomRevenue, codes };
}

function isSameBlocks(left: BlockRun, right: BlockRun): boolean {
  return (
    left.firstNight === right.firstNight &&
    left.nights === right.nights &&
    left.blocks === right.blocks &&
    left.pickedUp === right.pickedUp &&
    left.originalBlocks === right.originalBlocks
  );
}

/**
 * Writes what records do to nights (docs/decisions/0020), beside the versions that they make, in the same transaction. What a
 * session remembers is of the owner of the buckets alone; `forget` after a transaction that failed, and when buckets were taken.
 */
export class NightLedger {
  readonly #client: pg.ClientBase;
  readonly #dimensions = new Dimensions();
  readonly #released = new ReleasedCopies();

  /** `client` sees the state schema on its search path. */
  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  /**
   * Of those keys of these records of which released records count from a later receipt than their own, by `textOfKey`: the last
   * request from which one does. What was received before that is not in the order of receipt.
   */
  latestReleases(records: readonly { readonly of: RecordKey }[]): Promise<ReadonlyMap<string, string>> {
    return this.#released.latestOf(this.#client, records);
  }

  /**
   * Enters what these records do, in the order in which they were applied; their versions are not written yet. `releases` as
   * `latestReleases` said of them. Answers, by `textOfKey`, what is to be kept of the nights of newest contents in their current rows.
   */
  async enter(
    steps: readonly AppliedStep[],
    releases: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const involved = new Set<string>();
    for (const step of steps) if (!isPlain(step, releases)) involved.add(step.text);
    const deltas = deltasOfPlain(
      involved.size === 0 ? steps : steps.filter(({ text }) => !involved.has(text)),
    );
    if (involved.size > 0) {
      const left = steps.filter(({ text }) => involved.has(text));
      for (const resource of ["r", "g"] as const) {
        const ofResource = left.filter(({ of }) => of.resource === resource);
        if (ofResource.length > 0) deltas.push(...(await this.#deltasOf(resource, ofResource, releases)));
      }
    }
    if (involved.size > 0) await voidSegments(this.#client, receivedBefore(deltas, steps));
    await this.#load(deltas);
    const entered: Entered = { deltas: [], nights: [], blocks: [], kept: new Map() };
    for (const delta of deltas) {
      if (delta.of.resource === "r") this.#addReservation(entered, delta);
      else this.#addBlocks(entered.blocks, delta);
    }
    // The runs of a delta are an array.
    const write = (await takesArrays(this.#client)) ? writeDeltas : writeAsEntries;
    await write(this.#client, entered.deltas);
    await writeNights(this.#client, entered.nights);
    await writeBlocks(this.#client, entered.blocks);
    return entered.kept;
  }

  /** Writes the dimensions that this transaction named first. */
  async write(): Promise<void> {
    await this.#dimensions.write(this.#client);
  }

  forget(): void {
    this.#dimensions.forget();
    this.#released.forget();
  }

  /** What steps do of which the order of receipt is not plain, by the versions around them or all of their keys. */
  async #deltasOf(
    resource: NightResource,
    steps: readonly AppliedStep[],
    releases: ReadonlyMap<string, string>,
  ): Promise<Delta[]> {
    const byKey = Map.groupBy(steps, ({ text }) => text);
    const isOfRelease = new Set<string>();
    for (const step of steps) if (dependsOnReleases(step, releases)) isOfRelease.add(step.text);
    const near = await this.#versionsAround(resource, byKey, isOfRelease);
    const whole = [...byKey.keys()].filter((text) => !near.has(text));
    const keys = whole.flatMap((text) => byKey.get(text)?.slice(0, 1) ?? []).map(({ of }) => of);
    const all = await loadAllVersions(this.#client, resource, keys);
    const released = await this.#released.load(this.#client, keys);
    const deltas: Delta[] = [];
    for (const [text, versions] of near) deltas.push(...deltasAmong(byKey.get(text) ?? [], versions, []).all);
    const toWrite: { of: RecordKey; copy: TimelineCopy }[] = [];
    whole.forEach((text, at) => {
      const ofKey = byKey.get(text) ?? [];
      checkNewest(ofKey, all[at] ?? []);
      const found = deltasAmong(ofKey, all[at] ?? [], released[at] ?? []);
      deltas.push(...found.all);
      for (const copy of found.released) toWrite.push({ of: keys[at] as RecordKey, copy });
    });
    await this.#released.write(this.#client, toWrite);
    return deltas;
  }

  /** The versions around the steps of each key, for the keys where these are enough. */
  async #versionsAround(
    resource: NightResource,
    byKey: ReadonlyMap<string, readonly AppliedStep[]>,
    isOfRelease: ReadonlySet<string>,
  ): Promise<Map<string, readonly StoredVersion[]>> {
    const steps = [...byKey].flatMap(([text, ofKey]) =>
      isOfRelease.has(text) ? [] : ofKey.filter(({ became }) => became !== "copy"),
    );
    const places = steps.map(({ of, record }) => ({
      of,
      sourceTime: record.sourceTime,
      requestId: record.requestId,
      index: record.index,
    }));
    const around = await loadVersionsAround(this.#client, resource, places);
    const near = new Map<string, readonly StoredVersion[] | null>();
    steps.forEach((step, at) => {
      const { text } = step;
      const found = around[at] ?? null;
      const known = near.get(text);
      const isEnough = found !== null && known !== null && (step.became !== "first copy" || has(found, step));
      near.set(text, isEnough ? [...(known ?? []), ...found] : null);
    });
    return new Map(
      [...near].flatMap(([text, versions]) => (versions === null ? [] : [[text, versions] as const])),
    );
  }

  /** Loads the stored contents of deltas. */
  async #load(deltas: readonly Delta[]): Promise<void> {
    const contents = new Set<ContentNights>();
    for (const { from, to } of deltas) {
      if (from?.isMissing === true) contents.add(from);
      if (to?.isMissing === true) contents.add(to);
    }
    if (contents.size === 0) return;
    for (const resource of ["r", "g"] as const) {
      const ofResource = [...contents].filter(({ stored }) => stored?.of.resource === resource);
      const facts = await loadContents(
        this.#client,
        resource,
        ofResource.flatMap(({ stored }) => (stored === null ? [] : [stored])),
      );
      ofResource.forEach((content, at) => {
        content.loaded(facts[at] as (typeof facts)[number]);
      });
    }
  }

  /** What is plain on a side is entered in short, and what is not by entries. */
  #addReservation({ deltas, nights, kept }: Entered, delta: Delta): void {
    const { of, sourceTime, countsFrom, newestOf } = delta;
    const dimensionOf = (run: NightRun) => this.#dimensions.of(of, run.codes);
    const from = delta.from?.compact(dimensionOf) ?? null;
    const to = delta.to?.compact(dimensionOf) ?? null;
    if (newestOf !== undefined && delta.to !== null && to !== null)
      kept.set(newestOf, textOfCompact(to, delta.to.contentHash));
    if (from !== null || to !== null) deltas.push({ of, sourceTime, countsFrom, from, to });
    const left = from === null ? delta.from : null;
    const right = to === null ? delta.to : null;
    if (left !== null || right !== null) this.#addNights(nights, { ...delta, from: left, to: right });
  }

  #addNights(entries: NightEntry[], { of, sourceTime, countsFrom, from, to }: Delta): void {
    const [taken, given] = [from?.nights(), to?.nights()];
    const [before, after] = [taken?.runs ?? NO_RUNS, given?.runs ?? NO_RUNS];
    const isOneShare = taken !== undefined && given !== undefined && taken.shareId === given.shareId;
    const add = (run: NightRun, by: number, shareId: string | null) => {
      const dimension = this.#dimensions.of(of, run.codes);
      entries.push({ of, sourceTime, countsFrom, by, dimension, run, shareId });
    };
    for (let at = 0; at < before.length || at < after.length; at += 1) {
      const [left, right] = [before[at], after[at]];
      if (isOneShare && left !== undefined && right !== undefined) {
        if (isSameNights(left, right) && isSameCodes(left.codes, right.codes)) continue;
        const change = changeOf(left, right);
        if (change !== undefined) {
          add(change, 1, given.shareId);
          continue;
        }
      }
      if (left !== undefined) add(left, -1, taken?.shareId ?? null);
      if (right !== undefined) add(right, 1, given?.shareId ?? null);
    }
  }

  #addBlocks(entries: BlockEntry[], { of, sourceTime, countsFrom, from, to }: Delta): void {
    const [before, after] = [from?.blocks() ?? NO_RUNS, to?.blocks() ?? NO_RUNS];
    const same = countSame(
      before,
      after,
      (left, right) => isSameBlocks(left, right) && isSameCodes(left.codes, right.codes),
    );
    const add = (run: BlockRun, by: number) => {
      entries.push({ of, sourceTime, countsFrom, by, dimension: this.#dimensions.of(of, run.codes), run });
    };
    for (let at = same; at < before.length; at += 1) add(before[at] as BlockRun, -1);
    for (let at = same; at < after.length; at += 1) add(after[at] as BlockRun, 1);
  }
}

/**
 * The records of which something counts from an earlier receipt than all that is being applied in their buckets: the ledger may have been
 * packed up to a later one, since nothing of what is being applied was by then.
 */
function receivedBefore(deltas: readonly Delta[], steps: readonly AppliedStep[]): RecordKey[] {
  const first = new Map<number, string>();
  for (const { of, countsFrom } of steps) {
    const known = first.get(of.bucket);
    if (known === undefined || countsFrom < known) first.set(of.bucket, countsFrom);
  }
  return deltas.flatMap(({ of, countsFrom }) =>
    of.resource === "r" && countsFrom < (first.get(of.bucket) ?? "") ? [of] : [],
  );
}

/** The ledger of a replay that takes it as it stands: nothing is entered, and no version is looked up for it. */
export class KeptLedger extends NightLedger {
  override enter(): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(new Map());
  }

  override latestReleases(): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(new Map());
  }
}

/** How many runs at the front of both are the same, which need not be taken off and put on again. */
function countSame<Run>(
  before: readonly Run[],
  after: readonly Run[],
  isSame: (left: Run, right: Run) => boolean,
): number {
  let same = 0;
  while (same < before.length && same < after.length && isSame(before[same] as Run, after[same] as Run))
    same += 1;
  return same;
}

/** Whether a step is a release, or was received before the last release of its key. */
function dependsOnReleases(
  { text, record, countsFrom }: AppliedStep,
  releases: ReadonlyMap<string, string>,
): boolean {
  const latest = releases.size === 0 ? undefined : releases.get(text);
  return countsFrom !== record.requestId || (latest !== undefined && countsFrom <= latest);
}

/** Whether a step's version is newest and received last of those that there are, or nothing changes: the rest is as it was. */
function isPlain(step: AppliedStep, releases: ReadonlyMap<string, string>): boolean {
  if (dependsOnReleases(step, releases)) return false;
  if (step.became === "copy") return true;
  return step.became === "newest" && (step.before === null || isReceivedBefore(step.before, step.record));
}

/** What plain steps do: each newest version takes the place of the one before it. */
function deltasOfPlain(steps: readonly AppliedStep[]): Delta[] {
  const deltas: Delta[] = [];
  /** Contents that this transaction brought, of versions that are not stored yet, for those that come after. */
  const fresh = new Map<Version, ContentNights>();
  const contentOf = (of: RecordKey, version: Version): ContentNights =>
    fresh.get(version) ?? contentOfVersion(of, version);
  for (const { of, text, record, countsFrom, before, made, ownFacts, content } of steps) {
    if (made === null) continue;
    if (before !== null && before.contentHash === record.contentHash) {
      const known = fresh.get(before);
      if (known !== undefined) fresh.set(made, known);
      continue;
    }
    if (!ownFacts) throw new Error("A new content has no facts.");
    const to = ContentNights.ofRecord(of, record.contentHash, content);
    fresh.set(made, to);
    const from = before === null ? null : contentOf(of, before);
    deltas.push({ of, sourceTime: record.sourceTime, countsFrom, from, to, newestOf: text });
  }
  return deltas;
}

function contentOfVersion(of: RecordKey, version: Version): ContentNights {
  const { contentHash, factsSourceTime, facts, compactNights } = version;
  const stored = { of, contentHash, factsSourceTime };
  const compact =
    compactNights != null && isCompactOf(compactNights, contentHash) ? compactOfText(compactNights) : null;
  if (compact !== null) return ContentNights.ofCompact(stored, compact);
  if (facts === undefined) return ContentNights.ofStored(stored);
  return ContentNights.ofStored(stored, { facts, status: version.filters().status });
}

function has(versions: readonly StoredVersion[], { record }: AppliedStep): boolean {
  return versions.some(
    ({ sourceTime, contentHash }) => sourceTime === record.sourceTime && contentHash === record.contentHash,
  );
}

/** Throws MissingContent where the newest version of a key is not among all that are stored: what it put on the books would stay. */
function checkNewest(steps: readonly AppliedStep[], versions: readonly StoredVersion[]): void {
  const newest = steps[0]?.before ?? null;
  const isStored = versions.some(
    ({ sourceTime, contentHash }) => sourceTime === newest?.sourceTime && contentHash === newest.contentHash,
  );
  if (newest !== null && !isStored)
    throw new MissingContent("A newest version is not among those of its key.");
}

/**
 * What the steps of one key do among versions that are stored, with the copies of those in which a release had a part: the
 * deltas, and the copies that are to be written of versions in which a release has a part now.
 */
function deltasAmong(
  steps: readonly AppliedStep[],
  versions: readonly StoredVersion[],
  releasedCopies: readonly TimelineCopy[],
): { readonly all: Delta[]; readonly released: readonly TimelineCopy[] } {
  const of = (steps[0] as AppliedStep).of;
  const textOf = (sourceTime: string, content: string) => `${sourceTime} ${content}`;
  const hasCopies = new Set(releasedCopies.map(({ sourceTime, content }) => textOf(sourceTime, content)));
  const before = [...releasedCopies];
  const contents = new Map<string, ContentNights>();
  const seen = new Set<string>();
  for (const { sourceTime, contentHash, requestId, index, factsSourceTime } of versions) {
    const text = textOf(sourceTime, contentHash);
    // Places of one key have neighbours in common.
    if (seen.has(text)) continue;
    seen.add(text);
    if (!contents.has(contentHash))
      contents.set(contentHash, ContentNights.ofStored({ of, contentHash, factsSourceTime }));
    if (!hasCopies.has(text))
      before.push({ sourceTime, content: contentHash, requestId, index, countsFrom: requestId });
  }
  const after = [...before];
  for (const { record, countsFrom, became, ownFacts, content } of steps) {
    const { sourceTime, contentHash, requestId, index } = record;
    // Of a copy that changes nothing the version may not be among those that were looked up.
    if (became === "copy" && !seen.has(textOf(sourceTime, contentHash))) continue;
    seen.add(textOf(sourceTime, contentHash));
    after.push({ sourceTime, content: contentHash, requestId, index, countsFrom });
    if (ownFacts && !contents.has(contentHash))
      contents.set(contentHash, ContentNights.ofRecord(of, contentHash, content));
  }
  const all: Delta[] = [];
  for (const { sourceTime, countsFrom, content, by } of timelineDifference(before, after)) {
    const nights = contents.get(content);
    if (nights === undefined) throw new Error("A content that is to be entered is not known.");
    for (let left = Math.abs(by); left > 0; left -= 1)
      all.push({ of, sourceTime, countsFrom, from: by < 0 ? nights : null, to: by < 0 ? null : nights });
  }
  return { all, released: copiesToWrite(after, hasCopies, textOf) };
}

/** All copies of the versions of which one counts from another receipt than its own. */
function copiesToWrite(
  copies: readonly TimelineCopy[],
  hadSome: ReadonlySet<string>,
  textOf: (sourceTime: string, content: string) => string,
): readonly TimelineCopy[] {
  const released = new Set(hadSome);
  for (const { sourceTime, content, requestId, countsFrom } of copies)
    if (requestId !== countsFrom) released.add(textOf(sourceTime, content));
  if (released.size === 0) return [];
  return copies.filter(({ sourceTime, content }) => released.has(textOf(sourceTime, content)));
}
