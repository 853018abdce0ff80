import type { Resource } from "../resource.ts";
import { compileCheck } from "./compile-check.ts";
import type { FieldSchema } from "./field.ts";
import { groupSchema } from "./group.ts";
import { inventorySchema } from "./inventory.ts";
import { reservationSchema } from "./reservation.ts";

/** The schema of each resource, as the walk for violations and the OpenAPI document read it. */
export const RECORD_SCHEMAS: Readonly<Record<Resource, FieldSchema>> = {
  inventories: inventorySchema,
  reservations: reservationSchema,
  groups: groupSchema,
};

const CHECKS = {
  inventories: compileCheck(inventorySchema),
  reservations: compileCheck(reservationSchema),
  groups: compileCheck(groupSchema),
};

/** Whether a value is a valid record of a resource. It does not say why not. */
export function isValidRecord(resource: Resource, value: unknown): boolean {
  return CHECKS[resource](value);
}
