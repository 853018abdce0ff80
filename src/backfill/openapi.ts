import { toOpenApi } from "#contract/field-kinds.ts";
import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../ingest/openapi/record-examples.ts";
import { type Schema, schemaOf } from "../platform/http/openapi/model.ts";
import {
  choice,
  component,
  componentsIn,
  count,
  day,
  exampleOf,
  flag,
  list,
  objectOf,
  orNull,
  text,
  time,
  timestamp,
  uuid,
} from "../platform/http/openapi/schema.ts";
import { EXAMPLE_COUNTS, OUTCOME_COUNTS, pageComponent, textOrNull } from "../query/openapi/read-schemas.ts";
import { manifestSchema, WHY_CHARACTERS_MAX } from "./backfill.ts";

const EXAMPLE_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const EXAMPLE_BACKFILL_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

const timeOrNull = (description: string, example: string) => orNull(time(description, example));
const countOrNull = (description: string, example: number) => orNull(count(description, example));
const hash = (description: string) => text(description, 64, EXAMPLE_HASH, "^[0-9a-f]{64}$");
const code = (description: string, example: string) => text(description, 128, example);
const resource = choice("The kind of the records.", RESOURCES, "inventories");

const ITEM = {
  backfillId: schemaOf("BackfillId"),
  state: choice(
    "`open`: it accepts batches. `closed`: it has its statement. `abandoned`: its client or the operator ended it without a statement.",
    ["open", "closed", "abandoned"],
    "open",
  ),
  clientCode: code("The client code of its property.", EXAMPLE_CLIENT),
  propertyCode: code("The code of its property.", EXAMPLE_PROPERTY),
  note: textOrNull("The note of the manifest.", 4096, "go-live July 2026"),
  openedAt: timestamp("When it was opened."),
  endedAt: timeOrNull("When it was closed or abandoned.", "2026-06-01T10:00:00.000000Z"),
  statementHash: orNull(hash("SHA-256 of the statement's bytes, in hexadecimal; null until it is closed.")),
};

const RESOURCE_PROGRESS = {
  resource,
  from: day("The first date of the manifest.", "2024-07-01"),
  to: day("The last date of the manifest.", "2026-06-30"),
  expectedRecords: countOrNull(
    "Distinct records according to the manifest; null: the manifest has no number.",
    730,
  ),
  batches: count("Batches that were accepted.", 3),
  counts: OUTCOME_COUNTS,
  distinctRecords: count(
    "Distinct records (by key) that were applied: each counts once, regardless of repetition and order.",
    728,
  ),
  missingRecords: countOrNull("Expected records that are missing; null: the manifest has no number.", 2),
  datesNamed: countOrNull("For inventories: dates from the first to the last.", 730),
  datesCovered: countOrNull(
    "For inventories: dates of these with a record of the property, sent by any client.",
    728,
  ),
  waitingBatches: count("Batches that are not applied yet."),
  oldestWaitingAt: timeOrNull("When the oldest of those was received.", "2026-06-01T08:30:02.052927Z"),
  firstReceivedAt: timeOrNull("When the first batch was received.", "2026-06-01T08:30:02.052927Z"),
  lastReceivedAt: timeOrNull("When the last batch was received.", "2026-06-01T08:31:02.052927Z"),
};

const { waitingBatches: _waiting, oldestWaitingAt: _oldest, ...RESOURCE_STATED } = RESOURCE_PROGRESS;

const SIGNATURE = {
  side: choice(
    "Who signed: the partner signs by closing, the operator afterwards.",
    ["partner", "operator"],
    "partner",
  ),
  signedBy: code("Who signed.", "client:cl_4fJ2"),
  signedAt: timestamp("When it was signed."),
  statementHash: hash("The hash of the statement that was signed."),
};

const FAILED = {
  requestId: schemaOf("RequestId"),
  index: count("For a failed record: its index in the batch.", 3),
  key: textOrNull("For a failed record: its key, if it can be read.", 256, "2025-02-30"),
  outcome: choice("For a failed record: its outcome.", ["rejected", "quarantined", "discarded"], "rejected"),
  code: textOrNull("For a failed record: the reason as a stable code.", 128, "format.date"),
  message: textOrNull(
    "For a failed record: the reason as text.",
    4096,
    "occupancyDate must be a calendar date",
  ),
  mended: flag(
    "For a failed record: a later record with the same key was applied, so nothing is missing.",
    false,
  ),
};

const GAP_FIELDS = {
  expected: count("For records-short: the number in the manifest.", 730),
  distinct: count("For records-short: the number that was applied.", 728),
  missing: count("For records-short: the difference.", 2),
  date: day("For date-missing: the date.", "2025-12-31"),
};

const GAP = {
  kind: {
    type: "string",
    description: "The kind of gap.",
    maxLength: 64,
    pattern: "^[a-z-]+$",
    examples: ["date-missing"],
    "x-extensible-enum": ["records-short", "date-missing", "record-failed"],
    "x-enumDescriptions": {
      "records-short": "Fewer different records were applied than the manifest names.",
      "date-missing": "The property has no inventory of this date of the manifest.",
      "record-failed": "A record was rejected, quarantined or discarded.",
    },
  },
  resource,
  ...GAP_FIELDS,
  ...FAILED,
};

/** A request body with only optional fields. */
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

/** Announced counts must not be negative; counts in records may be, with a warning. */
function manifestResource(): Schema {
  const { items = {} } = (toOpenApi(manifestSchema) as Schema).properties?.["resources"] ?? {};
  const { expectedRecords = {}, ...others } = items.properties ?? {};
  const anyOf = (expectedRecords.anyOf ?? []).map((one) =>
    one.type === "integer" ? { ...one, minimum: 0 } : { ...one, pattern: "^[0-9]+([.]0+)?$" },
  );
  return { ...items, properties: { ...others, expectedRecords: { ...expectedRecords, anyOf } } };
}

const RANGE = objectOf("A range of dates, both ends included.", {
  from: day("The first date.", "2025-12-30"),
  to: day("The last date.", "2025-12-31"),
});

export const BACKFILL_PAGE = pageComponent(
  "BackfillPage",
  "A page of backfills, newest first.",
  component("BackfillItem", objectOf("A backfill in a list.", ITEM)),
);

export const BACKFILL = component(
  "Backfill",
  objectOf("A backfill and its progress; once closed, the figures of its statement.", {
    ...ITEM,
    resources: list(
      "Progress by resource.",
      RESOURCES.length,
      component(
        "BackfillResourceProgress",
        objectOf("What was received of one resource.", RESOURCE_PROGRESS),
      ),
    ),
    waitingBatches: count("Batches that are not applied yet."),
    oldestWaitingAt: timeOrNull("When the oldest of those was received.", "2026-06-01T08:30:02.052927Z"),
    lateBatches: count(
      "Batches received after the statement was created; they are applied but not part of it.",
    ),
    signatures: list(
      "Who has signed the statement.",
      2,
      component("BackfillSignature", objectOf("A signature of a statement.", SIGNATURE)),
    ),
  }),
);

const GAP_DETAILS = Object.keys({ ...GAP_FIELDS, ...FAILED }) as (
  | keyof typeof GAP_FIELDS
  | keyof typeof FAILED
)[];
export const GAP_PAGE = pageComponent(
  "BackfillGapPage",
  "A page of gaps, by resource.",
  component("BackfillGap", objectOf("A gap: missing or failed data.", GAP, ...GAP_DETAILS)),
);

/** The schemas of backfills. The manifest's also validates it. */
export const BACKFILL_SCHEMAS: Readonly<Record<string, Schema>> = {
  BackfillId: uuid("The UUID of a backfill.", EXAMPLE_BACKFILL_ID),
  BackfillManifest: manifest(),
  BackfillManifestResource: manifestResource(),
  ...componentsIn([BACKFILL_PAGE, BACKFILL]),
  ...componentsIn(GAP_PAGE),
  BackfillClosing: formOf("Options for closing a backfill.", {
    acceptGaps: {
      type: "boolean",
      default: false,
      description: "Close it although data is missing; the statement records that.",
      examples: [true],
    },
  }),
  BackfillAbandoning: formOf("Options for abandoning a backfill.", {
    why: orNull(
      text("The reason, recorded in the audit log.", WHY_CHARACTERS_MAX, "opened for the wrong property"),
    ),
  }),
  BackfillStatement: objectOf("The final result of a backfill: exactly these bytes are hashed and signed.", {
    form: code("The format of the statement.", "bellhop.backfill/1"),
    backfillId: schemaOf("BackfillId"),
    clientId: code("The client that closed it.", "cl_4fJ2"),
    clientCode: ITEM.clientCode,
    propertyCode: ITEM.propertyCode,
    note: ITEM.note,
    openedAt: timestamp("When it was opened."),
    closedAt: timestamp("When it was closed."),
    countedTo: { ...schemaOf("RequestId"), description: "Requests up to this id are counted." },
    complete: flag("No data of the manifest is missing.", true),
    gapsAccepted: flag("It was closed although data is missing.", false),
    resources: list("Progress by resource.", RESOURCES.length, schemaOf("BackfillResourceStatement")),
  }),
  BackfillResourceStatement: objectOf("The statement's figures for one resource.", {
    ...RESOURCE_STATED,
    requestsHash: orNull(
      hash(
        "SHA-256 of the ids of all its requests, ascending and separated by commas, in hexadecimal; null: there are none.",
      ),
    ),
    missingDates: list("For inventories: dates of the manifest without a record.", 3_700, RANGE),
    openRecords: count(
      "Rejected, quarantined and discarded records for which no later record with the same key was applied.",
    ),
  }),
};

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

const EXAMPLE_ITEM = exampleOf(ITEM, {
  backfillId: EXAMPLE_BACKFILL_ID,
  note: "go-live July 2026",
  openedAt: OPENED_AT,
});

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
} as const;

const EXAMPLE_BACKFILL = {
  ...EXAMPLE_ITEM,
  resources: [{ ...EXAMPLE_RESOURCE, waitingBatches: 0, oldestWaitingAt: null }],
  waitingBatches: 0,
  oldestWaitingAt: null,
  lateBatches: 0,
  signatures: [],
};

const EXAMPLE_SIGNATURE = exampleOf(SIGNATURE, { signedAt: CLOSED_AT });

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

export const BACKFILL_EXAMPLES = {
  manifest: EXAMPLE_MANIFEST,
  open: EXAMPLE_BACKFILL,
  closed: {
    ...EXAMPLE_BACKFILL,
    state: "closed",
    endedAt: CLOSED_AT,
    statementHash: EXAMPLE_HASH,
    signatures: [EXAMPLE_SIGNATURE],
  },
  abandoned: { ...EXAMPLE_BACKFILL, state: "abandoned", endedAt: CLOSED_AT },
  page: { items: [EXAMPLE_ITEM], nextCursor: null },
  gaps: {
    items: [
      { kind: "records-short", resource: "inventories", expected: 730, distinct: 728, missing: 2 },
      { kind: "date-missing", resource: "inventories", date: "2025-12-30" },
    ],
    nextCursor: null,
  },
  statement: EXAMPLE_STATEMENT,
} as const;
