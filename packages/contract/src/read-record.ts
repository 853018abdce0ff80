import { microsecondTimestamp } from "./calendar.ts";
import { contentHash } from "./content-hash.ts";
import { parseRecord } from "./parsed-spans.ts";
import {
  FACT_SOURCES,
  HEAD,
  HEAD_NUMBERS,
  IS_VIRTUAL,
  LIST,
  OF_RECORD,
  PLACES,
  SOUGHT,
  SOUGHT_FROM,
  STAY_PLACE,
} from "./record-plan.ts";
import { byResource, type Resource } from "./resource.ts";
import {
  RecordBytes,
  type RecordSpans,
  runNumbersFound,
  runsFound,
  walkHead,
  walkSpans,
} from "./walk-record.ts";
import { areSame, TextMemory } from "./walk-value.ts";
import { checkWarnings, type Warnings } from "./warnings.ts";

/** Values that lists filter by. */
export interface RecordFilters {
  /** The status verbatim; null for inventory. */
  readonly status: string | null;
  /** First and last date, `YYYY-MM-DD`: occupancy date (both); earliest arrival and latest departure; start and end. */
  readonly fromDate: string;
  readonly toDate: string;
}

/** The facts of a record, written as UTF-8 text on demand. */
export interface FactsText {
  /** Upper bound of the length. */
  readonly bytesMax: () => number;
  /** Writes the text, which needs room for `bytesMax()`, and returns its end. */
  readonly write: (to: Buffer, at: number) => number;
  /** The same facts as spans of the record's bytes. */
  readonly spans: RecordSpans;
}

/** The content of a record, the same for all records with one content hash. */
export interface RecordContent extends RecordFilters {
  /** Distinct room types in order of appearance. */
  readonly roomTypeCodes: readonly string[];
  /** The facts as text of a PostgreSQL array (docs/decisions/0006). */
  readonly facts: FactsText;
  readonly warnings: Warnings;
  /** The warnings of counts below zero. */
  readonly negativeCounts: Warnings;
}

/** An accepted record as apply needs it, a function of its bytes alone. */
export interface RecordReading {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** occupancyDate, reservationId or groupCode: with the two codes, the record's identity. */
  readonly key: string;
  /** ISO 8601 UTC with exactly six fractional digits and Z, so that text order is time order. */
  readonly sourceTime: string;
  /** 32 hexadecimal digits; see `contentHash`. */
  readonly contentHash: string;
  /** Reads the content on the first call. Throws UnreadableRecord for bytes that `checkRecord` would refuse. */
  readonly content: () => RecordContent;
}

const texts = new TextMemory();
const times = new TextMemory();

/** The text of a member, from a cache for repetitive members. */
function textOf({ bytes, slab, base }: RecordSpans, place: number, memory?: TextMemory): string {
  const start = (slab[base + place] as number) >>> 1;
  const end = slab[base + place + 1] as number;
  return memory === undefined ? bytes.toString("utf8", start, end) : memory.textAt(bytes, start, end);
}

/** Records of a batch often have the same source time. */
let lastTime = "";
let lastTimeRead = "";

function timeOf(text: string): string {
  if (text !== lastTime) {
    lastTime = text;
    lastTimeRead = microsecondTimestamp(text);
  }
  return lastTimeRead;
}

/** The list that has room types, and the place of the code in its items. */
const ROOM_TYPES: Readonly<Record<Resource, readonly [list: number, place: number]>> = {
  inventories: [LIST.rooms, PLACES.room.roomTypeCode],
  reservations: [LIST.stays, PLACES.stay.roomTypeCode],
  groups: [LIST.blocks, PLACES.block.roomTypeCode],
};

/** A record with more room types uses a set to find repeated ones. */
const COMPARED_MAX = 16;
/** The room types of the last record, usually those of the next. */
const lastRoomTypes: Record<Resource, readonly string[]> = { inventories: [], reservations: [], groups: [] };

/** The distinct room types of a record in order of appearance, and whether one is repeated. */
function roomTypesOf(
  resource: Resource,
  spans: RecordSpans,
): { readonly codes: readonly string[]; readonly isRepeated: boolean } {
  const { slab, base } = spans;
  const [list, place] = ROOM_TYPES[resource];
  const last = lastRoomTypes[resource];
  let others: string[] | undefined;
  let previous: string | undefined;
  let isRepeated = false;
  let same = 0;
  const first = slab[base + HEAD.firstOfList + list] as number;
  for (let item = first; item !== 0; item = slab[base + item] as number) {
    const code = textOf(spans, item + place, texts);
    // Blocks of one room type usually follow each other.
    if (code === previous) isRepeated = true;
    else if (others !== undefined) others.push(code);
    else if (last[same] === code) same += 1;
    else others = [...last.slice(0, same), code];
    previous = code;
  }
  if (others === undefined) return { codes: same === last.length ? last : last.slice(0, same), isRepeated };
  const codes = distinct(others);
  lastRoomTypes[resource] = codes;
  return { codes, isRepeated: isRepeated || codes.length < others.length };
}

function distinct(all: string[]): readonly string[] {
  if (all.length > COMPARED_MAX) return [...new Set(all)];
  for (let at = 1; at < all.length; at += 1)
    if (all.indexOf(all[at] as string) < at) return [...new Set(all)];
  return all;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPEN_ARRAY = 0x7b;
const CLOSE_ARRAY = 0x7d;
const LETTER_F = 0x66;
const LETTER_T = 0x74;
const NULL = Buffer.from("NULL");
/** The bit that distinguishes ASCII lower case from upper case. */
const SMALL = 0x20;

const COLUMNS = byResource((resource) => FACT_SOURCES[resource].slice(1));

/** Writes the facts as text of an array, without trailing absent ones. A list is one element: an array without braces. */
function writeFacts(resource: Resource, spans: RecordSpans, to: Buffer, from: number): number {
  let at = from;
  to[at++] = OPEN_ARRAY;
  let end = at;
  for (const { list, place } of COLUMNS[resource]) {
    const next =
      list === OF_RECORD
        ? writeText(spans, spans.base + place, FIELD_BACKSLASHES, to, at)
        : writeList(spans, list, place, to, at);
    if (next === NOT_GIVEN) at = copy(NULL, 0, NULL.length, to, at);
    else {
      at = next;
      end = next;
    }
    to[at++] = COMMA;
  }
  to[end] = CLOSE_ARRAY;
  return end + 1;
}

const NOT_GIVEN = -1;
/** Backslashes before a quote or backslash in a fact, and in an element of a list. */
const FIELD_BACKSLASHES = 1;
const ELEMENT_BACKSLASHES = 3;

/** Writes the text of a span; NOT_GIVEN if absent. */
function writeText(
  { bytes, slab }: RecordSpans,
  place: number,
  backslashes: number,
  to: Buffer,
  from: number,
): number {
  const mark = slab[place] as number;
  if (mark === 0) return NOT_GIVEN;
  const start = mark >>> 1;
  const end = slab[place + 1] as number;
  if ((mark & 1) === 0 && !isNullWord(bytes, start, end)) return copy(bytes, start, end, to, from);
  return copyQuoted(bytes, start, end, backslashes, to, from);
}

function copyQuoted(
  bytes: Uint8Array,
  start: number,
  end: number,
  backslashes: number,
  to: Uint8Array,
  from: number,
): number {
  const isElement = backslashes === ELEMENT_BACKSLASHES;
  let at = from;
  if (isElement) to[at++] = BACKSLASH;
  to[at++] = QUOTE;
  for (let byte = start; byte < end; byte += 1) {
    const one = bytes[byte] as number;
    if (one === QUOTE || one === BACKSLASH)
      for (let count = 0; count < backslashes; count += 1) to[at++] = BACKSLASH;
    to[at++] = one;
  }
  if (isElement) to[at++] = BACKSLASH;
  to[at++] = QUOTE;
  return at;
}

/** Copies bytes. A loop is faster than a call for the usual ten bytes. */
function copy(bytes: Uint8Array, start: number, end: number, to: Uint8Array, from: number): number {
  let at = from;
  for (let byte = start; byte < end; byte += 1) {
    to[at] = bytes[byte] as number;
    at += 1;
  }
  return at;
}

/** Writes a list. Several elements are quoted, a single one only if needed. If all elements are equal, only the first is written. */
function writeList(spans: RecordSpans, list: number, place: number, to: Buffer, from: number): number {
  const { slab, base } = spans;
  const first = slab[base + HEAD.firstOfList + list] as number;
  if (first === 0) return NOT_GIVEN;
  if (slab[base + first] === 0 && !isQuoted(spans, first, place))
    return writeElement(spans, first, 0, place, to, from);
  to[from] = QUOTE;
  let at = from + 1;
  let firstEnd = at;
  let isGiven = false;
  let isRepeated = true;
  let number = 0;
  for (let item = first; item !== 0; item = slab[base + item] as number) {
    if (item !== first) to[at++] = COMMA;
    const start = at;
    const end = writeElement(spans, item, number, place, to, at);
    if (end === NOT_GIVEN) at = copy(NULL, 0, NULL.length, to, at);
    else {
      isGiven = true;
      at = end;
    }
    if (item === first) firstEnd = at;
    else if (isRepeated) isRepeated = areSame(to, from + 1, firstEnd, start, at);
    number += 1;
  }
  if (!isGiven) return NOT_GIVEN;
  if (isRepeated) for (at = firstEnd; number > 1; number -= 1) to[at++] = COMMA;
  to[at] = QUOTE;
  return at + 1;
}

function isQuoted({ bytes, slab, base }: RecordSpans, item: number, place: number): boolean {
  if (place < 0) return false;
  const mark = slab[base + item + place] as number;
  return (mark & 1) === 1 || isNullWord(bytes, mark >>> 1, slab[base + item + place + 1] as number);
}

/** Whether a text is `NULL` in any case, which must be quoted in arrays. */
function isNullWord(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== NULL.length) return false;
  for (let at = 0; at < NULL.length; at += 1)
    if (((bytes[start + at] as number) & ~SMALL) !== NULL[at]) return false;
  return true;
}

/** Writes the nth element (from 0) of a list; NOT_GIVEN if absent in its item. */
function writeElement(
  spans: RecordSpans,
  item: number,
  number: number,
  place: number,
  to: Buffer,
  from: number,
): number {
  const { slab, base } = spans;
  if (place === STAY_PLACE) return writeCount(slab[base + item + 1] as number, to, from);
  if (place === IS_VIRTUAL) {
    to[from] = number < (slab[base + HEAD.regularRooms] as number) ? LETTER_F : LETTER_T;
    return from + 1;
  }
  return writeText(spans, base + item + place, ELEMENT_BACKSLASHES, to, from);
}

function writeCount(count: number, to: Buffer, from: number): number {
  if (count < 10) {
    to[from] = ZERO + count;
    return from + 1;
  }
  return from + to.write(String(count), from, "latin1");
}

export class SpanFacts implements FactsText {
  readonly #resource: Resource;
  readonly spans: RecordSpans;

  constructor(resource: Resource, spans: RecordSpans) {
    this.#resource = resource;
    this.spans = spans;
  }

  bytesMax(): number {
    const { slab, base } = this.spans;
    return slab[base + HEAD.factsBytesMax] as number;
  }

  write(to: Buffer, at: number): number {
    return writeFacts(this.#resource, this.spans, to, at);
  }
}

function contentOf(resource: Resource, spans: RecordSpans): RecordContent {
  const { codes, isRepeated } = roomTypesOf(resource, spans);
  const { warnings, negative, dates } = checkWarnings(resource, spans, isRepeated);
  return {
    status:
      resource === "inventories" ? null : textOf(spans, SOUGHT_FROM[resource] + 2 * SOUGHT.status, texts),
    fromDate: dates[0],
    toDate: dates[1],
    roomTypeCodes: codes,
    facts: new SpanFacts(resource, spans),
    warnings,
    negativeCounts: negative,
  };
}

/** Reads a record that `checkRecord` found valid. A function of the bytes alone. Throws UnreadableRecord. */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  return new RecordReader(resource, bytes).read(0, bytes.length);
}

/** Reads concatenated records in order, each as `readRecord` does. */
export class RecordReader {
  readonly #resource: Resource;
  readonly #records: RecordBytes;

  constructor(resource: Resource, bytes: Buffer) {
    this.#resource = resource;
    this.#records = new RecordBytes(bytes);
  }

  /** Walks only the head; the rest follows when the content is needed, which it is not for unchanged records. */
  read(start: number, end: number): RecordReading {
    const head = walkHead(this.#resource, this.#records, start, end);
    if (head !== undefined) return this.#walked(head, HEAD_NUMBERS, undefined, start, end);
    const spans = walkSpans(this.#resource, this.#records, start, end);
    return spans === undefined
      ? parsedReading(this.#resource, this.#bytes(start, end))
      : this.#walked(spans, SOUGHT_FROM[this.#resource], spans, start, end);
  }

  /** The reading of a record whose spans `known` were just walked; those of SOUGHT start at `from`. */
  #walked(
    known: RecordSpans,
    from: number,
    spans: RecordSpans | undefined,
    start: number,
    end: number,
  ): RecordReading {
    let content: RecordContent | undefined;
    return {
      clientCode: textOf(known, from + 2 * SOUGHT.clientCode, texts),
      propertyCode: textOf(known, from + 2 * SOUGHT.propertyCode, texts),
      key: textOf(known, from + 2 * SOUGHT.key),
      sourceTime: timeOf(textOf(known, from + 2 * SOUGHT.sourceTime, times)),
      contentHash: contentHash(known.bytes, runsFound(), runNumbersFound()),
      content: () => (content ??= this.#content(spans, start, end)),
    };
  }

  #content(known: RecordSpans | undefined, start: number, end: number): RecordContent {
    const spans = known ?? walkSpans(this.#resource, this.#records, start, end);
    return contentOf(this.#resource, spans ?? parseRecord(this.#resource, this.#bytes(start, end)).spans());
  }

  #bytes(start: number, end: number): Buffer {
    return this.#records.bytes.subarray(start, end);
  }
}

/** The reading of a record that the walk cannot decide. */
export function parsedReading(resource: Resource, bytes: Buffer): RecordReading {
  const { sought, runs, spans } = parseRecord(resource, bytes);
  const [clientCode = "", propertyCode = "", key = "", sourceTime = ""] = sought;
  let content: RecordContent | undefined;
  return {
    clientCode,
    propertyCode,
    key,
    sourceTime: microsecondTimestamp(sourceTime),
    contentHash: contentHash(bytes, runs),
    content: () => (content ??= contentOf(resource, spans())),
  };
}
