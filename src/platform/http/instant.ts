import { isUtcTimestamp, microsecondTimestamp } from "#contract/calendar.ts";

/** An instant: milliseconds since 1970 plus 0 to 999 microseconds. */
export interface Instant {
  readonly ms: number;
  readonly us: number;
}

/** The last millisecond that a UUIDv7 can represent. */
const MS_LAST = 2 ** 48 - 1;

/** Reads a time in the format of records, truncated to microseconds; undefined if malformed. */
export function readInstant(text: string): Instant | undefined {
  if (!isUtcTimestamp(text)) return undefined;
  const exact = microsecondTimestamp(text);
  return { ms: Date.parse(`${exact.slice(0, 23)}Z`), us: Number(exact.slice(23, 26)) };
}

/** The instant of a valid text; undefined without one. */
export function instantIn(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : readInstant(text);
}

/** The next microsecond. */
export function after({ ms, us }: Instant): Instant {
  return us === 999 ? { ms: ms + 1, us: 0 } : { ms, us: us + 1 };
}

/**
 * The lowest request id received at or after an instant. Ids have a resolution of 1/4096 ms and receipts are rounded
 * down to microseconds (`microsecondsOf` in src/ingest/log/part-name.ts), so the fraction is rounded up here.
 */
export function lowestIdFrom(instant: Instant): string {
  const inRange = instant.ms >= 0 && instant.ms <= MS_LAST;
  const ms = inRange ? instant.ms : instant.ms < 0 ? 0 : MS_LAST;
  const fraction = inRange ? Math.ceil((instant.us * 4096) / 1000) : instant.ms < 0 ? 0 : 4095;
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${fraction.toString(16).padStart(3, "0")}-8000-000000000000`;
}
