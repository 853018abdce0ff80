import type pg from "pg";
import type { Money } from "#contract/money.ts";
import { spansOfFacts } from "#contract/parsed-spans.ts";
import type { RecordContent } from "#contract/read-record.ts";
import { COLUMNS, LIST } from "#contract/record-plan.ts";
import type { RecordSpans } from "#contract/walk-record.ts";
import { GROUP_BLOCKS_MAX } from "#contract/warnings.ts";
import { column } from "../../platform/db/copy.ts";
import { type Asked, ofBucket, queryOfBucket } from "../../platform/db/dialect.ts";
import { keyColumns } from "../state/look-up.ts";
import { type RecordKey, VERSION_TABLES } from "../state/record.ts";
import {
  type BlockRun,
  boundedCount,
  type Dimension,
  type DimensionCodes,
  type NightRun,
  type ReservationNights,
  reservationNights,
  SpanFacts,
} from "./reservation-nights.ts";

/** Resources that have nights. */
export type NightResource = "r" | "g";

/** A stored content, and the source time of the version that has its facts. */
export interface StoredContent {
  readonly of: RecordKey;
  readonly contentHash: string;
  readonly factsSourceTime: string;
}

/** Facts (as text) and status of a stored content. */
export interface FactsOfContent {
  readonly facts: string;
  readonly status: string | null;
}

/** A stored content is missing because the state was modified from outside. A replay restores it. */
export class MissingContent extends Error {}

// Subselects hide the number of rows from the planner, as in state/look-up.ts.
function factsStatement(resource: NightResource): Asked {
  return {
    name: `facts-of-contents-${resource}`,
    rowMode: "array",
    ...ofBucket(
      6,
      ({ andBucket }) => `select wanted.at::integer, t.facts, t.status
    from unnest((select $1::smallint[]), (select $2::integer[]), (select $3::text[]), (select $4::timestamptz[]),
        (select $5::bytea[]))
      with ordinality as wanted (bucket, property_id, key, source_time, content_hash, at)
    join ${VERSION_TABLES[resource]} as t using (bucket, property_id, key, source_time, content_hash)
    where true ${andBucket}`,
    ),
  };
}

const STATEMENTS = { r: factsStatement("r"), g: factsStatement("g") } as const;

/** Loads the facts of contents of one resource, in order. Throws MissingContent if one is not stored. */
export async function loadContents(
  client: pg.ClientBase,
  resource: NightResource,
  wanted: readonly StoredContent[],
): Promise<FactsOfContent[]> {
  if (wanted.length === 0) return [];
  const { rows } = await queryOfBucket<[at: number, facts: string | null, status: string | null]>(
    client,
    STATEMENTS[resource],
    [
      ...keyColumns(wanted),
      column(wanted, "timestamptz", (to, { factsSourceTime }) => to.timestamp(factsSourceTime)),
      column(wanted, "bytea", (to, { contentHash }) => to.hex(contentHash)),
    ],
    wanted,
  );
  const found: FactsOfContent[] = new Array(wanted.length);
  let count = 0;
  for (const [at, facts, status] of rows) {
    if (facts === null) continue;
    found[at - 1] = { facts, status };
    count += 1;
  }
  if (count !== wanted.length)
    throw new MissingContent(`The facts of ${wanted.length - count} contents are not stored.`);
  return found;
}

/**
 * The nights of one unshared stay whose numbers fit (docs/decisions/0012): encoded in the current row, and entered as one row of
 * `ledger_delta`.
 */
export interface CompactNights {
  readonly dimension: Dimension;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  /** Days since 1970-01-01. */
  readonly firstNight: number;
  /** RUN_NUMBERS per run, contiguous: nights, revenue, gross revenue (ten-thousandths; NaN: not reported). */
  readonly runs: readonly number[];
}

export const RUN_NUMBERS = 3;

/** Limits of the bit fields of a run in `ledger_delta`. */
export const COMPACT_MAX = { rooms: 511, guests: 1_023, nightsOfRun: 63, day: 131_071 } as const;
/** In ten-thousandths: the sum of two of them still fits into a segment (find-unpackable-night.sql). */
const AMOUNT_MAX = 5e14;
/** Limit of src/platform/db/analytics/sql/runs-of-delta.sql. */
export const RUNS_MAX = 62;

const NO_NIGHTS: CompactNights = {
  dimension: { high: 0, low: 0 },
  rooms: 0,
  adults: 0,
  children: 0,
  firstNight: 0,
  runs: [],
};

const isBounded = (count: number, most: number): boolean => count <= most && count >= -most;

/** The amount; NaN if null, undefined if it does not fit. */
function compactAmount(money: Money | null): number | undefined {
  if (money === null) return Number.NaN;
  return typeof money === "number" && isBounded(money, AMOUNT_MAX) ? money : undefined;
}

/** The compact form of nights; null if they have none. `dimensionOf` is called only if they have. */
export function compactOf(
  { shareId, runs }: ReservationNights,
  dimensionOf: (run: NightRun) => Dimension,
): CompactNights | null {
  if (shareId !== null || runs.length > RUNS_MAX) return null;
  const first = runs[0];
  if (first === undefined) return NO_NIGHTS;
  const { rooms, adults, children, firstNight, codes } = first;
  if (!isBounded(rooms, COMPACT_MAX.rooms) || firstNight < 0) return null;
  if (!isBounded(adults, COMPACT_MAX.guests) || !isBounded(children, COMPACT_MAX.guests)) return null;
  const numbers: number[] = [];
  let night = firstNight;
  for (const run of runs) {
    if (run.firstNight !== night || run.nights > COMPACT_MAX.nightsOfRun || run.codes !== codes) return null;
    if (run.rooms !== rooms || run.adults !== adults || run.children !== children) return null;
    const [revenue, gross] = [compactAmount(run.roomRevenue), compactAmount(run.grossRoomRevenue)];
    if (revenue === undefined || gross === undefined) return null;
    numbers.push(run.nights, revenue, gross);
    night += run.nights;
  }
  if (night > COMPACT_MAX.day) return null;
  return { dimension: dimensionOf(first), rooms, adults, children, firstNight, runs: numbers };
}

export function endOf({ firstNight, runs }: CompactNights): number {
  let end = firstNight;
  for (let at = 0; at < runs.length; at += RUN_NUMBERS) end += runs[at] as number;
  return end;
}

/** The encoding begins with these digits of its content's hash, so that it does not match a row that an erasure changed. */
const HASH_DIGITS = 12;
const DIMENSION_BYTES = 8;
/** Numbers are LEB128: seven bits a byte, the lowest first. */
const BYTE_VALUES = 128;
/** Above the longest encoding: a dimension, four numbers and RUNS_MAX runs. */
const BYTES_MAX = 2_048;

const bytes = Buffer.alloc(BYTES_MAX);
/** Index of the next byte to write or read. */
let place = 0;

function putNumber(value: number): void {
  let left = value;
  while (left >= BYTE_VALUES) {
    bytes[place++] = BYTE_VALUES + (left % BYTE_VALUES);
    left = Math.floor(left / BYTE_VALUES);
  }
  bytes[place++] = left;
}

/** Zigzag encoding: 0, -1, 1, -2, … */
const unsigned = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);
const signed = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);

function putAmount(amount: number): void {
  putNumber(Number.isNaN(amount) ? 0 : unsigned(amount) + 1);
}

/** Encodes compact nights for `current_record.compact_nights`: about 30 bytes, as hexadecimal digits. */
export function encodeCompact(nights: CompactNights, contentHash: string): string {
  const { dimension, rooms, adults, children, firstNight, runs } = nights;
  const hash = contentHash.slice(0, HASH_DIGITS);
  if (runs.length === 0) return hash;
  place = bytes.writeInt32BE(dimension.high, 0);
  place = bytes.writeInt32BE(dimension.low, place);
  putNumber(unsigned(rooms));
  putNumber(unsigned(adults));
  putNumber(unsigned(children));
  putNumber(firstNight);
  for (let at = 0; at < runs.length; at += RUN_NUMBERS) {
    putNumber(runs[at] as number);
    putAmount(runs[at + 1] as number);
    putAmount(runs[at + 2] as number);
  }
  return hash + bytes.toString("hex", 0, place);
}

/** Reads a number. If it is truncated, returns NaN and moves `place` beyond `end`. */
function readNumber(end: number): number {
  let value = 0;
  for (let unit = 1; place < end; unit *= BYTE_VALUES) {
    const byte = bytes[place++] as number;
    if (byte < BYTE_VALUES) return value + byte * unit;
    value += (byte - BYTE_VALUES) * unit;
  }
  place = end + 1;
  return Number.NaN;
}

function readAmount(end: number): number {
  const amount = readNumber(end);
  return amount === 0 ? Number.NaN : signed(amount - 1);
}

/** Whether these encoded nights belong to a content. */
export function isCompactOf(digits: string, contentHash: string): boolean {
  for (let at = 0; at < HASH_DIGITS && at < digits.length; at += 1)
    if (digits.charCodeAt(at) !== contentHash.charCodeAt(at)) return false;
  return true;
}

/** Decodes the digits of `encodeCompact`; null if they are malformed. */
export function decodeCompact(digits: string): CompactNights | null {
  if (digits.length <= HASH_DIGITS) return NO_NIGHTS;
  const end = bytes.write(digits.slice(HASH_DIGITS), 0, "hex");
  if (end < DIMENSION_BYTES) return null;
  const dimension = { high: bytes.readInt32BE(0), low: bytes.readInt32BE(4) };
  place = DIMENSION_BYTES;
  const [rooms, adults, children] = [
    signed(readNumber(end)),
    signed(readNumber(end)),
    signed(readNumber(end)),
  ];
  const firstNight = readNumber(end);
  const runs: number[] = [];
  let sum = rooms + adults + children + firstNight;
  while (place < end) {
    const nights = readNumber(end);
    sum += nights;
    runs.push(nights, readAmount(end), readAmount(end));
  }
  if (Number.isNaN(sum) || place > end || runs.length === 0) return null;
  return { dimension, rooms, adults, children, firstNight, runs };
}

const COLUMN = { ...COLUMNS.group, ...COLUMNS.block };

type Night = Omit<BlockRun, "nights">;

function continues(run: BlockRun, night: Night): boolean {
  return (
    run.codes === night.codes &&
    run.firstNight + run.nights === night.firstNight &&
    run.blocks === night.blocks &&
    run.pickedUp === night.pickedUp &&
    run.originalBlocks === night.originalBlocks
  );
}

/** The nights of a group block master in runs of equal nights. A repeated night counts twice, a negative count 0; a master over GROUP_BLOCKS_MAX has none. */
export function groupNights(spans: RecordSpans, status: string | null, groupCode: string): BlockRun[] {
  const facts = new SpanFacts("groups", spans);
  const countOf = (block: number, column: number) => {
    const count = facts.whole(block, column);
    return count === null ? null : boundedCount(Math.max(0, count));
  };
  const kinds = new Map<string, { readonly codes: DimensionCodes; readonly nights: Night[] }>();
  let blocks = 0;
  for (let block = facts.first(LIST.blocks); block !== 0; block = facts.next(block)) {
    blocks += 1;
    if (blocks > GROUP_BLOCKS_MAX) return [];
    const roomTypeCode = facts.text(block, COLUMN.roomTypeCode);
    const currencyCode = facts.text(block, COLUMN.currencyCode) || null;
    const kind = JSON.stringify([roomTypeCode, currencyCode]);
    let known = kinds.get(kind);
    if (known === undefined) {
      const codes = {
        status,
        roomTypeCode,
        bookedRoomTypeCode: null,
        marketSegmentCode: facts.text(0, COLUMN.marketSegmentCode),
        groupBlockCode: groupCode,
        rateCode: facts.text(0, COLUMN.rateCode),
        channel: null,
        currencyCode,
        cause: null,
      };
      known = { codes, nights: [] };
      kinds.set(kind, known);
    }
    known.nights.push({
      firstNight: facts.day(block, COLUMN.occupancyDate),
      blocks: countOf(block, COLUMN.blocks),
      pickedUp: countOf(block, COLUMN.pickup),
      originalBlocks: countOf(block, COLUMN.originalBlocks),
      codes: known.codes,
    });
  }
  const runs: BlockRun[] = [];
  for (const { nights } of kinds.values()) {
    nights.sort((left, right) => left.firstNight - right.firstNight);
    let last: BlockRun | undefined;
    for (const night of nights) {
      if (last !== undefined && continues(last, night)) {
        last = { ...last, nights: last.nights + 1 };
        runs[runs.length - 1] = last;
      } else {
        last = { ...night, nights: 1 };
        runs.push(last);
      }
    }
  }
  return runs;
}

/** A content of the record being applied, or a stored one with the parts of it that were loaded. */
type KnownContent =
  | { readonly of: RecordKey; readonly contentHash: string; readonly content: () => RecordContent }
  | (StoredContent & { readonly facts?: FactsOfContent | undefined; readonly compact?: CompactNights });

/** The nights of one content of a key. If `isMissing`, call `loaded` first. */
export class ContentNights {
  readonly stored: StoredContent | null;
  readonly contentHash: string;
  readonly #of: RecordKey;
  readonly #content: (() => RecordContent) | null;
  #loaded: FactsOfContent | undefined;
  #nights: ReservationNights | undefined;
  #compact: CompactNights | null | undefined;
  #blocks: readonly BlockRun[] | undefined;

  constructor(known: KnownContent) {
    this.contentHash = known.contentHash;
    this.#of = known.of;
    const isStored = "factsSourceTime" in known;
    this.stored = isStored ? known : null;
    this.#content = isStored ? null : known.content;
    this.#loaded = isStored ? known.facts : undefined;
    this.#compact = isStored ? known.compact : undefined;
  }

  get isMissing(): boolean {
    return this.stored !== null && this.#loaded === undefined && this.#compact === undefined;
  }

  loaded(facts: FactsOfContent): void {
    this.#loaded = facts;
  }

  /** The compact nights of a reservation; null if they have no compact form. */
  compact(dimensionOf: (run: NightRun) => Dimension): CompactNights | null {
    if (this.#compact === undefined) this.#compact = compactOf(this.nights(), dimensionOf);
    return this.#compact;
  }

  /** The nights of a reservation whose facts are known, not just its compact nights. */
  nights(): ReservationNights {
    this.#nights ??= reservationNights(...this.#read());
    return this.#nights;
  }

  /** The nights of a group block master. */
  blocks(): readonly BlockRun[] {
    this.#blocks ??= groupNights(...this.#read(), this.#of.key);
    return this.#blocks;
  }

  #read(): [facts: RecordSpans, status: string | null] {
    if (this.#content !== null) {
      const { facts, status } = this.#content();
      return [facts.spans, status];
    }
    if (this.#loaded === undefined) throw new Error("A stored content was not loaded.");
    const { facts, status } = this.#loaded;
    return [spansOfFacts(this.#of.resource === "r" ? "reservations" : "groups", facts), status];
  }
}
