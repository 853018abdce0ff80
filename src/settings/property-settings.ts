import { addDays } from "#contract/dates.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import {
  type ExpectedCadence,
  type GroupHierarchy,
  type OccupancyBase,
  SETTINGS,
  type SettingDefinition,
  type SettingName,
} from "./setting-values.ts";

/**
 * Settings of each of the client codes $1 and of one property ($2), or of all if $2 is null, with the settings version: one statement, so
 * that they are consistent.
 */
const readStatementOfSettings = namedStatement(
  "read-settings",
  `select code.client_code as "clientCode",
    coalesce((select version from bellhop.settings_version where client_code = code.client_code), 0) as version,
    coalesce(
      (
        select json_agg(json_build_object('propertyCode', property_code, 'name', name, 'value', value))
        from bellhop.property_setting
        where client_code = code.client_code and (property_code is null or property_code = $2 or $2::text is null)
      ),
      '[]'
    ) as settings
  from unnest($1::text[]) as code (client_code)`,
);

/** The effective settings of a property: its own, otherwise its client code's, otherwise the defaults. */
export interface PropertySettings {
  /** Increased by every change of the client code's settings and status mappings; 0 before the first. */
  readonly version: number;
  readonly occupancyBase: OccupancyBase;
  /** An IANA name. */
  readonly timeZone: string;
  /** `HH:MM` local time; see `businessDayOf`. */
  readonly businessDayEnd: string;
  /** The ISO 4217 code shown if records name none; null if unset. */
  readonly currency: string | null;
  readonly groupHierarchy: GroupHierarchy;
  /** Display name and city; null if unset. */
  readonly name: string | null;
  readonly city: string | null;
  readonly cadence: ExpectedCadence;
}

/** A property's effective value and its source. */
interface EffectiveSetting {
  readonly name: SettingName;
  /** In canonical form; null if unset. */
  readonly value: string | null;
  readonly by: "property" | "client" | "default";
}

interface StoredSetting {
  readonly propertyCode: string | null;
  readonly name: string;
  readonly value: string;
}

/** All settings of a client code, from one statement. */
interface ClientSettings {
  readonly version: number;
  /** The effective settings of one of its properties, or (null) of the client code, in the order of lists. */
  effectiveOf(propertyCode: string | null): readonly EffectiveSetting[];
  of(propertyCode: string | null): PropertySettings;
}

function effectiveOf(
  { name, fallback }: SettingDefinition,
  own: ReadonlyMap<string, string>,
  general: ReadonlyMap<string, string>,
): EffectiveSetting {
  if (own.has(name)) return { name, value: own.get(name) ?? null, by: "property" };
  if (general.has(name)) return { name, value: general.get(name) ?? null, by: "client" };
  return { name, value: fallback, by: "default" };
}

function settingsFrom(version: number, effective: readonly EffectiveSetting[]): PropertySettings {
  const values = new Map(effective.map(({ name, value }) => [name, value]));
  const textOf = (name: SettingName): string => {
    const value = values.get(name);
    if (value == null) throw new Error(`The setting ${name} has no value and no default.`);
    return value;
  };
  const hoursOf = (name: SettingName) => (textOf(name) === "none" ? null : Number(textOf(name)));
  return {
    version,
    occupancyBase: textOf("occupancyBase") === "available" ? "available" : "capacity",
    timeZone: textOf("timeZone"),
    businessDayEnd: textOf("businessDayEnd"),
    currency: values.get("currency") ?? null,
    groupHierarchy: textOf("groupHierarchy") === "separate" ? "separate" : "included",
    name: values.get("name") ?? null,
    city: values.get("city") ?? null,
    cadence: {
      inventories: hoursOf("cadence.inventories"),
      reservations: hoursOf("cadence.reservations"),
      groups: hoursOf("cadence.groups"),
    },
  };
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** Settings of client codes and of all or one of their properties. Not cached. */
export async function settingsOfClients(
  on: Queryable,
  clientCodes: readonly string[],
  propertyCode: string | null = null,
): Promise<ReadonlyMap<string, ClientSettings>> {
  const { rows } = await on.query<{ clientCode: string; version: number; settings: StoredSetting[] }>({
    ...readStatementOfSettings,
    values: [clientCodes, propertyCode],
  });
  return new Map(
    rows.map(({ clientCode, version, settings }) => {
      const stored = new Map<string | null, Map<string, string>>();
      for (const { propertyCode: code, name, value } of settings)
        stored.set(code, (stored.get(code) ?? new Map<string, string>()).set(name, value));
      const general = stored.get(null) ?? NOTHING;
      const ofCode = (code: string | null) => (code === null ? undefined : stored.get(code)) ?? NOTHING;
      const effective = (code: string | null) =>
        SETTINGS.map((setting) => effectiveOf(setting, ofCode(code), general));
      return [
        clientCode,
        { version, effectiveOf: effective, of: (code) => settingsFrom(version, effective(code)) },
      ];
    }),
  );
}

/** `settingsOfClients` for one client code. */
export async function settingsOfClient(
  on: Queryable,
  clientCode: string,
  propertyCode: string | null = null,
): Promise<ClientSettings> {
  const settings = await settingsOfClients(on, [clientCode], propertyCode);
  return settings.get(clientCode) as ClientSettings;
}

/**
 * The effective settings of a property, read from the database each time, so that a change applies to the next query. In a query's
 * transaction (repeatable read), the version identifies the settings and status mappings that it uses.
 */
export async function settingsOf(
  on: Queryable,
  clientCode: string,
  propertyCode: string,
): Promise<PropertySettings> {
  return (await settingsOfClient(on, clientCode, propertyCode)).of(propertyCode);
}

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
function offsetMsAt(ms: number, timeZone: string): number {
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
