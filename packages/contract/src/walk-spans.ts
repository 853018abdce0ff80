import { LIST, SLOT } from "./noted-fields.ts";
import { forgetRecord, forgetSlots, isWarningFree, noted, TOO_LONG, UNITS_MAX } from "./noted-warnings.ts";
import type { Resource } from "./resource.ts";
import { skipValue } from "./skip-value.ts";
import { ITEM_NUMBERS, SPAN_PLANS, type SpanMember, type SpanPlan, WALK } from "./span-plan.ts";
import { forgetRuns, isGlueAt, memberAt, nameEnd, noteRun, walkSpace } from "./walk-members.ts";
import { UNSURE, walkDate, walkNull, walkTimestamp } from "./walk-value.ts";

// Compiled code knows what a module's own constants are, and has to look at those of others each time.
const slots = noted;
const { stays: STAYS, days: DAYS, rooms: ROOMS } = LIST;
const { skip: SKIP, date: DATE, timestamp: TIMESTAMP, count: COUNT, integer: INTEGER } = WALK;
const { decimal: DECIMAL, array: ARRAY, object: OBJECT } = WALK;

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

/** Decimals as `walkDecimal` takes them, and how money in ten-thousandths is counted by the digits of its fraction. */
const NUMBER_CHARACTERS_MAX = 15;
const TEXT_CHARACTERS_MAX = 30;
const UNITS_BY_SCALE = [10_000, 1_000, 100, 10, 1] as const;
const WHOLE_DIGITS_MAX = 9;

/** A quarter of a million numbers: those of some hundreds of records. */
const SLAB_NUMBERS = 262_144;
/** Facts of a column of an item that are not in its record's bytes: `NULL,` or `,\"\"`, or the place of a stay. */
const COLUMN_BYTES = 8;

/** What a byte of a text is: it means itself in rows and arrays, has to be quoted there, or ends what can be told here. */
const PLAIN = 0;
const TO_QUOTE = 1;
const STOP = 2;
const TEXT_CLASS = new Uint8Array(256).fill(STOP, 0, 0x20).fill(TO_QUOTE, 0x20).fill(PLAIN, 0x21, 0x7f);
for (const byte of Buffer.from(",{}()")) TEXT_CLASS[byte] = TO_QUOTE;
for (const byte of Buffer.from('"\\')) TEXT_CLASS[byte] = STOP;

/** A digit's value by its byte; 255 for any other byte. */
const DIGIT = new Uint8Array(256).fill(255);
for (let digit = 0; digit <= 9; digit += 1) DIGIT[ZERO + digit] = digit;

// Of the walk that is going on; one runs at a time, from its begin to its end.
let slab = new Int32Array(SLAB_NUMBERS);
let base = 0;
let top = 0;
let view: DataView = new DataView(new ArrayBuffer(0));
/** How many items each list has, and its last. */
const counts = new Int32Array(LISTS);
const lasts = new Int32Array(LISTS);

/** The slots of the first and the last date that a record is about. */
const RANGES: Readonly<Record<Resource, readonly [number, number]>> = {
  inventories: [SLOT.occupancyDate, SLOT.occupancyDate],
  reservations: [SLOT.first, SLOT.last],
  groups: [SLOT.startDate, SLOT.endDate],
};

/**
 * Walks over the bytes of one accepted record and notes where each of its facts stands, what it is known by, and (see
 * `runsFound` of walk-members) the runs of top-level members that are content: what `scanRecord` finds, the parse would give and
 * `warn-of-…` would look at, in one pass that allocates nothing. Undefined says nothing: whatever is unusual (an escape in
 * what is looked at, a leading zero, an exponent, a name twice, whatever is to be warned of) is left to the scan and the
 * parse. `chunk` is a view of all of `bytes`.
 */
export function walkSpans(
  resource: Resource,
  bytes: Buffer,
  chunk: DataView,
  start: number,
  end: number,
): RecordSpans | undefined {
  const plan = SPAN_PLANS[resource];
  view = chunk;
  base = top;
  forgetRuns();
  for (let list = 0; list < LISTS; list += 1) {
    counts[list] = 0;
    lasts[list] = 0;
  }
  forgetRecord();
  take(plan.numbers);
  slab[base + HEAD.factsBytesMax] = end - start + COLUMN_BYTES * plan.numbers;
  const over = bytes[start] === OPEN_OBJECT ? walkObject(bytes, start + 1, plan, 0) : UNSURE;
  view = NO_VIEW;
  if (over === end && isSettled(resource, bytes)) return { bytes, slab, base };
  slab.fill(0, base, top);
  top = base;
  return undefined;
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

/** Where the object is over whose first byte after the brace stands at `from`; its numbers are kept from `item` on. */
function walkObject(body: Uint8Array, from: number, plan: SpanPlan, item: number): number {
  forgetSlots(plan.slotFirst, plan.slotLast);
  let at = walkSpace(body, from);
  let seen = 0;
  let last: SpanMember | undefined;
  while (body[at] !== CLOSE_OBJECT) {
    const start = at;
    let member = last === undefined ? plan.first : last.next;
    if (member !== undefined && isGlueAt(view, at, member)) at += member.glueLength;
    else {
      member = memberAt(body, at, plan, last);
      at = walkColon(body, nameEnd);
      if (at === UNSURE) return UNSURE;
    }
    at = walkSpace(body, at);
    if (member === undefined) at = skipValue(body, at);
    else {
      if ((seen & member.bit) !== 0) return UNSURE;
      seen |= member.bit;
      at = walkMember(body, at, member, item);
      last = member;
    }
    if (at === UNSURE) return UNSURE;
    if (item === 0) noteRun(start, at, member === undefined || member.isContent);
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    at = walkSpace(body, at + 1);
    if (body[at] !== QUOTE) return UNSURE;
  }
  if (body[at] !== CLOSE_OBJECT || (seen & plan.requiredBits) !== plan.requiredBits) return UNSURE;
  return isWarningFree(plan.kind) ? at + 1 : UNSURE;
}

/** Where the colon at `from` is over, white space before it passed over. */
function walkColon(body: Uint8Array, from: number): number {
  const at = walkSpace(body, from);
  return body[at] === COLON ? at + 1 : UNSURE;
}

/** Where the value at `at` is over. */
function walkMember(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const { kind } = member;
  if (kind === SKIP) return skipValue(body, at);
  const byte = body[at];
  if (byte === LETTER_N) return member.nullable ? walkNull(body, at) : UNSURE;
  switch (kind) {
    case DECIMAL:
      return walkDecimal(body, at, member, item);
    case COUNT:
    case INTEGER:
      return walkWhole(body, at, member, item);
    case ARRAY:
      return walkItems(body, at, member);
    case OBJECT:
      return byte === OPEN_OBJECT ? walkObject(body, at + 1, member.inner as SpanPlan, NO_ITEM) : UNSURE;
    default:
      return byte === QUOTE ? walkQuoted(body, at + 1, member, item) : UNSURE;
  }
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

function digitAt(body: Uint8Array, at: number): number {
  return DIGIT[body[at] as number] as number;
}

/** Where the whole number at `at` is over. Counts below zero are to be warned of. */
function walkWhole(body: Uint8Array, at: number, member: SpanMember, item: number): number {
  const isQuoted = body[at] === QUOTE;
  const start = isQuoted ? at + 1 : at;
  const isBelow = body[start] === MINUS;
  if (isBelow && member.kind === COUNT) return UNSURE;
  const from = isBelow ? start + 1 : start;
  let end = from;
  let value = 0;
  for (let digit = digitAt(body, end); digit <= 9; digit = digitAt(body, end)) {
    value = value * 10 + digit;
    end += 1;
  }
  const digits = end - from;
  if (digits === 0 || digits > WHOLE_DIGITS_MAX) return UNSURE;
  // Facts have no leading zeros, and no zero below zero.
  if (body[from] === ZERO && (digits > 1 || isBelow)) return UNSURE;
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
    if (end - start > TEXT_CHARACTERS_MAX || body[end] !== QUOTE) return UNSURE;
    keep(member, item, start * 2, end);
    return end + 1;
  }
  if (end - start > NUMBER_CHARACTERS_MAX || (digits > 1 && body[from] === ZERO)) return UNSURE;
  if (isBelow && units === 0) return UNSURE;
  let factEnd = end;
  if (scale > 0) {
    while (body[factEnd - 1] === ZERO) factEnd -= 1;
    if (body[factEnd - 1] === POINT) factEnd -= 1;
  }
  keep(member, item, start * 2, factEnd);
  return end;
}

/** Where the array of objects is over that begins at `from`. */
function walkItems(body: Uint8Array, from: number, member: SpanMember): number {
  if (body[from] !== OPEN_ARRAY) return UNSURE;
  const plan = member.inner as SpanPlan;
  // Facts have virtual room types last, wherever they stand.
  const isRegular = member.name === "roomTypeInventories";
  if (isRegular && counts[ROOMS] !== 0) return UNSURE;
  let at = walkSpace(body, from + 1);
  while (body[at] !== CLOSE_ARRAY) {
    if (body[at] !== OPEN_OBJECT) return UNSURE;
    at = walkObject(body, at + 1, plan, plan.list < 0 ? NO_ITEM : newItem(plan));
    if (at === UNSURE) return UNSURE;
    at = walkSpace(body, at);
    if (body[at] !== COMMA) break;
    at = walkSpace(body, at + 1);
    if (body[at] !== OPEN_OBJECT) return UNSURE;
  }
  if (isRegular) slab[base + HEAD.regularRooms] = counts[ROOMS] as number;
  return body[at] === CLOSE_ARRAY ? at + 1 : UNSURE;
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
