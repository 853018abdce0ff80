import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../../ingest/openapi/record-examples.ts";
import { jsonAnswer, jsonContent, REFUSALS_OF_TOKEN, refusals } from "../../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import {
  type Answer,
  type Operation,
  type Parameter,
  type PathItem,
  schemaOf,
} from "../../platform/http/openapi/model.ts";
import { PAGE_PARAMETERS, query } from "../../query/openapi/read-parameters.ts";
import { EXAMPLE_COUNTS } from "../../query/openapi/read-schemas.ts";
import { type BACKFILL_SCHEMAS, EXAMPLE_BACKFILL_ID, EXAMPLE_HASH as HASH } from "./backfill-schemas.ts";

const PATH = "/api/public/v1/backfills";
const OPENED_AT = "2026-06-01T08:30:00.000000Z";
const CLOSED_AT = "2026-06-01T10:00:00.000000Z";

const EXAMPLE_MANIFEST = {
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  resources: [
    { resource: "inventories", from: "2024-07-01", to: "2026-06-30", expectedRecords: 730 },
    { resource: "reservations", from: "2024-07-01", to: "2026-06-30", expectedRecords: 25_000 },
  ],
  note: "go-live July 2026",
};

const EXAMPLE_ITEM = {
  backfillId: EXAMPLE_BACKFILL_ID,
  state: "open",
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  note: "go-live July 2026",
  openedAt: OPENED_AT,
  endedAt: null,
  statementHash: null,
};

const EXAMPLE_RESOURCE = {
  resource: "inventories",
  from: "2024-07-01",
  to: "2026-06-30",
  expectedRecords: 730,
  batches: 1,
  counts: EXAMPLE_COUNTS,
  distinctRecords: 728,
  missingRecords: 2,
  datesNamed: 730,
  datesCovered: 728,
  firstReceivedAt: "2026-06-01T08:30:02.052927Z",
  lastReceivedAt: "2026-06-01T08:30:02.052927Z",
};

const EXAMPLE_BACKFILL = {
  ...EXAMPLE_ITEM,
  resources: [{ ...EXAMPLE_RESOURCE, waitingBatches: 0, oldestWaitingAt: null }],
  waitingBatches: 0,
  oldestWaitingAt: null,
  lateBatches: 0,
  signatures: [],
};

const EXAMPLE_CLOSED = {
  ...EXAMPLE_BACKFILL,
  state: "closed",
  endedAt: CLOSED_AT,
  statementHash: HASH,
  signatures: [{ side: "partner", signedBy: "client:cl_4fJ2", signedAt: CLOSED_AT, statementHash: HASH }],
};

const EXAMPLE_ABANDONED = { ...EXAMPLE_BACKFILL, state: "abandoned", endedAt: CLOSED_AT };

const EXAMPLE_STATEMENT = {
  form: "bellhop.backfill/1",
  backfillId: EXAMPLE_BACKFILL_ID,
  clientId: "cl_4fJ2",
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  note: null,
  openedAt: OPENED_AT,
  closedAt: CLOSED_AT,
  countedTo: "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11",
  complete: false,
  gapsAccepted: true,
  resources: [
    {
      ...EXAMPLE_RESOURCE,
      requestsHash: HASH,
      missingDates: [{ from: "2025-12-30", to: "2025-12-31" }],
      openRecords: 0,
    },
  ],
};

const EXAMPLE_GAPS = [
  { kind: "records-short", resource: "inventories", expected: 730, distinct: 728, missing: 2 },
  { kind: "date-missing", resource: "inventories", date: "2025-12-30" },
];

const ID_PARAMETER: Parameter = {
  name: "backfillId",
  in: "path",
  required: true,
  description: "The UUID of the backfill.",
  schema: schemaOf("BackfillId"),
};

/** The parameters of the list of backfills; they are read by these definitions. */
export const BACKFILL_LIST_PARAMETERS: readonly Parameter[] = [
  query("state", "Only backfills in this state.", {
    type: "string",
    enum: ["open", "closed", "abandoned"],
    examples: ["open"],
  }),
  ...PAGE_PARAMETERS,
];

function jsonOf(
  description: string,
  schemaName: keyof typeof BACKFILL_SCHEMAS & string,
  value: unknown,
): Answer {
  return jsonAnswer(description, schemaName, { answer: value });
}

/** Any one of these scopes will do; opening one asks for those of all its resources. */
const WRITERS = RESOURCES.map((resource) => ({ oauth2: [`${resource}:write`] }));
const READERS = [{ oauth2: ["read"] }, ...WRITERS];

type Words = Pick<Operation, "operationId" | "summary" | "description">;

function operationOf(
  words: Words,
  security: Operation["security"],
  responses: Operation["responses"],
  more: Pick<Operation, "parameters" | "requestBody"> = {},
): Operation {
  return {
    ...words,
    tags: ["Backfills"],
    security,
    ...more,
    responses: { ...REFUSALS_OF_TOKEN, ...responses },
  };
}

function bodyOf(description: string, schemaName: string, form: unknown, required = false) {
  return { description, required, content: jsonContent(schemaName, { form }) };
}

const FORM_REFUSALS = refusals({ 413: "PayloadTooLarge", 415: "UnsupportedMediaType" });

const openBackfill = operationOf(
  {
    operationId: "openBackfill",
    summary: "Open a backfill",
    description:
      "Says what is coming of one property: each resource with its range of dates and, if it is known, how many different records. Send its batches with the header `Backfill-Id`. The client needs the write scope of every resource that is named.",
  },
  WRITERS,
  {
    201: {
      ...jsonOf("The backfill is open.", "Backfill", EXAMPLE_BACKFILL),
      headers: ratedHeadersOf("Cache-Control", "Location"),
    },
    ...FORM_REFUSALS,
    ...refusals({ 400: "InvalidManifest", 429: "TooManyBackfills" }),
  },
  { requestBody: bodyOf("What is coming.", "BackfillManifest", EXAMPLE_MANIFEST, true) },
);

const closeBackfill = operationOf(
  {
    operationId: "closeBackfill",
    summary: "Close a backfill",
    description:
      "Writes the closing statement of what has come, hashed and signed by this client; the operator signs it afterwards. A 409 says what is not applied yet (try again after `Retry-After`) or what is missing. Closing one that is closed answers it as it is.",
  },
  WRITERS,
  {
    200: jsonOf("The backfill is closed.", "Backfill", EXAMPLE_CLOSED),
    ...refusals({ 400: "InvalidParameter", 404: "BackfillNotFound", 409: "BackfillNotClosed" }),
    ...FORM_REFUSALS,
  },
  {
    parameters: [ID_PARAMETER],
    requestBody: bodyOf("How; nothing at all is fine.", "BackfillClosing", { acceptGaps: true }),
  },
);

const abandonBackfill = operationOf(
  {
    operationId: "abandonBackfill",
    summary: "Abandon a backfill",
    description:
      "Ends an open backfill without a statement. What it brought stays, and what of it is accepted and not applied yet is applied. Abandoning one that is abandoned answers it as it is.",
  },
  WRITERS,
  {
    200: jsonOf("The backfill is abandoned.", "Backfill", EXAMPLE_ABANDONED),
    ...refusals({ 400: "InvalidParameter", 404: "BackfillNotFound", 409: "BackfillNotAbandoned" }),
    ...FORM_REFUSALS,
  },
  {
    parameters: [ID_PARAMETER],
    requestBody: bodyOf("Why; nothing at all is fine.", "BackfillAbandoning", {
      why: "opened for the wrong property",
    }),
  },
);

const listBackfills = operationOf(
  {
    operationId: "listBackfills",
    summary: "List your backfills",
    description: "Every backfill of this client, newest first.",
  },
  READERS,
  {
    200: jsonOf("A page of backfills.", "BackfillPage", { items: [EXAMPLE_ITEM], nextCursor: null }),
    ...refusals({ 400: "InvalidParameter" }),
  },
  { parameters: BACKFILL_LIST_PARAMETERS },
);

function readOf(words: Words, answer: Answer, parameters: readonly Parameter[] = []): Operation {
  const responses = {
    200: answer,
    ...refusals({ 400: "InvalidParameter", 404: "BackfillNotFound" }),
  };
  return operationOf(words, READERS, responses, { parameters: [ID_PARAMETER, ...parameters] });
}

/** What can be asked and told of backfills. */
export function backfillOperations(): Record<string, PathItem> {
  return {
    [PATH]: { get: listBackfills, post: openBackfill },
    [`${PATH}/{backfillId}`]: {
      get: readOf(
        {
          operationId: "getBackfill",
          summary: "See how far a backfill has come",
          description:
            "Worked out now from what there is: batches, outcomes, different records, dates that are covered, and what waits.",
        },
        jsonOf("The backfill.", "Backfill", EXAMPLE_BACKFILL),
      ),
    },
    [`${PATH}/{backfillId}/gaps`]: {
      get: readOf(
        {
          operationId: "listBackfillGaps",
          summary: "List what is missing",
          description:
            "By resource: first what is short of the manifest, then dates without inventory, then records that were rejected, are held, or were discarded.",
        },
        jsonOf("A page of gaps.", "BackfillGapPage", { items: EXAMPLE_GAPS, nextCursor: null }),
        PAGE_PARAMETERS,
      ),
    },
    [`${PATH}/{backfillId}/statement`]: {
      get: readOf(
        {
          operationId: "getBackfillStatement",
          summary: "Read the closing statement",
          description: "The very bytes that were hashed and signed.",
        },
        jsonOf("The statement.", "BackfillStatement", EXAMPLE_STATEMENT),
      ),
    },
    [`${PATH}/{backfillId}/close`]: { post: closeBackfill },
    [`${PATH}/{backfillId}/abandon`]: { post: abandonBackfill },
  };
}
