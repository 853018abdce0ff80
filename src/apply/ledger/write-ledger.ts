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
};
/** In the order in which a dimension's number is made of them. */
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

/**
 * Dimensions and branches, of less than 200 bytes each; beyond this number all are forgotten and written
 * again.
 */
const REMEMBERED_MAX = 75_000;

/**
 * A map for each code, behind those before it: codes are the same strings again and again, so none is
 * hashed to find a dimension.
 */
type Branch = Map<number | string | null, Branch | Dimension>;

/** The codes of which a property has the fewest come first; the last one, `groupBlockCode`, leads to the dimension. */
const BRANCHES = [
  "currencyCode",
  "status",
  "marketSegmentCode",
  "channel",
  "roomTypeCode",
  "bookedRoomTypeCode",
  "rateCode",
] as const satisfies readonly (keyof DimensionCodes)[];

/** The first eight bytes of the SHA-256 of the codes as a JSON array: the same after every replay, and on every worker. */
function numberOf(codes: DimensionCodes): Buffer {
  return hash("sha256", JSON.stringify(CODES.map((name) => codes[name])), "buffer").subarray(0, 8);
}

/**
 * Dimensions by their codes. A new one is written at the end of its transaction and remembered until
 * `forget`.
 */
export class Dimensions {
  readonly #known: Branch = new Map();
  /** Of the dimensions and maps. */
  #remembered = 0;
  #new: ({ readonly bucket: number } & Readonly<Record<string, unknown>>)[] = [];
  /** What was asked for last: the runs of a stay have one object of codes. */
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
    let dimension = leaves.get(codes.groupBlockCode) as Dimension | undefined;
    if (dimension === undefined) {
      const number = numberOf(codes);
      dimension = { high: number.readInt32BE(0), low: number.readInt32BE(4) };
      this.#new.push({
        bucket,
        property_id: propertyId,
        dimension: String(number.readBigInt64BE(0)),
        ...Object.fromEntries(CODES.map((name) => [CODE_COLUMNS[name], codes[name]])),
      });
      leaves.set(codes.groupBlockCode, dimension);
      this.#remembered += 1;
      if (this.#remembered >= REMEMBERED_MAX) this.#forgetKnown();
    }
    return dimension;
  }

  /** Writes those that this transaction named first. */
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

  /** Where the dimension of codes stands, by its group. */
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

/** With a property's id: who segments its ledger, and who enters what was received before it was packed. */
const PACK_LOCK = 7_302_031;

type PackedProperty = Pick<RecordKey, "bucket" | "propertyId">;

/**
 * Holds a property's segments to the end of the transaction, of which it must be the first statement that
 * reads. Entries are locked before segments, as by the swap of a replay.
 */
export async function lockSegments(client: pg.ClientBase, { propertyId }: PackedProperty): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1, $2)", [PACK_LOCK, propertyId]);
  for (const table of ["night_entry", "ledger_delta"])
    await client.query(`lock table bellhop_state.${table} in access share mode`);
}

/**
 * Deletes the segments of properties, in the transaction that enters something received before it is
 * applied. They are packed anew.
 */
export async function voidSegments(
  client: pg.ClientBase,
  properties: readonly PackedProperty[],
): Promise<void> {
  if (properties.length === 0) return;
  const ids = [...new Set(properties.map(({ propertyId }) => propertyId))].sort((one, other) => one - other);
  // What is rebuilt in a schema of its own has no segments, and holds nobody up.
  for (const id of ids)
    await client.query("select pg_advisory_xact_lock($1, $2) where current_schema() = 'bellhop_state'", [
      PACK_LOCK,
      id,
    ]);
  const buckets = new Set(properties.map(({ bucket }) => bucket));
  for (const table of ["ledger_segment_progress", "ledger_segment"])
    for (const bucket of buckets)
      await client.query(`delete from ${table} where bucket = $1 and property_id = any ($2)`, [bucket, ids]);
}

// Records of a transaction come from few requests, one after another.
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

/** When an entry counts, of what, and how often: most often once, or minus once. */
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

/** Writes entries of nights, on a session of `openStateSession`, in the transaction of their bucket's owner. */
export async function writeNights(client: pg.ClientBase, entries: readonly NightEntry[]): Promise<void> {
  await writeItems(client, "night_entry", NIGHTS, entries);
}

export async function writeBlocks(client: pg.ClientBase, entries: readonly BlockEntry[]): Promise<void> {
  await writeItems(client, "block_entry", BLOCKS, entries);
}

/** From an instant of either clock on nights of a reservation count in the place of others. */
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

/** What is longer is read by every question about nights after its beginning. */
const SHORT_NIGHTS = 31;

/** Four bigints. */
const HALVES_A_RUN = 8;
const TWO_TO_32 = 2 ** 32;
/** The lowest bigint, of which the lower half is 0. */
const ABSENT_HIGH = -2_147_483_648;

/** The counts of a run in the lower half of a bigint, each from the least that it can be. */
function countsOf(rooms: number, adults: number, children: number): number {
  return ((rooms + 512) << 22) | ((adults + 1_024) << 11) | (children + 1_024);
}

/**
 * The runs of the row that is being made, as the two halves of each bigint; one list for all rows. RUNS_MAX
 * at most.
 */
class Runs {
  readonly #halves = new Int32Array(RUNS_MAX * HALVES_A_RUN);
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

  /** What the run that was added last has of revenue, and then of gross revenue. */
  addAmount(amount: number): void {
    const high = Math.floor(amount / TWO_TO_32);
    if (Number.isNaN(amount)) this.#put(ABSENT_HIGH, 0);
    else this.#put(high, amount - high * TWO_TO_32);
  }

  /** All runs of a stay, once or minus once. */
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

  /** What the numbers of one stay are more than those of another, of the runs where they are. */
  addDifferences(from: CompactNights, to: CompactNights): void {
    const counts = countsOf(to.rooms - from.rooms, to.adults - from.adults, to.children - from.children);
    let night = to.firstNight;
    for (let at = 0; at < to.runs.length; at += RUN_NUMBERS) {
      const nights = to.runs[at] as number;
      const revenue = (to.runs[at + 1] as number) - (from.runs[at + 1] as number);
      const gross = (to.runs[at + 2] as number) - (from.runs[at + 2] as number);
      // What is not reported on either side is no difference.
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

/** Whether the one has no number of rooms or guests that differs from the other's by more than fits. */
function isNearInCounts(from: CompactNights, to: CompactNights): boolean {
  const guests = Math.max(Math.abs(to.adults - from.adults), Math.abs(to.children - from.children));
  return Math.abs(to.rooms - from.rooms) <= COMPACT_MAX.rooms && guests <= COMPACT_MAX.guests;
}

/** Whether two stays differ in numbers at most, and tell the same amounts (rooms without a price are counted). */
function isSameButForNumbers(from: CompactNights, to: CompactNights): boolean {
  if (from.firstNight !== to.firstNight || from.runs.length !== to.runs.length) return false;
  if (from.dimension.low !== to.dimension.low || from.dimension.high !== to.dimension.high) return false;
  if (!isNearInCounts(from, to)) return false;
  for (let at = 0; at < to.runs.length; at += RUN_NUMBERS) {
    if (from.runs[at] !== to.runs[at]) return false;
    if (Number.isNaN(from.runs[at + 1]) !== Number.isNaN(to.runs[at + 1])) return false;
    if (Number.isNaN(from.runs[at + 2]) !== Number.isNaN(to.runs[at + 2])) return false;
  }
  return true;
}

/** Takes a row whose runs are those of `runs`, about so many nights from one on. */
type TakeRow = (delta: LedgerDelta, firstNight: number, nights: number) => void;

const orNull = (nights: CompactNights | null) =>
  nights === null || nights.runs.length === 0 ? null : nights;

/** Makes the rows of a delta: one, or two where the nights lie far apart; none where nothing changes. */
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
  if (isSameButForNumbers(from, to)) {
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

/** The amount whose halves stand from a place on; null where it is not reported. */
function amountAt(halves: Int32Array, place: number): number | null {
  const [high, low] = [halves[place] as number, halves[place + 1] as number];
  return high === ABSENT_HIGH ? null : high * TWO_TO_32 + (low >>> 0);
}

/** The same as entries, one a run. */
function addEntries(entries: NightEntry[], { of, sourceTime, countsFrom }: LedgerDelta): void {
  const { halves } = runs;
  for (let at = 0; at < halves.length; at += HALVES_A_RUN) {
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

/** Writes deltas as entries, one a run, on a session of `openStateSession`, in the transaction of their bucket's owner. */
export async function writeAsEntries(client: pg.ClientBase, deltas: readonly LedgerDelta[]): Promise<void> {
  const entries: NightEntry[] = [];
  for (const delta of deltas) makeRows(delta, (row) => addEntries(entries, row));
  await writeNights(client, entries);
}

/** Writes deltas in rows of their own, where LedgerForm allows it. */
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
