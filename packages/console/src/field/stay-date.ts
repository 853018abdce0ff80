/**
 * Stay dates are days of the calendar, never instants: all arithmetic is on YYYY-MM-DD by UTC days, and no time zone has a say.
 */
const DAY_MS = 86_400_000;

function daysOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

function dateOf(days: number): string {
  return new Date(days * DAY_MS).toISOString().slice(0, 10);
}

/** Whether a text is a real day, written YYYY-MM-DD. */
export function isStayDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const days = daysOf(text);
  return Number.isFinite(days) && dateOf(days) === text;
}

/** Whether a date may be asked for: a year that is being typed begins as 0002. */
export function isAskedDate(text: string): boolean {
  return isStayDate(text) && text >= "1900";
}

/** So many days later (earlier, where negative). */
export function addDays(date: string, days: number): string {
  return dateOf(daysOf(date) + days);
}

/** Days from one date to another: 0 on the same, negative backwards. */
export function daysBetween(from: string, to: string): number {
  return daysOf(to) - daysOf(from);
}

/** Every date from..to, `to` included. */
export function datesBetween(from: string, to: string): string[] {
  const count = daysBetween(from, to) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, day) => addDays(from, day));
}

/** 0 is Monday, 6 is Sunday. */
export function weekdayOf(date: string): number {
  return (new Date(daysOf(date) * DAY_MS).getUTCDay() + 6) % 7;
}

export function isWeekend(date: string): boolean {
  return weekdayOf(date) >= 4 && weekdayOf(date) <= 5;
}

/** Today where the operator sits: only a default for the range that is shown first. */
export function today(now = new Date()): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}
