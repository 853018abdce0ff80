import { LIST, NOTED } from "./noted-fields.ts";
import type { Resource } from "./resource.ts";
import { HEAD_NUMBERS, ITEM_NUMBERS } from "./span-plan.ts";
import { HEAD, type RecordSpans } from "./walk-spans.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPEN_ROW = 0x28;
const CLOSE_ROW = 0x29;
const OPEN_ARRAY = 0x7b;
const CLOSE_ARRAY = 0x7d;
const LETTER_F = 0x66;
const LETTER_T = 0x74;
const NULL = Buffer.from("NULL");
/** The bit by which ASCII's small letters differ from its large ones. */
const SMALL = 0x20;

/** A column that is no member of an item: the place of its stay, or whether a room type is virtual. */
const STAY_PLACE = -1;
const IS_VIRTUAL = -2;

/** Columns with an entry an item of one list. */
interface ListColumns {
  readonly list: number;
  /** The place of each column's span within an item, or STAY_PLACE, or IS_VIRTUAL. */
  readonly columns: readonly number[];
}

/** The columns of facts: first those of the record itself, then those of its lists. */
interface FactsLayout {
  readonly fields: number;
  readonly lists: readonly ListColumns[];
}

function listOf(list: number, names: readonly string[] = []): ListColumns {
  return { list, columns: names.map((_, at) => ITEM_NUMBERS + 2 * at) };
}

function layoutOf(resource: Resource): FactsLayout {
  const { columns = [], inner = {} } = NOTED[resource];
  const fields = columns.length;
  if (resource === "inventories") {
    const { list, columns: places } = listOf(LIST.rooms, inner["roomTypeInventories"]?.columns);
    const [code = 0, ...counts] = places;
    return { fields, lists: [{ list, columns: [code, IS_VIRTUAL, ...counts] }] };
  }
  if (resource === "groups") return { fields, lists: [listOf(LIST.blocks, inner["groupBlocks"]?.columns)] };
  const stays = listOf(LIST.stays, inner["roomStays"]?.columns);
  const rates = listOf(LIST.rates, inner["roomStays"]?.inner?.["rates"]?.columns);
  const days = listOf(LIST.days, inner["stayRevenue"]?.inner?.["daily"]?.columns);
  return { fields, lists: [stays, { ...rates, columns: [STAY_PLACE, ...rates.columns] }, days] };
}

const LAYOUTS: Readonly<Record<Resource, FactsLayout>> = {
  inventories: layoutOf("inventories"),
  reservations: layoutOf("reservations"),
  groups: layoutOf("groups"),
};

/** Most bytes that `writeFacts` writes. */
export function factsBytesMax({ slab, base }: RecordSpans): number {
  return slab[base + HEAD.factsBytesMax] as number;
}

/** Writes the facts of a record that was walked over: the very text that `reservationFacts` and so on give. Answers its end. */
export function writeFacts(resource: Resource, spans: RecordSpans, to: Buffer, from: number): number {
  const { fields, lists } = LAYOUTS[resource];
  let at = from;
  to[at++] = OPEN_ROW;
  for (let field = 0; field < fields; field += 1) {
    if (field > 0) to[at++] = COMMA;
    at = writeField(spans, HEAD_NUMBERS + 2 * field, to, at);
  }
  for (const { list, columns } of lists) {
    for (const column of columns) {
      to[at++] = COMMA;
      at = writeArray(spans, list, column, to, at);
    }
  }
  to[at++] = CLOSE_ROW;
  return at;
}

function writeField({ bytes, slab, base }: RecordSpans, column: number, to: Buffer, from: number): number {
  const mark = slab[base + column] as number;
  if (mark === 0) return from;
  const end = slab[base + column + 1] as number;
  if ((mark & 1) === 0) return copy(bytes, mark >>> 1, end, to, from);
  to[from] = QUOTE;
  const at = copy(bytes, mark >>> 1, end, to, from + 1);
  to[at] = QUOTE;
  return at + 1;
}

/** A loop, since most are ten bytes and a call would cost more. */
function copy(bytes: Uint8Array, start: number, end: number, to: Uint8Array, from: number): number {
  let at = from;
  for (let byte = start; byte < end; byte += 1) {
    to[at] = bytes[byte] as number;
    at += 1;
  }
  return at;
}

/** See `arrayField`: an array of several elements is quoted, one of one only where the element is. */
function writeArray(spans: RecordSpans, list: number, column: number, to: Buffer, from: number): number {
  const { slab, base } = spans;
  const first = slab[base + HEAD.firstOfList + list] as number;
  if (first === 0) return from;
  if (slab[base + first] === 0 && !isQuoted(spans, first, column)) {
    to[from] = OPEN_ARRAY;
    const at = writeElement(spans, first, column, to, from + 1);
    if (at === NOT_GIVEN) return from;
    to[at] = CLOSE_ARRAY;
    return at + 1;
  }
  to[from] = QUOTE;
  to[from + 1] = OPEN_ARRAY;
  let at = from + 2;
  let isGiven = false;
  let place = 0;
  for (let item = first; item !== 0; item = slab[base + item] as number) {
    if (item !== first) to[at++] = COMMA;
    const end =
      column === IS_VIRTUAL ? writeVirtual(spans, place, to, at) : writeElement(spans, item, column, to, at);
    if (end === NOT_GIVEN) at = copy(NULL, 0, NULL.length, to, at);
    else {
      isGiven = true;
      at = end;
    }
    place += 1;
  }
  if (!isGiven) return from;
  to[at] = CLOSE_ARRAY;
  to[at + 1] = QUOTE;
  return at + 2;
}

const NOT_GIVEN = -1;

function writeVirtual({ slab, base }: RecordSpans, place: number, to: Buffer, at: number): number {
  to[at] = place < (slab[base + HEAD.regularRooms] as number) ? LETTER_F : LETTER_T;
  return at + 1;
}

function isQuoted({ bytes, slab, base }: RecordSpans, item: number, column: number): boolean {
  if (column < 0) return false;
  const mark = slab[base + item + column] as number;
  return (mark & 1) === 1 || isNullWord(bytes, mark >>> 1, slab[base + item + column + 1] as number);
}

/** Whether a text is the word that arrays have for what is not given, in any case. */
function isNullWord(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== NULL.length) return false;
  for (let at = 0; at < NULL.length; at += 1)
    if (((bytes[start + at] as number) & ~SMALL) !== NULL[at]) return false;
  return true;
}

/** Writes an element within the quotes of its array; NOT_GIVEN where its item leaves it out. */
function writeElement(spans: RecordSpans, item: number, column: number, to: Buffer, from: number): number {
  const { bytes, slab, base } = spans;
  if (column === STAY_PLACE) return writeCount(slab[base + item + 1] as number, to, from);
  if (column === IS_VIRTUAL) return writeVirtual(spans, 0, to, from);
  const mark = slab[base + item + column] as number;
  if (mark === 0) return NOT_GIVEN;
  const start = mark >>> 1;
  const end = slab[base + item + column + 1] as number;
  if ((mark & 1) === 0 && !isNullWord(bytes, start, end)) return copy(bytes, start, end, to, from);
  to[from] = BACKSLASH;
  to[from + 1] = QUOTE;
  const at = copy(bytes, start, end, to, from + 2);
  to[at] = BACKSLASH;
  to[at + 1] = QUOTE;
  return at + 2;
}

function writeCount(count: number, to: Buffer, from: number): number {
  if (count < 10) {
    to[from] = ZERO + count;
    return from + 1;
  }
  return from + to.write(String(count), from, "latin1");
}
