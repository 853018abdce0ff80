const DAYS_BEFORE_MARCH_0 = 719_468;

/** Days from 1970-01-01 to a calendar day: a year counted from March ends with its leap day (Date.parse takes ten times as long). */
function dayNumber(year: number, month: number, day: number): number {
  const fromMarch = year - (month <= 2 ? 1 : 0);
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leaps = Math.floor(fromMarch / 4) - Math.floor(fromMarch / 100) + Math.floor(fromMarch / 400);
  return fromMarch * 365 + leaps + ofYear - DAYS_BEFORE_MARCH_0;
}

const pairOf = (text: string, from: number): number =>
  text.charCodeAt(from) * 10 + text.charCodeAt(from + 1) - 528;

/** Days from 1970-01-01 to a date `YYYY-MM-DD`. */
export function dayOfText(date: string): number {
  return dayNumber(pairOf(date, 0) * 100 + pairOf(date, 2), pairOf(date, 5), pairOf(date, 8));
}

const pairAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] as number) * 10 + (bytes[at + 1] as number) - 528;

/** Days from 1970-01-01 to the date `YYYY-MM-DD` whose first byte stands at `at`. */
export function dayAt(bytes: Uint8Array, at: number): number {
  return dayNumber(
    pairAt(bytes, at) * 100 + pairAt(bytes, at + 2),
    pairAt(bytes, at + 5),
    pairAt(bytes, at + 8),
  );
}
