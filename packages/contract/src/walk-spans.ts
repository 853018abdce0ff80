import { isForbiddenName } from "./inspect-element.ts";
import { LIST, SLOT } from "./noted-fields.ts";
import { forgetRecord, forgetSlots, isWarningFree, noted, TOO_LONG, UNITS_MAX } from "./noted-warnings.ts";
import { RESOURCES, type Resource } from "./resource.ts";
import { isWhitespace, skipWhitespace } from "./scan-element.ts";
import { CODE_CHARACTERS_MAX, type FieldSchema, ITEMS_MAX, TEXT_CHARACTERS_MAX } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import {
  GLUE_WORDS,
  HEAD_NUMBERS,
  ITEM_NUMBERS,
  SPAN_PLANS,
  type SpanMember,
  type SpanPlan,
  UNKNOWN_NUMBER,
  WALK,
} from "./span-plan.ts";
import {
  digitAt,
  skipValue,
  standsAt,
  UNSURE,
  walkBoolean,
  walkDate,
  walkNull,
  walkText,
  walkTimestamp,
} from "./walk-value.ts";

// Compiled code knows what a module's own constants are, and has to look at those of others each time.
const slots = noted;
const WORDS = GLUE_WORDS;
const { stays: STAYS, days: DAYS, rooms: ROOMS } = LIST;
const { skip: SKIP, date: DATE, timestamp: TIMESTAMP, count: COUNT, integer: INTEGER } = WALK;
const { decimal: DECIMAL, array: ARRAY, object: OBJECT, boundedText: BOUNDED_TEXT } = WALK;
const { boolean: BOOLEAN, word: WORD, flagOrCode: FLAG_OR_CODE, stop: STOP_HERE } = WALK;

const QUOTE = 0x22;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const LETTER_F = 0x66;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const NO_VIEW = new DataView(new ArrayBuffer(0));

/**
 * Where the columns of a record stand in its bytes: numbers in a slab that many records share, from `base` on. First HEAD,
 * then two numbers a column of the record itself (see `spanStart`), then items as they came: the place of the next of their
 * list, the place of their stay, and their columns. Places count from `base`.
 */
export interface RecordSpans {
  readonly bytes: Buffer;
  readonly slab: Int32Array;
  readonly base: number;
}

/** What the numbers at the front are: the first items of the lists (0 for none), and so on. */
export const HEAD = {
  firstOfList: 0,
  /** First and last date, YYYYMMDD. */
  fromDate: 3,
  toDate: 4,
  /** How many room types are not virtual. */
  regularRooms: 5,
  /** Most bytes that its facts take. */
  factsBytesMax: 6,
} as const;

/** Two numbers a span: where it begins, doubled, with 1 for a text that rows and arrays must quote; and where it ends. 0, 0 for none. */

const LISTS = 3;
/** Of an object of which nothing is kept but what is judged. */
const NO_ITEM = -1;

/** Pairs of a day and a stay that are looked at one by one. */
const DAYS_TIMES_STAYS_MAX = 4_096;

const ASCII_MAX = 0x7f;

/** Decimals as `walkDecimal` takes them, and how money in ten-thousandths is counted by the digits of its fraction. */
const NUMBER_CHARACTERS_MAX = 15;
const DECIMAL_TEXT_CHARACTERS_MAX = 30;
const UNITS_BY_SCALE = [10_000, 1_000, 100, 10, 1] as const;
const WHOLE_DIGITS_MAX = 9;

/** A quarter of a million numbers: those of some hundreds of records. */
const SLAB_NUMBERS = 262_144;
/** Facts of a column of an item that are not in its record's bytes: `NULL,` or `,\"\"`, or the place of a stay. */
export const COLUMN_BYTES = 8;

/** What a byte of a text is: it means itself in rows and arrays, has to be quoted there, or ends what can be told here. */
const PLAIN = 0;
const TO_QUOTE = 1;
const STOP = 2;
const TEXT_CLASS = new Uint8Array(256).fill(STOP, 0, 0x20).fill(TO_QUOTE, 0x20).fill(PLAIN, 0x21, 0x7f);
for (const byte of Buffer.from(",{}()")) TEXT_CLASS[byte] = TO_QUOTE;
for (const byte of Buffer.from('"\\')) TEXT_CLASS[byte] = STOP;

// Of the walk that is going on; one runs at a time, from its begin to its end.
let slab = new Int32Array(SLAB_NUMBERS);
let base = 0;
let top = 0;
let view: DataView = new DataView(new ArrayBuffer(0));
/** How many items each list has, and its last. */
const counts = new Int32Array(LISTS);
const lasts = new Int32Array(LISTS);
let isCheck = false;
/** Of a check: bytes that it looks at, values as `scanElement` counts them, and the objects that it began. */
let bytesEnd = 0;
let values = 0;
let objects = 0;
/** The unknown names of a record that is checked, each in its quotes; a record with more is left to the other way. */
let unknowns: { readonly object: number; readonly quoted: Uint8Array }[] = [];
const UNKNOWNS_MAX = 8;
/** Of a head: where the member begins before which it ended, and the members that were passed. */
let stopAt = 0;
let seenAtStop = 0;
/** Where the known name that `memberAt` found is over. */
let nameEnd = 0;
/** Start and end of each run of content. Two members are none, so there are at most three. */
const runs = new Int32Array(8);
let isRunOpen = false;
let runNumbers = 0;

/** The slots of the first and the last date that a record is about. */
const RANGES: Readonly<Record<Resource, readonly [number, number]>> = {
  inventories: [SLOT.occupancyDate, SLOT.occupancyDate],
  reservations: [SLOT.first, SLOT.last],
  groups: [SLOT.startDate, SLOT.endDate],
};

/** Not content, and the only such member that a record may lack. */
const OPTIONAL = Buffer.from("correlationId");
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

/** Where one record is over by a plan, the walk's notes at `base`; UNSURE where that cannot be told. */
function walkBy(plan: SpanPlan, bytes: Buffer, chunk: DataView, start: number): number {
  view = chunk;
  base = top;
  isCheck = plan.mode === "check";
  runNumbers = 0;
  isRunOpen = false;
  for (let list = 0; list < LISTS; list += 1) {
    counts[list] = 0;
    lasts[list] = 0;
  }
  take(plan.numbers);
  slab.fill(0, base, top);
  const over = bytes[start] === OPEN_OBJECT ? walkObject(bytes, start + 1, plan, 0) : UNSURE;
  view = NO_VIEW;
  return over;
}

/** Gives back what the walk noted. */
function release(): void {
  slab.fill(0, base, top);
  top = base;
}

/**
 * Walks over the bytes of one accepted record and notes where each of its facts stands, what it is known by, and (see
 * `runsFound`) the runs of top-level members that are content: what `scanRecord` finds, the parse would give and
 * `warn-of-…` would look at, in one pass that allocates nothing. Undefined says nothing: whatever is unusual (an escape in
 * what is looked at, a leading zero, an exponent, a name twice, whatever is to be warned of) is left to the scan and the
 * parse.
 */
export function walkSpans(
  resource: Resource,
  { bytes, view: chunk }: RecordBytes,
  start: number,
  end: number,
): RecordSpans | undefined {
  forgetRecord();
  bytesEnd = end;
  const plan = SPAN_PLANS.facts[resource];
  const over = walkBy(plan, bytes, chunk, start);
  if (over === end && isSettled(resource, bytes)) {
    const most = end - start + COLUMN_BYTES * plan.numbers;
    slab[base + HEAD.factsBytesMax] = (slab[base + HEAD.factsBytesMax] as number) + most;
    return { bytes, slab, base };
  }
  release();
  return undefined;
}

/**
 * Walks over the members of one accepted record up to the first that holds others, where most of its bytes are, and notes
 * what it is known by and the runs of its content: all that an unchanged record is looked at for. No name comes twice, so
 * once both members that are not content have been passed, or cannot come any more, the rest is content to its end.
 * Undefined says nothing: another order, or an escape in what is looked at; the whole record is to be walked over. What is
 * found is there until the next walk.
 */
export function walkHead(
  resource: Resource,
  record: RecordBytes,
  start: number,
  end: number,
): RecordSpans | undefined {
  const { bytes, view: chunk } = record;
  if (bytes[end - 1] !== CLOSE_OBJECT) return undefined;
  const plan = SPAN_PLANS.head[resource];
  stopAt = 0;
  const over = walkBy(plan, bytes, chunk, start);
  top = base;
  if (over !== UNSURE) return over === end ? { bytes, slab, base } : undefined;
  if (stopAt === 0 || (seenAtStop & plan.requiredBits) !== plan.requiredBits) return undefined;
  const isAll = (seenAtStop & plan.enoughBits) === plan.enoughBits;
  if (!isAll && !record.hasNoCorrelationId(stopAt, end)) return undefined;
  let last = end - 1;
  while (isWhitespace(bytes[last - 1] as number)) last -= 1;
  noteRun(stopAt, last, true);
  return { bytes, slab, base };
}

/** What the check of a valid record found. */
export interface RecordWalk {
  /** Where it ends: after its closing brace. */
  end: number;
  /** As many as `scanElement` counts. */
  values: number;
  clientCode: string;
  propertyCode: string;
  /** Where its source time begins, after the quote. */
  sourceTimeAt: number;
}

/** A walk's findings, to be filled by `walkRecord`, one for a batch: equal codes are then one text. */
export function newRecordWalk(): RecordWalk {
  return { end: 0, values: 0, clientCode: "", propertyCode: "", sourceTimeAt: 0 };
}

/** How deep the records of a schema nest: an object without members that nest is 1. */
function depthOf({ fieldKind, items, properties = {} }: FieldSchema): number {
  const below = items === undefined ? Object.values(properties) : [items];
  const deepest = Math.max(0, ...below.map(depthOf));
  return fieldKind === "object" || fieldKind === "array" ? deepest + 1 : deepest;
}

const DEPTHS = new Map(RESOURCES.map((resource) => [resource, depthOf(RECORD_SCHEMAS[resource])]));

/** Whether no valid record of known fields nests deeper than the limit, the batch's own array counted as 1. */
export function canWalk(resource: Resource, depthMax: number): boolean {
  return (DEPTHS.get(resource) as number) < depthMax;
}

/**
 * Walks over the bytes of one record and says whether they surely are a valid one: strict JSON, fields of the contract
 * only, each once, and each value one that `findViolations` takes. One pass, nothing allocated, a third of
 * what parsing it and checking the value takes. `false` says nothing: whatever is unusual (an unknown field, a `\u`
 * escape, an exponent, a fault) is left to the scan, the parse and the check, which alone know messages and places.
 * The body is well-formed UTF-8; it looks at few more than `bytesMax` bytes.
 */
export function walkRecord(
  resource: Resource,
  body: Buffer,
  chunk: DataView,
  [start, bytesMax]: readonly [number, number],
  walk: RecordWalk,
): boolean {
  values = 2;
  bytesEnd = start + bytesMax;
  const end = walkBy(SPAN_PLANS.check[resource], body, chunk, start);
  // They are parts of the body, which is not to be kept by them.
  if (unknowns.length > 0) unknowns = [];
  const isWalked = end !== UNSURE && end <= bytesEnd;
  const client = isWalked ? codeOf(body, base + HEAD_NUMBERS, walk.clientCode) : undefined;
  const property = isWalked ? codeOf(body, base + HEAD_NUMBERS + 2, walk.propertyCode) : undefined;
  const sourceTime = (slab[base + HEAD_NUMBERS + 6] as number) >>> 1;
  release();
  if (client === undefined || property === undefined) return false;
  walk.end = end;
  walk.values = values;
  walk.clientCode = client;
  walk.propertyCode = property;
  walk.sourceTimeAt = sourceTime;
  return true;
}

/** The text of a code that was walked over, without an escape; the one of the last record again where it is the same. */
function codeOf(body: Buffer, place: number, last: string): string | undefined {
  const start = (slab[place] as number) >>> 1;
  const end = slab[place + 1] as number;
  let same = end - start === last.length;
  for (let at = start; at < end; at += 1) {
    const byte = body[at] as number;
    if (byte === BACKSLASH) return undefined;
    // A character beyond ASCII is no byte of its code, and then the text is made anew.
    if (byte > ASCII_MAX || (same && last.charCodeAt(at - start) !== byte)) same = false;
  }
  return same ? last : body.toString("utf8", start, end);
}

/** Takes a member of the record itself into the runs of content, or ends the last run. */
function noteRun(start: number, end: number, isContent: boolean): void {
  if (!isContent) isRunOpen = false;
  else if (isRunOpen) runs[runNumbers - 1] = end;
  else {
    isRunOpen = true;
    runs[runNumbers] = start;
    runs[runNumbers + 1] = end;
    runNumbers += 2;
  }
}

/** Start and end of each run of content of the record that was walked last. */
export function runsFound(): Int32Array {
  return runs.subarray(0, runNumbers);
}

/** Room for so many numbers, all 0; answers their place. A record lies in one slab. */
function take(numbers: number): number {
  if (top + numbers > slab.length) {
    const larger = new Int32Array(Math.max(SLAB_NUMBERS, (top - base + numbers) * 2));
    larger.set(slab.subarray(base, top));
    slab = larger;
    top -= base;
    base = 0;
  }
  const place = top - base;
  top += numbers;
  return place;
}

/** What can only be said of a whole record. */
function isSettled(resource: Resource, bytes: Buffer): boolean {
  const [first, last] = RANGES[resource];
  const from = slots[first] as number;
  const to = slots[last] as number;
  if (Number.isNaN(from) || Number.isNaN(to)) return false;
  slab[base + HEAD.fromDate] = from;
  slab[base + HEAD.toDate] = to;
  return resource !== "reservations" || areDaysOfStays(bytes);
}

/** As StayDates has it, where one stay does not settle it: each day lies within a stay. */
function areDaysOfStays(bytes: Buffer): boolean {
  const stays = counts[STAYS] as number;
  const days = counts[DAYS] as number;
  if (stays === 1) return true;
  if (stays * days > DAYS_TIMES_STAYS_MAX) return false;
  for (let day = firstOf(DAYS); day !== 0; day = slab[base + day] as number) {
    const date = dateAt(bytes, day + ITEM_NUMBERS);
    let stay = firstOf(STAYS);
    while (stay !== 0 && !isWithin(date, bytes, stay)) stay = slab[base + stay] as number;
    if (stay === 0) return false;
  }
  return true;
}

function firstOf(list: number): number {
  return slab[base + HEAD.firstOfList + list] as number;
}

/** Arrival and departure are a stay's first two columns. */
function isWithin(date: number, bytes: Buffer, stay: number): boolean {
  return date >= dateAt(bytes, stay + ITEM_NUMBERS) && date <= dateAt(bytes, stay + ITEM_NUMBERS + 2);
}

function dateAt(bytes: Buffer, column: number): number {
  return walkDate(bytes, (slab[base + column] as number) >>> 1);
}

function walkSpace(body: Uint8Array, at: number): number {
  return (body[at] as number) <= SPACE ? skipWhitespace(body, at) : at;
}

/** Whether a member's name and colon stand at `at`: four bytes at a time, since names are most of a record's bytes. */
function isGlueAt(at: number, { glueLength, wordFirst, wordLast }: SpanMember): boolean {
  const last = at + glueLength - 4;
  if (last + 4 > view.byteLength) return false;
  let here = at;
  for (let word = wordFirst; word < wordLast; word += 1) {
    if (view.getInt32(here, true) !== WORDS[word]) return false;
    here += 4;
  }
  return view.getInt32(last, true) === WORDS[wordLast];
}

/** The member whose name stands at `at`, and in `nameEnd` where that is over. It is remembered as the one that comes after `last`. */
function memberAt(
  body: Uint8Array,
  at: number,
  plan: SpanPlan,
  last: SpanMember | undefined,
): SpanMember | undefined {
  const expected = last === undefined ? plan.first : last.next;
  let member = expected;
  if (member === undefined || !standsAt(body, at, member.quoted)) {
    member = plan.members.find(({ quoted }) => standsAt(body, at, quoted));
    if (member === undefined) return undefined;
    if (last === undefined) plan.first = member;
    else last.next = member;
  }
  nameEnd = at + member.quoted.length;
  return member;
}

/** Where the object is over whose first byte after the brace stands at `from`; its numbers are kept from `item` on. */
function walkObject(body: Uint8Array, from: number, plan: SpanPlan, item: number): number {
  forgetSlots(plan.slotFirst, plan.slotLast);
  objects += 1;
  const object = objects;
  let at = walkSpace(body, from);
  let seen = 0;
  let last: SpanMember | undefined;
  while (body[at] !== CLOSE_OBJECT) {
    const start = at;
    let member = last === undefined ? plan.first : last.next;
    if (member !== undefined && isGlueAt(at, member)) at = walkSpace(body, at + member.glueLength);
    else {
      member = memberAt(body, at, plan, last);
      at = walkColon(body, member === undefined ? unknownEnd(body, at, object) : nameEnd);
      if (at === UNSURE) return UNSURE;
    }
    if (member === undefined) at = isCheck ? walkUnknown(body, at) : skipValue(body, at);
    else {
      if ((seen & member.bit) !== 0) return UNSURE;
      if (member.kind === STOP_HERE) return stopBefore(start, seen);
      seen |= member.bit;
      at = walkMember(body, at, member, item);
      last = member;
    }
    if (at === UNSURE) return UNSURE;
    if (item === 0) noteRun(start, at, member === undefined || member.isContent);
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    values += 1;
    at = walkSpace(body, at + 1);
    if (body[at] !== QUOTE) return UNSURE;
    if ((seen & plan.enoughBits) === plan.enoughBits) return stopBefore(at, seen);
  }
  if (body[at] !== CLOSE_OBJECT || (seen & plan.requiredBits) !== plan.requiredBits) return UNSURE;
  // The dates of a period must be in order; where one is absent there is nothing to compare.
  const isFine = isCheck
    ? !((slots[plan.slotLast] as number) < (slots[plan.slotFirst] as number))
    : isWarningFree(plan.kind);
  return isFine ? at + 1 : UNSURE;
}

function stopBefore(at: number, seen: number): number {
  stopAt = at;
  seenAtStop = seen;
  return UNSURE;
}

/** Where the value begins before which a colon is to stand. */
function walkColon(body: Uint8Array, from: number): number {
  const at = walkSpace(body, from);
  return body[at] === COLON ? walkSpace(body, at + 1) : UNSURE;
}

/** Where the unknown name at `at` is over. With an escape in it, it may be any name. In a check it must be new in its object. */
function unknownEnd(body: Uint8Array, at: number, object: number): number {
  if (body[at] !== QUOTE) return UNSURE;
  const limit = isCheck ? at + CODE_CHARACTERS_MAX + 1 : body.length - 1;
  let end = at + 1;
  while (end <= limit && body[end] !== QUOTE) {
    if (!((body[end] as number) >= SPACE) || body[end] === BACKSLASH) return UNSURE;
    end += 1;
  }
  if (end > limit) return UNSURE;
  return !isCheck || isNewName(body.subarray(at, end + 1), object) ? end + 1 : UNSURE;
}

/** Notes an unknown name; false for one that is forbidden, or came in this object already. */
function isNewName(quoted: Uint8Array, object: number): boolean {
  if (unknowns.length === UNKNOWNS_MAX) return false;
  for (const other of unknowns)
    if (other.object === object && standsAt(quoted, 0, other.quoted)) return false;
  unknowns.push({ object, quoted });
  return !isForbiddenName(Buffer.from(quoted.subarray(1, -1)).toString("latin1"));
}

/** Where the value of an unknown member is over: such are kept as sent, simple values at least. */
function walkUnknown(body: Uint8Array, at: number): number {
  switch (body[at]) {
    case QUOTE:
      return walkText(body, at + 1, TEXT_CHARACTERS_MAX);
    case LETTER_N:
      return walkNull(body, at);
    case LETTER_T:
    case LETTER_F:
      return walkBoolean(body, at);
    default:
      return walkDecimal(body, at, UNKNOWN_NUMBER, NO_ITEM);
  }
}

/** Where the value at `at` is over. */
function walkMember(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const { kind } = member;
  if (kind === SKIP) return skipValue(body, at);
  const byte = body[at];
  if (byte === LETTER_N) return member.nullable ? walkNull(body, at) : UNSURE;
  if (kind <= TIMESTAMP) return byte === QUOTE ? walkQuoted(body, at + 1, member, item) : UNSURE;
  switch (kind) {
    case DECIMAL:
      return walkDecimal(body, at, member, item);
    case COUNT:
    case INTEGER:
      return walkWhole(body, at, member, item);
    case ARRAY:
      return walkItems(body, at, member);
    case OBJECT:
      values += 1;
      return byte === OPEN_OBJECT ? walkObject(body, at + 1, member.inner as SpanPlan, NO_ITEM) : UNSURE;
    case BOUNDED_TEXT:
      return walkBoundedText(body, at, member, item);
    case BOOLEAN:
      return walkBoolean(body, at);
    case FLAG_OR_CODE:
      return byte === QUOTE ? walkBoundedText(body, at, member, item) : walkBoolean(body, at);
    case WORD: {
      const found = member.words.find((word) => standsAt(body, at + 1, word));
      return found === undefined || byte !== QUOTE ? UNSURE : at + 1 + found.length;
    }
    default:
      return UNSURE;
  }
}

/** Where the text at `at` is over, whose length is checked; it may have escapes. */
function walkBoundedText(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  if (body[at] !== QUOTE) return UNSURE;
  const end = walkText(body, at + 1, member.lengthMax);
  if (end - at - 2 < member.lengthMin) return UNSURE;
  keep(member, item, (at + 1) * 2, end - 1);
  return end;
}

/** Keeps a span, from `start` (doubled, with the mark) up to `end`, where its member is a column or sought. */
function keep({ column, sought }: SpanMember, item: number, start: number, end: number): void {
  if (column !== 0) {
    slab[base + item + column] = start;
    slab[base + item + column + 1] = end;
  }
  if (sought !== 0) {
    slab[base + sought] = start;
    slab[base + sought + 1] = end;
  }
}

/** Where the text, date or time is over whose first byte after the quote stands at `at`. */
function walkQuoted(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  let end = at;
  let mark = PLAIN;
  if (member.kind === DATE) {
    const date = walkDate(body, at);
    if (date === UNSURE || body[at + 10] !== QUOTE) return UNSURE;
    slots[member.slot] = date;
    end = at + 10;
  } else if (member.kind === TIMESTAMP) {
    end = walkTimestamp(body, at) - 1;
    if (end < at) return UNSURE;
  } else {
    let of = TEXT_CLASS[body[end] as number] as number;
    while (of < STOP) {
      mark |= of;
      end += 1;
      of = TEXT_CLASS[body[end] as number] as number;
    }
    if (body[end] !== QUOTE) return UNSURE;
    if (end === at) mark = TO_QUOTE;
  }
  keep(member, item, at * 2 + mark, end);
  return end + 1;
}

/** Where the whole number at `at` is over. Counts below zero are to be warned of. */
function walkWhole(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const isQuoted = body[at] === QUOTE;
  const start = isQuoted ? at + 1 : at;
  const isBelow = body[start] === MINUS;
  if (isBelow && !isCheck && member.kind === COUNT) return UNSURE;
  const from = isBelow ? start + 1 : start;
  let end = from;
  let value = 0;
  for (let digit = digitAt(body, end); digit <= 9; digit = digitAt(body, end)) {
    value = value * 10 + digit;
    end += 1;
  }
  const digits = end - from;
  if (digits === 0 || digits > WHOLE_DIGITS_MAX) return UNSURE;
  // JSON numbers and facts have no leading zeros, and facts no zero below zero.
  const isPadded = body[from] === ZERO && (digits > 1 || isBelow);
  if (isPadded && !(isCheck && (isQuoted || digits === 1))) return UNSURE;
  if (isQuoted && body[end] !== QUOTE) return UNSURE;
  slots[member.slot] = value;
  keep(member, item, start * 2, end);
  return isQuoted ? end + 1 : end;
}

/** Where the decimal at `at` is over. A text is a fact as it was sent; a number is without zeros at its end. */
function walkDecimal(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const isQuoted = body[at] === QUOTE;
  const start = isQuoted ? at + 1 : at;
  const isBelow = body[start] === MINUS;
  const from = isBelow ? start + 1 : start;
  let end = from;
  let units = 0;
  for (let digit = digitAt(body, end); digit <= 9; digit = digitAt(body, end)) {
    units = units * 10 + digit;
    end += 1;
  }
  const digits = end - from;
  let scale = 0;
  if (body[end] === POINT) {
    end += 1;
    for (let digit = digitAt(body, end); digit <= 9; digit = digitAt(body, end)) {
      units = units * 10 + digit;
      scale += 1;
      end += 1;
    }
    if (scale === 0) return UNSURE;
  }
  if (digits === 0) return UNSURE;
  const money = scale < UNITS_BY_SCALE.length ? units * (UNITS_BY_SCALE[scale] as number) : TOO_LONG;
  slots[member.slot] = money < UNITS_MAX ? (isBelow ? -money : money) : TOO_LONG;
  if (isQuoted) {
    if (end - start > DECIMAL_TEXT_CHARACTERS_MAX || body[end] !== QUOTE) return UNSURE;
    keep(member, item, start * 2, end);
    return end + 1;
  }
  if (end - start > NUMBER_CHARACTERS_MAX || (digits > 1 && body[from] === ZERO)) return UNSURE;
  if (isCheck) return end;
  if (isBelow && units === 0) return UNSURE;
  let factEnd = end;
  if (scale > 0) {
    while (body[factEnd - 1] === ZERO) factEnd -= 1;
    if (body[factEnd - 1] === POINT) factEnd -= 1;
  }
  keep(member, item, start * 2, factEnd);
  return end;
}

/** Where the array is over that begins at `from`. */
function walkItems(body: Uint8Array, from: number, member: SpanMember): number {
  if (body[from] !== OPEN_ARRAY) return UNSURE;
  const { inner: plan, items: item } = member;
  // Facts have virtual room types last, wherever they stand.
  const isRegular = member.name === "roomTypeInventories";
  if (isRegular && counts[ROOMS] !== 0) return UNSURE;
  values += 1;
  let at = walkSpace(body, from + 1);
  let items = 0;
  while (body[at] !== CLOSE_ARRAY || items > 0) {
    items += 1;
    if (items > ITEMS_MAX || at > bytesEnd) return UNSURE;
    if (plan === undefined) at = walkMember(body, at, item as SpanMember, NO_ITEM);
    else {
      if (body[at] !== OPEN_OBJECT) return UNSURE;
      values += 1;
      at = walkObject(body, at + 1, plan, plan.list < 0 ? NO_ITEM : newItem(plan));
    }
    if (at === UNSURE) return UNSURE;
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    values += 1;
    at = walkSpace(body, at + 1);
  }
  if (isRegular) slab[base + HEAD.regularRooms] = counts[ROOMS] as number;
  return body[at] === CLOSE_ARRAY && items >= member.itemsMin ? at + 1 : UNSURE;
}

/** The place of another item of a list. */
function newItem({ list, numbers }: SpanPlan): number {
  const place = take(numbers);
  const last = lasts[list] as number;
  slab[base + (last === 0 ? HEAD.firstOfList + list : last)] = place;
  lasts[list] = place;
  counts[list] = (counts[list] as number) + 1;
  slab[base + place + 1] = (counts[STAYS] as number) - 1;
  slab[base + HEAD.factsBytesMax] = (slab[base + HEAD.factsBytesMax] as number) + COLUMN_BYTES * numbers;
  return place;
}
