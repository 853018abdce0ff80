import { type JsonSchema, toOpenApi } from "./field-kinds.ts";
import type { Resource } from "./resource.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";

/** Names of the record schemas among the OpenAPI components. */
export const COMPONENT_NAMES = {
  inventories: "Inventory",
  reservations: "Reservation",
  groups: "Group",
} as const satisfies Record<Resource, string>;

/**
 * The record schemas as OpenAPI 3.1 components (JSON Schema 2020-12), generated from the schemas used for validation. Descriptions
 * state what JSON Schema cannot express (calendar dates, dates in order, 38 digits).
 */
export function componentSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(RECORD_SCHEMAS).map(([resource, schema]) => [
      COMPONENT_NAMES[resource as Resource],
      toOpenApi(schema),
    ]),
  );
}
