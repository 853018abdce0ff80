import { toOpenApi } from "#contract/component-schemas.ts";
import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../ingest/openapi/record-examples.ts";
import { jsonAnswer, jsonContent, REFUSALS_OF_TOKEN, refusals } from "../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import {
  type Answer,
  type Operation,
  type Parameter,
  type PathItem,
  type Schema,
  schemaOf,
} from "../platform/http/openapi/model.ts";
import {
  choice,
  count,
  day,
  flag,
  list,
  objectOf,
  orNull,
  text,
  time,
  timestamp,
  uuid,
} from "../platform/http/openapi/schema.ts";
import { PAGE_PARAMETERS, query } from "../query/openapi/read-parameters.ts";
import { EXAMPLE_COUNTS, OUTCOME_COUNTS, pageOf, textOrNull } from "../query/openapi/read-schemas.ts";
import { manifestSchema, WHY_CHARACTERS_MAX } from "./backfill.ts";

const HASH_PATTERN = "^[0-9a-f]{64}$";
const EXAMPLE_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
/** The id of every example. */
const EXAMPLE_BACKFILL_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

const date = (description: string, example: string): Schema => day(description, example);
const timeOrNull = (description: string, example: string): Schema => orNull(time(description, example));
const countOrNull = (description: string, example: number): Schema => ({
  ...count(description),
  type: ["integer", "null"],
  examples: [example],
});
const hashOrNull: Schema = orNull(
  text(
    "SHA-256 of the statement's bytes, in hexadecimal; null until it is closed.",
    64,
    EXAMPLE_HASH,
    HASH_PATTERN,
  ),
);
const code = (description: string, example: string): Schema => text(description, 128, example);
const resource: Schema = choice("The kind of the records.", RESOURCES, "inventories");

const ITEM: Readonly<Record<string, Schema>> = {
  backfillId: schemaOf("BackfillId"),
  state: choice(
    "`open`: it takes batches. `closed`: it has its statement. `abandoned`: its client or the operator ended it without one.",
    ["open", "closed", "abandoned"],
    "open",
  ),
  clientCode: code("The client code of its property.", EXAMPLE_CLIENT),
  propertyCode: code("The code of its property.", EXAMPLE_PROPERTY),
  note: textOrNull("The note of the manifest.", 4096, "go-live July 2026"),
  openedAt: timestamp("When it was opened."),
  endedAt: timeOrNull("When it was closed or abandoned.", "2026-06-01T10:00:00.000000Z"),
  statementHash: hashOrNull,
};

const RESOURCE_PROGRESS: Readonly<Record<string, Schema>> = {
  resource,
  from: date("The first date of the manifest.", "2024-07-01"),
  to: date("The last date of the manifest.", "2026-06-30"),
  expectedRecords: countOrNull("Different records that the manifest names; null: it names no number.", 730),
  batches: count("Batches that were accepted.", 3),
  counts: OUTCOME_COUNTS,
  distinctRecords: count(
    "Different records (by key) that were applied: each counts once, however often and in whatever order it came.",
    728,
  ),
  missingRecords: countOrNull("How many of the expected ones that leaves; null: none were named.", 2),
  datesNamed: countOrNull("Of inventories: dates from the first to the last.", 730),
  datesCovered: countOrNull(
    "Of inventories: how many of those the property has a record of, whoever sent it.",
    728,
  ),
  waitingBatches: count("Batches that are not applied yet."),
  oldestWaitingAt: timeOrNull("When the oldest of those was received.", "2026-06-01T08:30:02.052927Z"),
  firstReceivedAt: timeOrNull("When the first batch was received.", "2026-06-01T08:30:02.052927Z"),
  lastReceivedAt: timeOrNull("When the last one was.", "2026-06-01T08:31:02.052927Z"),
};

const SIGNATURE: Readonly<Record<string, Schema>> = {
  side: choice(
    "Whose it is: the partner signs by closing, the operator afterwards.",
    ["partner", "operator"],
    "partner",
  ),
  signedBy: code("Who signed.", "client:cl_4fJ2"),
  signedAt: timestamp("When."),
  statementHash: { ...hashOrNull, type: "string", description: "The hash of the statement that was signed." },
};

const FAILED: Readonly<Record<string, Schema>> = {
  requestId: schemaOf("RequestId"),
  index: count("Of a failed record: its index in the batch as sent.", 3),
  key: textOrNull("Of a failed record: its key, where that can be read.", 256, "2025-02-30"),
  outcome: choice(
    "Of a failed record: what became of it.",
    ["rejected", "quarantined", "discarded"],
    "rejected",
  ),
  code: textOrNull("Of a failed record: why, as a stable code.", 128, "format.date"),
  message: textOrNull("Of a failed record: why, in words.", 4096, "occupancyDate must be a calendar date"),
  mended: flag(
    "Of a failed record: a later record of the same key was applied, so that nothing is missing.",
    false,
  ),
};

const GAP: Readonly<Record<string, Schema>> = {
  kind: {
    type: "string",
    description: "What is missing.",
    maxLength: 64,
    pattern: "^[a-z-]+$",
    examples: ["date-missing"],
    "x-extensible-enum": ["records-short", "date-missing", "record-failed"],
    "x-enumDescriptions": {
      "records-short": "Fewer different records were applied than the manifest names.",
      "date-missing": "The property has no inventory of this date of the manifest.",
      "record-failed": "A record was rejected, is held, or was discarded.",
    },
  },
  resource,
  expected: count("Of records-short: as the manifest names.", 730),
  distinct: count("Of records-short: as were applied.", 728),
  missing: count("Of records-short: the difference.", 2),
  date: date("Of date-missing: the date.", "2025-12-31"),
  ...FAILED,
};

/** A body of which every field may be left out. */
function formOf(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", description, properties, additionalProperties: false };
}

function manifest(): Schema {
  const schema = toOpenApi(manifestSchema) as Schema;
  const { resources, ...others } = schema.properties ?? {};
  const list: Schema = {
    ...resources,
    maxItems: RESOURCES.length,
    items: schemaOf("BackfillManifestResource"),
  };
  return { ...schema, properties: { ...others, resources: list } };
}

/** A number of records is not below 0; the fields of records that count may be, with a warning. */
function manifestResource(): Schema {
  const { items = {} } = (toOpenApi(manifestSchema) as Schema).properties?.["resources"] ?? {};
  const { expectedRecords = {}, ...others } = items.properties ?? {};
  const anyOf = (expectedRecords.anyOf ?? []).map((one) =>
    one.type === "integer" ? { ...one, minimum: 0 } : { ...one, pattern: "^[0-9]+([.]0+)?$" },
  );
  return { ...items, properties: { ...others, expectedRecords: { ...expectedRecords, anyOf } } };
}

const RANGE = objectOf("Dates from one to another, both included.", {
  from: date("The first.", "2025-12-30"),
  to: date("The last.", "2025-12-31"),
});

/** The schemas of backfills; that of the manifest is the one that it is checked by. */
export const BACKFILL_SCHEMAS: Readonly<Record<string, Schema>> = {
  BackfillId: uuid("The UUID of a backfill.", EXAMPLE_BACKFILL_ID),
  BackfillManifest: manifest(),
  BackfillManifestResource: manifestResource(),
  BackfillItem: objectOf("A backfill in a list.", ITEM),
  BackfillPage: pageOf("A page of backfills, newest first.", schemaOf("BackfillItem")),
  BackfillResourceProgress: objectOf("What has come of one resource.", RESOURCE_PROGRESS),
  BackfillSignature: objectOf("Who stands by a statement.", SIGNATURE),
  Backfill: objectOf("A backfill, and how far it has come: of a closed one, what its statement counts.", {
    ...ITEM,
    resources: list("What has come, by resource.", RESOURCES.length, schemaOf("BackfillResourceProgress")),
    waitingBatches: count("Batches that are not applied yet."),
    oldestWaitingAt: timeOrNull("When the oldest of those was received.", "2026-06-01T08:30:02.052927Z"),
    lateBatches: count("Batches that came after the statement was made: applied, and no part of it."),
    signatures: list("Who has signed the statement.", 2, schemaOf("BackfillSignature")),
  }),
  BackfillGap: objectOf("Something that is missing.", GAP, ...Object.keys(GAP).slice(2)),
  BackfillGapPage: pageOf("A page of gaps, by resource.", schemaOf("BackfillGap")),
  BackfillClosing: formOf("How a backfill is to be closed.", {
    acceptGaps: {
      type: "boolean",
      default: false,
      description: "Close it although something is missing; the statement says so.",
      examples: [true],
    },
  }),
  BackfillAbandoning: formOf("Why a backfill is given up.", {
    why: orNull(text("For whoever reads the audit.", WHY_CHARACTERS_MAX, "opened for the wrong property")),
  }),
  BackfillStatement: objectOf(
    "What has come of a backfill, said once and for all: these very bytes are hashed and signed.",
    {
      form: code("The form of the statement.", "bellhop.backfill/1"),
      backfillId: schemaOf("BackfillId"),
      clientId: code("The client that closed it.", "cl_4fJ2"),
      clientCode: ITEM["clientCode"] ?? {},
      propertyCode: ITEM["propertyCode"] ?? {},
      note: ITEM["note"] ?? {},
      openedAt: timestamp("When it was opened."),
      closedAt: timestamp("When it was closed."),
      countedTo: { ...schemaOf("RequestId"), description: "Requests up to this id are counted." },
      complete: flag("Nothing that was named is missing.", true),
      gapsAccepted: flag("It was closed although something is missing.", false),
      resources: list("What has come, by resource.", RESOURCES.length, schemaOf("BackfillResourceStatement")),
    },
  ),
  BackfillResourceStatement: objectOf("What a statement says of one resource.", {
    ...Object.fromEntries(
      Object.entries(RESOURCE_PROGRESS).filter(
        ([name]) => name !== "waitingBatches" && name !== "oldestWaitingAt",
      ),
    ),
    requestsHash: {
      ...hashOrNull,
      description:
        "SHA-256 of the ids of all its requests, ascending, with commas between, in hexadecimal; null: there are none.",
    },
    missingDates: list("Of inventories: dates of the manifest without a record.", 3_700, RANGE),
    openRecords: count(
      "Rejected, held and discarded records of which no later one of the same key was applied.",
    ),
  }),
};

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
  statementHash: EXAMPLE_HASH,
  signatures: [
    { side: "partner", signedBy: "client:cl_4fJ2", signedAt: CLOSED_AT, statementHash: EXAMPLE_HASH },
  ],
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
      requestsHash: EXAMPLE_HASH,
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
