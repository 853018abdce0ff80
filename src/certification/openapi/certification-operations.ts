import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../../ingest/openapi/record-examples.ts";
import { ANYWHERE } from "../../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import {
  type Parameter,
  type PathItem,
  refTo,
  type Schema,
  schemaOf,
} from "../../platform/http/openapi/model.ts";
import { instant, query } from "../../query/openapi/read-parameters.ts";
import { CHECKLIST } from "../checklist.ts";

const CERTIFICATION_ID = "3f0c2f6e-6a5e-4c0f-9b1d-5d2f7f6b8a10";
const EXAMPLE_HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

function text(description: string, charactersMax: number, example: string): Schema {
  return {
    type: "string",
    maxLength: charactersMax,
    pattern: "^[^\\u0000]*$",
    description,
    examples: [example],
  };
}

function count(description: string): Schema {
  return { type: "integer", format: "int32", minimum: 0, maximum: 2_147_483_647, description, examples: [3] };
}

const REQUEST_IDS: Schema = {
  type: "array",
  maxItems: 20,
  description: "Batches behind it.",
  items: schemaOf("RequestId"),
};

const STEP: Readonly<Record<string, Schema>> = {
  step: {
    ...text("Its name.", 64, "cancellation"),
    "x-extensible-enum": CHECKLIST.map(({ name }) => name),
  },
  title: text("What it is about.", 128, "A cancelled reservation"),
  instruction: text("What to do.", 2048, "Book a reservation, then cancel it."),
  result: {
    type: "string",
    enum: ["pass", "fail", "not-yet"],
    description: "How it stands.",
    "x-enumDescriptions": {
      pass: "It was done right.",
      fail: "It was done wrong; the reason says what and what would be right.",
      "not-yet": "It has not been seen.",
    },
    examples: ["fail"],
  },
  reason: text(
    "What was seen, or is yet to be.",
    4096,
    "R-48213 is cancelled and has no cancellationDateTime: when it was given back cannot be told.",
  ),
  requestIds: REQUEST_IDS,
};

const OBSERVED: Readonly<Record<string, Schema>> = {
  batches: count("Accepted batches."),
  records: count("Their records."),
  pending: count("Records without an outcome yet: no step counts them."),
  tokens: count("Tokens taken."),
  rateLimited: count("Answers 429."),
  refused: count("Refused batches."),
  lenient: count("Batches with `Prefer: handling=lenient`."),
  keyed: count("Batches with an `Idempotency-Key`."),
  compressed: {
    type: "object",
    description: "Batches by `Content-Encoding`.",
    additionalProperties: count("So many."),
    maxProperties: 16,
    examples: [{ gzip: 12 }],
  },
};

const EVIDENCE: Readonly<Record<string, Schema>> = {
  from: {
    ...schemaOf("Timestamp"),
    description: "What came from then on counts.",
    examples: ["2026-06-01T08:30:00.000000Z"],
  },
  until: {
    type: ["string", "null"],
    format: "date-time",
    maxLength: 27,
    description: "When the last of it was seen; null when nothing was.",
    examples: ["2026-06-01T15:04:11.120331Z"],
  },
  isWhole: {
    type: "boolean",
    description: "False when there was more than one report looks at: then the newest counts.",
    examples: [true],
  },
  hash: {
    type: "string",
    maxLength: 71,
    pattern: "^sha256:[0-9a-f]{64}$",
    description: "Of all that the report is made of: the same evidence gives the same report.",
    examples: [EXAMPLE_HASH],
  },
};

function objectOf(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", description, required: Object.keys(properties), properties };
}

const REPORT: Readonly<Record<string, Schema>> = {
  certificationId: {
    type: "string",
    format: "uuid",
    maxLength: 36,
    description: "Its id.",
    examples: [CERTIFICATION_ID],
  },
  clientId: text("Whose it is.", 128, "bhc_5Jr0aQz2mN8wXk3T"),
  property: objectOf("The property of the examples; any that you may push does as well.", {
    clientCode: text("Its client code.", 128, EXAMPLE_CLIENT),
    propertyCode: text("Its property code.", 128, EXAMPLE_PROPERTY),
  }),
  openedAt: {
    ...schemaOf("Timestamp"),
    description: "When it was opened.",
    examples: ["2026-06-01T08:30:00.000000Z"],
  },
  verdict: {
    type: "string",
    enum: ["certified", "failed", "incomplete"],
    description: "Every step passed, one failed, or some are yet to be seen.",
    examples: ["failed"],
  },
  steps: {
    type: "array",
    maxItems: 100,
    description: "Every step, as it stands.",
    items: schemaOf("CertificationStep"),
  },
  observed: objectOf("What else was seen: told, not judged.", OBSERVED),
  evidence: objectOf("What the report is made of.", EVIDENCE),
};

const EXAMPLE_REPORT = Object.fromEntries(
  Object.entries(REPORT).map(([name, schema]) => [name, exampleOf(schema, name)]),
);

function exampleOf(schema: Schema, name: string): unknown {
  if (name === "steps") return [{ ...exampleOfAll(STEP), requestIds: [] }];
  return schema.properties === undefined ? schema.examples?.[0] : exampleOfAll(schema.properties);
}

function exampleOfAll(properties: Readonly<Record<string, Schema>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, exampleOf(schema, name)]),
  );
}

export const CERTIFICATION_SCHEMAS: Readonly<Record<string, Schema>> = {
  CertificationStep: objectOf("A step of the checklist, as it stands.", STEP),
  CertificationReport: objectOf("How an integration has done.", REPORT),
  CertificationStanding: objectOf("Your certification.", {
    certification: {
      description: "The newest of yours; null where none was ever opened.",
      anyOf: [schemaOf("CertificationReport"), { type: "null" }],
    },
  }),
};

/** The parameters of a certification; they are read by these definitions. */
export const CERTIFICATION_PARAMETERS: readonly Parameter[] = [
  query("since", "Only what came from then on counts.", instant("2026-06-01T08:30:00Z")),
  query("until", "Only what came until then counts.", instant("2026-06-01T16:30:00Z")),
];

/** What a partner asks of its own certification. */
export const CERTIFICATION_OPERATIONS: Readonly<Record<string, PathItem>> = {
  "/api/public/v1/certification": {
    get: {
      operationId: "getCertification",
      tags: ["Requests"],
      summary: "See how your certification stands",
      description:
        "Each step of the checklist with what to do and how it stands, judged by what the service itself has seen of your integration since the certification was opened by the operator. After a fix, do the step again and ask with `since`, so that what was wrong before does not count.",
      security: [{ oauth2: ["read"] }],
      parameters: CERTIFICATION_PARAMETERS,
      responses: {
        ...ANYWHERE,
        200: {
          description: "How it stands.",
          headers: ratedHeadersOf("Cache-Control"),
          content: {
            "application/json": {
              schema: schemaOf("CertificationStanding"),
              examples: {
                failed: { value: { certification: EXAMPLE_REPORT } },
                none: { value: { certification: null } },
              },
            },
          },
        },
        400: refTo("responses", "InvalidParameter"),
        401: refTo("responses", "NoToken"),
        403: refTo("responses", "Forbidden"),
        429: refTo("responses", "TooManyRequests"),
        500: refTo("responses", "Internal"),
        503: refTo("responses", "Unavailable"),
      },
    },
  },
};
