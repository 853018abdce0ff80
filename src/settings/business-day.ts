const NOON_MINUTES = 12 * 60;
const DAY_MS = 86_400_000;

/** What a business day is made of. */
export interface BusinessDay {
  /** An IANA name. */
  readonly timeZone: string;
  /** `HH:MM`, local. */
  readonly businessDayEnd: string;
}

/**
 * The business day (`YYYY-MM-DD`) of an instant at a property. A day that ends at 03:00 goes on until three in the morning of
 * the next calendar day; one that ends at 22:00 leaves the evening to the next day; noon parts the two.
 */
export function businessDayOf(instant: Date, { timeZone, businessDayEnd }: BusinessDay): string {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, calendar: "iso8601", numberingSystem: "latn", hourCycle: "h23" },
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" },
  });
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const numberOf = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const minutes = numberOf("hour") * 60 + numberOf("minute");
  const [hour = 0, minute = 0] = businessDayEnd.split(":").map(Number);
  const end = hour * 60 + minute;
  const days = end < NOON_MINUTES ? (minutes < end ? -1 : 0) : minutes >= end ? 1 : 0;
  const day = Date.UTC(numberOf("year"), numberOf("month") - 1, numberOf("day")) + days * DAY_MS;
  return new Date(day).toISOString().slice(0, 10);
}
