import { RESOURCES, type Resource } from "#contract/resource.ts";
import { EXAMPLE_RECORDS } from "../../ingest/openapi/record-examples.ts";
import { jsonAnswer, tokenOperation } from "../../platform/http/openapi/errors.ts";
import { type HeaderName, ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import type { Answer, PathItem } from "../../platform/http/openapi/model.ts";
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

function answersOf(answer: Answer) {
  return { 200: answer, 400: "InvalidParameter" } as const;
}

function pageAnswer(description: string, schemaName: string, value: unknown, ...headers: HeaderName[]) {
  return jsonAnswer(description, schemaName, { page: value }, ratedHeadersOf("Cache-Control", ...headers));
}

const REQUEST_PAGE = pageAnswer("A page of requests.", "RequestPage", {
  items: [EXAMPLE_SUMMARY],
  nextCursor: null,
});

const REQUEST_STATUS = pageAnswer(
  "The request and the outcomes of its records.",
  "RequestStatus",
  { ...EXAMPLE_SUMMARY, records: EXAMPLE_OUTCOMES, nextCursor: null },
  "Preference-Applied",
);

const listRequests = tokenOperation("Requests", ["read"], answersOf(REQUEST_PAGE), {
  operationId: "listRequests",
  summary: "List your requests",
  description:
    "Every batch that was accepted from this client, newest first. Another client's are never listed.",
  parameters: REQUEST_LIST_PARAMETERS,
});

const FOUND = { ...answersOf(REQUEST_STATUS), 404: "RequestNotFound" } as const;
const getRequest = tokenOperation("Requests", ["read"], FOUND, {
  operationId: "getRequest",
  summary: "Get the outcome of a request",
  description:
    "How many records have each outcome, and for every record that is more than plainly applied its outcome, the reason and its warnings. `status` is `applied` once all have been decided: usually within a second of the 202.",
  parameters: [REQUEST_ID_PARAMETER, WAIT_PARAMETER, ...PAGE_PARAMETERS],
});

const NAMES: Readonly<Record<Resource, { one: string; many: string; id: string }>> = {
  inventories: { one: "inventory record", many: "inventory records", id: "Inventories" },
  reservations: { one: "reservation", many: "reservations", id: "Reservations" },
  groups: { one: "group block master", many: "group block masters", id: "Groups" },
};

function operationsOf(resource: Resource): Record<string, PathItem> {
  const { one, many, id } = NAMES[resource];
  const [items, versions] = [[EXAMPLE_RECORDS[resource]], [exampleVersion(resource)]];
  const records = pageAnswer(`A page of ${many}.`, recordPageName(resource), { items, nextCursor: null });
  const history = { items: versions, nextCursor: null };
  const pageOfHistory = pageAnswer("A page of versions.", historyPageName(resource), history);
  return {
    [`/api/public/v1/${resource}`]: {
      get: tokenOperation("Records", ["read"], answersOf(records), {
        operationId: `list${id}`,
        summary: `List current ${many}`,
        description: `The current ${many} of one property, verbatim; with \`asOf\`, those of an earlier moment. Paging does not miss a record that is modified meanwhile.`,
        parameters: recordListParameters(resource),
      }),
    },
    [`/api/public/v1/${resource}/history`]: {
      get: tokenOperation("Records", ["read"], answersOf(pageOfHistory), {
        operationId: `list${id}History`,
        summary: `Read the history of one ${one}`,
        description: `Every version of one ${one} that was accepted, oldest source time first, also those that came too late or changed nothing. Empty when there never was one.`,
        parameters: historyParameters(resource),
      }),
    },
  };
}

/** Reading back: requests, current records and histories. */
export function readOperations(): Record<string, PathItem> {
  return Object.assign(
    {
      "/api/public/v1/requests": { get: listRequests },
      "/api/public/v1/requests/{requestId}": { get: getRequest },
    },
    ...RESOURCES.map(operationsOf),
  );
}
