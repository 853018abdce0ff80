import { digitsOf } from "#contract/currencies.ts";
import { amountOf, unitsAt } from "#contract/money.ts";

function textOf(units: bigint | number, scale: number): string {
  if (typeof units === "number") return textOfSafe(units, scale);
  const digits = String(units < 0 ? -units : units).padStart(scale + 1, "0");
  const sign = units < 0 ? "-" : "";
  if (scale === 0) return sign + digits;
  const point = digits.length - scale;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Powers of ten, which take longer to compute: a page has thousands of amounts. */
const POWERS = Array.from({ length: 16 }, (_, digits) => 10 ** digits);

/** `textOf` for a safe integer, without intermediate strings, because a page has thousands. */
function textOfSafe(units: number, scale: number): string {
  if (scale === 0) return String(units);
  const base = POWERS[scale] ?? 10 ** scale;
  const fraction = Math.abs(units) % base;
  const whole = (Math.abs(units) - fraction) / base;
  // The leading 1 preserves the fraction's zeros.
  return `${units < 0 ? "-" : ""}${whole}.${String(base + fraction).slice(1)}`;
}

/** Pads a decimal to `digits` decimal places and drops trailing zeros beyond them: `75.5` becomes `75.50`. */
export function withDigits(text: string, digits: number): string {
  const point = text.indexOf(".");
  const decimals = point === -1 ? 0 : text.length - point - 1;
  // The usual case needs no conversion.
  if (decimals === digits) return text;
  if (decimals < digits) return `${text}${point === -1 ? "." : ""}${"0".repeat(digits - decimals)}`;
  let { units, scale } = amountOf(text);
  while (scale > digits && units % 10n === 0n) [units, scale] = [units / 10n, scale - 1];
  return textOf(units, scale);
}

/** An amount in at least its currency's decimal places; null if it is not reported. */
export function amountIn(currency: string | null, text: string | null | undefined): string | null {
  return text == null ? null : withDigits(text, digitsOf(currency));
}

/** Divides a decimal by a positive integer, to `digits` decimal places. Rounds halves away from zero. */
export function dividedBy(text: string, by: number, digits: number): string {
  const small = smallQuotient(text, by, digits);
  if (small !== undefined) return textOf(small, digits);
  const { units, scale } = amountOf(text);
  const divisor = BigInt(by) * 10n ** BigInt(scale);
  const scaled = (units < 0n ? -units : units) * 10n ** BigInt(digits);
  const quotient = (scaled * 2n + divisor) / (divisor * 2n);
  return textOf(units < 0n ? -quotient : quotient, digits);
}

const TEXT_MAX = 15;

/** The quotient as an integer of 10^-`digits`, if doubles are exact enough, as for any hotel's amounts. */
function smallQuotient(text: string, by: number, digits: number): number | undefined {
  if (text.length > TEXT_MAX) return undefined;
  const point = text.indexOf(".");
  const scale = point === -1 ? 1 : (POWERS[text.length - point - 1] as number);
  // Exact, as the product of so few digits is less than a half off.
  const units = Math.round(Number(text) * scale);
  const divisor = by * scale;
  const dividend = 2 * Math.abs(units) * (POWERS[digits] ?? 10 ** digits) + divisor;
  if (!Number.isSafeInteger(dividend) || !Number.isSafeInteger(2 * divisor)) return undefined;
  const quotient = (dividend - (dividend % (2 * divisor))) / (2 * divisor);
  return units < 0 ? -quotient : quotient;
}

/** The sum of two decimals; if one is null, the other. */
export function plus(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  const [one, other] = [amountOf(left), amountOf(right)];
  const scale = Math.max(one.scale, other.scale);
  return textOf(unitsAt(one, scale) + unitsAt(other, scale), scale);
}

export const minus = (text: string): string => (text.startsWith("-") ? text.slice(1) : `-${text}`);

/** The scale of packed amounts: the most decimal places of any currency. */
const PACKED_SCALE = 4;

/** An amount in whole ten-thousandths, 0 if null; undefined if that is not exact. */
export function tenThousandthsOf(text: string | null): number | undefined {
  if (text === null) return 0;
  let { units, scale } = amountOf(text);
  while (scale > PACKED_SCALE && units % 10n === 0n) [units, scale] = [units / 10n, scale - 1];
  if (scale > PACKED_SCALE) return undefined;
  const whole = Number(units * 10n ** BigInt(PACKED_SCALE - scale));
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/** The decimal text of whole ten-thousandths, with two decimal places if they suffice. */
export function textOfTenThousandths(units: number): string {
  return units % 100 === 0 ? textOf(units / 100, 2) : textOf(units, PACKED_SCALE);
}
