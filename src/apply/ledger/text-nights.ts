import { dayAt } from "#contract/day-number.ts";
import { TextMemory } from "#contract/text-memory.ts";
import { boundedCount, type DimensionCodes, type ReservationNights, tenThousandthsAt } from "./night-run.ts";
import { NOT_TOLD, PlainStay } from "./plain-stay.ts";
import { COLUMN } from "./stay-runs.ts";

const FIELDS = COLUMN.netRoomRevenue + 1;
/** Longer facts are of no plain reservation. */
const BYTES_MAX = 16_384;
/** No character of a text takes more bytes of UTF-8. */
const BYTES_A_CHARACTER_MAX = 3;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
/** Of NULL, which no number and no date begins with. */
const N = 0x4e;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** `{YYYY-MM-DD}` */
const ONE_DATE_BYTES = 12;

const texts = new TextMemory();
const bytes = Buffer.alloc(BYTES_MAX);
/** Where each field begins, its quotes left out, and ends; the end of what is not told is before its beginning. */
const starts = new Int32Array(FIELDS);
const ends = new Int32Array(FIELDS);
/** Whether something in a field is escaped. */
const escaped = new Uint8Array(FIELDS);
const plain = new PlainStay();

/** A needed text is not so simple that it means itself. */
let isHard = false;

/** Notes where the fields stand; false where they are not written as we do. */
function noteFields(length: number): boolean {
  escaped.fill(0);
  let at = 1;
  for (let field = 0; field < FIELDS; field += 1) {
    const isQuoted = bytes[at] === QUOTE;
    if (isQuoted) at += 1;
    starts[field] = at;
    const mark = isQuoted ? QUOTE : COMMA;
    for (; at < length && bytes[at] !== mark; at += 1) {
      if (bytes[at] !== BACKSLASH) continue;
      escaped[field] = 1;
      at += 1;
    }
    ends[field] = !isQuoted && at === starts[field] ? at - 1 : at;
    if (isQuoted) at += 1;
    // PostgreSQL itself doubles quotes.
    if (bytes[at] !== COMMA || at >= length) return false;
    at += 1;
  }
  return true;
}

const isTold = (field: number): boolean => (ends[field] as number) >= (starts[field] as number);

function textOf(field: number): string | null {
  if (escaped[field] === 1) isHard = true;
  return isTold(field) ? texts.textAt(bytes, starts[field] as number, ends[field] as number) : null;
}

/** Where the elements of an array begin; 0 where there is none. */
function elementsOf(field: number): number {
  const start = starts[field] as number;
  return isTold(field) && bytes[start] === OPEN && bytes[start + 1] !== CLOSE ? start + 1 : 0;
}

/** The text of an array of one element. */
function elementOf(field: number): string | null {
  let start = elementsOf(field);
  if (start === 0) return null;
  let end = (ends[field] as number) - 1;
  if (escaped[field] === 1) {
    // A text with a blank, say, stands in quotes, which are escaped in turn.
    start += 2;
    end -= 2;
    for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) isHard = true;
  }
  return texts.textAt(bytes, start, end);
}

function countBetween(start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let count = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1)
    count = count * 10 + (bytes[at] as number) - ZERO;
  return isNegative ? -count : count;
}

function endOfElement(start: number): number {
  let at = start;
  while (bytes[at] !== COMMA && bytes[at] !== CLOSE) at += 1;
  return at;
}

/** The element after one; 0 where that was the last, or there are none. */
function nextElement(start: number): number {
  if (start === 0) return 0;
  const end = endOfElement(start);
  return bytes[end] === COMMA ? end + 1 : 0;
}

/** A number or a date that is told. */
const hasElement = (start: number): boolean => start !== 0 && bytes[start] !== N;

function amountAt(start: number): number {
  return hasElement(start) ? tenThousandthsAt(bytes, start, endOfElement(start)) : NOT_TOLD;
}

/** Notes the revenue of each day; false where it is not plain. */
function noteRevenue(): boolean {
  let amount = elementsOf(COLUMN.netRoomRevenue);
  for (let day = elementsOf(COLUMN.revenueDate); day !== 0; day = nextElement(day)) {
    if (!plain.noteRevenue(dayAt(bytes, day), amountAt(amount))) return false;
    amount = nextElement(amount);
  }
  return true;
}

/** Notes the rates of the one stay; false where they are not plain. */
function noteRates(arrival: number, departure: number): boolean {
  let first = elementsOf(COLUMN.rateStart);
  let last = elementsOf(COLUMN.rateEnd);
  let net = elementsOf(COLUMN.rate);
  let gross = elementsOf(COLUMN.grossRate);
  for (let stay = elementsOf(COLUMN.rateStay); stay !== 0; stay = nextElement(stay)) {
    const from = hasElement(first) ? dayAt(bytes, first) : arrival;
    const to = hasElement(last) ? dayAt(bytes, last) : departure - 1;
    if (!plain.noteRate(from, to, amountAt(net), amountAt(gross))) return false;
    first = nextElement(first);
    last = nextElement(last);
    net = nextElement(net);
    gross = nextElement(gross);
  }
  return true;
}

function codesOf(status: string | null): DimensionCodes {
  return {
    status,
    roomTypeCode: elementOf(COLUMN.roomType),
    bookedRoomTypeCode: elementOf(COLUMN.bookedRoomType),
    marketSegmentCode: elementOf(COLUMN.segment),
    groupBlockCode: elementOf(COLUMN.group),
    rateCode: elementOf(COLUMN.rateCode),
    channel: textOf(COLUMN.channel),
    currencyCode: elementOf(COLUMN.currency),
  };
}

function countOf(field: number, otherwise: number): number {
  return isTold(field) ? countBetween(starts[field] as number, ends[field] as number) : otherwise;
}

/** A count of the one stay. */
function countOfStay(field: number): number {
  return elementsOf(field) === 0
    ? 0
    : countBetween((starts[field] as number) + 1, (ends[field] as number) - 1);
}

/** The day of an array of one date; NaN where it is another. */
function oneDay(field: number): number {
  const start = starts[field] as number;
  return (ends[field] as number) - start === ONE_DATE_BYTES ? dayAt(bytes, start + 1) : Number.NaN;
}

/**
 * What `reservationNights` says of a text of facts, in one walk over its bytes: for the plain ones, of one stay of at most 62
 * nights with amounts that a double holds and texts without marks of their own. Undefined for all others.
 */
export function textNights(facts: string, status: string | null): ReservationNights | undefined {
  if (facts.length * BYTES_A_CHARACTER_MAX > BYTES_MAX) return undefined;
  if (!noteFields(bytes.write(facts, "utf8"))) return undefined;
  const arrival = oneDay(COLUMN.arrival);
  const departure = oneDay(COLUMN.departure);
  if (Number.isNaN(arrival) || Number.isNaN(departure)) return undefined;
  const rooms = boundedCount(countOf(COLUMN.numberOfRooms, 1));
  if (!plain.begin(arrival, departure, rooms)) return undefined;
  isHard = false;
  const shareId = textOf(COLUMN.shareId) || null;
  if (isHard) return undefined;
  if (departure <= arrival) return { shareId, runs: [] };
  if (!noteRevenue() || !noteRates(arrival, departure)) return undefined;
  const codes = codesOf(status);
  if (isHard) return undefined;
  const adults = boundedCount(countOfStay(COLUMN.adults) * rooms);
  const children = boundedCount(countOfStay(COLUMN.children) * rooms);
  return { shareId, runs: plain.runs(adults, children, codes) };
}
