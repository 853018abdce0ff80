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
