const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const POINT = 0x2e;
const COLON = 0x3a;
const LETTER_T = 0x54;
const LETTER_U = 0x75;
const LETTER_Z = 0x5a;
const SPACE = 0x20;
const ZERO = 0x30;

/** What a walk answers where it cannot tell that all is well: the bytes are then read the slower way. */
export const UNSURE = -1;

/** A digit's value by its byte; 255 for any other byte. */
const DIGIT = new Uint8Array(256).fill(255);
for (let digit = 0; digit <= 9; digit += 1) DIGIT[ZERO + digit] = digit;

/** A hexadecimal digit's value by its byte; 255 for any other byte. */
const HEX = new Uint8Array(256).fill(255);
for (let digit = 0; digit <= 15; digit += 1) {
  for (const spelling of [digit.toString(16), digit.toString(16).toUpperCase()])
    HEX[spelling.charCodeAt(0)] = digit;
}

/** Of a time; those beyond the sixth are kept as sent and compare no times. */
export const FRACTION_DIGITS_MAX = 9;

/** Bytes of JSON's short escapes, after the backslash. */
export const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;

/** Whether a byte is JSON whitespace: space, tab, line feed or carriage return. */
export function isWhitespace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Where the next byte that is not JSON whitespace stands (RFC 8259, section 2), or the length of the body. */
export function skipWhitespace(body: Uint8Array, from: number): number {
  let at = from;
  while (at < body.length && isWhitespace(body[at] as number)) at += 1;
  return at;
}

/** The value of a digit; more than 9 for any other byte. */
export function digitAt(body: Uint8Array, at: number): number {
  return DIGIT[body[at] as number] as number;
}

/**
 * Where the text whose first byte stands at `at` is over, its quote included; UNSURE for what is no JSON text of at most
 * `bytesMax` bytes (which are at least as many as its characters), or escapes NUL or a surrogate. The body is UTF-8.
 */
export function walkText(body: Uint8Array, at: number, bytesMax: number): number {
  const limit = at + bytesMax;
  for (let here = at; here <= limit; here += 1) {
    const byte = body[here] as number;
    if (byte === QUOTE) return here + 1;
    if (byte === BACKSLASH) {
      here = walkEscape(body, here + 1);
      if (here === UNSURE) return UNSURE;
    } else if (!(byte >= SPACE)) return UNSURE;
  }
  return UNSURE;
}

/** The last byte of the escape whose first byte after the backslash stands at `at`; two escapes that are a pair are one. */
function walkEscape(body: Uint8Array, at: number): number {
  if (body[at] !== LETTER_U) return ESCAPED[body[at] as number] === 1 ? at : UNSURE;
  const unit = codeUnitAt(body, at + 1);
  if (unit < 0xd800 || unit > 0xdfff) return unit <= 0 ? UNSURE : at + 4;
  const isPair = unit < 0xdc00 && body[at + 5] === BACKSLASH && body[at + 6] === LETTER_U;
  return isPair && codeUnitAt(body, at + 7) >>> 10 === 0xdc00 >>> 10 ? at + 10 : UNSURE;
}

/** The number of four hexadecimal digits; UNSURE where there are none. */
export function codeUnitAt(body: Uint8Array, at: number): number {
  let unit = 0;
  for (let digit = at; digit < at + 4; digit += 1) {
    const value = HEX[body[digit] as number] as number;
    if (!(value <= 15)) return UNSURE;
    unit = unit * 16 + value;
  }
  return unit;
}

/** The calendar date `YYYY-MM-DD` at `at` as the number YYYYMMDD; UNSURE when there is none. Its end is not looked at. */
export function walkDate(body: Uint8Array, at: number): number {
  if (body[at + 4] !== MINUS || body[at + 7] !== MINUS) return UNSURE;
  const year = pairAt(body, at) * 100 + pairAt(body, at + 2);
  const month = pairAt(body, at + 5);
  const day = pairAt(body, at + 8);
  return isDay(year, month, day) ? (year * 100 + month) * 100 + day : UNSURE;
}

/** The number of two digits; NaN where there are none. */
function pairAt(body: Uint8Array, at: number): number {
  const tens = digitAt(body, at);
  const ones = digitAt(body, at + 1);
  return tens <= 9 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/**
 * Where the UTC time at `at` is over, the quote after it included. Java leaves out seconds of zero and writes nine fractional digits,
 * .NET seven. 24:00 and the leap second :60 are none: they have no single instant that every database agrees on.
 */
export function walkTimestamp(body: Uint8Array, at: number): number {
  if (walkDate(body, at) === UNSURE) return UNSURE;
  if (body[at + 10] !== LETTER_T || body[at + 13] !== COLON) return UNSURE;
  if (!(pairAt(body, at + 11) <= 23 && pairAt(body, at + 14) <= 59)) return UNSURE;
  let end = at + 16;
  if (body[end] === COLON) {
    if (!(pairAt(body, at + 17) <= 59)) return UNSURE;
    end = at + 19;
    if (body[end] === POINT) {
      end += 1;
      const from = end;
      while (digitAt(body, end) <= 9) end += 1;
      if (end === from || end - from > FRACTION_DIGITS_MAX) return UNSURE;
    }
  }
  return body[end] === LETTER_Z && body[end + 1] === QUOTE ? end + 2 : UNSURE;
}

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

export function standsAt(body: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let offset = 0; offset < bytes.length; offset += 1)
    if (body[at + offset] !== bytes[offset]) return false;
  return true;
}

/** Whether some bytes are those that stand elsewhere. */
export function areSame(
  bytes: Uint8Array,
  from: number,
  to: number,
  otherFrom: number,
  otherTo: number,
): boolean {
  if (to - from !== otherTo - otherFrom) return false;
  for (let at = from; at < to; at += 1) if (bytes[at] !== bytes[otherFrom + at - from]) return false;
  return true;
}

export function walkBoolean(body: Uint8Array, at: number): number {
  if (standsAt(body, at, TRUE)) return at + TRUE.length;
  return standsAt(body, at, FALSE) ? at + FALSE.length : UNSURE;
}

export function walkNull(body: Uint8Array, at: number): number {
  return standsAt(body, at, NULL) ? at + NULL.length : UNSURE;
}

const OPEN = 1;
const CLOSE = 2;
const COMMA = 3;
const BYTE_CLASS = new Uint8Array(256);
for (const byte of Buffer.from("[{")) BYTE_CLASS[byte] = OPEN;
for (const byte of Buffer.from("]}")) BYTE_CLASS[byte] = CLOSE;
for (const byte of Buffer.from(",")) BYTE_CLASS[byte] = COMMA;

/** Where the text is over whose first byte after the quote stands at `at`, its quote included. The text is JSON. */
function skipText(body: Uint8Array, at: number): number {
  for (let here = at; here < body.length; here += 1) {
    const byte = body[here];
    if (byte === QUOTE) return here + 1;
    if (byte === BACKSLASH) here += 1;
  }
  return UNSURE;
}

/** Where the JSON value at `at` is over. */
export function skipValue(body: Uint8Array, at: number): number {
  if (body[at] === QUOTE) return skipText(body, at + 1);
  let depth = 0;
  for (let here = at; here < body.length; here += 1) {
    const byte = body[here] as number;
    if (byte === QUOTE) {
      here = skipText(body, here + 1) - 1;
      if (here < 0) return UNSURE;
      continue;
    }
    const of = BYTE_CLASS[byte];
    if (of === OPEN) depth += 1;
    else if (of === CLOSE) {
      depth -= 1;
      if (depth === 0) return here + 1;
      if (depth < 0) return endOfScalar(body, here);
    } else if (of === COMMA && depth === 0) return endOfScalar(body, here);
  }
  return UNSURE;
}

function endOfScalar(body: Uint8Array, from: number): number {
  let end = from;
  while (isWhitespace(body[end - 1] as number)) end -= 1;
  return end;
}

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Whether these are a day of the calendar, years 1 to 9999; not where one is NaN. */
function isDay(year: number, month: number, day: number): boolean {
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1)) return false;
  const leapDay = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  return day <= (DAYS_OF_MONTH[month - 1] ?? 0) + leapDay;
}

/** Longer than any date or time. */
const SHORT_CHARACTERS_MAX = 30;
const short = Buffer.alloc(4 * SHORT_CHARACTERS_MAX);

/** Whether a text is a real calendar date `YYYY-MM-DD`, years 0001 to 9999 (ISO 8601, specification section 2). */
export function isCalendarDate(text: string): boolean {
  return text.length === 10 && short.write(text) === 10 && walkDate(short, 0) !== UNSURE;
}

/** Whether a text is a UTC time `YYYY-MM-DDThh:mm[:ss[.f]]Z` with one to nine fractional digits (specification section 2). */
export function isUtcTimestamp(text: string): boolean {
  if (text.length > SHORT_CHARACTERS_MAX) return false;
  const bytes = short.write(text);
  short[bytes] = QUOTE;
  return walkTimestamp(short, 0) === bytes + 1;
}

/** An accepted timestamp, cut to six fractional digits: `2026-01-02T03:04:05.000000Z`. Its text order is its time order. */
export function microsecondTimestamp(text: string): string {
  if (text.length === 20) return `${text.slice(0, 19)}.000000Z`;
  if (text.length === 17) return `${text.slice(0, 16)}:00.000000Z`;
  return `${text.slice(0, Math.min(text.length - 1, 26)).padEnd(26, "0")}Z`;
}

/** A source time further ahead of the receipt would win for ever, so its record is quarantined; a replay decides the same. */
const SOURCE_TIME_AHEAD_MS_MAX = 10 * 60_000;

/** The last microsecond that a record received then, milliseconds since 1970, may name: source times compare as text. */
export function latestSourceTime(receivedAt: number): string {
  const latest = new Date(receivedAt + SOURCE_TIME_AHEAD_MS_MAX).toISOString();
  return `${latest.slice(0, -1)}999Z`;
}

const DAYS_BEFORE_MARCH_0 = 719_468;

/** Days from 1970-01-01 to a calendar day: a year counted from March ends with its leap day (Date.parse takes ten times as long). */
function dayNumber(year: number, month: number, day: number): number {
  const fromMarch = year - (month <= 2 ? 1 : 0);
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leaps = Math.floor(fromMarch / 4) - Math.floor(fromMarch / 100) + Math.floor(fromMarch / 400);
  return fromMarch * 365 + leaps + ofYear - DAYS_BEFORE_MARCH_0;
}

/** The number of two digits of an accepted value. */
const twoDigits = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) * 10 + (bytes[at + 1] as number) - 11 * ZERO;

/** Days from 1970-01-01 to the accepted date `YYYY-MM-DD` whose first byte stands at `at`. */
export function dayAt(bytes: Uint8Array, at: number): number {
  const year = twoDigits(bytes, at) * 100 + twoDigits(bytes, at + 2);
  return dayNumber(year, twoDigits(bytes, at + 5), twoDigits(bytes, at + 8));
}

/** The accepted date whose first byte stands at `at` as YYYYMMDD: enough to compare. */
export function dateAt(bytes: Uint8Array, at: number): number {
  const century = twoDigits(bytes, at) * 1_000_000 + twoDigits(bytes, at + 2) * 10_000;
  return century + twoDigits(bytes, at + 5) * 100 + twoDigits(bytes, at + 8);
}

/** Days from 1970-01-01 to an accepted date `YYYY-MM-DD`. */
export function dayOfText(date: string): number {
  short.write(date, "latin1");
  return dayAt(short, 0);
}

// Up to 15 significant digits survive a double unchanged (IEEE 754), so a literal this short needs no second look; with an exponent
// of at most 22 in addition it has no more than 38 digits in plain notation.
export const SHORT_NUMBER_CHARACTERS_MAX = 15;
const SHORT_EXPONENT_MAX = 22;

/** Whether a number is one that a double surely keeps, by its length and its exponent; of what is no number the answer says nothing. */
export function isShortNumber(body: Uint8Array, from: number, to: number): boolean {
  if (to - from > SHORT_NUMBER_CHARACTERS_MAX) return false;
  let at = from;
  while (at < to && ((body[at] as number) | 0x20) !== 0x65) at += 1;
  let exponent = 0;
  for (at += 1; at < to; at += 1) {
    const digit = digitAt(body, at);
    if (digit <= 9) exponent = exponent * 10 + digit;
  }
  return exponent <= SHORT_EXPONENT_MAX;
}

const PLACES_REMEMBERED = 1_024;
const CHARACTERS_REMEMBERED_MAX = 32;
const ASCII_MAX = 0x7f;

/**
 * Texts that come again and again, as codes and statuses do: found by their bytes without making a string of them. A place
 * holds the last text that fell there, so it never holds more than a few ten thousand characters.
 */
export class TextMemory {
  readonly #texts: string[] = new Array<string>(PLACES_REMEMBERED).fill("");

  /** The text of the bytes (UTF-8) from `start` up to `end`. */
  textAt(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length > CHARACTERS_REMEMBERED_MAX) return bytes.toString("utf8", start, end);
    let hash = length;
    let isAscii = true;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte > ASCII_MAX) isAscii = false;
      hash = (hash * 31 + byte) | 0;
    }
    if (!isAscii) return bytes.toString("utf8", start, end);
    const place = (hash ^ (hash >>> 11)) & (PLACES_REMEMBERED - 1);
    const text = this.#texts[place] as string;
    if (text.length === length && isText(text, bytes, start)) return text;
    const made = bytes.toString("latin1", start, end);
    this.#texts[place] = made;
    return made;
  }
}

function isText(text: string, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) !== bytes[start + at]) return false;
  return true;
}
