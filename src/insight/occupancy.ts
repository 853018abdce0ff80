import type { PropertySettings } from "../settings/property-settings.ts";
import { dividedBy } from "./exact-amount.ts";

/** Decimal places of an occupancy: hundredths of a per cent. */
export const OCCUPANCY_DIGITS = 4;

/** Rooms that inventory reports; null if it does not. */
export interface ReportedRooms {
  readonly capacity: number | null;
  readonly outOfOrder: number | null;
}

/** The divisor of occupancy and RevPAR; null if no capacity is reported or none remains. */
export function baseOf(
  { capacity, outOfOrder }: ReportedRooms,
  { occupancyBase }: Pick<PropertySettings, "occupancyBase">,
): number | null {
  if (capacity === null) return null;
  const base = capacity - (occupancyBase === "available" ? (outOfOrder ?? 0) : 0);
  return base > 0 ? base : null;
}

/** Null if the dividend is null or the divisor is not positive. */
export function ratio(of: string | null, by: number | null, digits: number): string | null {
  return of === null || by === null || by <= 0 ? null : dividedBy(of, by, digits);
}
