import { microsecondTimestamp } from "./calendar.ts";
import { LIST, SOUGHT } from "./noted-fields.ts";
import { contentHash, parsedReading } from "./parsed-record.ts";
import type { FactsText, RecordContent, RecordReading } from "./record-reading.ts";
import type { Resource } from "./resource.ts";
import { isWhitespace } from "./scan-element.ts";
import { skipValue } from "./skip-value.ts";
import { ITEM_NUMBERS, SOUGHT_FROM, SPAN_PLANS, type SpanMember } from "./span-plan.ts";
import { TextMemory } from "./text-memory.ts";
import {
  forgetRuns,
  isGlueAt,
  memberAt,
  nameEnd,
  noteRun,
  runsFound,
  textEnd,
  walkSpace,
} from "./walk-members.ts";
import { HEAD, type RecordSpans, walkSpans } from "./walk-spans.ts";
import { UNSURE } from "./walk-value.ts";
import type { Warning } from "./warning.ts";
import { factsBytesMax, writeFacts } from "./write-facts.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Not content, and the only such member that a record may lack. */
const OPTIONAL = Buffer.from("correlationId");
/** What a record is known by, with its source time: those of SOUGHT before the status, a bit each. */
const IDENTITY_MEMBERS = SOUGHT.status;
const IDENTITY = 2 ** IDENTITY_MEMBERS - 1;
const ALL = IDENTITY | (1 << IDENTITY_MEMBERS);

/** Where some bytes come next among others, looked for once over all of them; places are asked for in order. */
class NextPlace {
  readonly #bytes: Buffer;
  readonly #wanted: Buffer | number;
  #place = -1;

  constructor(bytes: Buffer, wanted: Buffer | number) {
    this.#bytes = bytes;
    this.#wanted = wanted;
  }

  isWithin(from: number, to: number): boolean {
    if (this.#place < from) {
      const place = this.#bytes.indexOf(this.#wanted, from);
      this.#place = place < 0 ? this.#bytes.length : place;
    }
    return this.#place < to;
  }
}

/** Bytes in which records lie end to end, to be walked over in order. */
export class RecordBytes {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly #escape: NextPlace;
  readonly #optional: NextPlace;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#escape = new NextPlace(bytes, BACKSLASH);
    this.#optional = new NextPlace(bytes, OPTIONAL);
  }

  /** Whether there surely is no correlation id from one place up to another, however it is spelled. */
  hasNoCorrelationId(from: number, to: number): boolean {
    return !this.#optional.isWithin(from, to) && !this.#escape.isWithin(from, to);
  }
}

/** Of the walk that is going on: start and end of each text of the identity and of the source time, in the order of SOUGHT. */
const places = new Int32Array(2 * IDENTITY_MEMBERS);
/** Where a text of the record that was walked last begins or, of `end`, is over. */
function placeFound(sought: number, end: 0 | 1): number {
  return places[2 * sought + end] as number;
}

/**
 * Walks over the members of one accepted record up to the first that holds others, where most of its bytes are, and notes
 * what it is known by and the runs of its content: all that an unchanged record is looked at for. No name comes twice, so
 * once both members that are not content have been passed, or cannot come any more, the rest is content to its end.
 * `false` says nothing: another order, or an escape in what is looked at; the whole record is to be walked over.
 */
export function walkHead(resource: Resource, record: RecordBytes, start: number, end: number): boolean {
  const body = record.bytes;
  if (body[start] !== OPEN_OBJECT || body[end - 1] !== CLOSE_OBJECT) return false;
  const plan = SPAN_PLANS[resource];
  const soughtFrom = SOUGHT_FROM[resource];
  forgetRuns();
  let found = 0;
  let last: SpanMember | undefined;
  let at = walkSpace(body, start + 1);
  while (at < end - 1) {
    const memberStart = at;
    let member = last === undefined ? plan.first : last.next;
    if (member !== undefined && isGlueAt(record.view, at, member)) at += member.glueLength;
    else {
      member = memberAt(body, at, plan, last);
      if (nameEnd === UNSURE) return false;
      at = walkSpace(body, nameEnd);
      if (body[at] !== COLON) return false;
      at += 1;
    }
    at = walkSpace(body, at);
    if (body[at] === OPEN_ARRAY || body[at] === OPEN_OBJECT)
      return isRestContent(record, found, memberStart, end);
    if (member === undefined) at = skipValue(body, at);
    else {
      const sought = (member.sought - soughtFrom) >> 1;
      if (member.sought !== 0 && sought < IDENTITY_MEMBERS) {
        at = noteText(body, at, sought);
        found |= 1 << sought;
      } else at = skipValue(body, at);
      if (!member.isContent && member.sought === 0) found |= 1 << IDENTITY_MEMBERS;
      last = member;
    }
    if (at === UNSURE) return false;
    noteRun(memberStart, at, member === undefined || member.isContent);
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    at = walkSpace(body, at + 1);
    if (found === ALL) return isRestContent(record, found, at, end);
  }
  return at === end - 1 && (found & IDENTITY) === IDENTITY;
}

/** Whether all is found and the members from `from` on are content, which are then noted as such. */
function isRestContent(record: RecordBytes, found: number, from: number, end: number): boolean {
  if ((found & IDENTITY) !== IDENTITY) return false;
  if (found !== ALL && !record.hasNoCorrelationId(from, end)) return false;
  let over = end - 1;
  while (isWhitespace(record.bytes[over - 1] as number)) over -= 1;
  noteRun(from, over, true);
  return true;
}

/** Notes where a text that is sought stands, and answers where it is over. */
function noteText(body: Uint8Array, at: number, sought: number): number {
  if (body[at] !== QUOTE) return UNSURE;
  const end = textEnd(body, at + 1);
  if (end === UNSURE) return UNSURE;
  places[2 * sought] = at + 1;
  places[2 * sought + 1] = end;
  return end + 1;
}

const texts = new TextMemory();
const times = new TextMemory();

/** Items of a list that are compared with one another one by one; of more a set is made. */
const COMPARED_MAX = 16;
const DATES_REMEMBERED_MAX = 10_000;
const dates = new Map<number, string>();

/** The text of a date YYYYMMDD. */
function dateText(date: number): string {
  let text = dates.get(date);
  if (text === undefined) {
    const digits = String(date).padStart(8, "0");
    text = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
    if (dates.size >= DATES_REMEMBERED_MAX) dates.clear();
    dates.set(date, text);
  }
  return text;
}

/** The text of a sought member that must be there, out of a memory where the same comes again. */
function soughtText(
  resource: Resource,
  { bytes, slab, base }: RecordSpans,
  sought: keyof typeof SOUGHT,
  memory?: TextMemory,
): string {
  const place = base + SOUGHT_FROM[resource] + 2 * SOUGHT[sought];
  const start = (slab[place] as number) >>> 1;
  const end = slab[place + 1] as number;
  return memory === undefined ? bytes.toString("utf8", start, end) : memory.textAt(bytes, start, end);
}

/** The first and the last date that a record is about. */
function dateRange({ slab, base }: RecordSpans): readonly [string, string] {
  return [dateText(slab[base + HEAD.fromDate] as number), dateText(slab[base + HEAD.toDate] as number)];
}

/** Where the code of a room type stands among an item's columns. */
const ROOM_TYPE_COLUMN: Readonly<Record<Resource, number>> = { inventories: 0, reservations: 2, groups: 1 };
/** The list that names room types. */
const ROOMS_LIST: Readonly<Record<Resource, number>> = {
  inventories: LIST.rooms,
  reservations: LIST.stays,
  groups: LIST.blocks,
};

/** The room types of the record before, of each resource: most often those of the next. */
const lastRoomTypes: Record<Resource, readonly string[]> = { inventories: [], reservations: [], groups: [] };

/** The room types that a record names, each once, in order of appearance; whether one is named twice. */
function roomTypesOf(
  resource: Resource,
  spans: RecordSpans,
): { readonly codes: readonly string[]; readonly isRepeated: boolean } {
  const { bytes, slab, base } = spans;
  const column = base + ITEM_NUMBERS + 2 * ROOM_TYPE_COLUMN[resource];
  const last = lastRoomTypes[resource];
  let others: string[] | undefined;
  let previous: string | undefined;
  let isRepeated = false;
  let same = 0;
  const first = slab[base + HEAD.firstOfList + ROOMS_LIST[resource]] as number;
  for (let item = first; item !== 0; item = slab[base + item] as number) {
    const code = texts.textAt(
      bytes,
      (slab[item + column] as number) >>> 1,
      slab[item + column + 1] as number,
    );
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

class WalkedFacts implements FactsText {
  readonly #resource: Resource;
  readonly spans: RecordSpans;

  constructor(resource: Resource, spans: RecordSpans) {
    this.#resource = resource;
    this.spans = spans;
  }

  bytesMax(): number {
    return factsBytesMax(this.spans);
  }

  write(to: Buffer, at: number): number {
    return writeFacts(this.#resource, this.spans, to, at);
  }
}

/**
 * All that apply needs of a record whose head was walked over just now. The rest of it is walked over when its content is
 * asked for: nine of ten records of a nightly push are known by then.
 */
function headReading(resource: Resource, records: RecordBytes, start: number, end: number): RecordReading {
  const { bytes } = records;
  let content: RecordContent | undefined;
  return {
    clientCode: headText(bytes, SOUGHT.clientCode, texts),
    propertyCode: headText(bytes, SOUGHT.propertyCode, texts),
    key: headText(bytes, SOUGHT.key),
    sourceTime: timeOf(headText(bytes, SOUGHT.sourceTime, times)),
    contentHash: contentHash(bytes, runsFound()),
    content: () => (content ??= wholeContent(resource, records, start, end)),
  };
}

function headText(bytes: Buffer, sought: number, memory?: TextMemory): string {
  const [start, end] = [placeFound(sought, 0), placeFound(sought, 1)];
  return memory === undefined ? bytes.toString("utf8", start, end) : memory.textAt(bytes, start, end);
}

function wholeContent(
  resource: Resource,
  { bytes, view }: RecordBytes,
  start: number,
  end: number,
): RecordContent {
  const spans = walkSpans(resource, bytes, view, start, end);
  const walked = spans === undefined ? undefined : walkedContent(resource, spans);
  return walked ?? parsedReading(resource, bytes.subarray(start, end)).content();
}

/** All that apply needs of a record, by walking over the whole of it or, where it is unusual, by parsing it. */
function wholeReading(
  resource: Resource,
  { bytes, view }: RecordBytes,
  start: number,
  end: number,
): RecordReading {
  const spans = walkSpans(resource, bytes, view, start, end);
  if (spans === undefined) return parsedReading(resource, bytes.subarray(start, end));
  let content: RecordContent | undefined;
  return {
    clientCode: soughtText(resource, spans, "clientCode", texts),
    propertyCode: soughtText(resource, spans, "propertyCode", texts),
    key: soughtText(resource, spans, "key"),
    sourceTime: timeOf(soughtText(resource, spans, "sourceTime", times)),
    contentHash: contentHash(bytes, runsFound()),
    content: () =>
      (content ??=
        walkedContent(resource, spans) ?? parsedReading(resource, bytes.subarray(start, end)).content()),
  };
}

const NO_WARNINGS: readonly Warning[] = [];

/** Undefined where there is something to be warned of. */
function walkedContent(resource: Resource, spans: RecordSpans): RecordContent | undefined {
  const { codes, isRepeated } = roomTypesOf(resource, spans);
  if (isRepeated && resource === "inventories") return undefined;
  const [fromDate, toDate] = dateRange(spans);
  return {
    status: resource === "inventories" ? null : soughtText(resource, spans, "status", texts),
    fromDate,
    toDate,
    roomTypeCodes: codes,
    facts: new WalkedFacts(resource, spans),
    warnings: NO_WARNINGS,
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

  read(start: number, end: number): RecordReading {
    return walkHead(this.#resource, this.#records, start, end)
      ? headReading(this.#resource, this.#records, start, end)
      : wholeReading(this.#resource, this.#records, start, end);
  }
}
