// Types only, from modules without Node: the console compiles them for the browser.
import type { Page } from "../platform/http/answers.ts";

export type SettingName =
  | "name"
  | "city"
  | "occupancyBase"
  | "timeZone"
  | "businessDayEnd"
  | "weekend"
  | "currency"
  | "groupHierarchy"
  | "personalData"
  | "negativeCounts"
  | "cadence.inventories"
  | "cadence.reservations"
  | "cadence.groups";

export interface SettingItem {
  readonly name: SettingName;
  /** The effective value as text: "capacity", "Europe/Lisbon", "04:00", "EUR", "24". */
  readonly value: string | null;
  readonly from: "property" | "client" | "default";
}

export interface SettingsAnswer {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  /** Increased by every change of the client code's settings and status mappings. */
  readonly settingsVersion: number;
  /** The current business day, by these settings. */
  readonly businessDay: string;
  readonly settings: readonly SettingItem[];
}

export interface StatusItem {
  readonly resource: "reservations" | "groups";
  readonly status: string;
  readonly records: number;
  /** The standard status of the default mapping; null if it has none. */
  readonly canonical: string | null;
  /** Whether its rooms are on the books. */
  readonly deducts: boolean;
  readonly by: "mapping" | "default" | "unmapped";
}

/** A page of the statuses in use or mapped, by resource and status. A change returns the first 100. */
export interface StatusesAnswer extends Page<StatusItem> {
  readonly clientCode: string;
  /** Totals of all pages. */
  readonly unmapped: { readonly statuses: number; readonly records: number };
}

/** Preview of a changed status mapping. */
export interface MappingForesightAnswer {
  /** Current records in the status; at most 10,000. */
  readonly records: number;
  readonly properties: number;
  /** Nights between the first and last date of those records, counted once per property. */
  readonly nights: number;
  /** Whether there are more records than counted. */
  readonly isCut: boolean;
}
