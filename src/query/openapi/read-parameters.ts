import { RESOURCES, type Resource } from "#contract/resource.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../../ingest/openapi/record-examples.ts";
import { preferences } from "../../platform/http/openapi/headers.ts";
import type { Parameter, Schema } from "../../platform/http/openapi/model.ts";
import { schemaOf } from "../../platform/http/openapi/model.ts";
import { pathParameter } from "../../platform/http/openapi/schema.ts";
import { OUTCOMES } from "../outcome.ts";

export function query(name: string, description: string, schema: Schema, required = false): Parameter {
  return { name, in: "query", description, ...(required ? { required } : {}), schema };
}

/** An integer parameter with bounds and a default. */
export function whole(
  name: string,
  description: string,
  least: number,
  most: number,
  value: number,
  example = value,
): Parameter {
  const bounds = { minimum: least, maximum: most, default: value, examples: [example] };
  return query(name, description, { type: "integer", format: "int32", ...bounds });
}

/** An enum parameter with a default. */
export function wordOf(
  name: string,
  description: string,
  words: readonly string[],
  example: string,
  byDefault?: string,
): Parameter {
  const fallback = byDefault === undefined ? {} : { default: byDefault };
  return query(name, description, { type: "string", enum: [...words], ...fallback, examples: [example] });
}

/** The schema of a code, id or status. */
export function code(example: string): Schema {
  return { type: "string", minLength: 1, maxLength: 128, pattern: "^[^\\u0000]*$", examples: [example] };
}

export function date(example: string): Schema {
  return { type: "string", format: "date", minLength: 10, maxLength: 10, examples: [example] };
}

export function instant(example: string): Schema {
  return { ...schemaOf("Timestamp"), examples: [example] };
}

const OF_PROPERTY = "Only batches with a record of this property. Send both codes or neither.";

const limit = whole(
  "limit",
  "The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null.",
  1,
  1000,
  100,
);

/** Opaque: any visible ASCII. */
export const CURSOR_PATTERN = "^[\\x21-\\x7e]+$";
export const EXAMPLE_PAGE_CURSOR =
  "b0p_ueQqLhbwY4uAOYkeoVbYEhJHy2zqpzCFKhnza6xKcV7BP2JCdb2XS7_eN6PabPDknSjONhVBKtZtLWc4RrBWWUCFnyU1hSdLcszPJJlDS24Z9h7cDieDPb4";

export const CURSOR_PARAMETER = query(
  "cursor",
  "The `nextCursor` of the previous page of the same query. It is opaque.",
  {
    type: "string",
    minLength: 1,
    maxLength: 2048,
    pattern: CURSOR_PATTERN,
    examples: [EXAMPLE_PAGE_CURSOR],
  },
);

/** The parameters of every paged list. */
export const PAGE_PARAMETERS: readonly Parameter[] = [limit, CURSOR_PARAMETER];

export const PROPERTY_PARAMETERS = [
  query("clientCode", "The client code of the property.", code(EXAMPLE_CLIENT), true),
  query("propertyCode", "The property code.", code(EXAMPLE_PROPERTY), true),
];

export const REQUEST_LIST_PARAMETERS: readonly Parameter[] = [
  wordOf("resource", "Only batches of this kind.", RESOURCES, "reservations"),
  query("clientCode", OF_PROPERTY, code(EXAMPLE_CLIENT)),
  query("propertyCode", OF_PROPERTY, code(EXAMPLE_PROPERTY)),
  wordOf("outcome", "Only batches with a record of this outcome.", OUTCOMES, "quarantined"),
  query("from", "Received at or after this time.", instant("2026-06-01T00:00:00Z")),
  query("to", "Received at or before this time.", instant("2026-06-01T23:59:59Z")),
  ...PAGE_PARAMETERS,
];

export const REQUEST_ID_PARAMETER = pathParameter(
  "requestId",
  "The UUID from the response to the batch.",
  schemaOf("RequestId"),
);

/** How long the response may wait for the request to be applied. */
export const WAIT_PARAMETER: Parameter = {
  name: "Prefer",
  in: "header",
  description:
    "`wait=5` (RFC 7240): the response comes once the request is applied, or after this many seconds, at most 10. It avoids polling.",
  schema: preferences("wait=5"),
};

const DATES_OF: Readonly<Record<Resource, string>> = {
  inventories: "Occupancy date",
  reservations: "First arrival",
  groups: "Start date",
};

/** The parameter that identifies one record of a resource: its key field. */
export const KEY_OF: Readonly<Record<Resource, { name: string; schema: Schema }>> = {
  inventories: { name: "occupancyDate", schema: date("2026-07-14") },
  reservations: { name: "reservationId", schema: code("R-48213") },
  groups: { name: "groupCode", schema: code("CONF26") },
};

function keyParameter(resource: Resource, required: boolean): Parameter {
  const { name, schema } = KEY_OF[resource];
  const description = required ? "The record whose history to read." : "Only this record.";
  return query(name, description, schema, required);
}

/** The parameters of a resource's list of records. */
export function recordListParameters(resource: Resource): readonly Parameter[] {
  const status = query("status", "Only records with exactly this status.", code("CONFIRMED"));
  return [
    ...PROPERTY_PARAMETERS,
    keyParameter(resource, false),
    query("from", `${DATES_OF[resource]} on or after this.`, date("2026-07-01")),
    query("to", `${DATES_OF[resource]} on or before this.`, date("2026-07-31")),
    ...(resource === "inventories" ? [] : [status]),
    query("modifiedSince", "Source time at or after this.", instant("2026-06-01T00:00:00Z")),
    query(
      "asOf",
      "The records as they were known at this instant: everything received up to then, inclusive.",
      instant("2026-06-15T12:00:00Z"),
    ),
    ...PAGE_PARAMETERS,
  ];
}

export function historyParameters(resource: Resource): readonly Parameter[] {
  return [...PROPERTY_PARAMETERS, keyParameter(resource, true), ...PAGE_PARAMETERS];
}
