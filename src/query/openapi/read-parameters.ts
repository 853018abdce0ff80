import { RESOURCES, type Resource } from "#contract/resource.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../../ingest/openapi/record-examples.ts";
import { preferences } from "../../platform/http/openapi/headers.ts";
import { schemaOf } from "../../platform/http/openapi/model.ts";
import {
  code,
  date,
  header,
  instant,
  pages,
  pathId,
  required,
  word,
} from "../../platform/http/parameters.ts";
import { OUTCOMES } from "../outcome.ts";

const OF_PROPERTY = "Only batches with a record of this property. Send both codes or neither.";

/** The parameters of an endpoint of one property. */
export const PROPERTY_PARAMETERS = {
  clientCode: required(code("The client code of the property.", EXAMPLE_CLIENT)),
  propertyCode: required(code("The property code.", EXAMPLE_PROPERTY)),
};

export const REQUEST_LIST_PARAMETERS = {
  resource: word("Only batches of this kind.", RESOURCES, "reservations"),
  clientCode: code(OF_PROPERTY, EXAMPLE_CLIENT),
  propertyCode: code(OF_PROPERTY, EXAMPLE_PROPERTY),
  outcome: word("Only batches with a record of this outcome.", OUTCOMES, "quarantined"),
  from: instant("Received at or after this time.", "2026-06-01T00:00:00Z"),
  to: instant("Received at or before this time.", "2026-06-01T23:59:59Z"),
  ...pages(),
};

export const REQUEST_ID_PARAMETER = pathId("The UUID from the response to the batch.", schemaOf("RequestId"));

/** Which records of a request are listed. */
export const REQUEST_OUTCOME_PARAMETER = word(
  "The records to list: those with this outcome, or `all` that have one. By default those that were not applied or have warnings.",
  ["all", ...OUTCOMES],
  "applied",
);

/** How long the response may wait for the request to be applied. */
export const WAIT_PARAMETER = header(
  "Prefer",
  "`wait=5` (RFC 7240): the response comes once the request is applied, or after this many seconds, at most 10. It avoids polling.",
  preferences("wait=5"),
);

const DATES_OF: Readonly<Record<Resource, string>> = {
  inventories: "Occupancy date",
  reservations: "First arrival",
  groups: "Start date",
};

/** The parameter that identifies one record of a resource: its key field. */
const KEY_OF = {
  inventories: { name: "occupancyDate", kind: date, example: "2026-07-14" },
  reservations: { name: "reservationId", kind: code, example: "R-48213" },
  groups: { name: "groupCode", kind: code, example: "CONF26" },
} as const satisfies Readonly<Record<Resource, object>>;

/** The name of the key field of a resource. */
export const keyNameOf = (resource: Resource): string => KEY_OF[resource].name;

function keyParameter(resource: Resource, description: string) {
  const { name, kind, example } = KEY_OF[resource];
  return { ...kind(description, example), name };
}

/** The parameters of a resource's list of records. */
export function recordListParameters(resource: Resource) {
  const status = code("Only records with exactly this status.", "CONFIRMED");
  return {
    ...PROPERTY_PARAMETERS,
    key: keyParameter(resource, "Only this record."),
    from: date(`${DATES_OF[resource]} on or after this.`, "2026-07-01"),
    to: date(`${DATES_OF[resource]} on or before this.`, "2026-07-31"),
    ...(resource !== "inventories" && { status }),
    modifiedSince: instant("Source time at or after this.", "2026-06-01T00:00:00Z"),
    asOf: instant(
      "The records as they were known at this instant: everything received up to then, inclusive.",
      "2026-06-15T12:00:00Z",
    ),
    ...pages(),
  };
}

export function historyParameters(resource: Resource) {
  return {
    ...PROPERTY_PARAMETERS,
    key: required(keyParameter(resource, "The record whose history to read.")),
    ...pages(),
  };
}
