import { hash } from "node:crypto";
import type pg from "pg";
import { type Money, timesWhole } from "#contract/money.ts";
import { microsecondsOf } from "../../ingest/log/part-name.ts";
import type { BinaryFields } from "../../platform/db/binary-fields.ts";
import {
  type Columns,
  copyItems,
  type InsertedTable,
  insertRows,
  writeItems,
} from "../../platform/db/copy.ts";
import type { RecordKey } from "../state/record.ts";
import { COMPACT_MAX, type CompactNights, endOf, RUN_NUMBERS, RUNS_MAX } from "./content-nights.ts";
import type { BlockRun, Dimension, DimensionCodes, NightRun } from "./reservation-nights.ts";

const CODE_COLUMNS: Readonly<Record<keyof DimensionCodes, string>> = {
  status: "status",
  roomTypeCode: "room_type_code",
  bookedRoomTypeCode: "booked_room_type_code",
  marketSegmentCode: "market_segment_code",
  groupBlockCode: "group_block_code",
  rateCode: "rate_code",
  channel: "channel",
  currencyCode: "currency_code",
  cause: "cause",
};
/** In the order in which `numberOf` hashes them. */
export const CODES = Object.keys(CODE_COLUMNS) as (keyof DimensionCodes)[];

const DIMENSIONS: InsertedTable = {
  table: "night_dimension",
  columns: {
    bucket: "smallint",
    property_id: "integer",
    dimension: "bigint",
    ...Object.fromEntries(CODES.map((name) => [CODE_COLUMNS[name], "text"])),
  },
  skipsExisting: true,
};

/** Cached dimensions and branches, below 200 bytes each. The cache is cleared at this number. */
const REMEMBERED_MAX = 75_000;

/** A tree with one level per code. Codes are interned strings, so a lookup hashes none of them. */
type Branch = Map<number | string | null, Branch | Dimension>;

/** Levels of the tree, codes with few values first. The leaves are keyed by `leafOf`. */
const BRANCHES = [
  "currencyCode",
  "status",
  "marketSegmentCode",
  "channel",
  "roomTypeCode",
  "bookedRoomTypeCode",
  "rateCode",
] as const satisfies readonly (keyof DimensionCodes)[];

/** The first 8 bytes of the SHA-256 of the codes as a JSON array, without a null cause: the same after every replay and on every worker. */
function numberOf(codes: DimensionCodes): Buffer {
  const named = CODES.flatMap((name) => (name === "cause" && codes.cause === null ? [] : [codes[name]]));
  return hash("sha256", JSON.stringify(named), "buffer").subarray(0, 8);
}

/** The key of a leaf. Codes contain no NUL. */
function leafOf({ cause, groupBlockCode }: DimensionCodes): string | null {
  if (cause === null) return groupBlockCode;
  return groupBlockCode === null ? `\0${cause}` : `\0${cause}\0${groupBlockCode}`;
}

/** Dimensions by their codes. New ones are written at the end of the transaction and cached until `forget`. */
export class Dimensions {
  readonly #known: Branch = new Map();
  /** Number of dimensions and branches. */
  #remembered = 0;
  #new: ({ readonly bucket: number } & Readonly<Record<string, unknown>>)[] = [];
  /** The runs of a stay share one object of codes. */
  #lastCodes: DimensionCodes | undefined;
  #last: Dimension | undefined;

  of(of: RecordKey, codes: DimensionCodes): Dimension {
    if (codes !== this.#lastCodes || this.#last === undefined) {
      this.#last = this.#find(of, codes);
      this.#lastCodes = codes;
    }
    return this.#last;
  }

  #find({ bucket, propertyId }: RecordKey, codes: DimensionCodes): Dimension {
    const leaves = this.#leavesOf(propertyId, codes);
    const leaf = leafOf(codes);
    let dimension = leaves.get(leaf) as Dimension | undefined;
    if (dimension === undefined) {
      const number = numberOf(codes);
      dimension = { high: number.readInt32BE(0), low: number.readInt32BE(4) };
      this.#new.push({
        bucket,
        property_id: propertyId,
        dimension: String(number.readBigInt64BE(0)),
        ...Object.fromEntries(CODES.map((name) => [CODE_COLUMNS[name], codes[name]])),
      });
      leaves.set(leaf, dimension);
      this.#remembered += 1;
      if (this.#remembered >= REMEMBERED_MAX) this.#forgetKnown();
    }
    return dimension;
  }

  /** Writes the dimensions that are new in this transaction. */
  async write(client: pg.ClientBase): Promise<void> {
    const rows = this.#new;
    this.#new = [];
    await insertRows(client, DIMENSIONS, rows);
  }

  forget(): void {
    this.#forgetKnown();
    this.#lastCodes = undefined;
    this.#new = [];
  }

  #leavesOf(propertyId: number, codes: DimensionCodes): Branch {
    let branch = this.#next(this.#known, propertyId);
    for (const name of BRANCHES) branch = this.#next(branch, codes[name]);
    return branch;
  }

  #next(branch: Branch, code: number | string | null): Branch {
    const known = branch.get(code) as Branch | undefined;
    if (known !== undefined) return known;
    const next: Branch = new Map();
    branch.set(code, next);
    this.#remembered += 1;
    return next;
  }

  #forgetKnown(): void {
    this.#known.clear();
    this.#remembered = 0;
  }
}

/** Advisory lock, with a property id: excludes building a property's segments from deleting them. */
const SEGMENT_LOCK = 7_302_031;

type SegmentedProperty = Pick<RecordKey, "bucket" | "propertyId">;

/**
 * Locks a property's segments until the transaction ends. Must be its first statement that reads. Locks entries before segments,
 * as the swap of a replay does.
 */
export async function lockSegments(client: pg.ClientBase, { propertyId }: SegmentedProperty): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1, $2)", [SEGMENT_LOCK, propertyId]);
  for (const table of ["night_entry", "ledger_delta"])
    await client.query(`lock table bellhop_state.${table} in access share mode`);
}

/** Deletes the segments of properties in the transaction that enters out-of-order records. They are built again later. */
export async function deleteSegments(
  client: pg.ClientBase,
  properties: readonly SegmentedProperty[],
): Promise<void> {
  if (properties.length === 0) return;
  const ids = [...new Set(properties.map(({ propertyId }) => propertyId))].sort((one, other) => one - other);
  // A replay's schema has no segments, so it takes no lock.
  for (const id of ids)
    await client.query("select pg_advisory_xact_lock($1, $2) where current_schema() = 'bellhop_state'", [
      SEGMENT_LOCK,
      id,
    ]);
  const buckets = new Set(properties.map(({ bucket }) => bucket));
  for (const table of ["ledger_segment_progress", "ledger_segment"])
    for (const bucket of buckets)
      await client.query(`delete from ${table} where bucket = $1 and property_id = any ($2)`, [bucket, ids]);
}

// Consecutive records usually come from one request.
let lastRequest = "";
let lastMicroseconds = 0;

/** When a request was received: microseconds since 1970. */
function receivedAt(requestId: string): number {
  if (requestId !== lastRequest) {
    lastMicroseconds = microsecondsOf(requestId);
    lastRequest = requestId;
  }
  return lastMicroseconds;
}

/** A ledger entry counts `by` times (usually 1 or -1) from both instants on. */
interface EntryOf {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly by: number;
  readonly dimension: Dimension;
}

export interface NightEntry extends EntryOf {
  readonly run: Omit<NightRun, "codes">;
  readonly shareId: string | null;
}

export interface BlockEntry extends EntryOf {
  readonly run: BlockRun;
}

const ENTRY: Columns<EntryOf & { readonly run: Pick<NightRun, "firstNight" | "nights"> }> = {
  source_time: ["timestamptz", (to, { sourceTime }) => to.timestamp(sourceTime)],
  received_at: ["timestamptz", (to, { countsFrom }) => to.microseconds(receivedAt(countsFrom))],
  dimension: ["bigint", (to, { dimension }) => to.wide(dimension.high, dimension.low)],
  property_id: ["integer", (to, { of }) => to.integer(of.propertyId)],
  first_night: ["date", (to, { run }) => to.day(run.firstNight)],
  nights: ["integer", (to, { run }) => to.integer(run.nights)],
  bucket: ["smallint", (to, { of }) => to.smallint(of.bucket)],
  key: ["text", (to, { of }) => to.text(of.key)],
};

function addMoney(to: BinaryFields, money: Money | null, by: number): void {
  if (money === null) to.null();
  else to.numeric(timesWhole(money, by) ?? 0);
}

function addCount(to: BinaryFields, count: number | null, by: number): void {
  if (count === null) to.null();
  else to.integer(count * by);
}

const NIGHTS: Columns<NightEntry> = {
  ...ENTRY,
  rooms: ["integer", (to, { run, by }) => to.integer(run.rooms * by)],
  adults: ["integer", (to, { run, by }) => to.integer(run.adults * by)],
  children: ["integer", (to, { run, by }) => to.integer(run.children * by)],
  room_revenue: ["numeric", (to, { run, by }) => addMoney(to, run.roomRevenue, by)],
  gross_room_revenue: ["numeric", (to, { run, by }) => addMoney(to, run.grossRoomRevenue, by)],
  share_id: ["text", (to, { shareId }) => (shareId === null ? to.null() : to.text(shareId))],
};

const BLOCKS: Columns<BlockEntry> = {
  ...ENTRY,
  blocks: ["integer", (to, { run, by }) => addCount(to, run.blocks, by)],
  picked_up: ["integer", (to, { run, by }) => addCount(to, run.pickedUp, by)],
  original_blocks: ["integer", (to, { run, by }) => addCount(to, run.originalBlocks, by)],
};

/** Writes night entries on a session of `openStateSession`, in the transaction of their bucket's owner. */
export async function writeNights(client: pg.ClientBase, entries: readonly NightEntry[]): Promise<void> {
  await writeItems(client, "night_entry", NIGHTS, entries);
}

export async function writeBlocks(client: pg.ClientBase, entries: readonly BlockEntry[]): Promise<void> {
  await writeItems(client, "block_entry", BLOCKS, entries);
}

/** From a source time and receipt on, nights `to` of a reservation count instead of `from`. */
export interface LedgerDelta {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly from: CompactNights | null;
  readonly to: CompactNights | null;
}

const DELTAS = {
  table: "ledger_delta",
  columns: ["source_time", "received_at", "property_id", "first_night", "nights", "bucket", "runs", "key"],
} as const;

/** Longest span of a row with two stays. Every query about a night within the span of a row reads the row. */
const SHORT_NIGHTS = 31;

/** Four bigints. */
const HALVES_PER_RUN = 8;
const TWO_TO_32 = 2 ** 32;
/** Upper half of the least bigint, which stands for an unreported amount; its lower half is 0. */
const ABSENT_HIGH = -2_147_483_648;

/** Packs the counts of a run into the lower half of a bigint, each offset to be non-negative. */
function countsOf(rooms: number, adults: number, children: number): number {
  return ((rooms + 512) << 22) | ((adults + 1_024) << 11) | (children + 1_024);
}

/** A buffer, reused by all rows, for the runs of one row: two halves per bigint, at most RUNS_MAX runs. */
class Runs {
  readonly #halves = new Int32Array(RUNS_MAX * HALVES_PER_RUN);
  #length = 0;

  get halves(): Int32Array {
    return this.#halves.subarray(0, this.#length);
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  clear(): void {
    this.#length = 0;
  }

  add({ high, low }: Dimension, firstNight: number, nights: number, counts: number): void {
    this.#put(high, low);
    this.#put((firstNight << 6) | nights, counts);
  }

  /** Adds the revenue of the last run, then its gross revenue. */
  addAmount(amount: number): void {
    const high = Math.floor(amount / TWO_TO_32);
    if (Number.isNaN(amount)) this.#put(ABSENT_HIGH, 0);
    else this.#put(high, amount - high * TWO_TO_32);
  }

  /** Adds or subtracts all runs of a stay. */
  addAll(nights: CompactNights, by: 1 | -1): void {
    const { dimension, rooms, adults, children, firstNight, runs } = nights;
    const counts = countsOf(rooms * by, adults * by, children * by);
    let night = firstNight;
    for (let at = 0; at < runs.length; at += RUN_NUMBERS) {
      this.add(dimension, night, runs[at] as number, counts);
      this.addAmount((runs[at + 1] as number) * by);
      this.addAmount((runs[at + 2] as number) * by);
      night += runs[at] as number;
    }
  }

  /** Adds the differences between two stays with equal runs; skips runs without any. */
  addDifferences(from: CompactNights, to: CompactNights): void {
    const counts = countsOf(to.rooms - from.rooms, to.adults - from.adults, to.children - from.children);
    let night = to.firstNight;
    for (let at = 0; at < to.runs.length; at += RUN_NUMBERS) {
      const nights = to.runs[at] as number;
      const revenue = (to.runs[at + 1] as number) - (from.runs[at + 1] as number);
      const gross = (to.runs[at + 2] as number) - (from.runs[at + 2] as number);
      // NaN: not reported on either side.
      if (counts !== NO_COUNTS || (revenue || 0) !== 0 || (gross || 0) !== 0) {
        this.add(to.dimension, night, nights, counts);
        this.addAmount(revenue);
        this.addAmount(gross);
      }
      night += nights;
    }
  }

  #put(high: number, low: number): void {
    this.#halves[this.#length] = high;
    this.#halves[this.#length + 1] = low;
    this.#length += 2;
  }
}

const NO_COUNTS = countsOf(0, 0, 0);
const runs = new Runs();

/** Whether the differences of rooms and guests fit into a run. */
function countsFit(from: CompactNights, to: CompactNights): boolean {
  const guests = Math.max(Math.abs(to.adults - from.adults), Math.abs(to.children - from.children));
  return Math.abs(to.rooms - from.rooms) <= COMPACT_MAX.rooms && guests <= COMPACT_MAX.guests;
}

/** Whether two stays differ only in numbers, and report the same amounts (readers count rooms without a price). */
function differsInNumbersOnly(from: CompactNights, to: CompactNights): boolean {
  if (from.firstNight !== to.firstNight || from.runs.length !== to.runs.length) return false;
  if (from.dimension.low !== to.dimension.low || from.dimension.high !== to.dimension.high) return false;
  if (!countsFit(from, to)) return false;
  for (let at = 0; at < to.runs.length; at += RUN_NUMBERS) {
    if (from.runs[at] !== to.runs[at]) return false;
    if (Number.isNaN(from.runs[at + 1]) !== Number.isNaN(to.runs[at + 1])) return false;
    if (Number.isNaN(from.runs[at + 2]) !== Number.isNaN(to.runs[at + 2])) return false;
  }
  return true;
}

/** Receives a row: its runs are in `runs`, within `nights` from `firstNight` on. */
type TakeRow = (delta: LedgerDelta, firstNight: number, nights: number) => void;

const orNull = (nights: CompactNights | null) =>
  nights === null || nights.runs.length === 0 ? null : nights;

/** Makes the rows of a delta: one, two if the nights are far apart, none if nothing changes. */
function makeRows(delta: LedgerDelta, take: TakeRow): void {
  const [from, to] = [orNull(delta.from), orNull(delta.to)];
  const side = to ?? from;
  if (side === null) return;
  runs.clear();
  if (from === null || to === null) {
    runs.addAll(side, to === null ? -1 : 1);
    take(delta, side.firstNight, endOf(side) - side.firstNight);
    return;
  }
  const firstNight = Math.min(from.firstNight, to.firstNight);
  const nights = Math.max(endOf(from), endOf(to)) - firstNight;
  if (differsInNumbersOnly(from, to)) {
    runs.addDifferences(from, to);
    if (!runs.isEmpty) take(delta, firstNight, nights);
  } else if (nights <= SHORT_NIGHTS) {
    runs.addAll(from, -1);
    runs.addAll(to, 1);
    take(delta, firstNight, nights);
  } else {
    makeRows({ ...delta, to: null }, take);
    makeRows({ ...delta, from: null }, take);
  }
}

/** The amount whose halves start at `place`; null: not reported. */
function amountAt(halves: Int32Array, place: number): number | null {
  const [high, low] = [halves[place] as number, halves[place + 1] as number];
  return high === ABSENT_HIGH ? null : high * TWO_TO_32 + (low >>> 0);
}

/** Adds the current row as one entry per run. */
function addEntries(entries: NightEntry[], { of, sourceTime, countsFrom }: LedgerDelta): void {
  const { halves } = runs;
  for (let at = 0; at < halves.length; at += HALVES_PER_RUN) {
    const numberAt = (place: number) => halves[at + place] as number;
    const [nights, counts] = [numberAt(2), numberAt(3)];
    const run = {
      firstNight: nights >> 6,
      nights: nights & 63,
      rooms: (counts >>> 22) - 512,
      adults: ((counts >>> 11) & 2_047) - 1_024,
      children: (counts & 2_047) - 1_024,
      roomRevenue: amountAt(halves, at + 4),
      grossRoomRevenue: amountAt(halves, at + 6),
    };
    entries.push({
      of,
      sourceTime,
      countsFrom,
      by: 1,
      dimension: { high: numberAt(0), low: numberAt(1) },
      run,
      shareId: null,
    });
  }
}

/** Writes deltas as one entry per run, as `writeNights`. */
export async function writeAsEntries(client: pg.ClientBase, deltas: readonly LedgerDelta[]): Promise<void> {
  const entries: NightEntry[] = [];
  for (const delta of deltas) makeRows(delta, (row) => addEntries(entries, row));
  await writeNights(client, entries);
}

/** Writes deltas as rows of `ledger_delta`. Not on Citus. */
export async function writeDeltas(client: pg.ClientBase, deltas: readonly LedgerDelta[]): Promise<void> {
  await copyItems(client, DELTAS, deltas, (rows, delta) => {
    makeRows(delta, ({ of, sourceTime, countsFrom }, firstNight, nights) => {
      rows.row();
      rows.timestamp(sourceTime);
      rows.microseconds(receivedAt(countsFrom));
      rows.integer(of.propertyId);
      rows.day(firstNight);
      rows.integer(nights);
      rows.smallint(of.bucket);
      rows.wides(runs.halves);
      rows.text(of.key);
    });
  });
}
