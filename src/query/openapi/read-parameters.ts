import { RESOURCES, type Resource } from "#contract/resource.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../../ingest/openapi/record-examples.ts";
import { preferences } from "../../platform/http/openapi/headers.ts";
import type { Parameter, Schema } from "../../platform/http/openapi/model.ts";
import { schemaOf } from "../../platform/http/openapi/model.ts";
import { OUTCOMES } from "../outcome.ts";

/** A parameter of the query. */
export function query(name: string, description: string, schema: Schema, required = false): Parameter {
  return { name, in: "query", description, ...(required ? { required } : {}), schema };
}

/** A whole number between two bounds, with its default. */
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

/** The schema of a code, id or label. */
export function code(example: string): Schema {
  return { type: "string", minLength: 1, maxLength: 128, pattern: "^[^\\u0000]*$", examples: [example] };
}

/** The schema of a calendar date. */
export function date(example: string): Schema {
  return { type: "string", format: "date", minLength: 10, maxLength: 10, examples: [example] };
}

/** The schema of a UTC time. */
export function instant(example: string): Schema {
  return { ...schemaOf("Timestamp"), examples: [example] };
}

const PROPERTY_TOGETHER = "Given together with the other code, or not at all.";

const limit = query(
  "limit",
  "How many items a page has at most. A page may have fewer, even none: go on while there is a `nextCursor`.",
  {
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: 1000,
    default: 100,
    examples: [100],
  },
);

/** A cursor is opaque: whatever can stand in an address. */
export const CURSOR_PATTERN = "^[\\x21-\\x7e]+$";

/** Where a list goes on. */
export const CURSOR_PARAMETER = query(
  "cursor",
  "The `nextCursor` of the page before, to this same query. It is opaque.",
  {
    type: "string",
    minLength: 1,
    maxLength: 2048,
    pattern: CURSOR_PATTERN,
    examples: [
      "b0p_ueQqLhbwY4uAOYkeoVbYEhJHy2zqpzCFKhnza6xKcV7BP2JCdb2XS7_eN6PabPDknSjONhVBKtZtLWc4RrBWWUCFnyU1hSdLcszPJJlDS24Z9h7cDieDPb4",
    ],
  },
);

/** The parameters of the pages of every list. */
export const PAGE_PARAMETERS: readonly Parameter[] = [limit, CURSOR_PARAMETER];

/** Which property. */
export const PROPERTY_PARAMETERS = [
  query("clientCode", "The client code of the property.", code(EXAMPLE_CLIENT), true),
  query("propertyCode", "The property code.", code(EXAMPLE_PROPERTY), true),
];

/** The parameters of the list of requests. */
export const REQUEST_LIST_PARAMETERS: readonly Parameter[] = [
  query("resource", "Only batches of this kind.", {
    type: "string",
    enum: [...RESOURCES],
    examples: ["reservations"],
  }),
  query(
    "clientCode",
    `Only batches with a record of this property. ${PROPERTY_TOGETHER}`,
    code(EXAMPLE_CLIENT),
  ),
  query(
    "propertyCode",
    `Only batches with a record of this property. ${PROPERTY_TOGETHER}`,
    code(EXAMPLE_PROPERTY),
  ),
  query("outcome", "Only batches with a record of this outcome.", {
    type: "string",
    enum: [...OUTCOMES],
    examples: ["quarantined"],
  }),
  query("from", "Received at or after this time.", instant("2026-06-01T00:00:00Z")),
  query("to", "Received at or before this time.", instant("2026-06-01T23:59:59Z")),
  ...PAGE_PARAMETERS,
];

/** The id of a request, in the address. */
export const REQUEST_ID_PARAMETER: Parameter = {
  name: "requestId",
  in: "path",
  required: true,
  description: "The UUID that the batch was answered with.",
  schema: schemaOf("RequestId"),
};

/** How long the answer about a request may wait. */
export const WAIT_PARAMETER: Parameter = {
  name: "Prefer",
  in: "header",
  description:
    "`wait=5` (RFC 7240): the answer comes as soon as the request is applied, or after so many seconds, 10 at most, as it is then. Saves asking again and again.",
  schema: preferences("wait=5"),
};

const DATES_OF: Readonly<Record<Resource, string>> = {
  inventories: "Occupancy date",
  reservations: "First arrival",
  groups: "Start date",
};

const KEY_OF: Readonly<Record<Resource, { name: string; schema: Schema }>> = {
  inventories: { name: "occupancyDate", schema: date("2026-07-14") },
  reservations: { name: "reservationId", schema: code("R-48213") },
  groups: { name: "groupCode", schema: code("CONF26") },
};

function keyParameter(resource: Resource, required: boolean): Parameter {
  const { name, schema } = KEY_OF[resource];
  return query(
    name,
    required ? "The record whose history is asked for." : "Only this record.",
    schema,
    required,
  );
}

/** The parameters of a resource's list of records. */
export function recordListParameters(resource: Resource): readonly Parameter[] {
  const status = query("status", "Only records with this status, as it was sent.", code("CONFIRMED"));
  return [
    ...PROPERTY_PARAMETERS,
    keyParameter(resource, false),
    query("from", `${DATES_OF[resource]} on or after this.`, date("2026-07-01")),
    query("to", `${DATES_OF[resource]} on or before this.`, date("2026-07-31")),
    ...(resource === "inventories" ? [] : [status]),
    query("modifiedSince", "Source time at or after this.", instant("2026-06-01T00:00:00Z")),
    query(
      "asOf",
      "The records as they were known at this time: by what had been received until then, inclusive.",
      instant("2026-06-15T12:00:00Z"),
    ),
    ...PAGE_PARAMETERS,
  ];
}

/** The parameters of a resource's history. */
export function historyParameters(resource: Resource): readonly Parameter[] {
  return [...PROPERTY_PARAMETERS, keyParameter(resource, true), ...PAGE_PARAMETERS];
}
