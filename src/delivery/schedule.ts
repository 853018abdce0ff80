import { addDays } from "#contract/dates.ts";
import { businessDayOf, endOfBusinessDay } from "../settings/business-day.ts";

const NOON = "12:00";

/** Whether the text is a local time `HH:MM`. */
export const isLocalTime = (text: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$/.test(text);

/**
 * When the clocks of a zone show a local time on a date. If they are set forward over it, as if they had not been yet; if they show it
 * twice, the second time.
 */
export function instantOfLocalTime(date: string, localTime: string, timeZone: string): Date {
  const day = localTime < NOON ? addDays(date, -1) : date;
  return endOfBusinessDay(day, { timeZone, businessDayEnd: localTime });
}

/** The date that a zone's clocks show. */
const localDateOf = (now: Date, timeZone: string): string =>
  businessDayOf(now, { timeZone, businessDayEnd: "00:00" });

/** A due time, and the date of its zone. */
export interface Due {
  readonly date: string;
  readonly at: Date;
}

/** The last due time of a daily message at or before `now`. */
export function lastDue(now: Date, localTime: string, timeZone: string): Due {
  const today = localDateOf(now, timeZone);
  const dueOn = (date: string): Due => ({ date, at: instantOfLocalTime(date, localTime, timeZone) });
  const due = dueOn(today);
  return due.at <= now ? due : dueOn(addDays(today, -1));
}

/** The first due time after `now`. */
export function nextDue(now: Date, localTime: string, timeZone: string): Due {
  const date = addDays(lastDue(now, localTime, timeZone).date, 1);
  return { date, at: instantOfLocalTime(date, localTime, timeZone) };
}
