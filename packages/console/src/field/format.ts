/**
 * How values are written: digits in groups, a real minus, no exact value rounded. Instants are UTC, as in answers, logs and the
 * command line.
 */
import { weekdayOf } from "./stay-date.ts";

const counts = new Intl.NumberFormat("en-GB");

/** `12,345` */
export function writeCount(value: number): string {
  return counts.format(value).replace("-", "−");
}

/** `+12`, `−3`, `0` */
export function writeSigned(value: number): string {
  return value > 0 ? `+${writeCount(value)}` : writeCount(value);
}

/** Decimal text `1234567.5` as `1,234,567.50`; it never becomes a binary number. */
export function writeMoney(text: string, signed = false): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null) return text;
  const [, sign = "", whole = "", fraction = ""] = match;
  const cents = fraction.replace(/0+$/, "").padEnd(2, "0");
  const plus = signed && sign === "" && /[1-9]/.test(text) ? "+" : "";
  return `${sign === "" ? plus : "−"}${whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",")}.${cents}`;
}

const shortened = new Intl.NumberFormat("en-GB", { notation: "compact" });

/** Decimal text `-1234.5` as `−1.2K`: two digits, for where the exact figure has no room and stands elsewhere. */
export function writeShort(text: string): string {
  return shortened.format(Number(text)).replace("-", "−");
}

/** `0.8533` as `85.3 %` */
export function writeShare(text: string | number): string {
  const share = Number(text);
  return Number.isFinite(share) ? `${(share * 100).toFixed(1).replace("-", "−")} %` : String(text);
}

/** `1 record`, `2 records` */
export function writeMany(count: number, one: string, many = `${one}s`): string {
  return `${writeCount(count)} ${count === 1 ? one : many}`;
}

/** `2026-03-14 09:26:53` */
export function writeInstant(instant: string): string {
  return instant.slice(0, 19).replace("T", " ");
}

/** Seconds as `40 ms`, `1.4 s`, `12 s`, `3 min`, `5 h`, `12 d`. */
export function writeDuration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** `4 min ago`, by this machine's clock; `just now` also where that is behind. */
export function writeAgo(instant: string, nowMs = Date.now()): string {
  const seconds = (nowMs - Date.parse(instant)) / 1000;
  return seconds < 5 ? "just now" : `${writeDuration(seconds)} ago`;
}

/** What an operator types for an instant (`2026-03-14`, `2026-03-14 09:26`) as UTC, or undefined. */
export function readInstant(text: string, end: "start" | "end" = "start"): string | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}(?:\.\d{1,6})?))?)?Z?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, date, minutes, seconds] = match;
  const rest = end === "end" ? ["23:59", "59.999999"] : ["00:00", "00"];
  const instant = `${date}T${minutes ?? rest[0]}:${seconds ?? (minutes === undefined ? rest[1] : "00")}Z`;
  return Number.isNaN(Date.parse(instant)) ? undefined : instant;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const MONTH_NAMES =
  "January February March April May June July August September October November December".split(" ");

/** `Sat 14 Mar 2026` */
export function writeDate(date: string): string {
  return `${writeWeekday(date)} ${writeDay(date)} ${date.slice(0, 4)}`;
}

/** `14 Mar` */
export function writeDay(date: string): string {
  return `${Number(date.slice(8, 10))} ${(MONTH_NAMES[Number(date.slice(5, 7)) - 1] ?? "").slice(0, 3)}`;
}

/** `Sat` */
export function writeWeekday(date: string): string {
  return WEEKDAYS[(weekdayOf(date) + 1) % 7] ?? "";
}

/** `March 2026` of `2026-03-01` */
export function writeMonth(date: string): string {
  return `${MONTH_NAMES[Number(date.slice(5, 7)) - 1] ?? ""} ${date.slice(0, 4)}`;
}

/**
 * A request's id short enough for a line. Ids of the same minute begin alike (UUIDv7: the beginning is the time), so what
 * tells them apart, the end, is there too.
 */
export function shortId(requestId: string): string {
  return requestId.length <= 13 ? requestId : `${requestId.slice(0, 8)}…${requestId.slice(-4)}`;
}

/** Why a delivery failed, as it is read: `NotAccepted` as `not accepted`. The names are those of docs/webhooks.md. */
export function failureInWords(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** A short JSON value as it is read: text without its quotes, all else as it was sent. */
export function writeValue(json: string): string {
  if (!json.startsWith('"')) return json;
  try {
    return JSON.parse(json) as string;
  } catch {
    return json;
  }
}
