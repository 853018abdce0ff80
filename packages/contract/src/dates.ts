const DAY_MS = 86_400_000;
const FIRST = "0001-01-01";
const LAST = "9999-12-31";

/** Remembers the last result of `format`: under load many requests are of one millisecond. */
export function rememberLast(format: (ms: number) => string): (ms: number) => string {
  let last = Number.NaN;
  let text = "";
  return (ms) => {
    if (ms !== last) {
      text = format(ms);
      last = ms;
    }
    return text;
  };
}

/** Adds days to a date `YYYY-MM-DD`, clamped to years 1 to 9999. */
export function addDays(date: string, days: number): string {
  const ms = Date.parse(date) + days * DAY_MS;
  if (!(ms > Date.parse(FIRST))) return FIRST;
  return ms >= Date.parse(LAST) ? LAST : new Date(ms).toISOString().slice(0, 10);
}

/** Days from one date to another; negative if `to` is earlier. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

/** `count` consecutive dates. */
export function datesFrom(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, days) => addDays(first, days));
}
