import { canonicalLabel } from "#contract/labels.ts";
import type { SeenRecord } from "./evidence.ts";
import { daysBetween, type Fields, fieldsOf, listOf, numberOf, textOf } from "./fields.ts";

/** A stay as the steps look at it. */
export interface Stay {
  readonly arrival: string;
  readonly departure: string;
  /** How many nights it has; none for a day use. */
  readonly nights: number;
  readonly roomType: string;
  readonly roomNumber: string | undefined;
  readonly block: string | undefined;
  readonly adults: number | undefined;
}

/** Stays of one reservation that are looked at. */
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
  return canonicalLabel("reservations", textOf(fields, "status") ?? "");
}

/**
 * Whether its label says that it is cancelled: in any usual spelling, or in a word of the hotel's own that the operator has mapped
 * as holding nothing, on a record that says when it was cancelled (a mapping does not tell a cancellation from a no-show).
 */
export function isCancelled(record: SeenRecord): boolean {
  const meaning = meaningOf(record);
  if (meaning !== undefined) return meaning.canonical === "CANCELLED";
  return record.mapped === false && textOf(record.fields, "cancellationDateTime") !== undefined;
}

/** Whether its label holds inventory: by the operator's mapping, else by default. */
export function isLive(record: SeenRecord): boolean {
  return (record.mapped ?? meaningOf(record)?.deducts) === true;
}

/** The dates that its daily revenue names, each once. */
export function revenueDates({ fields }: SeenRecord): Set<string> {
  const days = listOf(fieldsOf(fields, "stayRevenue") ?? {}, "daily");
  return new Set(days.flatMap((day) => textOf(day, "occupancyDate") ?? []));
}
