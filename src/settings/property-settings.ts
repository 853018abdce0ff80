import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import {
  type ExpectedCadence,
  type OccupancyBase,
  SETTINGS,
  type SettingDefinition,
  type SettingName,
} from "./setting-values.ts";

const readStatementOfSettings = readStatement(new URL("./sql/read-settings.sql", import.meta.url));

/** What holds for a property, whoever says so. */
export interface PropertySettings {
  /** Raised by every change of the client code's settings and of what its labels mean; 0 before the first. */
  readonly version: number;
  readonly occupancyBase: OccupancyBase;
  /** An IANA name. */
  readonly timeZone: string;
  /** `HH:MM`, local: `businessDayOf` says what follows from it. */
  readonly businessDayEnd: string;
  /** The ISO 4217 code that is shown where records name none; null: none is. */
  readonly currency: string | null;
  readonly cadence: ExpectedCadence;
}

/** The value that holds for a property, and who says so. */
export interface EffectiveSetting {
  readonly name: SettingName;
  /** As it is kept; null: none. */
  readonly value: string | null;
  readonly by: "property" | "client" | "default";
}

interface StoredSetting {
  readonly propertyCode: string | null;
  readonly name: string;
  readonly value: string;
}

/** All that is set of a client code, as it stood in one statement. */
export interface ClientSettings {
  readonly version: number;
  /** What holds for one of its properties; of the client code itself for null. In the order in which settings are listed. */
  effectiveOf(propertyCode: string | null): readonly EffectiveSetting[];
  of(propertyCode: string | null): PropertySettings;
}

function effectiveOf(
  setting: SettingDefinition,
  stored: readonly StoredSetting[],
  propertyCode: string | null,
): EffectiveSetting {
  const said = (by: string | null) =>
    stored.find((one) => one.name === setting.name && one.propertyCode === by)?.value;
  const own = propertyCode === null ? undefined : said(propertyCode);
  if (own !== undefined) return { name: setting.name, value: own, by: "property" };
  const general = said(null);
  if (general !== undefined) return { name: setting.name, value: general, by: "client" };
  return { name: setting.name, value: setting.fallback, by: "default" };
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
    cadence: {
      inventories: hoursOf("cadence.inventories"),
      reservations: hoursOf("cadence.reservations"),
      groups: hoursOf("cadence.groups"),
    },
  };
}

async function readClientSettings(
  on: Queryable,
  clientCode: string,
  propertyCode: string | null,
): Promise<ClientSettings> {
  const { rows } = await on.query<{ version: number; settings: StoredSetting[] }>({
    ...readStatementOfSettings,
    values: [clientCode, propertyCode],
  });
  const { version, settings } = rows[0] ?? { version: 0, settings: [] };
  const effective = (code: string | null) => SETTINGS.map((setting) => effectiveOf(setting, settings, code));
  return { version, effectiveOf: effective, of: (code) => settingsFrom(version, effective(code)) };
}

/** All that is set of a client code and its properties: for an answer about many of them. Read anew each time. */
export function settingsOfClient(on: Queryable, clientCode: string): Promise<ClientSettings> {
  return readClientSettings(on, clientCode, null);
}

/**
 * What holds for a property: what is said of it, else of its client code, else the default. Read from the database each
 * time, so a change holds from the next question on. Asked in the transaction (repeatable read) of the question itself, its
 * version stands for the settings and for the meaning of labels that the question sees.
 */
export async function settingsOf(
  on: Queryable,
  clientCode: string,
  propertyCode: string,
): Promise<PropertySettings> {
  return (await readClientSettings(on, clientCode, propertyCode)).of(propertyCode);
}
