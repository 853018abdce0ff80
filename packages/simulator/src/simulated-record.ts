export const SIMULATED_RESOURCES = ["inventories", "groups", "reservations"] as const;
export type SimulatedResource = (typeof SIMULATED_RESOURCES)[number];

/** Days since 1970 and seconds since midnight (UTC). Caches the text of days, because every record has a dozen. */

const DAY_MS = 86_400_000;
const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
export const DAY_SECONDS = 86_400;
export const QUARTER_SECONDS = 900;

const dates = new Array<string | undefined>(40_000);
const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, "0"));

export function dateText(day: number): string {
  let text = dates[day];
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    dates[day] = text;
  }
  return text;
}

export function dayOfDate(date: string): number {
  return Math.round(Date.parse(`${date}T00:00:00Z`) / DAY_MS);
}

export function timeText(day: number, second: number): string {
  const hour = Math.floor(second / HOUR_SECONDS);
  const minute = Math.floor(second / MINUTE_SECONDS) % 60;
  return `${dateText(day)}T${TWO_DIGITS[hour]}:${TWO_DIGITS[minute]}:${TWO_DIGITS[second % 60]}Z`;
}

export function quarterOf({ day, second }: { readonly day: number; readonly second: number }): number {
  return Math.floor((day * DAY_SECONDS + second) / QUARTER_SECONDS);
}

/** January is 0. */
export function monthOf(day: number): number {
  return Number(dateText(day).slice(5, 7)) - 1;
}

/** Monday is 0. */
export function weekdayOf(day: number): number {
  return (day + 3) % 7;
}

/** 1,250 cents as `12.50`. Cents must not be negative. */
export function centsText(cents: number): string {
  const whole = Math.floor(cents / 100);
  return `${whole}.${TWO_DIGITS[cents - whole * 100]}`;
}
