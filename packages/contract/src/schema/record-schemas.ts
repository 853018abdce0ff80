import type { Resource } from "../resource.ts";
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

/** The names of all fields of each resource's records, whatever objects they stand in. */
export const FIELD_NAMES: Readonly<Record<Resource, ReadonlySet<string>>> = {
  inventories: new Set(namesIn(inventorySchema)),
  reservations: new Set(namesIn(reservationSchema)),
  groups: new Set(namesIn(groupSchema)),
};

function namesIn({ properties = {}, items }: FieldSchema): readonly string[] {
  const within = Object.values(properties).flatMap(namesIn);
  return [...Object.keys(properties), ...within, ...(items === undefined ? [] : namesIn(items))];
}
