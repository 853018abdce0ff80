import type { SimulatedResource } from "./simulated-record.ts";

/** Ways in which hotels' feeds go wrong, and what each is. What happened in the hotel stays the same: only what is sent differs. */
export const FAULTS = {
  duplicate: "a version of a reservation is sent again on the next day",
  "out-of-order": "a version of a reservation comes a day after a newer one",
  late: "a version of a reservation comes one to four days late",
  skew: "a cancellation has a source time a year too early, or thirty years too late",
  totals: "a night's rooms sold are not the sum of their parts, or a reservation's revenue of a night is not",
  missing: "a reservation is never sent, and counted all the same",
  unmapped: "a reservation has a status label that nobody knows",
  "cancelled-sold": "a cancelled reservation is counted as sold",
  "share-twice": "a shared room is counted for each of those who share it",
  invalid: "a version of a reservation is not valid; the valid one follows on the next day",
} as const;
export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

/** What the service is to make of a fault. */
export interface FaultExpectation {
  /** Of the record (docs/reading.md). */
  readonly outcome?: "duplicate" | "stale" | "quarantined" | "rejected";
  readonly violation?: { readonly code: string; readonly pointer: string };
  readonly warning?: string;
  /** What reconciliation is to find on each of the nights, and how many rooms more inventory reports than reservations come to. */
  readonly finding?: string;
  readonly nights?: readonly string[];
  readonly roomType?: string;
  readonly difference?: number;
}

/** A fault that was planted, with the record that has it. */
export interface PlantedFault {
  readonly fault: FaultName;
  /** The day on which it was sent, or left out. */
  readonly date: string;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly resource: SimulatedResource;
  readonly key: string;
  readonly sourceTime: string;
  readonly expects: FaultExpectation;
}
