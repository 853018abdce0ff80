import { COMPONENT_NAMES } from "#contract/component-schemas.ts";
import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_REQUEST_ID } from "../../ingest/openapi/data-operations.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY, EXAMPLE_RECORDS } from "../../ingest/openapi/record-examples.ts";
import { ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
import {
  choice,
  constant,
  count,
  exampleOf,
  flag,
  objectOf,
  text,
  timestamp,
} from "../../platform/http/openapi/schema.ts";
import { CURSOR_PATTERN, code, cursor, whole, word } from "../../platform/http/parameters.ts";

/** Proxies close a connection that is silent for longer. */
const WAIT_SECONDS_MAX = 30;
const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 10_000;

const EXAMPLE_CURSOR = "t7Hi9Jc7WlhrfHx_QyHQxNNrAtDgNDJj3C9JbQE-sDvPO0IJUCeG";
const WAITING = "Long polling: the seconds to wait for a change if there is none.";

/** The parameters of the change feed. */
export const CHANGE_PARAMETERS = {
  cursor: cursor(
    "The `cursor` of any line of an earlier response to the same query: the feed continues after that line. Without it the feed starts at `from`. It is opaque.",
    EXAMPLE_CURSOR,
  ),
  from: word("Where the feed starts; not together with a cursor.", ["beginning", "now"], "now", "beginning"),
  limit: whole("The maximum number of changes in the response.", 1, LIMIT_MAX, LIMIT_DEFAULT),
  wait: whole(WAITING, 0, WAIT_SECONDS_MAX, 0, 25),
  resource: word("Only changes of this kind.", RESOURCES, "reservations"),
  clientCode: code("Only changes of this client code.", EXAMPLE_CLIENT),
  propertyCode: code("Only changes of this property; together with its `clientCode`.", EXAMPLE_PROPERTY),
};

const CURSOR: Schema = text(
  "The feed continues after this line with this cursor.",
  2048,
  EXAMPLE_CURSOR,
  CURSOR_PATTERN,
);

const describedCode = (description: string, example: string): Schema => ({
  ...code(description, example).schema,
  description,
});

const CHANGE: Readonly<Record<string, Schema>> = {
  type: constant("The type of the line.", "change"),
  resource: choice("The kind of the record.", RESOURCES, "reservations"),
  clientCode: describedCode("The client code of the property.", EXAMPLE_CLIENT),
  propertyCode: describedCode("The property code.", EXAMPLE_PROPERTY),
  key: describedCode("Its occupancyDate, reservationId or groupCode.", "R-48213"),
  sourceTime: timestamp("Its createDateTime or lastModifiedDateTime.", "2026-06-01T08:30:00.000000Z"),
  receivedAt: timestamp("When its batch was accepted.", "2026-06-01T09:00:02.052927Z"),
  requestId: schemaOf("RequestId"),
  index: count("Its index in that batch."),
  change: choice("Whether the record is new or replaced another version.", ["created", "updated"], "updated"),
  cursor: CURSOR,
  record: {
    description: "The record, verbatim.",
    anyOf: RESOURCES.map((resource) => schemaOf(COMPONENT_NAMES[resource])),
  },
};

const LAST_LINE: Readonly<Record<string, Schema>> = {
  type: constant("The type of the line.", "cursor"),
  cursor: CURSOR,
  caughtUp: flag("Whether there are no more changes now; if false, request the feed again at once.", true),
};

export const CHANGE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Change: objectOf("A change of a current record.", CHANGE),
  ChangeCursor: objectOf("The last line: a response without it was truncated.", LAST_LINE),
  ChangeLine: {
    description: "One line of the feed.",
    anyOf: [schemaOf("Change"), schemaOf("ChangeCursor")],
  },
};

const EXAMPLE_CHANGE = exampleOf(CHANGE, {
  requestId: EXAMPLE_REQUEST_ID,
  record: EXAMPLE_RECORDS.reservations,
});

/** The answer of the change feed. */
export const CHANGE_LINES = {
  description: "Changes, one per line, and a last line with a cursor.",
  headers: ratedHeadersOf("Cache-Control"),
  content: {
    "application/x-ndjson": {
      schema: schemaOf("ChangeLine"),
      examples: {
        change: { summary: "A change", value: EXAMPLE_CHANGE },
        cursor: { summary: "The last line", value: exampleOf(LAST_LINE) },
      },
    },
  },
};
