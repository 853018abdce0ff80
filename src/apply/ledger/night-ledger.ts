import type pg from "pg";
import { takesArrays } from "../../platform/db/copy.ts";
import { type Asked, ofBucket, queryOfBucket } from "../../platform/db/dialect.ts";
import { isReceivedBefore } from "../state/classify.ts";
import { type RecordKey, textOfKey, type Version } from "../state/record.ts";
import {
  type CompactNights,
  ContentNights,
  decodeCompact,
  encodeCompact,
  endOf,
  isCompactOf,
  loadContents,
  type NightResource,
} from "./content-nights.ts";
import { KnownBooks } from "./known-books.ts";
import type { BlockRun, NightRun } from "./reservation-nights.ts";
import { type AppliedStep, type Delta, deltasOutOfOrder, latestReleasesOf } from "./timeline.ts";
import {
  type BlockEntry,
  CODES,
  Dimensions,
  deleteSegments,
  type LedgerDelta,
  type NightEntry,
  writeAsEntries,
  writeBlocks,
  writeDeltas,
  writeNights,
} from "./write-ledger.ts";

const BUCKETS_WITH_RELEASES: Asked = {
  name: "buckets-with-released-copies",
  ...ofBucket(
    2,
    ({ andBucket }) => `select wanted.bucket from unnest($1::smallint[]) as wanted (bucket)
    where exists (select from released_copy as t where t.bucket = wanted.bucket ${andBucket})`,
  ),
};

/** A record out of order looks up the versions around it, which takes about as long as writing so many rows. */
const OUT_OF_ORDER_ROWS = 100;

/** The rows to write, and encoded compact nights by `textOfKey`. */
interface Entered {
  readonly deltas: LedgerDelta[];
  readonly nights: NightEntry[];
  readonly blocks: BlockEntry[];
  readonly compact: Map<string, string>;
}

function isSame<Run extends NightRun | BlockRun>(left: Run, right: Run): boolean {
  for (const name in left) if (name !== "codes" && left[name] !== right[name]) return false;
  return CODES.every((name) => left.codes[name] === right.codes[name]);
}

/** Writes ledger entries for applied records, in the transaction that writes their versions. `forget`: see ApplyMemory. */
export class NightLedger {
  readonly #client: pg.ClientBase;
  readonly #dimensions = new Dimensions();
  readonly #knownBooks: KnownBooks;
  /** Whether a bucket has released copies; few do. */
  readonly #hasReleases = new Map<number, boolean>();
  /** Of this transaction; see `takeRows`. */
  #rows = new Map<string, number>();

  /** `client` has the state schema on its search path. */
  constructor(client: pg.ClientBase) {
    this.#client = client;
    this.#knownBooks = new KnownBooks(client);
  }

  /** For keys with released copies, by `textOfKey`: the latest `countsFrom`. Records received before it are out of order. */
  async latestReleases(records: readonly { readonly of: RecordKey }[]): Promise<ReadonlyMap<string, string>> {
    await this.#findReleases(records);
    const keys = new Map<string, { readonly of: RecordKey }>();
    for (const record of records) {
      const { of } = record;
      if (of.resource !== "i" && this.#hasReleases.get(of.bucket) === true) keys.set(textOfKey(of), record);
    }
    return keys.size === 0 ? new Map() : latestReleasesOf(this.#client, [...keys.values()]);
  }

  async #findReleases(records: readonly { readonly of: RecordKey }[]): Promise<void> {
    const unknown = new Set<number>();
    for (const { of } of records) if (!this.#hasReleases.has(of.bucket)) unknown.add(of.bucket);
    if (unknown.size === 0) return;
    const buckets = [...unknown];
    const { rows } = await queryOfBucket<{ bucket: number }>(
      this.#client,
      BUCKETS_WITH_RELEASES,
      [buckets],
      records,
    );
    for (const bucket of buckets) this.#hasReleases.set(bucket, false);
    for (const { bucket } of rows) this.#hasReleases.set(bucket, true);
  }

  /** Enters steps in the order applied, before their versions are written. Returns the compact nights of current rows, by `textOfKey`. */
  async enter(
    steps: readonly AppliedStep[],
    releases: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const outOfOrder = new Set<string>();
    for (const step of steps) if (!isInOrder(step, releases)) outOfOrder.add(step.text);
    const deltas = deltasInOrder(
      outOfOrder.size === 0 ? steps : steps.filter(({ text }) => !outOfOrder.has(text)),
    );
    if (outOfOrder.size > 0) {
      const others = steps.filter(({ text }) => outOfOrder.has(text));
      for (const { countsFrom } of others) this.#count(countsFrom, OUT_OF_ORDER_ROWS);
      for (const resource of ["r", "g"] as const) {
        const ofResource = others.filter(({ of }) => of.resource === resource);
        if (ofResource.length > 0)
          deltas.push(...(await this.#deltasOutOfOrder(resource, ofResource, releases)));
      }
      await deleteSegments(this.#client, receivedBefore(deltas, steps));
    }
    await this.#load(deltas);
    await this.#knownBooks.load(deltas);
    const entered: Entered = { deltas: [], nights: [], blocks: [], compact: new Map() };
    for (const delta of deltas) {
      const before = entered.deltas.length + entered.nights.length + entered.blocks.length;
      if (delta.of.resource === "r") this.#addReservation(entered, delta);
      else this.#addBlocks(entered.blocks, delta);
      const rows = entered.deltas.length + entered.nights.length + entered.blocks.length - before;
      this.#count(delta.countsFrom, rows);
    }
    // ledger_delta has an array column, which cannot be written on Citus.
    const write = (await takesArrays(this.#client)) ? writeDeltas : writeAsEntries;
    await write(this.#client, entered.deltas);
    await writeNights(this.#client, entered.nights);
    await writeBlocks(this.#client, entered.blocks);
    return entered.compact;
  }

  #count(countsFrom: string, rows: number): void {
    this.#rows.set(countsFrom, (this.#rows.get(countsFrom) ?? 0) + rows);
  }

  /**
   * The rows entered since the last call, by the request that they count from; OUT_OF_ORDER_ROWS more for each record out of order, and
   * all of them again for each attempt at records that were refused.
   */
  takeRows(): ReadonlyMap<string, number> {
    const rows = this.#rows;
    this.#rows = new Map();
    return rows;
  }

  /** Writes the dimensions that are new, and from when on books are known. */
  async write(): Promise<void> {
    await this.#dimensions.write(this.#client);
    await this.#knownBooks.write();
  }

  forget(): void {
    this.#dimensions.forget();
    this.#knownBooks.forget();
    this.#hasReleases.clear();
  }

  async #deltasOutOfOrder(
    resource: NightResource,
    steps: readonly AppliedStep[],
    releases: ReadonlyMap<string, string>,
  ): Promise<readonly Delta[]> {
    const ofReleases = new Set<string>();
    for (const step of steps) if (dependsOnReleases(step, releases)) ofReleases.add(step.text);
    const { deltas, released } = await deltasOutOfOrder(this.#client, resource, steps, ofReleases);
    for (const { bucket } of released) this.#hasReleases.set(bucket, true);
    return deltas;
  }

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

  /** Enters each side of a delta in compact form if it has one, otherwise as entries. */
  #addReservation({ deltas, nights, compact }: Entered, delta: Delta): void {
    const { of, sourceTime, countsFrom, newestOf } = delta;
    const dimensionOf = (run: NightRun) => this.#dimensions.of(of, run.codes);
    const from = delta.from?.compact(dimensionOf) ?? null;
    const to = delta.to?.compact(dimensionOf) ?? null;
    if (newestOf !== undefined && delta.to !== null && to !== null)
      compact.set(newestOf, encodeCompact(to, delta.to.contentHash));
    if (from !== null || to !== null) deltas.push({ of, sourceTime, countsFrom, from, to });
    const departure = delta.to === null ? null : departureOf(to, delta.to);
    if (departure !== null) this.#knownBooks.enter(of, departure, sourceTime, countsFrom);
    const otherFrom = from === null ? delta.from : null;
    const otherTo = to === null ? delta.to : null;
    if (otherFrom !== null || otherTo !== null)
      this.#addNights(nights, { ...delta, from: otherFrom, to: otherTo });
  }

  #addNights(entries: NightEntry[], { of, sourceTime, countsFrom, from, to }: Delta): void {
    const [before, after] = [from?.nights(), to?.nights()];
    const isOneShare = before?.shareId === after?.shareId;
    eachChange(before?.runs ?? [], after?.runs ?? [], isOneShare, (run, by) => {
      const shareId = (by < 0 ? before?.shareId : after?.shareId) ?? null;
      const dimension = this.#dimensions.of(of, run.codes);
      entries.push({ of, sourceTime, countsFrom, by, dimension, run, shareId });
    });
  }

  #addBlocks(entries: BlockEntry[], { of, sourceTime, countsFrom, from, to }: Delta): void {
    eachChange(from?.blocks() ?? [], to?.blocks() ?? [], true, (run, by) => {
      entries.push({ of, sourceTime, countsFrom, by, dimension: this.#dimensions.of(of, run.codes), run });
    });
  }
}

/** The day after the last night of a content's nights; null if it has none. */
function departureOf(compact: CompactNights | null, content: ContentNights): number | null {
  if (compact !== null) return compact.runs.length === 0 ? null : endOf(compact);
  const { runs } = content.nights();
  return runs.length === 0 ? null : Math.max(...runs.map(({ firstNight, nights }) => firstNight + nights));
}

/** Calls `add` for the runs to subtract and to add, skipping runs that are equal at the same index. */
function eachChange<Run extends NightRun | BlockRun>(
  before: readonly Run[],
  after: readonly Run[],
  isOneShare: boolean,
  add: (run: Run, by: 1 | -1) => void,
): void {
  for (let at = 0; at < before.length || at < after.length; at += 1) {
    const left: Run | undefined = before[at];
    const right: Run | undefined = after[at];
    if (isOneShare && left !== undefined && right !== undefined && isSame(left, right)) continue;
    if (left !== undefined) add(left, -1);
    if (right !== undefined) add(right, 1);
  }
}

/** The reservations with a delta that counts from before all records being applied in their bucket: segments may cover that time. */
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

/** The ledger of a replay that keeps the live one: enters nothing and looks up nothing. */
export class KeptLedger extends NightLedger {
  override enter(): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(new Map());
  }

  override latestReleases(): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(new Map());
  }
}

/** Whether a step is a release, or was received before the last release of its key. */
function dependsOnReleases(
  { text, record, countsFrom }: AppliedStep,
  releases: ReadonlyMap<string, string>,
): boolean {
  const latest = releases.size === 0 ? undefined : releases.get(text);
  return countsFrom !== record.requestId || (latest !== undefined && countsFrom <= latest);
}

/** Whether a step's version is the newest by source time and by receipt, or the step changes nothing. */
function isInOrder(step: AppliedStep, releases: ReadonlyMap<string, string>): boolean {
  if (dependsOnReleases(step, releases)) return false;
  if (step.became === "copy") return true;
  return step.became === "newest" && (step.before === null || isReceivedBefore(step.before, step.record));
}

/** The deltas of steps in order: each newest version replaces the one before it. */
function deltasInOrder(steps: readonly AppliedStep[]): Delta[] {
  const deltas: Delta[] = [];
  /** Contents of versions that this transaction has yet to store. */
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
    if (!ownFacts) throw new Error("A version with new content has no facts.");
    const to = new ContentNights({ of, contentHash: record.contentHash, content });
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
    compactNights != null && isCompactOf(compactNights, contentHash) ? decodeCompact(compactNights) : null;
  if (compact !== null) return new ContentNights({ ...stored, compact });
  const loaded = facts === undefined ? undefined : { facts, status: version.filters().status };
  return new ContentNights({ ...stored, facts: loaded });
}
