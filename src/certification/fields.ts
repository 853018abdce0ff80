import { daysBetween } from "#contract/dates.ts";
import { knownStatus } from "#contract/statuses.ts";
import type { SeenRecord } from "./step.ts";

/** Optional fields of an accepted record; missing ones and those of another type are undefined. */
type Fields = Readonly<Record<string, unknown>>;

export function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A quantity, sent as a number or a numeric string. */
export function numberOf(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (typeof value !== "number" && (typeof value !== "string" || value === "")) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The objects of an array; empty if there is no array. */
export function listOf(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** The fields of a stay that the steps read. */
export interface Stay {
  readonly arrival: string;
  readonly departure: string;
  /** Number of nights; 0 for a day use. */
  readonly nights: number;
  readonly roomType: string;
  readonly roomNumber: string | undefined;
  readonly block: string | undefined;
  readonly adults: number | undefined;
}

/** Stays read per reservation. */
const STAYS_MAX = 20;

function stayOf(stay: Fields): Stay {
  const arrival = textOf(stay, "arrivalDate") ?? "";
  const departure = textOf(stay, "departureDate") ?? "";
  return {
    arrival,
    departure,
    nights: daysBetween(arrival, departure),
    roomType: textOf(stay, "roomTypeCode") ?? "",
    roomNumber: textOf(stay, "roomNumber"),
    block: textOf(stay, "groupBlockCode"),
    adults: numberOf(stay, "numberOfAdults"),
  };
}

export function staysOf({ fields }: SeenRecord): Stay[] {
  return listOf(fields, "roomStays").slice(0, STAYS_MAX).map(stayOf);
}

/** Whether the date is a night of the stay. */
export function hasNight({ arrival, departure }: Stay, date: string): boolean {
  return date >= arrival && date < departure;
}

function meaningOf({ fields }: SeenRecord) {
  return knownStatus("reservations", textOf(fields, "status") ?? "");
}

/**
 * Whether the status is a cancellation: in any usual spelling, or mapped as not deducting on a record with a cancellation time (a mapping
 * does not distinguish a cancellation from a no-show).
 */
export function isCancelled(record: SeenRecord): boolean {
  const meaning = meaningOf(record);
  if (meaning !== undefined) return meaning.canonical === "CANCELLED";
  return record.mapped === false && textOf(record.fields, "cancellationDateTime") !== undefined;
}

/** Whether the status deducts, by the operator's mapping or by default. */
export function isLive(record: SeenRecord): boolean {
  return (record.mapped ?? meaningOf(record)?.deducts) === true;
}

/** The distinct dates of the daily revenue. */
export function revenueDates({ fields }: SeenRecord): Set<string> {
  const revenue = fields["stayRevenue"];
  const days = isFields(revenue) ? listOf(revenue, "daily") : [];
  return new Set(days.flatMap((day) => textOf(day, "occupancyDate") ?? []));
}
