import type { Reservation } from "./reservation.ts";

export const SIMULATED_RESOURCES = ["inventories", "groups", "reservations"] as const;
export type SimulatedResource = (typeof SIMULATED_RESOURCES)[number];

/** One record as a hotel sends it. */
export interface SimulatedRecord {
  readonly resource: SimulatedResource;
  readonly clientCode: string;
  readonly propertyCode: string;
  /** reservationId, groupCode or occupancyDate. */
  readonly key: string;
  /** When the hotel's system made it: its source time, unless its clock was wrong. Day from 1970, second of the day (UTC). */
  readonly day: number;
  readonly second: number;
  /** The record as JSON, UTF-8. */
  readonly json: Buffer;
  /** What it tells of, for whoever plants faults. */
  readonly reservation?: Reservation;
}
