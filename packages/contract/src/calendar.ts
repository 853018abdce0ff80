const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const DATE_CHARACTERS = 10;
const ZERO = 0x30;
const DASH = 0x2d;

/** The number that `count` ASCII digits at `from` spell, or NaN. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

function hasDateAtStart(text: string): boolean {
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return false;
  return isDay(digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2));
}

/** Whether these are a day of the calendar, years 1 to 9999; not where one is NaN. */
export function isDay(year: number, month: number, day: number): boolean {
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1)) return false;
  const leapDay = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 1 : 0;
  return day <= (DAYS_OF_MONTH[month - 1] ?? 0) + leapDay;
}

/** Whether a text is a real calendar date `YYYY-MM-DD`, years 0001 to 9999 (ISO 8601, specification section 2). */
export function isCalendarDate(text: string): boolean {
  return text.length === DATE_CHARACTERS && hasDateAtStart(text);
}

/**
 * Whether a text is a UTC time `YYYY-MM-DDThh:mm:ss[.f]Z` with one to six fractional digits (specification section 2).
 * 24:00 and the leap second :60 are refused: they have no single instant that every database agrees on.
 */
export function isUtcTimestamp(text: string): boolean {
  const length = text.length;
  if (length < 20 || length === 21 || length > 27 || !hasDateAtStart(text)) return false;
  if (text[10] !== "T" || text[13] !== ":" || text[16] !== ":" || text[length - 1] !== "Z") return false;
  if (!(digits(text, 11, 2) <= 23 && digits(text, 14, 2) <= 59 && digits(text, 17, 2) <= 59)) return false;
  return length === 20 || (text[19] === "." && !Number.isNaN(digits(text, 20, length - 21)));
}

/** An accepted timestamp with exactly six fractional digits: `2026-01-02T03:04:05.000000Z`. Its text order is its time order. */
export function microsecondTimestamp(text: string): string {
  if (text.length === 20) return `${text.slice(0, 19)}.000000Z`;
  return `${text.slice(0, -1).padEnd(26, "0")}Z`;
}
