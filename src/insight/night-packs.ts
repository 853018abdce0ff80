/** Of an entry in a pack, as src/insight/sql/pack-nights.sql writes it. */
const ENTRY_BYTES = 52;
const [SOURCE_AT, RECEIVED_AT, DIMENSION_AT, FIRST_NIGHT_AT, NIGHTS_AT] = [0, 8, 16, 24, 28];
const [ROOMS_AT, ADULTS_AT, CHILDREN_AT, REVENUE_AT, GROSS_AT] = [30, 32, 34, 36, 44];
/** What stands beside the number of nights. */
const [NIGHTS_MASK, SHARED, NO_REVENUE, NO_GROSS] = [0xff, 0x100, 0x200, 0x400];

const EPOCH_MS = Date.UTC(2000, 0, 1);
const DAY_MS = 86_400_000;
const WORD = 4_294_967_296;

/** Days from 2000-01-01, as packs count them, to a date `YYYY-MM-DD`. */
export function packedDay(date: string): number {
  return (Date.parse(date) - EPOCH_MS) / DAY_MS;
}

/** Microseconds from 2000-01-01 to an instant (ISO 8601, UTC, up to six digits after the point), as packs count them. */
export function packedInstant(instant: string): number {
  const [whole = "", fraction = ""] = instant.replace("Z", "").split(".");
  return (Date.parse(`${whole}Z`) - EPOCH_MS) * 1_000 + Number(fraction.padEnd(6, "0"));
}

/** What is counted of each night of a cell: rooms that are nobody's share, and so on; amounts in ten-thousandths. */
export const [ROOMS, UNMAPPED, ADULTS, CHILDREN, REVENUE, GROSS, PRICED, GROSS_PRICED, BLOCKS] = [
  ...[0, 1, 2, 3, 4, 5, 6, 7, 8],
] as const;
const COUNTS = 9;

/** What dimensions say: the cell that they count in (from 0), or with `UNMAPPED_FROM` more that it is unmapped there. */
export class DimensionCells {
  readonly #cells = new Map<bigint, number>();

  /** Takes dimensions as `int8send` writes them, in hexadecimal digits. */
  add(digits: string, cell: number, isUnmapped: boolean): void {
    const bytes = Buffer.from(digits, "hex");
    for (let at = 0; at < bytes.length; at += 8)
      this.#cells.set(bytes.readBigInt64BE(at), isUnmapped ? -1 - cell : cell);
  }

  /** The cell of the dimension that stands there; below 0 is `-1 - cell` of one that is unmapped. Undefined: it is of no concern. */
  at(pack: DataView, at: number): number | undefined {
    return this.#cells.get(pack.getBigInt64(at));
  }
}

/** What changes at each night of a window by packed entries, as running sums want it: from its first night on, and after its last. */
export class NightChanges {
  /** By cell and night, `COUNTS` numbers each. */
  readonly #sums: Float64Array;
  readonly #first: number;
  readonly #nights: number;
  #magnitude = 0;

  /** `first` as `packedDay` counts. */
  constructor(cells: number, first: number, nights: number) {
    this.#sums = new Float64Array(cells * nights * COUNTS);
    this.#first = first;
    this.#nights = nights;
  }

  /** Whether all sums are exact: no sum of some of what was added is beyond what a double holds. */
  get areExact(): boolean {
    return this.#magnitude <= Number.MAX_SAFE_INTEGER;
  }

  /** Adds the entries of a pack whose time at `timeAt` (of either clock) is up to an instant, as `packedInstant` counts it. */
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
      if (cell === undefined) continue;
      this.#addEntry(pack, at, flags, Math.max(firstNight, this.#first), 1, cell);
      if (end <= last) this.#addEntry(pack, at, flags, end, -1, cell);
    }
  }

  /** Adds one number to a count. */
  add(cell: number, day: number, count: number, by: number): void {
    const at = this.#at(cell, day) + count;
    this.#sums[at] = (this.#sums[at] as number) + by;
    this.#magnitude += Math.abs(by);
  }

  /** What is there of a cell after each of its nights in turn: the same array each time. */
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
    return (cell * this.#nights + day - this.#first) * COUNTS;
  }

  #addEntry(pack: DataView, at: number, flags: number, day: number, sign: 1 | -1, cell: number): void {
    const rooms = sign * pack.getInt16(at + ROOMS_AT);
    if (cell < 0) {
      this.add(-1 - cell, day, UNMAPPED, rooms);
      return;
    }
    if ((flags & SHARED) === 0) this.add(cell, day, ROOMS, rooms);
    this.add(cell, day, ADULTS, sign * pack.getInt16(at + ADULTS_AT));
    this.add(cell, day, CHILDREN, sign * pack.getInt16(at + CHILDREN_AT));
    if ((flags & NO_REVENUE) === 0) {
      this.add(cell, day, REVENUE, sign * longAt(pack, at + REVENUE_AT));
      this.add(cell, day, PRICED, rooms);
    }
    if ((flags & NO_GROSS) === 0) {
      this.add(cell, day, GROSS, sign * longAt(pack, at + GROSS_AT));
      this.add(cell, day, GROSS_PRICED, rooms);
    }
  }
}

/** Where the time of each clock stands in an entry. */
export const TIME_AT = { source: SOURCE_AT, receipt: RECEIVED_AT } as const;

/** A whole number of 64 bits, exact up to 2^53: packs have no greater ones. */
function longAt(pack: DataView, at: number): number {
  return pack.getInt32(at) * WORD + pack.getUint32(at + 4);
}
