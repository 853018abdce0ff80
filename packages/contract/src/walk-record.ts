import { WALK } from "./field-kinds.ts";
import {
  GLUE_WORDS,
  HEAD,
  HEAD_NUMBERS,
  LIST,
  LISTS,
  SPAN_PLANS,
  type SpanMember,
  type SpanPlan,
  UNKNOWN_LIST,
  UNKNOWN_OBJECT,
} from "./record-plan.ts";
import type { Resource } from "./resource.ts";
import { CODE_CHARACTERS_MAX, ITEMS_MAX, isBlank, TEXT_CHARACTERS_MAX } from "./schema/field.ts";
import { type misspeltFields, UNKNOWN_NAMES_MAX } from "./similar-fields.ts";
import {
  areSame,
  digitAt,
  isWhitespace,
  SHORT_NUMBER_CHARACTERS_MAX,
  skipValue,
  skipWhitespace,
  standsAt,
  TextMemory,
  UNSURE,
  walkBoolean,
  walkDate,
  walkNull,
  walkText,
  walkTimestamp,
} from "./walk-value.ts";

// V8 inlines a module's own constants, but not imported ones.
const WORDS = GLUE_WORDS;
const LISTS_MAX = LISTS;
const { stays: STAYS, rooms: ROOMS } = LIST;
const { skip: SKIP, text: TEXT, currency: CURRENCY, date: DATE, timestamp: TIMESTAMP } = WALK;
const { whole: WHOLE, decimal: DECIMAL } = WALK;
const { array: ARRAY, object: OBJECT, boundedText: BOUNDED_TEXT, boolean: BOOLEAN } = WALK;
const { flagOrCode: FLAG_OR_CODE, codeOrObject: CODE_OR_OBJECT, stop: STOP_HERE } = WALK;
const { unknown: UNKNOWN } = WALK;

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
const LETTER_A = 0x41;
const LETTER_Z = 0x5a;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const LETTER_F = 0x66;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const decoder = new TextDecoder();
/** Length of an ISO 4217 code. */
const CURRENCY_LETTERS = 3;
/** Names of 40 characters, the longest compared. */
const NAME_BYTES_MAX = 160;
const names = new TextMemory();
const NO_VIEW = new DataView(new ArrayBuffer(0));

/**
 * The spans of the kept members of a record: numbers in a slab shared by many records, from `base` on. First HEAD, then the record's spans,
 * then items in order: the place of the next item of the list, the place of their stay, and their spans. A span is two numbers: its start
 * doubled, plus 1 for a text that arrays must quote, and its end; 0, 0 if absent. Places are relative to `base`.
 */
export interface RecordSpans {
  readonly bytes: Buffer;
  readonly slab: Int32Array;
  readonly base: number;
  /** Only of a parsed record that has some. */
  readonly misspelt?: ReturnType<typeof misspeltFields>;
}

/** The item of an object without kept members. */
const NO_ITEM = -1;

const ASCII_MAX = 0x7f;
const DECIMAL_TEXT_CHARACTERS_MAX = 30;
const WHOLE_DIGITS_MAX = 9;
const NUMBER_CHARACTERS_MAX = 64;

/** Holds some hundreds of records. */
const SLAB_NUMBERS = 262_144;
/** Bytes per item and column of facts that are not in the record: `NULL,`, `,\"\"`, or the number of a stay. */
export const COLUMN_BYTES = 8;

/** Classes of bytes in a string: plain in arrays, to be quoted there, or undecidable by the walk. */
const PLAIN = 0;
const TO_QUOTE = 1;
const STOP = 2;
const TEXT_CLASS = new Uint8Array(256).fill(STOP, 0, 0x20).fill(TO_QUOTE, 0x20).fill(PLAIN, 0x21, 0x7f);
for (const byte of Buffer.from(",{}()")) TEXT_CLASS[byte] = TO_QUOTE;
for (const byte of Buffer.from('"\\')) TEXT_CLASS[byte] = STOP;

// State of the current walk; walks are synchronous.
let slab = new Int32Array(SLAB_NUMBERS);
let base = 0;
let top = 0;
let view: DataView = NO_VIEW;
let viewBytes = 0;
/** The number of items of each list, and its last item. */
const counts = new Int32Array(LISTS);
const lasts = new Int32Array(LISTS);
/** State of a check: limits of bytes and depth, and the number of values as counted by `scanElement`. */
let isCheck = false;
/** Of facts: whether unknown names are compared with the contract's, and how many were in this record. */
let isFacts = false;
let namesCompared = 0;
/** Whether null is valid in optional members: of a check as its client is set, of an accepted record always. */
let areNullsAbsent = false;
let bytesEnd = 0;
let depthMax = 0;
let depth = 0;
let values = 0;
/** The last date walked, as YYYYMMDD; 0: a null. */
let date = 0;
/** Start and end of unknown names in open objects, including quotes. A record with more is parsed. */
const unknowns = new Int32Array(2 * 32);
let unknownNumbers = 0;
/** State of a head: the position of the member that ended it, and the members before. */
let stopAt = 0;
let seenAtStop = 0;
/** The end of the name found by `memberAt`. */
let nameEnd = 0;
/** Start and end of each run of content: at most three, because two members are not content. */
const runs = new Int32Array(8);
let isRunOpen = false;
let runNumbers = 0;

/** The only optional member that is not content. */
const OPTIONAL = Buffer.from("correlationId");

/** Names that reach an object's prototype in JavaScript. */
const FORBIDDEN_NAMES = ["__proto__", "constructor", "prototype"].map((name) => Buffer.from(`"${name}"`));

/** Finds occurrences of some bytes, searching forward only once. Positions must be requested in order. */
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

/** Concatenated records, to be walked in order. */
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

  /** Whether a range certainly has no correlation id, even with an escaped name. */
  hasNoCorrelationId(from: number, to: number): boolean {
    return !this.#optional.isWithin(from, to) && !this.#escape.isWithin(from, to);
  }
}

/** Walks one record by a plan, writing from `base` on, and returns its end or UNSURE. */
function walkBy(plan: SpanPlan, bytes: Buffer, chunk: DataView, start: number): number {
  view = chunk;
  viewBytes = bytes.length;
  base = top;
  isCheck = plan.mode === "check";
  isFacts = plan.mode === "facts";
  namesCompared = 0;
  runNumbers = 0;
  isRunOpen = false;
  unknownNumbers = 0;
  depth = 1;
  for (let list = 0; list < LISTS_MAX; list += 1) {
    counts[list] = 0;
    lasts[list] = 0;
  }
  take(plan.numbers);
  slab.fill(0, base, top);
  const over = bytes[start] === OPEN_OBJECT ? walkObject(bytes, start + 1, plan, 0) : UNSURE;
  view = NO_VIEW;
  return over;
}

function release(): void {
  slab.fill(0, base, top);
  top = base;
}

/**
 * Finds the spans of an accepted record, and its runs of content (`runsFound`), in one pass without allocations. Undefined for unusual
 * records (an escape in a kept value, a leading zero, an exponent, a repeated name), which are parsed instead.
 */
export function walkSpans(
  resource: Resource,
  { bytes, view: chunk }: RecordBytes,
  start: number,
  end: number,
): RecordSpans | undefined {
  bytesEnd = end;
  depthMax = Number.POSITIVE_INFINITY;
  areNullsAbsent = true;
  const plan = SPAN_PLANS.facts[resource];
  if (walkBy(plan, bytes, chunk, start) === end) {
    const most = end - start + COLUMN_BYTES * plan.numbers;
    slab[base + HEAD.factsBytesMax] = (slab[base + HEAD.factsBytesMax] as number) + most;
    return { bytes, slab, base };
  }
  release();
  return undefined;
}

/**
 * Finds the identity and the runs of content of an accepted record, walking only up to its first nested member: enough for an unchanged
 * record. Names are unique, so once both members that are not content were passed, or cannot follow, the rest is content. Undefined for
 * another order, or an escape in a kept value. The result is valid until the next walk.
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
  bytesEnd = end;
  depthMax = Number.POSITIVE_INFINITY;
  areNullsAbsent = true;
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

/** The result of `walkRecord` for a valid record. */
export interface RecordWalk {
  /** After the closing brace. */
  end: number;
  /** As counted by `scanElement`. */
  values: number;
  clientCode: string;
  propertyCode: string;
  /** The position of the source time, after its quote. */
  sourceTimeAt: number;
}

/** A result for `walkRecord`. Use one per batch, so that equal codes share a string. */
export function newRecordWalk(): RecordWalk {
  return { end: 0, values: 0, clientCode: "", propertyCode: "", sourceTimeAt: 0 };
}

/** Maximum bytes of a record, and maximum nesting, where the array of the batch is 1. */
export interface WalkLimits {
  /** Whether null is valid in optional members. */
  readonly nullsAbsent?: boolean;
  readonly bytesMax: number;
  readonly depthMax: number;
}

/**
 * Returns true if the record is certainly valid: strict JSON with unique names, in which `findViolations` finds nothing. One pass without
 * allocations, in a third of the time of parsing and checking. False means undecided: unusual or invalid records are parsed and checked.
 * The body is UTF-8.
 */
export function walkRecord(
  resource: Resource,
  body: Buffer,
  chunk: DataView,
  start: number,
  limits: WalkLimits,
  walk: RecordWalk,
): boolean {
  values = 2;
  bytesEnd = start + limits.bytesMax;
  depthMax = limits.depthMax;
  areNullsAbsent = limits.nullsAbsent === true;
  const end = walkBy(SPAN_PLANS.check[resource], body, chunk, start);
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

/** The text of a walked code; undefined if it has an escape. Reuses the string of the last record if equal. */
function codeOf(body: Buffer, place: number, last: string): string | undefined {
  const start = (slab[place] as number) >>> 1;
  const end = slab[place + 1] as number;
  let same = end - start === last.length;
  for (let at = start; at < end; at += 1) {
    const byte = body[at] as number;
    if (byte === BACKSLASH) return undefined;
    // Bytes beyond ASCII cannot be compared with characters.
    if (byte > ASCII_MAX || (same && last.charCodeAt(at - start) !== byte)) same = false;
  }
  return same ? last : body.toString("utf8", start, end);
}

/** Adds a top-level member to the runs of content, or ends the last run. */
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

/** Start and end of each run of content of the last walked record: the first `runNumbersFound()` numbers. */
export const runsFound = (): Int32Array => runs;
export const runNumbersFound = (): number => runNumbers;

/** Allocates zeroed numbers and returns their place. A record is never split across slabs. */
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

function walkSpace(body: Uint8Array, at: number): number {
  return (body[at] as number) <= SPACE ? skipWhitespace(body, at) : at;
}

/** Whether a member's name and colon are at `at`. Compares four bytes at a time, because names are most of a record. */
function isGlueAt(at: number, { glueLength, wordFirst, wordLast }: SpanMember): boolean {
  const last = at + glueLength - 4;
  if (last + 4 > viewBytes) return false;
  let here = at;
  for (let word = wordFirst; word < wordLast; word += 1) {
    if (view.getInt32(here, true) !== WORDS[word]) return false;
    here += 4;
  }
  return view.getInt32(last, true) === WORDS[wordLast];
}

/** The member whose name is at `at`; sets `nameEnd`. Remembers it as the successor of `last`. */
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

/** Walks an object from after its brace, keeping its numbers from `item` on, and returns its end. */
function walkObject(body: Uint8Array, from: number, plan: SpanPlan, item: number): number {
  depth += 1;
  if (depth > depthMax) return UNSURE;
  const ownUnknowns = unknownNumbers;
  let at = walkSpace(body, from);
  let seen = 0;
  let first = 0;
  let last: SpanMember | undefined;
  while (body[at] !== CLOSE_OBJECT) {
    const start = at;
    let member = last === undefined ? plan.first : last.next;
    if (member !== undefined && isGlueAt(at, member)) at = walkSpace(body, at + member.glueLength);
    else {
      member = memberAt(body, at, plan, last);
      at = walkColon(body, member === undefined ? unknownEnd(body, at, ownUnknowns) : nameEnd);
      if (at === UNSURE) return UNSURE;
    }
    if (member === undefined) {
      if (isFacts && isMisspelt(body, start, plan, seen)) return UNSURE;
      at = isCheck ? walkUnknown(body, at) : skipValue(body, at);
    } else {
      if ((seen & member.bit) !== 0) return UNSURE;
      if (member.kind === STOP_HERE) return stopBefore(start, seen);
      seen |= member.bit;
      at = walkMember(body, at, member, item);
      // If both dates of a period are present, they must be in order.
      if (member.period !== 0) {
        if (first !== 0 && date !== 0 && (member.period === 1 ? first < date : date < first)) return UNSURE;
        first = date;
      }
      last = member;
    }
    if (at === UNSURE) return UNSURE;
    if (item === 0) noteRun(start, at, member === undefined || member.isContent);
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    values += 1;
    at = walkSpace(body, at + 1);
    if (body[at] !== QUOTE || at > bytesEnd) return UNSURE;
    if ((seen & plan.enoughBits) === plan.enoughBits) return stopBefore(at, seen);
  }
  if (body[at] !== CLOSE_OBJECT || (seen & plan.requiredBits) !== plan.requiredBits) return UNSURE;
  unknownNumbers = ownUnknowns;
  depth -= 1;
  return at + 1;
}

function stopBefore(at: number, seen: number): number {
  stopAt = at;
  seenAtStop = seen;
  return UNSURE;
}

/** The start of the value after the colon. */
function walkColon(body: Uint8Array, from: number): number {
  const at = walkSpace(body, from);
  return body[at] === COLON ? walkSpace(body, at + 1) : UNSURE;
}

/** The end of the unknown name at `at`. UNSURE if it has an escape or, in a check, is repeated in its object. */
function unknownEnd(body: Uint8Array, at: number, ownUnknowns: number): number {
  if (body[at] !== QUOTE) return UNSURE;
  const limit = isCheck ? at + CODE_CHARACTERS_MAX + 1 : body.length - 1;
  let end = at + 1;
  while (end <= limit && body[end] !== QUOTE) {
    if (!((body[end] as number) >= SPACE) || body[end] === BACKSLASH) return UNSURE;
    end += 1;
  }
  if (end > limit) return UNSURE;
  return !isCheck || isNewName(body, at, end + 1, ownUnknowns) ? end + 1 : UNSURE;
}

/** Whether the unknown name at `at` may be a misspelt member: the record is then parsed, which decides it (`misspeltFields`). */
function isMisspelt(body: Uint8Array, at: number, plan: SpanPlan, seen: number): boolean {
  if (namesCompared === UNKNOWN_NAMES_MAX) return false;
  namesCompared += 1;
  let end = at + 1;
  while (body[end] !== QUOTE) end += 1;
  if (end - at > NAME_BYTES_MAX) return false;
  const similar = plan.names.similarTo(names.textAt(body as Buffer, at + 1, end));
  if (similar === null) return false;
  if (similar.isSpelling) return true;
  const member = plan.members.find(({ name }) => name === similar.field);
  return member !== undefined && (seen & member.bit) === 0;
}

/** Records an unknown name; false if it is forbidden, or repeated in its object. */
function isNewName(body: Uint8Array, start: number, end: number, ownUnknowns: number): boolean {
  if (unknownNumbers === unknowns.length) return false;
  for (let other = ownUnknowns; other < unknownNumbers; other += 2)
    if (areSame(body, start, end, unknowns[other] as number, unknowns[other + 1] as number)) return false;
  unknowns[unknownNumbers] = start;
  unknowns[unknownNumbers + 1] = end;
  unknownNumbers += 2;
  return !FORBIDDEN_NAMES.some((name) => standsAt(body, start, name));
}

/** The end of the value of an unknown member. */
function walkUnknown(body: Uint8Array, at: number): number {
  switch (body[at]) {
    case QUOTE:
      return walkText(body, at + 1, TEXT_CHARACTERS_MAX);
    case OPEN_OBJECT:
      values += 1;
      return walkObject(body, at + 1, UNKNOWN_OBJECT, NO_ITEM);
    case OPEN_ARRAY:
      return walkItems(body, at, UNKNOWN_LIST);
    case LETTER_N:
      return walkNull(body, at);
    case LETTER_T:
    case LETTER_F:
      return walkBoolean(body, at);
    default:
      return walkNumber(body, at);
  }
}

/** The end of the number of an unknown member, if it has no exponent and is well within the range of a double. */
function walkNumber(body: Uint8Array, at: number): number {
  const from = body[at] === MINUS ? at + 1 : at;
  const point = walkDigits(body, from);
  if (point === from || (point - from > 1 && body[from] === ZERO)) return UNSURE;
  if (body[point] !== POINT) return point - at > NUMBER_CHARACTERS_MAX ? UNSURE : point;
  const end = walkDigits(body, point + 1);
  return end === point + 1 || end - at > NUMBER_CHARACTERS_MAX ? UNSURE : end;
}

function walkMember(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const { kind } = member;
  if (kind === SKIP) return skipValue(body, at);
  const byte = body[at];
  if (kind === UNKNOWN) return walkUnknown(body, at);
  if (byte === LETTER_N) return walkAbsent(body, at, member);
  if (kind <= TIMESTAMP) return byte === QUOTE ? walkQuoted(body, at + 1, member, item) : UNSURE;
  switch (kind) {
    case DECIMAL:
      return walkDecimal(body, at, member, item);
    case WHOLE:
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
    case CODE_OR_OBJECT:
      return byte === OPEN_OBJECT ? walkUnknown(body, at) : walkBoundedText(body, at, member, item);
    default:
      return UNSURE;
  }
}

/** The end of a null, if the member may have one. */
function walkAbsent(body: Uint8Array, at: number, { nullable, optional }: SpanMember): number {
  date = 0;
  return nullable || (areNullsAbsent && optional) ? walkNull(body, at) : UNSURE;
}

/** Checks the length of the string at `at`, which may have escapes, and returns its end. */
function walkBoundedText(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  if (body[at] !== QUOTE) return UNSURE;
  const end = walkText(body, at + 1, member.lengthMax);
  if (end - at - 2 < member.lengthMin) return UNSURE;
  keep(member, item, (at + 1) * 2, end - 1);
  return end;
}

/** Stores a span if its member is kept. `start` is doubled, plus the quote mark. */
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

/** The end of the text, date or time whose first byte is at `at`. */
function walkQuoted(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  let end = at;
  let mark = PLAIN;
  if (member.kind === DATE) {
    date = walkDate(body, at);
    if (date === UNSURE || body[at + 10] !== QUOTE) return UNSURE;
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
    if (member.kind !== TEXT) {
      if (mark !== PLAIN || end === at) {
        if (isBlankAt(body, at, end)) return end + 1;
      }
      if (member.kind === CURRENCY && !isCurrencyAt(body, at, end)) return UNSURE;
    }
    if (end === at) mark = TO_QUOTE;
  }
  keep(member, item, at * 2 + mark, end);
  return end + 1;
}

/** Whether a text without escapes is empty or white space only. */
function isBlankAt(body: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end && body[at] === SPACE) at += 1;
  if (at === end) return true;
  return (body[at] as number) > ASCII_MAX && isBlank(decoder.decode(body.subarray(at, end)));
}

/** Whether a currency is already in its normal form. Others are parsed. */
function isCurrencyAt(body: Uint8Array, start: number, end: number): boolean {
  if (end - start !== CURRENCY_LETTERS) return false;
  for (let at = start; at < end; at += 1)
    if ((body[at] as number) < LETTER_A || (body[at] as number) > LETTER_Z) return false;
  return true;
}

function walkDigits(body: Uint8Array, from: number): number {
  let end = from;
  while (digitAt(body, end) <= 9) end += 1;
  return end;
}

function walkWhole(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const isQuoted = body[at] === QUOTE;
  const start = isQuoted ? at + 1 : at;
  const isBelow = body[start] === MINUS;
  const from = isBelow ? start + 1 : start;
  const end = walkDigits(body, from);
  const digits = end - from;
  if (digits === 0 || digits > WHOLE_DIGITS_MAX) return UNSURE;
  // JSON numbers and facts have no leading zeros, and facts no negative zero.
  const isPadded = body[from] === ZERO && (digits > 1 || isBelow);
  if (isPadded && !(isCheck && (isQuoted || digits === 1))) return UNSURE;
  if (isQuoted && body[end] !== QUOTE) return UNSURE;
  keep(member, item, start * 2, end);
  return isQuoted ? end + 1 : end;
}

/** The end of the decimal at `at`. A string is kept verbatim, a number without trailing zeros. */
function walkDecimal(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const isQuoted = body[at] === QUOTE;
  const start = isQuoted ? at + 1 : at;
  const from = body[start] === MINUS ? start + 1 : start;
  const point = walkDigits(body, from);
  if (point === from) return UNSURE;
  let end = point;
  if (body[point] === POINT) {
    end = walkDigits(body, point + 1);
    if (end === point + 1) return UNSURE;
  }
  if (isQuoted) {
    if (end - start > DECIMAL_TEXT_CHARACTERS_MAX || body[end] !== QUOTE) return UNSURE;
    keep(member, item, start * 2, end);
    return end + 1;
  }
  if (end - start > SHORT_NUMBER_CHARACTERS_MAX || (point - from > 1 && body[from] === ZERO)) return UNSURE;
  if (isCheck) return end;
  let factEnd = end;
  if (end > point) {
    while (body[factEnd - 1] === ZERO) factEnd -= 1;
    if (body[factEnd - 1] === POINT) factEnd -= 1;
  }
  // Facts have no negative zero.
  if (from > start && factEnd === from + 1 && body[from] === ZERO) return UNSURE;
  keep(member, item, start * 2, factEnd);
  return end;
}

function walkItems(body: Uint8Array, from: number, member: SpanMember): number {
  if (body[from] !== OPEN_ARRAY) return UNSURE;
  depth += 1;
  if (depth > depthMax) return UNSURE;
  const { inner: plan, items: item } = member;
  // In facts, virtual room types follow the regular ones.
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
  depth -= 1;
  return body[at] === CLOSE_ARRAY && items >= member.itemsMin ? at + 1 : UNSURE;
}

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
