import { addDays, datesFrom, daysBetween } from "../../../contract/src/dates.ts";
import type { FoundProperty, Grant, PropertyCodes, Resource } from "../contract.ts";

export { addDays, daysBetween };

const DAY_MS = 86_400_000;
/** A whole number of weeks, so weekdays match. */
export const YEAR_DAYS = 364;

/** Stay dates are calendar days (YYYY-MM-DD), not instants, so they have no time zone. */
export function isStayDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && addDays(text, 0) === text;
}

/** Excludes years that are still being typed, such as 0002. */
export function isAskedDate(text: string): boolean {
  return isStayDate(text) && text >= "1900";
}

export function datesBetween(from: string, to: string): string[] {
  return datesFrom(from, Math.max(daysBetween(from, to) + 1, 0));
}

/** 0 is Monday, 6 is Sunday. */
export function weekdayOf(date: string): number {
  return (new Date(date).getUTCDay() + 6) % 7;
}

/** Whether a date is one of the weekdays in a list such as `Fri,Sat`. */
export function isOneOf(weekdays: string, date: string): boolean {
  return weekdays.split(",").includes(writeWeekday(date));
}

/** The operator's local day. */
export function today(): string {
  return new Date().toLocaleDateString("sv");
}

/** Separators follow the locale; words and dates are English. Keeps all digits of a text. */
function numbersOf(locale: string | undefined) {
  const of = (digits: number, most = digits, sign: "negative" | "exceptZero" = "negative") => {
    const format = new Intl.NumberFormat(locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: most,
      signDisplay: sign,
      numberingSystem: "latn",
    });
    // Intl formats decimal text exactly.
    return (value: number | string) => format.format(value as number).replace("-", "−");
  };
  return {
    count: of(0),
    movedCount: of(0, 0, "exceptZero"),
    decimal: of(0, 3),
    money: of(2, 20),
    movedMoney: of(2, 20, "exceptZero"),
    tenths: of(1),
    movedTenths: of(1, 1, "exceptZero"),
    short: of(0, 1, "exceptZero"),
  };
}

let numbers = numbersOf("en-GB");

/** Undefined: the browser's locale. */
export function writeNumbersIn(locale: string | undefined): void {
  numbers = numbersOf(locale);
}

/** `12,345` */
export function writeCount(value: number): string {
  return numbers.count(value);
}

/** `+12`, `−3`, `0` */
export function writeSigned(value: number): string {
  return value > 0 ? `+${writeCount(value)}` : writeCount(value);
}

/** `+4.2 %` between two figures; empty if the earlier one is 0. */
export function writeChange(now: number, before: number): string {
  if (before === 0) return "";
  return `${numbers.movedTenths(((now - before) / Math.abs(before)) * 100)} %`;
}

/** `+1.5 pt` between two shares. */
export function writePoints(now: number, before: number): string {
  return `${numbers.movedTenths((now - before) * 100)} pt`;
}

export function isDecimal(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}

/** Decimal text `1234567.5` as `1,234,567.50`, without conversion to binary floating point. */
export function writeMoney(text: string): string {
  return isDecimal(text) ? numbers.money(text) : text;
}

/** `+412.50` */
export function writeSignedMoney(text: string): string {
  return isDecimal(text) ? numbers.movedMoney(text) : text;
}

/** `1234567.50` as `1,234,568`, where amounts are compared at a glance; `isMoved`: with its sign. */
export function writeWhole(text: string, isMoved = false): string {
  if (!isDecimal(text)) return text;
  return isMoved ? numbers.movedCount(text) : numbers.count(text);
}

/** The divisor and suffix of a shortened figure. */
function unitOf(size: number): readonly [by: number, sign: string] {
  if (size < 999.5) return [1, ""];
  return size < 999_500 ? [1000, "k"] : [1_000_000, "M"];
}

/** A rounded change in money: `-1234.5` as `−1.2k`, `4.50` as `+5`. */
export function writeShort(text: string): string {
  const value = Number(text);
  const [by, sign] = unitOf(Math.abs(value));
  return `${numbers.short(by === 1 ? Math.round(value) : value / by)}${sign}`;
}

/** The marks of an axis in one unit, `0k` to `120k`; below 10,000 as they are. */
export function writeMarks(values: readonly number[]): string[] {
  const largest = Math.max(...values.map(Math.abs));
  const [by, sign] = largest < 10_000 ? [1, ""] : unitOf(largest);
  return values.map((value) => `${numbers.decimal(value / by)}${value === 0 ? "" : sign}`);
}

/** `0.8533` as `85.3 %`; small shares as `< 0.1 %`. */
export function writeShare(text: string | number): string {
  const share = Number(text);
  if (share > 0 && share < 0.0005) return `< ${numbers.tenths(0.1)} %`;
  return Number.isFinite(share) ? `${numbers.tenths(share * 100)} %` : String(text);
}

/** `1 record`, `2 records` */
export function writeMany(count: number, one: string, many = `${one}s`): string {
  return `${writeCount(count)} ${count === 1 ? one : many}`;
}

export const UTC = "UTC";

/** The local time of an instant, with the instant's fractional digits: `2026-03-14T10:26:53.123456`. */
export function localTime(instant: string, timeZone: string): string {
  if (timeZone === UTC) return instant.replace("Z", "");
  const clock = new Date(instant).toLocaleString("sv", { timeZone }).replace(" ", "T");
  return `${clock}${/\.\d+/.exec(instant)?.[0] ?? ""}`;
}

/** The instant of a local time (`2026-03-14T10:26`); the first of two when clocks are set back. */
export function instantOf(local: string, timeZone: string): string {
  const asUtc = Date.parse(`${local}Z`);
  const shown = (ms: number) => Date.parse(`${localTime(new Date(ms).toISOString(), timeZone)}Z`);
  const candidates = [-1, 1].map((days) => {
    const nearby = asUtc + days * DAY_MS;
    return asUtc - (shown(nearby) - nearby);
  });
  const at = candidates.find((each) => shown(each) === asUtc) ?? Math.max(...candidates);
  return new Date(at).toISOString();
}

/** `CET`, `GMT+5:30`, `UTC` */
export function zoneName(instant: string, timeZone: string): string {
  if (timeZone === UTC) return UTC;
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "short" }).formatToParts(
    new Date(instant),
  );
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? timeZone;
}

/** `14 Mar 2026 09:26:53` */
export function writeInstant(instant: string, timeZone = UTC): string {
  const local = localTime(instant, timeZone);
  return `${writeDayOfYear(local)} ${writeTime(local)}`;
}

/** `14 Mar 2026 09:26:53.123456 UTC`, with all digits. */
export function writeExactInstant(instant: string, timeZone = UTC): string {
  const local = localTime(instant, timeZone);
  return `${writeDayOfYear(local)} ${local.slice(11)} ${zoneName(instant, timeZone)}`;
}

/** `09:26:53`, or its first characters. */
export function writeTime(instant: string, characters = 8): string {
  return instant.slice(11, 11 + characters);
}

/** Seconds as `40 ms`, `1.4 s`, `12 s`, `3 min`, `5 h`, `12 d`. */
export function writeDuration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${numbers.tenths(seconds)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${writeCount(Math.round(seconds / 86_400))} d`;
}

/** `4 min ago`, by this machine's clock; `just now` also if that clock is behind. */
export function writeAgo(instant: string, nowMs = Date.now()): string {
  const seconds = (nowMs - Date.parse(instant)) / 1000;
  return seconds < 5 ? "just now" : `${writeDuration(seconds)} ago`;
}

/** Reads a typed instant (`2026-03-14`, `2026-03-14 09:26`) as UTC. */
export function readInstant(text: string, end: "start" | "end" = "start"): string | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}(?:\.\d{1,6})?))?)?Z?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, date, minutes, seconds] = match;
  const rest = end === "end" ? ["23:59", "59.999999"] : ["00:00", "00"];
  const instant = `${date}T${minutes ?? rest[0]}:${seconds ?? (minutes === undefined ? rest[1] : "00")}Z`;
  return Number.isNaN(Date.parse(instant)) ? undefined : instant;
}

/** An instant in the format of a date and time picker: `2026-03-14T09:26`, with seconds if not zero. */
export function pickedInstant(text: string, end?: "start" | "end"): string {
  return (readInstant(text, end) ?? "").slice(0, 19).replace(/:00$/, "");
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const MONTH_NAMES =
  "January February March April May June July August September October November December".split(" ");

/** `Sat 14 Mar 2026` */
export function writeDate(date: string): string {
  return `${writeWeekday(date)} ${writeDayOfYear(date)}`;
}

/** `14 Mar 2026` */
export function writeDayOfYear(date: string): string {
  return `${writeDay(date)} ${date.slice(0, 4)}`;
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

/** Shows the end as well, because UUIDv7s of the same minute share their beginning. */
export function shortId(requestId: string): string {
  return requestId.length <= 13 ? requestId : `${requestId.slice(0, 8)}…${requestId.slice(-4)}`;
}

export function failureInWords(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** The JSON text without quotes, otherwise verbatim. */
export function writeValue(json: string): string {
  if (!json.startsWith('"')) return json;
  try {
    return JSON.parse(json) as string;
  } catch {
    return json;
  }
}

function decimalText(units: bigint, places: number): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, "0");
  const end = digits.length - places;
  return `${units < 0n ? "-" : ""}${digits.slice(0, end)}${places === 0 ? "" : `.${digits.slice(end)}`}`;
}

/** The exact sum of decimal texts. */
export function addMoney(texts: readonly string[]): string {
  const places = Math.max(0, ...texts.map((text) => text.split(".")[1]?.length ?? 0));
  const sum = texts.reduce((total, text) => {
    const [whole = "0", fraction = ""] = text.split(".");
    return total + BigInt(whole + fraction.padEnd(places, "0"));
  }, 0n);
  return decimalText(sum, places);
}

/** The exact difference of decimal texts. */
export function subtractMoney(from: string, less: string): string {
  return addMoney([from, less.startsWith("-") ? less.slice(1) : `-${less}`]);
}

/** Divides an amount like the service: the amount's number of digits, rounded half away from zero. Null for a divisor of 0. */
export function divideMoney(text: string, by: number): string | null {
  if (by === 0) return null;
  const [whole = "0", fraction = ""] = text.split(".");
  const twice = BigInt(whole + fraction) * 2n;
  const divisor = BigInt(by);
  return decimalText((twice + (twice < 0n ? -divisor : divisor)) / (2n * divisor), fraction.length);
}

/** Codes may contain any character, so they are query parameters. */
export function propertyPath(
  page: string,
  { clientCode, propertyCode }: PropertyCodes,
  more: Readonly<Record<string, string>> = {},
): string {
  return `${page}?${new URLSearchParams({ clientCode, propertyCode, ...more })}`;
}

/** The report of two hotels beside each other. */
export function sideBySidePath(
  [one, other]: readonly [PropertyCodes, PropertyCodes],
  more: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(more).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return propertyPath("/property/report", one, { beside: writeGrant(other), ...Object.fromEntries(given) });
}

/** The display name of a property, and its further identification. */
export function namesOf({ clientCode, propertyCode, name, city }: FoundProperty) {
  const codes = `${clientCode} / ${propertyCode}`;
  const others = [name === null ? null : codes, city].filter((each) => each !== null);
  return { text: name ?? codes, note: others.join(" · ") };
}

export function historyPath(codes: PropertyCodes, resource: Resource, key: string): string {
  return propertyPath("/history", codes, { resource, key });
}

/** `ACME/LON01`, `ACME/*` */
export function writeGrant({ clientCode, propertyCode }: Grant): string {
  return `${clientCode}/${propertyCode}`;
}

/** Reads `ACME/LON01`; property codes may contain a slash. */
export function readCodes(text: string): PropertyCodes | undefined {
  const slash = text.indexOf("/");
  if (slash <= 0 || slash === text.length - 1) return undefined;
  return { clientCode: text.slice(0, slash), propertyCode: text.slice(slash + 1) };
}

/** `ACME/LON01,ACME/ROM%2C1`: hotels in an address. */
export function writeHotels(hotels: readonly PropertyCodes[]): string {
  return hotels.map((codes) => writeGrant(codes).replace(/[%,]/g, encodeURIComponent)).join(",");
}

export function readHotels(text: string): readonly PropertyCodes[] {
  return text.split(",").flatMap((one) => {
    try {
      return readCodes(decodeURIComponent(one)) ?? [];
    } catch {
      return [];
    }
  });
}

/** Reads grants, one per line; also returns the invalid lines. */
export function readGrants(text: string): {
  readonly grants: readonly Grant[];
  readonly wrong: readonly string[];
} {
  const lines = text.split("\n").map((line) => line.trim());
  const grants: Grant[] = [];
  const wrong: string[] = [];
  for (const line of new Set(lines.filter((each) => each !== ""))) {
    const slash = line.indexOf("/");
    const clientCode = line.slice(0, slash).trim();
    const propertyCode = line.slice(slash + 1).trim();
    if (slash > 0 && clientCode !== "" && clientCode !== "*" && propertyCode !== "")
      grants.push({ clientCode, propertyCode });
    else wrong.push(line);
  }
  return { grants, wrong };
}
