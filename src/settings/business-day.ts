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
    timeZone,
    calendar: "iso8601",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
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

/** How far the clocks of a zone are ahead of UTC at an instant, in milliseconds. */
function offsetMsAt(instant: Date, timeZone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
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
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const numberOf = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const local = Date.UTC(
    ...([numberOf("year"), numberOf("month") - 1, numberOf("day")] as const),
    ...([numberOf("hour"), numberOf("minute"), numberOf("second")] as const),
  );
  return local - Math.floor(instant.getTime() / 1_000) * 1_000;
}

/** The instant at which a business day (`YYYY-MM-DD`) is over: the first that `businessDayOf` gives to a later day. */
export function endOfBusinessDay(day: string, { timeZone, businessDayEnd }: BusinessDay): Date {
  const [hour = 0, minute = 0] = businessDayEnd.split(":").map(Number);
  const end = hour * 60 + minute;
  const localMs = Date.parse(day) + (end < NOON_MINUTES ? DAY_MS : 0) + end * 60_000;
  // The offset of the instant itself: a first guess may lie on the other side of a change of the clocks.
  const guess = localMs - offsetMsAt(new Date(localMs), timeZone);
  return new Date(localMs - offsetMsAt(new Date(guess), timeZone));
}
