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

/** Returned by walks that cannot decide: the bytes are then parsed. */
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

/** Fraction digits of a time. Those beyond the sixth are stored verbatim, but not compared. */
export const FRACTION_DIGITS_MAX = 9;

/** 1 for the characters of JSON's short escapes. */
export const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;

/** Whether a byte is JSON whitespace: space, tab, line feed or carriage return. */
export function isWhitespace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The position of the next byte that is not JSON whitespace (RFC 8259, section 2), or the length of the body. */
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
 * The end, after the closing quote, of the string whose first byte is at `at`. UNSURE if it is not a JSON string of at most `bytesMax`
 * bytes, or escapes NUL or an unpaired surrogate. The body is UTF-8.
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

/** The last byte of the escape whose backslash precedes `at`; a surrogate pair is one escape. */
function walkEscape(body: Uint8Array, at: number): number {
  if (body[at] !== LETTER_U) return ESCAPED[body[at] as number] === 1 ? at : UNSURE;
  const unit = codeUnitAt(body, at + 1);
  if (unit < 0xd800 || unit > 0xdfff) return unit <= 0 ? UNSURE : at + 4;
  const isPair = unit < 0xdc00 && body[at + 5] === BACKSLASH && body[at + 6] === LETTER_U;
  return isPair && codeUnitAt(body, at + 7) >>> 10 === 0xdc00 >>> 10 ? at + 10 : UNSURE;
}

/** The value of four hexadecimal digits, or UNSURE. */
export function codeUnitAt(body: Uint8Array, at: number): number {
  let unit = 0;
  for (let digit = at; digit < at + 4; digit += 1) {
    const value = HEX[body[digit] as number] as number;
    if (!(value <= 15)) return UNSURE;
    unit = unit * 16 + value;
  }
  return unit;
}

/** The calendar date `YYYY-MM-DD` at `at` as the number YYYYMMDD, or UNSURE. Does not check what follows. */
export function walkDate(body: Uint8Array, at: number): number {
  if (body[at + 4] !== MINUS || body[at + 7] !== MINUS) return UNSURE;
  const year = pairAt(body, at) * 100 + pairAt(body, at + 2);
  const month = pairAt(body, at + 5);
  const day = pairAt(body, at + 8);
  return isDay(year, month, day) ? (year * 100 + month) * 100 + day : UNSURE;
}

/** The value of two digits, or NaN. */
function pairAt(body: Uint8Array, at: number): number {
  const tens = digitAt(body, at);
  const ones = digitAt(body, at + 1);
  return tens <= 9 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/**
 * The end, after the closing quote, of the UTC time at `at`, or UNSURE. Java omits zero seconds and writes nine fraction digits, .NET
 * seven. 24:00 and :60 are refused, because databases disagree on their instant.
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

/** Whether two ranges have equal bytes. */
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

/** The end, after the closing quote, of the JSON string whose first byte is at `at`. */
function skipText(body: Uint8Array, at: number): number {
  for (let here = at; here < body.length; here += 1) {
    const byte = body[here];
    if (byte === QUOTE) return here + 1;
    if (byte === BACKSLASH) here += 1;
  }
  return UNSURE;
}

/** The end of the JSON value at `at`. */
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

/** Whether this is a calendar day, years 1 to 9999; false for NaN. */
function isDay(year: number, month: number, day: number): boolean {
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1)) return false;
  const leapDay = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  return day <= (DAYS_OF_MONTH[month - 1] ?? 0) + leapDay;
}

// A double preserves 15 significant digits (IEEE 754); with an exponent up to 22 the plain notation has at most 38 digits.
export const SHORT_NUMBER_CHARACTERS_MAX = 15;
const SHORT_EXPONENT_MAX = 22;

/** Whether a double preserves a number, judging by its length and exponent. The bytes must be a number. */
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

/** A bounded cache of repetitive texts such as codes and statuses, looked up by their bytes without creating a string. */
export class TextMemory {
  readonly #texts: string[] = new Array<string>(PLACES_REMEMBERED).fill("");

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
