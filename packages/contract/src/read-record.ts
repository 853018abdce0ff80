import { hash } from "node:crypto";
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
import { areSame, microsecondTimestamp, TextMemory } from "./walk-value.ts";
import { lookAt, type Warnings } from "./warnings.ts";

/** What lists filter by. */
export interface RecordFilters {
  /** The status verbatim; null for inventory. */
  readonly status: string | null;
  /** First and last date that the record is about, `YYYY-MM-DD`: the date; earliest arrival, latest departure; start, end. */
  readonly fromDate: string;
  readonly toDate: string;
}

/** A text to be written as UTF-8. */
export interface FactsText {
  /** Most bytes that it takes. */
  readonly bytesMax: () => number;
  /** Writes it to where that many bytes have room, and answers its end. */
  readonly write: (to: Buffer, at: number) => number;
  /** Where what it says stands in the record's bytes. */
  readonly spans: RecordSpans;
}

/** What a record says beyond its identity: the same for every record of one content. */
export interface RecordContent extends RecordFilters {
  /** The room types that it names, each once, in order of appearance. */
  readonly roomTypeCodes: readonly string[];
  /** Its facts as the text of a PostgreSQL array (docs/decisions/0006). */
  readonly facts: FactsText;
  readonly warnings: Warnings;
  /** The warnings of counts below zero. */
  readonly negativeCounts: Warnings;
}

/** All that apply needs of one accepted record; its bytes alone decide. The content is read when it is first asked for. */
export interface RecordReading {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** occupancyDate, reservationId or groupCode: with the two codes, the record's identity. */
  readonly key: string;
  /** ISO 8601 UTC with exactly six fractional digits and Z, so that text order is time order. */
  readonly sourceTime: string;
  /** 32 hexadecimal digits; see `contentHash`. */
  readonly contentHash: string;
  /** Throws UnreadableRecord for bytes that `checkRecord` would refuse. */
  readonly content: () => RecordContent;
}

const texts = new TextMemory();
const times = new TextMemory();

const HASH_DIGITS = 32;

// Records are about 2 kB; a larger one gets a buffer of its own, so that the process keeps no more than this.
const SCRATCH_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * The content hash of an accepted record: the first 16 bytes, as hexadecimal digits, of SHA-256 over its content verbatim, without its
 * top-level source time and correlation id. What is hashed is `{`, the runs of content joined by commas, and `}`: JSON again, so
 * records that differ in content never hash the same text. Two spellings of one content may differ.
 */
export function contentHash(record: Buffer, runs: ArrayLike<number>, numbers = runs.length): string {
  const bytes = (runs[numbers - 1] ?? 0) - (runs[0] ?? 0) + 2;
  const room = bytes <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(bytes);
  let size = 0;
  room[size++] = 0x7b;
  for (let run = 0; run < numbers; run += 2) {
    if (run > 0) room[size++] = 0x2c;
    size += record.copy(room, size, runs[run], runs[run + 1]);
  }
  room[size++] = 0x7d;
  return hash("sha256", room.subarray(0, size), "hex").slice(0, HASH_DIGITS);
}

/** The text of a member, out of a memory where the same comes again. */
function textOf({ bytes, slab, base }: RecordSpans, place: number, memory?: TextMemory): string {
  const start = (slab[base + place] as number) >>> 1;
  const end = slab[base + place + 1] as number;
  return memory === undefined ? bytes.toString("utf8", start, end) : memory.textAt(bytes, start, end);
}

/** Batches often name one time throughout. */
let lastTime = "";
let lastTimeRead = "";

function timeOf(text: string): string {
  if (text !== lastTime) {
    lastTime = text;
    lastTimeRead = microsecondTimestamp(text);
  }
  return lastTimeRead;
}

/** The list that names room types, and where the code stands in its items. */
const ROOM_TYPES: Readonly<Record<Resource, readonly [list: number, place: number]>> = {
  inventories: [LIST.rooms, PLACES.room.roomTypeCode],
  reservations: [LIST.stays, PLACES.stay.roomTypeCode],
  groups: [LIST.blocks, PLACES.block.roomTypeCode],
};

/** Items of a list that are compared with one another one by one; of more a set is made. */
const COMPARED_MAX = 16;
/** The room types of the record before, of each resource: most often those of the next. */
const lastRoomTypes: Record<Resource, readonly string[]> = { inventories: [], reservations: [], groups: [] };

/** The room types that a record names, each once, in order of appearance; whether one is named twice. */
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
    // Blocks of one room type stand together, one a date.
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
/** The bit by which ASCII's small letters differ from its large ones. */
const SMALL = 0x20;

const COLUMNS = byResource((resource) => FACT_SOURCES[resource].slice(1));

/**
 * Writes the facts of a record as the text of an array; those after the last that is given are left out. Of a list it holds what
 * stands within the braces of an array. Answers its end.
 */
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
/** Of each quote and backslash in a fact, and in an element of one. */
const FIELD_BACKSLASHES = 1;
const ELEMENT_BACKSLASHES = 3;

/** Writes the text of a span; NOT_GIVEN where the record leaves it out. */
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

/** A loop, since most are ten bytes and a call would cost more. */
function copy(bytes: Uint8Array, start: number, end: number, to: Uint8Array, from: number): number {
  let at = from;
  for (let byte = start; byte < end; byte += 1) {
    to[at] = bytes[byte] as number;
    at += 1;
  }
  return at;
}

/** Several elements are quoted, one only where it must be. Of elements that are all the same, those after the first are left empty. */
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

/** Whether a text is the word that arrays have for what is not given, in any case. */
function isNullWord(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== NULL.length) return false;
  for (let at = 0; at < NULL.length; at += 1)
    if (((bytes[start + at] as number) & ~SMALL) !== NULL[at]) return false;
  return true;
}

/** Writes an element, the nth of its list from 0; NOT_GIVEN where its item leaves it out. */
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
  const { warnings, negative, dates } = lookAt(resource, spans, isRepeated);
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

/**
 * Reads one accepted record: the bytes of a record that `checkRecord` found valid, as they were sent. The same bytes always
 * give the same reading, so a replay derives what apply derived. Throws UnreadableRecord where they name no identity or
 * source time.
 */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  return new RecordReader(resource, bytes).read(0, bytes.length);
}

/** Reads the records that lie end to end in some bytes, in their order, each as `readRecord` does. */
export class RecordReader {
  readonly #resource: Resource;
  readonly #records: RecordBytes;

  constructor(resource: Resource, bytes: Buffer) {
    this.#resource = resource;
    this.#records = new RecordBytes(bytes);
  }

  /** What comes after the head is walked over when the content is asked for: nine of ten records of a nightly push are known by then. */
  read(start: number, end: number): RecordReading {
    const head = walkHead(this.#resource, this.#records, start, end);
    if (head !== undefined) return this.#walked(head, HEAD_NUMBERS, undefined, start, end);
    const spans = walkSpans(this.#resource, this.#records, start, end);
    return spans === undefined
      ? parsedReading(this.#resource, this.#bytes(start, end))
      : this.#walked(spans, SOUGHT_FROM[this.#resource], spans, start, end);
  }

  /** The reading of a record of which `known` was walked over just now; what is sought stands from `from` on. */
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

/** The reading of a record that cannot be walked over. */
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
