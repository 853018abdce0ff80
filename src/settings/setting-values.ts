import { currencyOf, isCurrency } from "#contract/currencies.ts";
import { UsageError } from "../platform/errors/operator-error.ts";
import type { SettingName } from "./console-answers.ts";

/** What rooms sold are compared with: the capacity, or the capacity less rooms out of order. */
export type OccupancyBase = "capacity" | "available";

/** Whether blocks of subgroups are part of those of the group that they name as their master. */
export type GroupHierarchy = "included" | "separate";

/** Maximum hours between a property's batches of a resource; null if none are expected. */
export interface ExpectedCadence {
  readonly inventories: number | null;
  readonly reservations: number | null;
  readonly groups: number | null;
}

export type { SettingName };

/** A setting: its valid values, default, and canonical form. */
export interface SettingDefinition {
  readonly name: SettingName;
  /** Completes "… takes". */
  readonly takes: string;
  /** The default; null means none. */
  readonly fallback: string | null;
  /** The canonical form of a value; undefined if it is invalid. */
  read(text: string): string | undefined;
}

/** An invalid value or name; the message says what is valid. */
export class SettingInputError extends UsageError {}

const CODE_CHARACTERS_MAX = 128;
const LINE_CHARACTERS_MAX = 100;
const HOURS_MAX = 8_784;

/** An IANA zone as Intl writes it. Offsets are refused: they have no daylight saving time, and PostgreSQL inverts their sign. */
function readTimeZone(text: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

function readCurrency(text: string): string | undefined {
  const code = currencyOf(text);
  return code !== null && isCurrency(code) ? code : undefined;
}

/** Hours with up to three decimal places, or `none`. */
function readHours(text: string): string | undefined {
  if (text === "none") return text;
  if (!/^\d{1,4}(\.\d{1,3})?$/.test(text)) return undefined;
  const hours = Number(text);
  return hours > 0 && hours <= HOURS_MAX ? String(hours) : undefined;
}

/** A non-blank line of text, trimmed. */
function readLine(text: string): string | undefined {
  const line = text.trim();
  return line !== "" && line.length <= LINE_CHARACTERS_MAX && line.isWellFormed() && !/\p{Cc}/u.test(line)
    ? line
    : undefined;
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

/** Days of the week in order, or `none`. */
function readWeekdays(text: string): string | undefined {
  if (text === "none") return text;
  const named = text.split(/[\s,]+/).map((word) => word.toLowerCase());
  const days = WEEKDAYS.filter((day) => named.includes(day.toLowerCase()));
  return days.length === named.length ? days.join(",") : undefined;
}

const matching = (shape: RegExp) => (text: string) => (shape.test(text) ? text : undefined);

const HOURS = `hours between batches, above 0 and at most ${HOURS_MAX} (24, 0.5), or none`;

/** Every setting, in the order of lists. */
export const SETTINGS: readonly SettingDefinition[] = [
  {
    name: "occupancyBase",
    takes: "capacity, or available: capacity minus rooms out of order",
    fallback: "capacity",
    read: matching(/^(capacity|available)$/),
  },
  { name: "timeZone", takes: "an IANA time zone such as Europe/Paris", fallback: "UTC", read: readTimeZone },
  {
    name: "businessDayEnd",
    takes: "the local end of the business day, HH:MM; before 12:00 it is on the next calendar day",
    fallback: "00:00",
    read: matching(/^([01]\d|2[0-3]):[0-5]\d$/),
  },
  {
    name: "currency",
    takes: "an ISO 4217 code such as EUR",
    fallback: null,
    read: readCurrency,
  },
  {
    name: "groupHierarchy",
    takes:
      "included: blocks of subgroups (masterGroupCode) are part of their master's; or separate: they come on top",
    fallback: "included",
    read: matching(/^(included|separate)$/),
  },
  {
    name: "weekend",
    takes: "the days that the console tints as the weekend, each once (Fri,Sat), or none",
    fallback: "Fri,Sat",
    read: readWeekdays,
  },
  {
    name: "personalData",
    takes: "keep, or strip: the names of profiles are hashed on arrival (docs/privacy.md)",
    fallback: "keep",
    read: matching(/^(keep|strip)$/),
  },
  {
    name: "negativeCounts",
    takes: "warn, quarantine or refuse: what happens to a record with a count below zero, such as roomsSold",
    fallback: "warn",
    read: matching(/^(warn|quarantine|refuse)$/),
  },
  { name: "cadence.inventories", takes: HOURS, fallback: "24", read: readHours },
  { name: "cadence.reservations", takes: HOURS, fallback: "24", read: readHours },
  { name: "cadence.groups", takes: HOURS, fallback: "none", read: readHours },
  {
    name: "name",
    takes: `the property's name, one line of up to ${LINE_CHARACTERS_MAX} characters`,
    fallback: null,
    read: readLine,
  },
  {
    name: "city",
    takes: `the property's city, one line of up to ${LINE_CHARACTERS_MAX} characters`,
    fallback: null,
    read: readLine,
  },
];

/** The setting with this name. Throws SettingInputError that lists the names. */
export function settingNamed(name: string): SettingDefinition {
  const setting = SETTINGS.find((one) => one.name === name);
  if (setting !== undefined) return setting;
  const names = SETTINGS.map((one) => one.name).join(", ");
  throw new SettingInputError(`Unknown setting ${JSON.stringify(name)}; the settings are ${names}.`);
}

/** The canonical form of a value. Throws SettingInputError that names the valid values. */
export function readSettingValue(setting: SettingDefinition, text: string): string {
  const value = setting.read(text);
  if (value !== undefined) return value;
  throw new SettingInputError(`${setting.name} takes ${setting.takes}, not ${JSON.stringify(text)}.`);
}

/** Validates a client code or property code (1 to 128 characters, no NUL). Throws SettingInputError. */
export function checkCode(what: string, code: string): void {
  if (code === "" || code.length > CODE_CHARACTERS_MAX || code.includes("\0"))
    throw new SettingInputError(`A ${what} must have 1 to ${CODE_CHARACTERS_MAX} characters.`);
}
