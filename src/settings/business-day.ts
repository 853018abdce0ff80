import { addDays } from "#contract/dates.ts";
import type { PropertySettings } from "./property-settings.ts";

const DAY_MINUTES = 24 * 60;
const NOON_MINUTES = DAY_MINUTES / 2;
const MINUTE_MS = 60_000;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

/** Defines a business day: an IANA time zone and `HH:MM` local time. */
export type BusinessDay = Pick<PropertySettings, "timeZone" | "businessDayEnd">;

/** Minutes from midnight to the end of the business day; negative if it ends at noon or later, before midnight. */
export function minutesAfterMidnight({ businessDayEnd }: BusinessDay): number {
  const [hours = 0, minutes = 0] = businessDayEnd.split(":").map(Number);
  const end = hours * 60 + minutes;
  return end < NOON_MINUTES ? end : end - DAY_MINUTES;
}

/** One per time zone: creating a format takes longer than using it. Settings accept only zones of the platform's database. */
const localFormats = new Map<string, Intl.DateTimeFormat>();

function localFormatOf(timeZone: string): Intl.DateTimeFormat {
  let format = localFormats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    localFormats.set(timeZone, format);
  }
  return format;
}

/** Local time of a zone at an instant, in whole seconds, as milliseconds since 1970 in UTC. */
function localMsAt(instant: Date, timeZone: string): number {
  const written = localFormatOf(timeZone).formatToParts(instant);
  const parts = new Map(written.map(({ type, value }) => [type, Number(value)]));
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = (
    ["year", "month", "day", "hour", "minute", "second"] as const
  ).map((type) => parts.get(type));
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Offset of a zone from UTC at an instant. */
export function offsetMsAt(ms: number, timeZone: string): number {
  return localMsAt(new Date(ms), timeZone) - Math.floor(ms / 1_000) * 1_000;
}

/**
 * The business day (`YYYY-MM-DD`) of an instant at a property. A day that ends at 03:00 continues until three in the morning; one that ends
 * at 22:00 leaves the evening to the next day. Noon separates the two cases. No day begins before the one before it has ended.
 */
export function businessDayOf(instant: Date, businessDay: BusinessDay): string {
  const localMs = localMsAt(instant, businessDay.timeZone);
  const day = new Date(localMs - minutesAfterMidnight(businessDay) * MINUTE_MS).toISOString().slice(0, 10);
  const before = addDays(day, -1);
  return instant < endOfBusinessDay(before, businessDay) ? before : day;
}

/**
 * The end of a business day (`YYYY-MM-DD`), which is the first instant of the next. If clocks set back show the local time twice, the second
 * time; if clocks set forward skip it, as if they had not been set yet. As PostgreSQL's `at time zone`.
 */
export function endOfBusinessDay(day: string, businessDay: BusinessDay): Date {
  const { timeZone } = businessDay;
  const localMs = Date.parse(day) + (DAY_MINUTES + minutesAfterMidnight(businessDay)) * MINUTE_MS;
  const [before, after] = [-DAY_MS, DAY_MS].map((by) => offsetMsAt(localMs + by, timeZone)) as [
    number,
    number,
  ];
  const isSet = before !== after && offsetMsAt(localMs - after, timeZone) === after;
  return new Date(localMs - (isSet ? after : before));
}

/** Just before the end of a business day, in microseconds: the bound of what happened on it, inclusive. */
export function lastOfBusinessDay(day: string, businessDay: BusinessDay): string {
  const last = new Date(endOfBusinessDay(day, businessDay).getTime() - 1);
  return last.toISOString().replace("Z", "999Z");
}
