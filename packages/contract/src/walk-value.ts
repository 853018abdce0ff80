import { isDay } from "./calendar.ts";
import { isWhitespace } from "./scan-element.ts";

/** What a walk answers where it cannot say that all is well: the bytes are to be read in the other, slower way. */
export const UNSURE = -1;

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

/** A digit's value by its byte; 255 for any other byte. */
const DIGIT = new Uint8Array(256).fill(255);
for (let digit = 0; digit <= 9; digit += 1) DIGIT[ZERO + digit] = digit;

/** A hexadecimal digit's value by its byte; 255 for any other byte. */
const HEX = new Uint8Array(256).fill(255);
for (let digit = 0; digit <= 15; digit += 1) {
  for (const spelling of [digit.toString(16), digit.toString(16).toUpperCase()])
    HEX[spelling.charCodeAt(0)] = digit;
}

/** Bytes of JSON's short escapes, after the backslash. */
const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;

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

/** The last byte of the escape whose first byte after the backslash stands at `at`. */
function walkEscape(body: Uint8Array, at: number): number {
  if (body[at] !== LETTER_U) return ESCAPED[body[at] as number] === 1 ? at : UNSURE;
  let unit = 0;
  for (let digit = at + 1; digit <= at + 4; digit += 1) {
    const value = HEX[body[digit] as number] as number;
    if (!(value <= 15)) return UNSURE;
    unit = unit * 16 + value;
  }
  return unit === 0 || (unit >= 0xd800 && unit <= 0xdfff) ? UNSURE : at + 4;
}

/** The calendar date `YYYY-MM-DD` at `at` as the number YYYYMMDD; UNSURE when there is none. Its end is not looked at. */
export function walkDate(body: Uint8Array, at: number): number {
  if (body[at + 4] !== MINUS || body[at + 7] !== MINUS) return UNSURE;
  const [year, month, day] = [
    pairAt(body, at) * 100 + pairAt(body, at + 2),
    pairAt(body, at + 5),
    pairAt(body, at + 8),
  ];
  return isDay(year, month, day) ? (year * 100 + month) * 100 + day : UNSURE;
}

/** The number of two digits; NaN where there are none. */
function pairAt(body: Uint8Array, at: number): number {
  const tens = digitAt(body, at);
  const ones = digitAt(body, at + 1);
  return tens <= 9 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/** Where the UTC time at `at` is over, the quote after it included: see `isUtcTimestamp`. */
export function walkTimestamp(body: Uint8Array, at: number): number {
  if (walkDate(body, at) === UNSURE) return UNSURE;
  if (body[at + 10] !== LETTER_T || body[at + 13] !== COLON || body[at + 16] !== COLON) return UNSURE;
  if (!(pairAt(body, at + 11) <= 23 && pairAt(body, at + 14) <= 59 && pairAt(body, at + 17) <= 59))
    return UNSURE;
  let end = at + 19;
  if (body[end] === POINT) {
    end += 1;
    const from = end;
    while (digitAt(body, end) <= 9) end += 1;
    if (end === from || end - from > 6) return UNSURE;
  }
  return body[end] === LETTER_Z && body[end + 1] === QUOTE ? end + 2 : UNSURE;
}

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

/** Whether these bytes stand at `at`. */
export function standsAt(body: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let offset = 0; offset < bytes.length; offset += 1)
    if (body[at + offset] !== bytes[offset]) return false;
  return true;
}

/** Where `true` or `false` at `at` is over. */
export function walkBoolean(body: Uint8Array, at: number): number {
  if (standsAt(body, at, TRUE)) return at + TRUE.length;
  return standsAt(body, at, FALSE) ? at + FALSE.length : UNSURE;
}

/** Where `null` at `at` is over. */
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
