import { rememberLast } from "./dates.ts";
import { UNSURE, walkDate, walkTimestamp } from "./walk-value.ts";

const QUOTE = 0x22;
const ZERO = 0x30;

/** Longer than any date or time. */
const SHORT_CHARACTERS_MAX = 30;
const short = Buffer.alloc(4 * SHORT_CHARACTERS_MAX);

/** Whether a text is a calendar date `YYYY-MM-DD`, years 0001 to 9999 (specification, section 2). */
export function isCalendarDate(text: string): boolean {
  return text.length === 10 && short.write(text) === 10 && walkDate(short, 0) !== UNSURE;
}

/** Whether a text is a UTC time `YYYY-MM-DDThh:mm[:ss[.f]]Z` with one to nine fraction digits (specification, section 2). */
export function isUtcTimestamp(text: string): boolean {
  if (text.length > SHORT_CHARACTERS_MAX) return false;
  const bytes = short.write(text);
  short[bytes] = QUOTE;
  return walkTimestamp(short, 0) === bytes + 1;
}

/** Normalises an accepted timestamp to six fraction digits, for example `2026-01-02T03:04:05.000000Z`. Text order is time order. */
export function microsecondTimestamp(text: string): string {
  if (text.length === 20) return `${text.slice(0, 19)}.000000Z`;
  if (text.length === 17) return `${text.slice(0, 16)}:00.000000Z`;
  return `${text.slice(0, Math.min(text.length - 1, 26)).padEnd(26, "0")}Z`;
}

/** A record further in the future would win over all later ones, so it is quarantined. */
const SOURCE_TIME_AHEAD_MS_MAX = 10 * 60_000;

/** The latest source time of a record received at `receivedAt` (ms since 1970), as text for comparison. */
export const latestSourceTime = rememberLast((receivedAt) => {
  const latest = new Date(receivedAt + SOURCE_TIME_AHEAD_MS_MAX).toISOString();
  return `${latest.slice(0, -1)}999Z`;
});

const DAYS_BEFORE_MARCH_0 = 719_468;

/** Days since 1970-01-01. Counts years from March, so that the leap day is last. (Date.parse takes ten times as long.) */
function dayNumber(year: number, month: number, day: number): number {
  const fromMarch = year - (month <= 2 ? 1 : 0);
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leaps = Math.floor(fromMarch / 4) - Math.floor(fromMarch / 100) + Math.floor(fromMarch / 400);
  return fromMarch * 365 + leaps + ofYear - DAYS_BEFORE_MARCH_0;
}

/** The value of two digits of an accepted value. */
const twoDigits = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) * 10 + (bytes[at + 1] as number) - 11 * ZERO;

/** Days since 1970-01-01 of the accepted date at `at`. */
export function dayAt(bytes: Uint8Array, at: number): number {
  const year = twoDigits(bytes, at) * 100 + twoDigits(bytes, at + 2);
  return dayNumber(year, twoDigits(bytes, at + 5), twoDigits(bytes, at + 8));
}

/** The accepted date at `at` as the number YYYYMMDD. */
export function dateAt(bytes: Uint8Array, at: number): number {
  const century = twoDigits(bytes, at) * 1_000_000 + twoDigits(bytes, at + 2) * 10_000;
  return century + twoDigits(bytes, at + 5) * 100 + twoDigits(bytes, at + 8);
}

/** Days since 1970-01-01 of an accepted date. */
export function dayOfText(date: string): number {
  short.write(date, "latin1");
  return dayAt(short, 0);
}
