const DAY_MS = 86_400_000;
const FIRST = "0001-01-01";
const LAST = "9999-12-31";

/** The date so many days after another; both `YYYY-MM-DD`. None is before year 1 or after year 9999. */
export function addDays(date: string, days: number): string {
  const ms = Date.parse(date) + days * DAY_MS;
  if (!(ms > Date.parse(FIRST))) return FIRST;
  return ms >= Date.parse(LAST) ? LAST : new Date(ms).toISOString().slice(0, 10);
}

/** Days from one date to another: 0 on the same, negative backwards. */
export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

/** So many consecutive dates. */
export function datesFrom(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, days) => addDays(first, days));
}
