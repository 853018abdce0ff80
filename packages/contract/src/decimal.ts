/** Most digits of a decimal: what PostgreSQL, Java's and .NET's decimals all hold without loss. */
export const DECIMAL_DIGITS_MAX = 38;

// A numeric text may be padded ("0000012.50"); this bounds the padding.
const DECIMAL_CHARACTERS_MAX = 64;

/**
 * A JSON number whose literal a double may not hold exactly (more than 15 significant digits, or beyond 38 digits in plain
 * notation): its text as sent. `JSON.parse` would round it without a word, so `readBatch` and `readRecord` put this in its
 * place.
 */
export class ExactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A quantity as partners send it (specification, section 2.2): a JSON number or a numeric text. */
export type Quantity = number | string | ExactNumber;

/** A number's digits without padding, and the power of ten of the last of them. `digits` is "" for zero. */
interface Decomposed {
  readonly sign: string;
  readonly digits: string;
  readonly exponent: number;
}

function digitsEnd(source: string, from: number): number {
  let at = from;
  while (at < source.length && isDigit(source.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** By hand: a regular expression takes ten times as long, and one record may have 250,000 numbers. */
function decompose(source: string): Decomposed | undefined {
  const whole = source.charCodeAt(0) === 0x2d ? 1 : 0;
  const point = digitsEnd(source, whole);
  if (point === whole) return undefined;
  let at = point;
  let fraction = point;
  if (source.charCodeAt(at) === 0x2e) {
    fraction = at + 1;
    at = digitsEnd(source, fraction);
    if (at === fraction) return undefined;
  }
  const padded =
    fraction === point ? source.slice(whole, point) : source.slice(whole, point) + source.slice(fraction, at);
  const fractionDigits = fraction === point ? 0 : at - fraction;
  let power = 0;
  if (at < source.length) {
    if ((source.charCodeAt(at) | 0x20) !== 0x65) return undefined;
    const sign = source.charCodeAt(at + 1);
    const first = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
    if (first === source.length || digitsEnd(source, first) < source.length) return undefined;
    power = Number(source.slice(at + 1));
  }
  let end = padded.length;
  while (end > 0 && padded.charCodeAt(end - 1) === 0x30) end -= 1;
  let start = 0;
  while (start < end && padded.charCodeAt(start) === 0x30) start += 1;
  const exponent = power - fractionDigits + (padded.length - end);
  return { sign: whole === 1 ? "-" : "", digits: padded.slice(start, end), exponent };
}

/** Whether plain notation needs more than 38 digits. */
function isTooLong({ digits, exponent }: Decomposed): boolean {
  return digits !== "" && Math.max(digits.length + Math.max(exponent, 0), -exponent) > DECIMAL_DIGITS_MAX;
}

/**
 * A JSON number literal in plain notation without an exponent ("1.5e2" is "150"), exact to the last digit.
 * Undefined when it is not a number or needs more than 38 digits.
 */
export function plainDecimal(source: string): string | undefined {
  const parts = decompose(source);
  if (parts === undefined || isTooLong(parts)) return undefined;
  const { sign, digits, exponent } = parts;
  if (digits === "") return "0";
  if (exponent >= 0) return sign + digits + "0".repeat(exponent);
  const whole = digits.padStart(1 - exponent, "0");
  return `${sign}${whole.slice(0, exponent)}.${whole.slice(exponent)}`;
}

// IEEE 754: any decimal of up to 15 significant digits survives a double unchanged.
const DOUBLE_DIGITS = 15;

/**
 * The digits of a literal between its first and last that are not zero; Infinity where that does not tell whether a
 * double keeps it (an exponent, or so many characters that it may need more than 38 digits).
 */
function significantDigits(source: string): number {
  if (source.length > DECIMAL_DIGITS_MAX) return Number.POSITIVE_INFINITY;
  let digits = 0;
  let significant = 0;
  for (let at = 0; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (isDigit(code)) {
      if (code !== 0x30 || digits > 0) digits += 1;
      if (code !== 0x30) significant = digits;
    } else if (code !== 0x2e && code !== 0x2d) return Number.POSITIVE_INFINITY;
  }
  return significant;
}

/** Whether a JSON number literal must be kept as text, since a double may not give it back to the last digit. */
export function needsExactNumber(source: string): boolean {
  const significant = significantDigits(source);
  if (significant !== Number.POSITIVE_INFINITY) return significant > DOUBLE_DIGITS;
  const parts = decompose(source);
  return parts === undefined || parts.digits.length > DOUBLE_DIGITS || isTooLong(parts);
}

/**
 * Whether a double would be infinite, or zero, for a JSON number literal that is not. Databases write such a number out in hundreds of
 * digits, and readers of JSON fail on it or lose it whole. One that has only more digits than a double is read exactly where it matters.
 */
export function isBeyondDouble(source: string): boolean {
  const value = Number(source);
  return !Number.isFinite(value) || (value === 0 && decompose(source)?.digits !== "");
}

/** Whether a text is a plain decimal: an optional minus, digits, an optional fraction; at most 38 digits. */
function isDecimalText(text: string): boolean {
  if (text.length > DECIMAL_CHARACTERS_MAX) return false;
  let at = text.charCodeAt(0) === 0x2d ? 1 : 0;
  const first = at;
  let leadingZeros = 0;
  let point = -1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x2e && point === -1 && at > first) point = at;
    else if (code < 0x30 || code > 0x39) return false;
    else if (code === 0x30 && point === -1 && leadingZeros === at - first) leadingZeros += 1;
  }
  if (at === first || point === at - 1) return false;
  const digits = at - first - leadingZeros - (point === -1 ? 0 : 1);
  return digits <= DECIMAL_DIGITS_MAX;
}

/** Whether a value is a quantity that can be kept exactly as a decimal. A plain JS number always can: see ExactNumber. */
export function isDecimal(value: unknown): value is Quantity {
  if (typeof value === "number") return true;
  if (typeof value === "string") return isDecimalText(value);
  return value instanceof ExactNumber && plainDecimal(value.source) !== undefined;
}

/** An accepted quantity as decimal text without an exponent; a text is returned verbatim. */
export function decimalText(value: Quantity): string {
  if (typeof value === "string") return value;
  const source = value instanceof ExactNumber ? value.source : String(value);
  const plain = /[eE]/.test(source) || value instanceof ExactNumber ? plainDecimal(source) : source;
  if (plain === undefined) throw new Error("decimalText was given a number that isDecimal refuses");
  return plain;
}

/** The value of a whole number given as a JSON number or numeric text, nearly where it is large; undefined for any other. */
export function integerValue(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) ? value + 0 : undefined;
  const source = value instanceof ExactNumber ? value.source : value;
  if (typeof source !== "string" || (source === value && !isDecimalText(source))) return undefined;
  const parts = decompose(source);
  const isWhole = parts !== undefined && (parts.digits === "" || parts.exponent >= 0);
  return isWhole ? Number(source) + 0 : undefined;
}

/** Whether a value is a whole number that fits 32 bits. */
export function isInteger(value: unknown): value is Quantity {
  const integer = integerValue(value);
  return integer !== undefined && integer >= -(2 ** 31) && integer < 2 ** 31;
}
