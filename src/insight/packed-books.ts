import { randomInt } from "node:crypto";
import type pg from "pg";
import { datesFrom, daysBetween } from "#contract/dates.ts";
import { readByteRows } from "../platform/db/byte-rows.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Position } from "../platform/http/position.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { tenThousandthsOf, textOfTenThousandths } from "./exact-amount.ts";
import { readGroupHierarchy } from "./group-hierarchy.ts";
import { type BooksPlace, compareCodes, placeOf } from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import { boundOf, type NightWindow, pointInTimeOf, type StayQuestion } from "./question.ts";
import { composeVariants, sumEntries } from "./statements.ts";

/** Size and offsets of an entry in a segment (src/insight/sql/pack-nights.sql). */
const ENTRY_BYTES = 52;
const [SOURCE_AT, RECEIVED_AT, DIMENSION_AT, FIRST_NIGHT_AT, NIGHTS_AT] = [0, 8, 16, 24, 28];
const [ROOMS_AT, ADULTS_AT, CHILDREN_AT, REVENUE_AT, GROSS_AT] = [30, 32, 34, 36, 44];
/** Flags stored beside the number of nights. */
const [NIGHTS_MASK, SHARED, NO_REVENUE, NO_GROSS] = [0xff, 0x100, 0x200, 0x400];

const EPOCH_MS = Date.UTC(2000, 0, 1);
const DAY_MS = 86_400_000;
const WORD = 4_294_967_296;

/** Days from 2000-01-01 to a date `YYYY-MM-DD`. */
function packedDay(date: string): number {
  return (Date.parse(date) - EPOCH_MS) / DAY_MS;
}

/** Microseconds from 2000-01-01 to an instant (ISO 8601, UTC, up to six decimal places). */
function packedInstant(instant: string): number {
  const [whole = "", fraction = ""] = instant.replace("Z", "").split(".");
  return (Date.parse(`${whole}Z`) - EPOCH_MS) * 1_000 + Number(fraction.padEnd(6, "0"));
}

/** Counts of a cell's night, named as the statements' columns; amounts in ten-thousandths. */
const COUNT_NAMES = [
  "rooms",
  "unmapped_rooms",
  "adults",
  "children",
  "room_revenue",
  "gross_room_revenue",
  "priced_rooms",
  "gross_priced_rooms",
  "blocks",
] as const;
const [ROOMS, UNMAPPED, ADULTS, CHILDREN, REVENUE, GROSS, PRICED, GROSS_PRICED, BLOCKS] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8,
] as const;
const COUNTS = COUNT_NAMES.length;
/** A row is returned if one of these is not zero. */
const REPORTED = [ROOMS, UNMAPPED, ADULTS, CHILDREN, REVENUE, GROSS, BLOCKS];
type CountName = (typeof COUNT_NAMES)[number];

/** A cell's dimensions (`int8send`, concatenated, in hexadecimal): those that count, and those that are unmapped. */
interface CellDimensions {
  readonly counting: string;
  readonly unmapped: string;
  readonly cause: BooksCause | null;
}

const NONE = 0x7fffffff;
/** Added to the number of a cell of fees, of which only the revenue counts. */
const FEES = 0x1000000;
/** The offset of a run's end beyond the window. */
const NO_END = -1;
const DIMENSION_BYTES = 8;
/** Hash slots per dimension, to keep collisions rare. */
const PLACES_EACH = 2;
/** Random odd multipliers, so that a sender cannot choose codes that collide. */
const [MIX_HIGH, MIX_LOW] = [randomInt(2 ** 31) * 2 + 1, randomInt(2 ** 31) * 2 + 1];

/**
 * Maps a dimension to the cell in which it counts (from 0, of fees from FEES), or to `-1 - cell` if it is unmapped. An open-addressing hash
 * table, because a Map would need a bigint per entry.
 */
class DimensionCells {
  readonly #mask: number;
  /** Shifts the mixed bits to a slot number. */
  readonly #shift: number;
  readonly #high: Int32Array;
  readonly #low: Int32Array;
  readonly #cells: Int32Array;

  constructor(cells: readonly CellDimensions[]) {
    let digits = 0;
    for (const { counting, unmapped } of cells) digits += counting.length + unmapped.length;
    const dimensions = digits / 2 / DIMENSION_BYTES;
    const bits = Math.ceil(Math.log2(Math.max(1, dimensions) * PLACES_EACH));
    const places = 2 ** bits;
    this.#mask = places - 1;
    this.#shift = 32 - bits;
    this.#high = new Int32Array(places);
    this.#low = new Int32Array(places);
    this.#cells = new Int32Array(places).fill(NONE);
    cells.forEach(({ counting, unmapped, cause }, cell) => {
      this.#add(counting, cause === "fee" ? FEES + cell : cell);
      this.#add(unmapped, -1 - cell);
    });
  }

  #add(digits: string, cell: number): void {
    const bytes = Buffer.from(digits, "hex");
    for (let at = 0; at < bytes.length; at += DIMENSION_BYTES) {
      const [high, low] = [bytes.readInt32BE(at), bytes.readInt32BE(at + 4)];
      let place = this.#placeOf(high, low);
      while (this.#cells[place] !== NONE) place = (place + 1) & this.#mask;
      this.#high[place] = high;
      this.#low[place] = low;
      this.#cells[place] = cell;
    }
  }

  #placeOf(high: number, low: number): number {
    return (Math.imul(high, MIX_HIGH) + Math.imul(low, MIX_LOW)) >>> this.#shift;
  }

  /** The cell of the dimension at this offset; NONE if it is not counted. */
  at(pack: DataView, at: number): number {
    const [high, low] = [pack.getInt32(at), pack.getInt32(at + 4)];
    for (let place = this.#placeOf(high, low); ; place = (place + 1) & this.#mask) {
      const cell = this.#cells[place] as number;
      if (cell === NONE || (this.#low[place] === low && this.#high[place] === high)) return cell;
    }
  }
}

/** Changes of each night of a window from packed entries, for running sums from its first night on. */
class NightChanges {
  /** By cell and night, `COUNTS` numbers each. */
  readonly #sums: Float64Array;
  readonly #first: number;
  readonly #nights: number;
  #magnitude = 0;

  /** `first` in `packedDay` days. */
  constructor(cells: number, first: number, nights: number) {
    this.#sums = new Float64Array(cells * nights * COUNTS);
    this.#first = first;
    this.#nights = nights;
  }

  /** Whether all sums are exact: no partial sum can exceed the safe integers. */
  get areExact(): boolean {
    return this.#magnitude <= Number.MAX_SAFE_INTEGER;
  }

  /** Adds the entries of a segment whose time at `timeAt` (either clock) is up to a `packedInstant`. */
  addPack(
    bytes: Uint8Array,
    timeAt: typeof SOURCE_AT | typeof RECEIVED_AT,
    upTo: number,
    cells: DimensionCells,
  ): void {
    const pack = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const last = this.#first + this.#nights - 1;
    for (let at = 0; at < pack.byteLength; at += ENTRY_BYTES) {
      const firstNight = pack.getInt32(at + FIRST_NIGHT_AT);
      const flags = pack.getInt16(at + NIGHTS_AT);
      const end = firstNight + (flags & NIGHTS_MASK);
      if (firstNight > last || end <= this.#first) continue;
      if (longAt(pack, at + timeAt) > upTo) continue;
      const cell = cells.at(pack, at + DIMENSION_AT);
      if (cell === NONE) continue;
      this.#addEntry(pack, at, flags, Math.max(firstNight, this.#first), end <= last ? end : undefined, cell);
    }
  }

  /** Adds one number to a count. */
  add(cell: number, day: number, count: number, by: number): void {
    this.#addRun(this.#at(cell, day) + count, NO_END, by);
  }

  /** Adds to the sum at an offset, and takes away again at the other. */
  #addRun(from: number, end: number, by: number): void {
    const sums = this.#sums;
    sums[from] = (sums[from] as number) + by;
    if (end !== NO_END) sums[end] = (sums[end] as number) - by;
    this.#magnitude += 2 * Math.abs(by);
  }

  /** The running sums of a cell after each of its nights. Reuses one array. */
  *running(cell: number): Generator<Float64Array, void, undefined> {
    const sums = new Float64Array(COUNTS);
    const start = this.#at(cell, this.#first);
    for (let night = 0; night < this.#nights; night += 1) {
      for (let count = 0; count < COUNTS; count += 1)
        sums[count] = (sums[count] as number) + (this.#sums[start + night * COUNTS + count] as number);
      yield sums;
    }
  }

  #at(cell: number, day: number): number {
    const night = day - this.#first;
    // Otherwise it would change another cell's night.
    if (!(night >= 0 && night < this.#nights)) throw new RangeError(`night ${night} of ${this.#nights}`);
    return (cell * this.#nights + night) * COUNTS;
  }

  #addEntry(
    pack: DataView,
    at: number,
    flags: number,
    firstDay: number,
    endDay: number | undefined,
    given: number,
  ): void {
    const isFee = given >= FEES;
    const cell = given < 0 ? -1 - given : isFee ? given - FEES : given;
    const from = this.#at(cell, firstDay);
    const endAt = endDay === undefined ? NO_END : this.#at(cell, endDay);
    const add = (count: number, by: number) =>
      this.#addRun(from + count, endAt === NO_END ? NO_END : endAt + count, by);
    const rooms = pack.getInt16(at + ROOMS_AT);
    if (given < 0) {
      if ((flags & SHARED) === 0) add(UNMAPPED, rooms);
      return;
    }
    if ((flags & NO_REVENUE) === 0) add(REVENUE, longAt(pack, at + REVENUE_AT));
    if (isFee) return;
    if ((flags & SHARED) === 0) add(ROOMS, rooms);
    add(ADULTS, pack.getInt16(at + ADULTS_AT));
    add(CHILDREN, pack.getInt16(at + CHILDREN_AT));
    if ((flags & NO_REVENUE) === 0) add(PRICED, rooms);
    if ((flags & NO_GROSS) === 0) {
      add(GROSS, longAt(pack, at + GROSS_AT));
      add(GROSS_PRICED, rooms);
    }
  }
}

/** Offset of each clock's time in an entry. */
const TIME_AT = { source: SOURCE_AT, receipt: RECEIVED_AT } as const;

/** A 64-bit integer, exact up to 2^53; segments contain none greater. */
function longAt(pack: DataView, at: number): number {
  return pack.getInt32(at) * WORD + pack.getUint32(at + 4);
}

/** What the revenue of a row is of, if not of room nights (docs/figures.md). */
export type BooksCause = "dayUse" | "fee" | "outsideStay";

/** Counts and amounts of the books. Amounts are text, because they are exact. */
export interface BookedSums {
  readonly rooms: number;
  readonly unmapped_rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
  readonly blocks: number;
}

/** A row of the books as a statement returns it. */
export interface BooksRow extends BooksPlace, BookedSums {
  readonly cause: BooksCause | null;
}

/** The receipt up to which property $2 is packed. */
export const readSegmentProgress = namedStatement(
  "read-segment-progress",
  `select received_up_to::text as received_up_to from bellhop_state.ledger_segment_progress where bucket = $1 and property_id = $2`,
);
/** Values for the placeholders of `changes-of-books`. */
export const CHANGES_TEXTS = { moment: "night", "of-short-ones": "and received_at > $10" };
const readCellsOf = composeVariants(new URL("./sql/read-cells.sql", import.meta.url));
const readChangesBesideOf = composeVariants(
  new URL("./sql/read-changes-beside-segments.sql", import.meta.url),
  { ...CHANGES_TEXTS, links: "unnest($11::text[], $12::text[])" },
);

/** For fewer nights, rows are as fast as the segments of two quarters. */
const NIGHTS_MIN = 45;
/** Maximum cells times nights: 36 MB of sums. The database sums larger windows. */
const SUMS_MAX = 500_000;
/** Dimensions that a thread reads: a hotel of ten years has some ten thousand, and a sender may choose a rate code for each night. */
export const DIMENSIONS_MAX = 100_000;
/** Bytes of segments that a thread reads: 600,000 entries, six times those of a hotel's two years. */
export const SEGMENTS_BYTES_MAX = 32 * 1_048_576;
/** Bytes of segments between turns of the event loop: some milliseconds, and more than most windows have. */
const TURN_BYTES = 50_000 * ENTRY_BYTES;

interface CellRow extends CellDimensions, Omit<BooksPlace, "night"> {}

/** Changed counts of a cell at a night; amounts are decimal text. */
interface ChangeRow extends BooksPlace, Readonly<Record<CountName, number | string | null>> {
  readonly cause: BooksCause | null;
}

const nameOf = ({ unit, currency, cause }: CellRow | ChangeRow): string =>
  JSON.stringify([unit, currency, cause]);

/**
 * The rows of a window as `read-on-the-books.sql` returns them, from the property's segments and unpacked entries. Undefined if nothing is
 * packed, the window is short or has too much for a thread, or a sum might not be exact.
 */
export async function readPackedBooks(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  window: NightWindow,
  start: Position | null,
  limit: number,
): Promise<BooksRow[] | undefined> {
  const nights = daysBetween(window.first, window.last) + 1;
  if (nights < NIGHTS_MIN) return undefined;
  const { property, by, clock } = question;
  const place = [property.bucket, property.propertyId];
  const progress = await client.query<{ received_up_to: string }>({ ...readSegmentProgress, values: place });
  const packedUpTo = progress.rows[0]?.received_up_to;
  if (packedUpTo === undefined) return undefined;
  const { settings, statuses } = queryContext;
  const { deducting, off } = statuses.reservations;
  const { rows: cells } = await client.query<CellRow>({
    ...(await readCellsOf(client, by, clock)),
    values: [...place, deducting, off, statuses.groups.deducting, settings.currency, DIMENSIONS_MAX],
  });
  if (cells.length === 0 || cells.length * nights > SUMS_MAX) return undefined;
  const changes = new NightChanges(cells.length, packedDay(window.first), nights);
  if (!(await addSegments(client, question, window, cells, changes))) return undefined;
  const masters = await readGroupHierarchy(client, property, window, pointInTimeOf(question), settings);
  const statement = await readChangesBesideOf(client, by, clock);
  const beside = await sumEntries<ChangeRow>(client, statement, [
    ...place,
    window.first,
    window.last,
    boundOf(question.asOf),
    deducting,
    off,
    statuses.groups.deducting,
    settings.currency,
    packedUpTo,
    [...masters.keys()],
    [...masters.values()],
  ]);
  const cellOf = new Map(cells.map((cell, at) => [nameOf(cell), at]));
  for await (const some of new WorkPauses().inParts(beside))
    for (const change of some)
      if (!addChange(changes, cellOf.get(nameOf(change)) as number, change)) return undefined;
  if (!changes.areExact) return undefined;
  return rowsOf(cells, changes, window, start === null ? null : placeOf(start), limit);
}

/** Segments that may contain the nights $3 to $4; null if they have more than $5 bytes. Plan: an index scan of the primary key. */
const readSegments = namedStatement(
  "read-segments",
  `select case when sum(octet_length(packed)) over () <= $5 then packed end
  from bellhop_state.ledger_segment
  where bucket = $1 and property_id = $2 and quarter between date_trunc('quarter', $3::date - interval '30 days')::date and $4`,
);

/** Returns false, and adds nothing, if there is too much. */
async function addSegments(
  client: pg.ClientBase,
  { property, clock, asOf }: StayQuestion,
  window: NightWindow,
  cells: readonly CellRow[],
  changes: NightChanges,
): Promise<boolean> {
  const upTo = asOf === null ? Number.POSITIVE_INFINITY : packedInstant(asOf);
  const cellsOf = new DimensionCells(cells);
  const { bucket, propertyId } = property;
  const values = [bucket, propertyId, window.first, window.last, SEGMENTS_BYTES_MAX];
  const segments = await readByteRows(client, readSegments, values);
  const packs = segments.rows.flatMap(([pack]) => pack ?? []);
  let bytes = 0;
  for (const pack of packs)
    for (let at = 0; at < pack.length; at += TURN_BYTES) {
      const some = pack.subarray(at, at + TURN_BYTES);
      changes.addPack(some, TIME_AT[clock], upTo, cellsOf);
      bytes += some.length;
      if (bytes < TURN_BYTES) continue;
      bytes = 0;
      await new Promise((resume) => setImmediate(resume));
    }
  segments.free();
  return packs.length === segments.rows.length;
}

/** Adds an unpacked change; false if it cannot be added exactly. */
function addChange(changes: NightChanges, cell: number, change: ChangeRow): boolean {
  const day = packedDay(change.night);
  for (const [count, name] of COUNT_NAMES.entries()) {
    const value = change[name];
    const by = typeof value === "number" ? value : tenThousandthsOf(value);
    if (by === undefined) return false;
    if (by !== 0) changes.add(cell, day, count, by);
  }
  return true;
}

async function rowsOf(
  cells: readonly CellRow[],
  changes: NightChanges,
  { first, last }: NightWindow,
  after: BooksPlace | null,
  limit: number,
): Promise<BooksRow[]> {
  const nights = daysBetween(first, last) + 1;
  const byNight: BooksRow[][] = Array.from({ length: nights }, () => []);
  const dates = datesFrom(first, nights);
  const pauses = new WorkPauses();
  for (const [cell, { unit, currency, cause }] of cells.entries()) {
    if (pauses.isDue) await pauses.pause();
    let night = 0;
    for (const sums of changes.running(cell)) {
      const date = dates[night] as string;
      if (isAfter(date, unit, currency, after)) {
        if (isReported(sums)) byNight[night]?.push({ night: date, unit, currency, cause, ...sumsOf(sums) });
      }
      night += 1;
    }
  }
  return byNight.flat().slice(0, limit);
}

function isAfter(
  night: string,
  unit: string | null,
  currency: string | null,
  after: BooksPlace | null,
): boolean {
  if (after === null || night > after.night) return true;
  if (night < after.night) return false;
  const order = compareCodes(unit, after.unit);
  return order === 0 ? compareCodes(currency, after.currency) > 0 : order > 0;
}

function isReported(sums: Float64Array): boolean {
  for (const count of REPORTED) if (sums[count] !== 0) return true;
  return false;
}

/** By index: destructuring a typed array iterates over it, which takes longer for the thousands of rows of a page. */
function sumsOf(sums: Float64Array): BookedSums {
  const [revenue, gross] = [sums[REVENUE] as number, sums[GROSS] as number];
  return {
    rooms: sums[ROOMS] as number,
    unmapped_rooms: sums[UNMAPPED] as number,
    adults: sums[ADULTS] as number,
    children: sums[CHILDREN] as number,
    room_revenue: sums[PRICED] !== 0 || revenue !== 0 ? textOfTenThousandths(revenue) : null,
    gross_room_revenue: sums[GROSS_PRICED] !== 0 || gross !== 0 ? textOfTenThousandths(gross) : null,
    blocks: sums[BLOCKS] as number,
  };
}
