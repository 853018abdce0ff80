/** The maximum digits of a decimal, which PostgreSQL, Java and .NET can all store exactly. */
export const DECIMAL_DIGITS_MAX = 38;

// Allows padding ("0000012.50").
const DECIMAL_CHARACTERS_MAX = 64;

/**
 * The literal of a JSON number that a double may not hold exactly (more than 15 significant digits, or beyond 38 digits in plain
 * notation). `JSON.parse` would round it silently.
 */
export class ExactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A quantity (specification, section 2.2): a JSON number or a numeric text. */
export type Quantity = number | string | ExactNumber;

/** The significant digits of a number ("" for zero), and the power of ten of the last one. */
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

/** Without a regular expression, which takes ten times as long. */
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

/** Converts a JSON number literal to plain notation ("1.5e2" to "150"). Undefined if not a number, or beyond 38 digits. */
export function plainDecimal(source: string): string | undefined {
  const parts = decompose(source);
  if (parts === undefined || isTooLong(parts)) return undefined;
  const { sign, digits, exponent } = parts;
  if (digits === "") return "0";
  if (exponent >= 0) return sign + digits + "0".repeat(exponent);
  const whole = digits.padStart(1 - exponent, "0");
  return `${sign}${whole.slice(0, exponent)}.${whole.slice(exponent)}`;
}

// IEEE 754 doubles preserve decimals of up to 15 significant digits.
const DOUBLE_DIGITS = 15;

/** The number of significant digits of a literal; Infinity if that does not decide whether a double preserves it. */
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

/** Whether a JSON number literal must be kept as text because a double may not preserve it. */
export function needsExactNumber(source: string): boolean {
  const significant = significantDigits(source);
  if (significant !== Number.POSITIVE_INFINITY) return significant > DOUBLE_DIGITS;
  const parts = decompose(source);
  return parts === undefined || parts.digits.length > DOUBLE_DIGITS || isTooLong(parts);
}

/**
 * Whether a JSON number literal overflows or underflows a double. Databases print such a number in hundreds of digits, and JSON readers
 * fail on it or lose it.
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

/** Whether a value is a quantity that can be stored as an exact decimal. A JavaScript number always is: see ExactNumber. */
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
