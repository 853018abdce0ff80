import { addDays } from "#contract/dates.ts";
import { type BusinessDay, businessDayOf, lastOfBusinessDay } from "../settings/business-day.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import * as field from "./fields.ts";

/** The days of an answer: in every answer besides its items. */
export const DAY_FIELDS = {
  readAt: {
    ...field.time(
      "When the answer was computed, which is its instant without `asOf`.",
      "2026-06-15T12:00:04.120Z",
    ),
    pattern: "^[^\\u0000]*$",
  },
  timeZone: field.text("The property's time zone.", "Europe/Paris"),
  businessDayEnd: field.text("The local end of its business day, HH:MM.", "03:00"),
  businessDay: field.day("Its business day at the answer's instant.", "2026-06-15"),
};
export type AnswerDays = field.ValuesOf<typeof DAY_FIELDS>;

/** The instant that an answer is about. */
export function instantOf(asOf: string | null, now: Date): Date {
  return asOf === null ? now : new Date(asOf);
}

export function daysOf(
  { timeZone, businessDayEnd }: PropertySettings,
  asOf: string | null,
  now: Date,
): AnswerDays {
  const businessDay = businessDayOf(instantOf(asOf, now), { timeZone, businessDayEnd });
  return { readAt: now.toISOString(), timeZone, businessDayEnd, businessDay };
}

/** The last instant before the business day `days - 1` days before `day`: a pickup of `days` business days up to `day` begins after it. */
export function sinceOf(day: string, days: number, settings: BusinessDay): string {
  return lastOfBusinessDay(addDays(day, -days), settings);
}

/** 52 weeks. */
export const YEAR_DAYS = 364;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The same weekday a year earlier. */
export const lastYearOf = (date: string): string => addDays(date, -YEAR_DAYS);
export const yearAfter = (date: string): string => addDays(date, YEAR_DAYS);

/**
 * The same time last year: 364 times 24 hours before the instant, to the microsecond. Without `asOf`, before the start of the current hour, so
 * that all answers of one hour compare with the same.
 */
export function lastYearAsOf(asOf: string | null, now: Date): string {
  if (asOf === null)
    return new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS - YEAR_DAYS * DAY_MS).toISOString();
  const [whole = "", fraction = ""] = asOf.replace("Z", "").split(".");
  const then = new Date(Date.parse(`${whole}Z`) - YEAR_DAYS * DAY_MS).toISOString();
  return `${then.slice(0, 19)}${fraction === "" ? "" : `.${fraction}`}Z`;
}
