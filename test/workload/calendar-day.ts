const DAY_MS = 86_400_000;

/** A calendar date `YYYY-MM-DD` as days since 1970, and back: the workload counts in whole days. */
export function dayOf(date: string): number {
  return Math.round(Date.parse(`${date}T00:00:00Z`) / DAY_MS);
}

export function dateOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** The instant at a second of a day, in milliseconds since 1970. */
export function instantOf(day: number, second: number): number {
  return day * DAY_MS + second * 1000;
}

/** `2016-03-01T08:30:00Z`. */
export function timestampOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
