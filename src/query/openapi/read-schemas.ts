import { COMPONENT_NAMES } from "#contract/component-schemas.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { WARNING_CODES } from "#contract/warnings.ts";
import { EXAMPLE_REQUEST_ID } from "../../ingest/openapi/data-operations.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY, EXAMPLE_RECORDS } from "../../ingest/openapi/record-examples.ts";
import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
import {
  choice,
  component,
  count,
  exampleOf,
  type Field,
  list,
  objectOf,
  orNull,
  text,
  time,
  timestamp,
  uuid,
} from "../../platform/http/openapi/schema.ts";
import { CURSOR_PATTERN, EXAMPLE_PAGE_CURSOR } from "../../platform/http/parameters.ts";
import { OUTCOMES } from "../outcome.ts";

export function textOrNull(description: string, charactersMax: number, example: string) {
  return orNull(text(description, charactersMax, example));
}

const OUTCOME_MEANINGS = {
  applied: "The record became the current version.",
  unchanged: "The content equals that of the previous version; only the source time is newer.",
  stale: "A version with a newer source time is current; this one is kept in the history.",
  duplicate: "The same record with the same source time was already received.",
  quarantined:
    "The record is quarantined until an operator releases or discards it; `code` and `message` say why.",
  discarded: "The record was quarantined, and an operator discarded it.",
  rejected:
    "The record was invalid in a lenient batch; `violations` say why. It is stored verbatim and never applied.",
} as const satisfies Record<(typeof OUTCOMES)[number], string>;

const COUNTS: Readonly<Record<string, Schema>> = {
  records: count("Records in the batch."),
  pending: count("Records without an outcome yet."),
  ...Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count(OUTCOME_MEANINGS[outcome])])),
  warned: count("Records with warnings, regardless of outcome."),
};

/** Counts of outcomes of one or several requests. */
export const OUTCOME_COUNTS: Schema = {
  type: "object",
  description: "The number of records per outcome. All but `records` and `warned` add up to `records`.",
  required: Object.keys(COUNTS),
  properties: COUNTS,
};

const SUMMARY: Readonly<Record<string, Schema>> = {
  requestId: schemaOf("RequestId"),
  status: choice(
    "`applied` once every record has an outcome, `accepted` before.",
    ["accepted", "applied"],
    "applied",
  ),
  resource: choice("The kind of the records.", RESOURCES, "reservations"),
  receivedAt: timestamp("When the batch was accepted.", "2026-06-01T08:30:02.052927Z"),
  appliedAt: orNull(time("When the last record was applied.", "2026-06-01T08:30:02.149Z")),
  correlationId: textOrNull("The `X-Correlation-Id` of the push.", 128, "night-audit-2026-06-01"),
  replyTo: textOrNull("The `ReplyTo` of the push.", 2048, "https://partner.example/bellhop/outcomes"),
  backfillId: orNull(
    uuid(
      "The backfill that the batch belongs to: the `Backfill-Id` of the push.",
      "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    ),
  ),
  handling: choice(
    "How invalid records were handled: the `Prefer` of the push.",
    ["strict", "lenient"],
    "strict",
  ),
  counts: OUTCOME_COUNTS,
};

const RECORD_OUTCOME: Readonly<Record<string, Schema>> = {
  index: count("Its index in the batch.", 3),
  clientCode: textOrNull("Its clientCode, if it can be read.", 256, EXAMPLE_CLIENT),
  propertyCode: textOrNull("Its propertyCode, if it can be read.", 256, EXAMPLE_PROPERTY),
  key: textOrNull("Its occupancyDate, reservationId or groupCode, if it can be read.", 256, "R-48213"),
  outcome: choice("Its outcome.", OUTCOMES, "quarantined", OUTCOME_MEANINGS),
  code: textOrNull("The reason as a stable code, if there is one.", 128, "time.future"),
  pointer: text("JSON pointer (RFC 6901) into the batch.", 512, "/3", "^/[^\\u0000]*$"),
  message: textOrNull(
    "The reason as text.",
    4096,
    "A version with a newer source time is current; this one is kept in the history.",
  ),
  warnings: list("Its warnings.", 101, schemaOf("Warning")),
  violations: list("For a rejected record, its first violations.", 100, schemaOf("ViolationBody")),
  violationTotal: count("For a rejected record, the total number of violations.", 1),
  resolvedAt: timestamp("When a quarantined record was released or discarded.", "2026-06-01T10:00:00.000Z"),
};

export const NEXT_CURSOR = orNull(
  text("The `cursor` of the next page; null at the end.", 2048, EXAMPLE_PAGE_CURSOR, CURSOR_PATTERN),
);

const VERSION: Readonly<Record<string, Schema>> = {
  sourceTime: timestamp(
    "Its createDateTime or lastModifiedDateTime, by which versions are ordered.",
    "2026-06-01T08:30:00.000000Z",
  ),
  receivedAt: timestamp("When its batch was accepted.", "2026-06-01T08:30:02.052927Z"),
  requestId: schemaOf("RequestId"),
  index: count("Its index in that batch.", 0),
  outcome: choice("Its outcome when it was applied.", OUTCOMES, "applied", OUTCOME_MEANINGS),
};

function pageOf<Item>(description: string, items: Field<Item>) {
  return objectOf(description, {
    items: list("The items of this page.", 1000, items),
    nextCursor: NEXT_CURSOR,
  });
}

/** The named schema of a page. */
export function pageComponent<Item>(name: string, description: string, item: Field<Item>) {
  return component(name, pageOf(description, item));
}

/** Component name of a page of a resource's records. */
export function recordPageName(resource: Resource): string {
  return `${COMPONENT_NAMES[resource]}Page`;
}

/** Component name of a page of a record's versions. */
export function historyPageName(resource: Resource): string {
  return `${COMPONENT_NAMES[resource]}HistoryPage`;
}

/** The start of the complete history; present only if retention has deleted something. */
const KNOWN_FROM: Schema = timestamp(
  "Present if the operator limits the retention of versions or payloads: older versions that are not current may be deleted and are omitted.",
  "2026-03-02T00:00:00.000000Z",
);

/** A page with `knownFrom`. */
function pastPageOf(description: string, items: Schema): Schema {
  const page = pageOf(description, items);
  return { ...page, properties: { ...page.properties, knownFrom: KNOWN_FROM } };
}

function schemasOf(resource: Resource): [string, Schema][] {
  const name = COMPONENT_NAMES[resource];
  const version = {
    ...VERSION,
    record: { ...schemaOf(name), description: "The record, verbatim." },
  };
  return [
    [recordPageName(resource), pastPageOf("A page of records, each verbatim.", schemaOf(name))],
    [`${name}Version`, objectOf("One version of a record.", version)],
    [historyPageName(resource), pastPageOf("A page of versions, oldest first.", schemaOf(`${name}Version`))],
  ];
}

export const READ_SCHEMAS: Readonly<Record<string, Schema>> = {
  Warning: objectOf("A warning about an accepted record.", {
    pointer: text("JSON pointer (RFC 6901) into the batch.", 1024, "/3/roomStays/0", "^/[^\\u0000]*$"),
    code: {
      type: "string",
      maxLength: 64,
      pattern: "^[A-Za-z0-9._-]+$",
      description: "A stable code.",
      examples: ["room-type.unknown"],
      "x-extensible-enum": Object.keys(WARNING_CODES),
      "x-enumDescriptions": WARNING_CODES,
    },
    message: text(
      "The warning as text.",
      1024,
      "The property's inventory has never contained this room type.",
    ),
  }),
  RequestSummary: objectOf("A request with the number of records per outcome.", SUMMARY),
  RequestPage: pageOf("A page of requests, newest first.", schemaOf("RequestSummary")),
  RecordOutcome: objectOf(
    "The outcome of one record.",
    RECORD_OUTCOME,
    "violations",
    "violationTotal",
    "resolvedAt",
  ),
  RequestStatus: objectOf("A request and the outcomes of its records.", {
    ...SUMMARY,
    records: list(
      "The outcomes of its records, by index. Records applied without a warning are listed only if `outcome` asks for them.",
      1000,
      schemaOf("RecordOutcome"),
    ),
    nextCursor: NEXT_CURSOR,
  }),
  ...Object.fromEntries(RESOURCES.flatMap(schemasOf)),
};

export const EXAMPLE_COUNTS = exampleOf(COUNTS, { records: 2, applied: 1, stale: 1, warned: 1 });

/** Example summary of a request. */
export const EXAMPLE_SUMMARY = exampleOf(SUMMARY, {
  requestId: EXAMPLE_REQUEST_ID,
  appliedAt: "2026-06-01T08:30:02.149Z",
  correlationId: "night-audit-2026-06-01",
  counts: EXAMPLE_COUNTS,
});

const EXAMPLE_WARNING = {
  pointer: "/0/roomStays/0/roomTypeCode",
  code: "room-type.unknown",
  message: "The property's inventory has never contained this room type.",
};
const { violations: _, violationTotal: __, resolvedAt: ___, ...OF_EVERY_RECORD } = RECORD_OUTCOME;
const OF_EXAMPLE = { clientCode: EXAMPLE_CLIENT, propertyCode: EXAMPLE_PROPERTY };

/** Example outcomes of two records: one applied with a warning, one stale. */
export const EXAMPLE_OUTCOMES = [
  exampleOf(OF_EVERY_RECORD, {
    ...OF_EXAMPLE,
    index: 0,
    key: "R-48213",
    outcome: "applied",
    pointer: "/0",
    warnings: [EXAMPLE_WARNING],
  }),
  exampleOf(OF_EVERY_RECORD, {
    ...OF_EXAMPLE,
    index: 1,
    key: "R-48190",
    outcome: "stale",
    pointer: "/1",
    message: OUTCOME_MEANINGS.stale,
    warnings: [],
  }),
];

export function exampleVersion(resource: Resource): Readonly<Record<string, unknown>> {
  const record = EXAMPLE_RECORDS[resource];
  const time = String(record["createDateTime"] ?? record["lastModifiedDateTime"]);
  return {
    sourceTime: time.replace("Z", ".000000Z"),
    receivedAt: "2026-06-01T09:00:02.052927Z",
    requestId: EXAMPLE_REQUEST_ID,
    index: 0,
    outcome: "applied",
    record,
  };
}
