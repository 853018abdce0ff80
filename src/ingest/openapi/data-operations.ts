import { COMPONENT_NAMES } from "#contract/component-schemas.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { refusals, TOKEN_ERRORS } from "../../platform/http/openapi/errors.ts";
import { HEADER_PARAMETERS, ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import {
  type Operation,
  type PathItem,
  refTo,
  type Schema,
  schemaOf,
} from "../../platform/http/openapi/model.ts";
import type { DocumentOptions } from "../../platform/http/openapi/options.ts";
import { EXAMPLE_RECORDS } from "./record-examples.ts";

export const EXAMPLE_REQUEST_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

const WORDS = {
  inventories: {
    operationId: "pushInventories",
    summary: "Push room inventory",
    what: "One record for each property and occupancy date: `clientCode`, `propertyCode` and `occupancyDate` identify it. The record with the newest `createDateTime` is current and replaces all room types of its property and date.",
  },
  reservations: {
    operationId: "pushReservations",
    summary: "Push reservations",
    what: "One record for each reservation: `clientCode`, `propertyCode` and `reservationId` identify it. The record with the newest `lastModifiedDateTime` is current and replaces the older one completely, room stays included. A cancellation is a newer record with a cancelled `status`.",
  },
  groups: {
    operationId: "pushGroups",
    summary: "Push group block masters",
    what: "One record for each group block: `clientCode`, `propertyCode` and `groupCode` identify it. The record with the newest `lastModifiedDateTime` is current and replaces the older one completely, blocks included.",
  },
} as const satisfies Record<Resource, { operationId: string; summary: string; what: string }>;

function batchName(resource: Resource): string {
  return `${COMPONENT_NAMES[resource]}Batch`;
}

function megabytes(bytes: number): string {
  return bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes} bytes`;
}

function describe(resource: Resource, { limits }: DocumentOptions): string {
  const records = limits.recordsMax.toLocaleString("en-US");
  return [
    WORDS[resource].what,
    "A **202** means the whole batch is on disk. It returns a UUID, and `Location` is the address of the outcomes. With `Accept: text/plain` the body is the bare UUID.",
    `A batch has at most ${records} records, ${megabytes(limits.bodyBytesMax)} on the wire and ${megabytes(limits.inflatedBytesMax)} decompressed, nested ${limits.depthMax} deep.`,
  ].join("\n\n");
}

function operationOf(resource: Resource, options: DocumentOptions): Operation {
  const { operationId, summary } = WORDS[resource];
  return {
    operationId,
    tags: ["Push"],
    summary,
    description: describe(resource, options),
    security: [{ oauth2: [`${resource}:write`] }],
    parameters: Object.keys(HEADER_PARAMETERS).map((name) => refTo("parameters", name)),
    requestBody: {
      description:
        "A JSON array of records in UTF-8. It is accepted or refused as a whole, unless `Prefer` says otherwise.",
      required: true,
      content: {
        "application/json": {
          schema: schemaOf(batchName(resource)),
          examples: { batch: { summary: "A batch of one record", value: [EXAMPLE_RECORDS[resource]] } },
        },
      },
    },
    responses: {
      ...TOKEN_ERRORS,
      202: refTo("responses", "Accepted"),
      ...refusals({
        400: "InvalidBatch",
        409: "BackfillNotOpen",
        413: "PayloadTooLarge",
        415: "UnsupportedMediaType",
        422: "UnusableHeader",
        429: "TooManyBatches",
      }),
    },
  };
}

export function dataOperations(options: DocumentOptions): Record<string, PathItem> {
  return Object.fromEntries(
    RESOURCES.map((resource) => [`/api/public/v1/${resource}`, { post: operationOf(resource, options) }]),
  );
}

/** The batches and their answer. */
export function dataSchemas({ limits }: DocumentOptions): Record<string, Schema> {
  const batches = RESOURCES.map((resource): [string, Schema] => [
    batchName(resource),
    {
      type: "array",
      description: `A batch of ${resource}.`,
      minItems: 1,
      maxItems: limits.recordsMax,
      items: schemaOf(COMPONENT_NAMES[resource]),
    },
  ]);
  return {
    ...Object.fromEntries(batches),
    RequestId: {
      type: "string",
      format: "uuid",
      maxLength: 36,
      description: "The UUID (version 7) of an accepted batch.",
      examples: [EXAMPLE_REQUEST_ID],
    },
    Accepted: {
      type: "object",
      description: "The batch is on disk.",
      required: ["requestId"],
      properties: { requestId: schemaOf("RequestId") },
    },
  };
}

/** The 202 of the data endpoints. */
export const ACCEPTED_ANSWER = {
  description:
    "The batch is on disk and will be applied. The UUID identifies the request: `Location` is the address of its outcomes.",
  headers: ratedHeadersOf("Location", "Idempotent-Replayed", "X-Correlation-Id", "Preference-Applied"),
  content: {
    "application/json": {
      schema: schemaOf("Accepted"),
      examples: { accepted: { value: { requestId: EXAMPLE_REQUEST_ID } } },
    },
    "text/plain": { schema: schemaOf("RequestId"), examples: { accepted: { value: EXAMPLE_REQUEST_ID } } },
  },
};
