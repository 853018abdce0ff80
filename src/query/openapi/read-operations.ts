import { RESOURCES, type Resource } from "#contract/resource.ts";
import { EXAMPLE_RECORDS } from "../../ingest/openapi/record-examples.ts";
import { jsonAnswer, REFUSALS_OF_TOKEN, refusals } from "../../platform/http/openapi/errors.ts";
import { type HeaderName, ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import type { Answer, Operation, Parameter, PathItem } from "../../platform/http/openapi/model.ts";
import {
  historyParameters,
  PAGE_PARAMETERS,
  REQUEST_ID_PARAMETER,
  REQUEST_LIST_PARAMETERS,
  recordListParameters,
  WAIT_PARAMETER,
} from "./read-parameters.ts";
import {
  EXAMPLE_OUTCOMES,
  EXAMPLE_SUMMARY,
  exampleVersion,
  historyPageName,
  recordPageName,
} from "./read-schemas.ts";

type Words = Pick<Operation, "operationId" | "summary" | "description">;

function answerOf(description: string, schemaName: string, value: unknown, ...headers: HeaderName[]): Answer {
  return jsonAnswer(description, schemaName, { page: value }, ratedHeadersOf("Cache-Control", ...headers));
}

function operationOf(
  tag: string,
  words: Words,
  parameters: readonly Parameter[],
  answer: Answer,
  notFound: Operation["responses"] = {},
): Operation {
  return {
    ...words,
    tags: [tag],
    security: [{ oauth2: ["read"] }],
    parameters,
    responses: { ...REFUSALS_OF_TOKEN, 200: answer, ...refusals({ 400: "InvalidParameter" }), ...notFound },
  };
}

const listRequests = operationOf(
  "Requests",
  {
    operationId: "listRequests",
    summary: "List your requests",
    description:
      "Every batch that was accepted from this client, newest first. Another client's are never listed.",
  },
  REQUEST_LIST_PARAMETERS,
  answerOf("A page of requests.", "RequestPage", { items: [EXAMPLE_SUMMARY], nextCursor: null }),
);

const getRequest = operationOf(
  "Requests",
  {
    operationId: "getRequest",
    summary: "See what became of a request",
    description:
      "How many records have each outcome, and for every record that is more than plainly applied its outcome, the reason and its warnings. `status` is `applied` once all have been decided: usually within a second of the 202.",
  },
  [REQUEST_ID_PARAMETER, WAIT_PARAMETER, ...PAGE_PARAMETERS],
  answerOf(
    "The request and what became of its records.",
    "RequestStatus",
    { ...EXAMPLE_SUMMARY, records: EXAMPLE_OUTCOMES, nextCursor: null },
    "Preference-Applied",
  ),
  refusals({ 404: "RequestNotFound" }),
);

const NAMES: Readonly<Record<Resource, { one: string; many: string; id: string }>> = {
  inventories: { one: "inventory record", many: "inventory records", id: "Inventories" },
  reservations: { one: "reservation", many: "reservations", id: "Reservations" },
  groups: { one: "group block master", many: "group block masters", id: "Groups" },
};

function listOf(resource: Resource): Operation {
  const { many, id } = NAMES[resource];
  return operationOf(
    "Records",
    {
      operationId: `list${id}`,
      summary: `List current ${many}`,
      description: `The current ${many} of one property, each exactly as it was sent; with \`asOf\`, those of an earlier moment. A record that is modified while you page is not missed.`,
    },
    recordListParameters(resource),
    answerOf(`A page of ${many}.`, recordPageName(resource), {
      items: [EXAMPLE_RECORDS[resource]],
      nextCursor: null,
    }),
  );
}

function historyOf(resource: Resource): Operation {
  const { one, id } = NAMES[resource];
  return operationOf(
    "Records",
    {
      operationId: `list${id}History`,
      summary: `Read the history of one ${one}`,
      description: `Every version of one ${one} that was accepted, oldest source time first, also those that came too late or changed nothing. Empty when there never was one.`,
    },
    historyParameters(resource),
    answerOf("A page of versions.", historyPageName(resource), {
      items: [exampleVersion(resource)],
      nextCursor: null,
    }),
  );
}

/** What can be read back: requests, current records and histories. */
export function readOperations(): Record<string, PathItem> {
  return {
    "/api/public/v1/requests": { get: listRequests },
    "/api/public/v1/requests/{requestId}": { get: getRequest },
    ...Object.fromEntries(
      RESOURCES.flatMap((resource) => [
        [`/api/public/v1/${resource}`, { get: listOf(resource) }],
        [`/api/public/v1/${resource}/history`, { get: historyOf(resource) }],
      ]),
    ),
  };
}
