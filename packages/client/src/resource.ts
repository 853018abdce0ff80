import type { Group, Inventory, Reservation } from "./api-types.ts";

/** The three kinds of records, as their endpoint's path names them (specification, section 1). */
export type Resource = "inventories" | "reservations" | "groups";

/** The record of each resource. */
export interface RecordOf {
  readonly inventories: Inventory;
  readonly reservations: Reservation;
  readonly groups: Group;
}
