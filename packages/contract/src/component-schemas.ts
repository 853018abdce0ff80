import { type JsonSchema, toOpenApi } from "./field-kinds.ts";
import type { Resource } from "./resource.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";

/** The name of a resource's record among the OpenAPI components. */
export const COMPONENT_NAMES = {
  inventories: "Inventory",
  reservations: "Reservation",
  groups: "Group",
} as const satisfies Record<Resource, string>;

/**
 * The schema of each resource's record as an OpenAPI 3.1 component (JSON Schema 2020-12), made from the schemas that the
 * service checks with. What JSON Schema cannot say (real calendar dates, dates in order, 38 digits) stands in the
 * descriptions. Every text has a greatest length, every array a greatest number of items.
 */
export function componentSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(RECORD_SCHEMAS).map(([resource, schema]) => [
      COMPONENT_NAMES[resource as Resource],
      toOpenApi(schema),
    ]),
  );
}
