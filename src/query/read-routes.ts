import type { FastifyInstance } from "fastify";
import { letterOf, RESOURCES, type Resource, type ResourceLetter } from "#contract/resource.ts";
import { bucketOf } from "../ingest/log/part-name.ts";
import { EXAMPLE_RECORDS } from "../ingest/openapi/record-examples.ts";
import { createWait, type WaitAsked } from "../ingest/wait-until-applied.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { instantIn } from "../platform/http/instant.ts";
import { jsonAnswer } from "../platform/http/openapi/errors.ts";
import { type HeaderName, ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import type { Paging } from "../platform/http/page-cursors.ts";
import { pages } from "../platform/http/parameters.ts";
import { isUuid, type Position } from "../platform/http/position.ts";
import { checkOrder } from "../platform/http/read-parameters.ts";
import { CHANGE_ENDPOINTS, ChangeWatch } from "./changes/change-routes.ts";
import { type Asked, endpointOf, extended, pagingOf, registerEndpoints } from "./endpoint.ts";
import {
  HISTORY_POSITION,
  listHistory,
  listRecords,
  type RecordFilter,
  recordPositionShape,
} from "./list-records.ts";
import {
  listRequestRecords,
  REQUEST_RECORDS_POSITION,
  type RequestRecordFilter,
} from "./list-request-records.ts";
import { listRequests, REQUEST_POSITION } from "./list-requests.ts";
import {
  historyParameters,
  type PROPERTY_PARAMETERS,
  REQUEST_ID_PARAMETER,
  REQUEST_LIST_PARAMETERS,
  REQUEST_OUTCOME_PARAMETER,
  recordListParameters,
  WAIT_PARAMETER,
} from "./openapi/read-parameters.ts";
import {
  EXAMPLE_OUTCOMES,
  EXAMPLE_SUMMARY,
  exampleVersion,
  historyPageName,
  recordPageName,
} from "./openapi/read-schemas.ts";
import {
  authorizeReadAgain,
  bothCodes,
  type Property,
  propertyOf,
  type ReadContext,
  readKnownFrom,
  requireRead,
} from "./property.ts";
import { type Items, sendPage } from "./read-page.ts";
import { readSummariesOf } from "./request-summary.ts";

/** What the read endpoints work with. */
interface ReadEndpointContext extends ReadContext {
  readonly wait: WaitAsked;
}

const endpoint = endpointOf<ReadEndpointContext>();
const READ = { method: "get", scopes: ["read"] } as const;

interface Listed {
  readonly paging: Paging;
  readonly list: (property: Property) => Items;
  /** The resource if the list contains versions that are not current, which retention may have deleted. */
  readonly past: ResourceLetter | undefined;
}

async function* nothing(): AsyncGenerator<Buffer, Position | null> {
  yield* [];
  return null;
}

/** Sends a list of one property, which the client must be allowed to read. */
async function sendList(
  asked: Asked<ReadContext, typeof PROPERTY_PARAMETERS>,
  { paging, list, past }: Listed,
) {
  const { context, request, reply, parameters: codes } = asked;
  const property = await propertyOf(asked);
  const since = past === undefined ? null : await readKnownFrom(context.pool, codes.clientCode, past);
  const beside = since === null ? "" : `,"knownFrom":${JSON.stringify(since)}`;
  return sendPage(reply, property === undefined ? nothing() : list(property), {
    head: '{"items":[',
    tail: tailOf(paging, beside),
    authorizeAgain: () => authorizeReadAgain(context, request, codes),
  });
}

function tailOf({ cursorOf }: Paging, beside = "") {
  return (next: Position | null) => `],"nextCursor":${JSON.stringify(cursorOf(next))}${beside}}`;
}

function pageAnswer(description: string, schemaName: string, value: unknown, ...headers: HeaderName[]) {
  return jsonAnswer(description, schemaName, { page: value }, ratedHeadersOf("Cache-Control", ...headers));
}

const listOfRequests = endpoint({
  ...READ,
  path: "/api/public/v1/requests",
  tag: "Requests",
  operationId: "listRequests",
  summary: "List your requests",
  description:
    "Every batch that was accepted from this client, newest first. Requests of other clients are never listed.",
  parameters: REQUEST_LIST_PARAMETERS,
  answer: pageAnswer("A page of requests.", "RequestPage", { items: [EXAMPLE_SUMMARY], nextCursor: null }),
  async work(asked) {
    const { context, request, reply, principal, clientId, parameters } = asked;
    const { clientCode, propertyCode, resource, outcome, from, to } = parameters;
    const codes = bothCodes(clientCode, propertyCode);
    checkOrder(from, to);
    const filter = {
      resource,
      outcome,
      from: instantIn(from),
      to: instantIn(to),
      property: codes && { ...codes, bucket: bucketOf(codes.clientCode, codes.propertyCode) },
    };
    const paging = pagingOf(asked, "requests", REQUEST_POSITION);
    if (codes !== undefined) await requireRead(context, principal, codes);
    return sendPage(reply, listRequests(context.pool, clientId, filter, paging.start, paging.limit), {
      head: '{"items":[',
      tail: tailOf(paging),
      authorizeAgain: () => authorizeReadAgain(context, request, codes),
    });
  },
});

const oneRequest = endpoint({
  ...READ,
  path: "/api/public/v1/requests/{requestId}",
  tag: "Requests",
  operationId: "getRequest",
  summary: "Get the outcome of a request",
  description:
    "The number of records per outcome, and for each record that was not applied or has warnings its outcome, the reason and the warnings; `outcome` lists others. `status` is `applied` once every record has an outcome, usually within a second after the 202.",
  parameters: {
    requestId: REQUEST_ID_PARAMETER,
    prefer: WAIT_PARAMETER,
    outcome: REQUEST_OUTCOME_PARAMETER,
    ...pages(),
  },
  answer: pageAnswer(
    "The request and the outcomes of its records.",
    "RequestStatus",
    { ...EXAMPLE_SUMMARY, records: EXAMPLE_OUTCOMES, nextCursor: null },
    "Preference-Applied",
  ),
  refusals: { 400: "InvalidParameter", 404: "RequestNotFound" },
  async work(asked) {
    const { context, request, reply, clientId } = asked;
    const { requestId, outcome } = asked.parameters;
    const paging = pagingOf(asked, `requests/${requestId}`, REQUEST_RECORDS_POSITION);
    const ask = async () =>
      isUuid(requestId) ? (await readSummariesOf(context.pool, [{ requestId, clientId }]))[0] : undefined;
    let found = await ask();
    // Another client's request gets the same error as an unknown id, so that ids cannot be probed.
    if (found === undefined) throw new ServiceError("bellhop.read.RequestNotFound");
    const isFinal = () => found?.summary.status !== "accepted";
    const applied = await context.wait(request, async () => {
      if (!isFinal()) found = (await ask()) ?? found;
      return isFinal();
    });
    if (applied !== null) reply.header("preference-applied", applied);
    const summary = JSON.stringify(found.summary);
    const filter: RequestRecordFilter = {
      which: outcome === undefined ? "notable" : "decided",
      outcome: outcome === "all" ? undefined : outcome,
    };
    return sendPage(reply, listRequestRecords(context.pool, clientId, found.summary, paging, filter), {
      head: `${summary.slice(0, -1)},"records":[`,
      tail: tailOf(paging),
      authorizeAgain: () => authorizeReadAgain(context, request),
    });
  },
});

const NAMES: Readonly<Record<Resource, { one: string; many: string; id: string }>> = {
  inventories: { one: "inventory record", many: "inventory records", id: "Inventories" },
  reservations: { one: "reservation", many: "reservations", id: "Reservations" },
  groups: { one: "group block master", many: "group block masters", id: "Groups" },
};

function listOfRecords(resource: Resource) {
  const { many, id } = NAMES[resource];
  const path = `/api/public/v1/${resource}`;
  return endpoint({
    ...READ,
    path,
    tag: "Records",
    operationId: `list${id}`,
    summary: `List current ${many}`,
    description: `The current ${many} of one property, verbatim; with \`asOf\`, those of an earlier instant. Paging does not miss a record that is modified meanwhile, unless \`from\` or \`to\` is given and its dates change.`,
    parameters: recordListParameters(resource),
    answer: pageAnswer(`A page of ${many}.`, recordPageName(resource), {
      items: [EXAMPLE_RECORDS[resource]],
      nextCursor: null,
    }),
    async work(asked) {
      const { key, from, to, status, modifiedSince, asOf } = asked.parameters;
      const letter = letterOf(resource);
      const filter: RecordFilter = {
        ...{ resource: letter, key, from, to, status, modifiedSince },
        asOf: instantIn(asOf),
      };
      checkOrder(from, to);
      const paging = pagingOf(asked, path, recordPositionShape(filter));
      const { pool } = asked.context;
      return sendList(asked, {
        paging,
        list: (property) => listRecords(pool, property, filter, paging.start, paging.limit),
        past: asOf === undefined ? undefined : letter,
      });
    },
  });
}

function historyOf(resource: Resource) {
  const { one, id } = NAMES[resource];
  const path = `/api/public/v1/${resource}/history`;
  return endpoint({
    ...READ,
    path,
    tag: "Records",
    operationId: `list${id}History`,
    summary: `Read the history of one ${one}`,
    description: `Every version of one ${one} that was accepted, oldest source time first, including late versions and versions that changed nothing. Empty if there is none.`,
    parameters: historyParameters(resource),
    answer: pageAnswer("A page of versions.", historyPageName(resource), {
      items: [exampleVersion(resource)],
      nextCursor: null,
    }),
    async work(asked) {
      const { key } = asked.parameters;
      const paging = pagingOf(asked, path, HISTORY_POSITION);
      const { pool } = asked.context;
      const letter = letterOf(resource);
      return sendList(asked, {
        paging,
        list: (property) => listHistory(pool, property, { resource: letter, key }, paging),
        past: letter,
      });
    },
  });
}

/** Requests, current records and histories. */
export const READ_ENDPOINTS = [
  listOfRequests,
  oneRequest,
  ...RESOURCES.flatMap((resource) => [listOfRecords(resource), historyOf(resource)]),
];

/** Adds the routes with scope `read`: requests, records and the change feed. */
export function registerReadRoutes(app: FastifyInstance, context: ReadContext): void {
  registerEndpoints(app, extended(context, { wait: createWait(app) }), READ_ENDPOINTS);
  const watch = new ChangeWatch(context.pool);
  app.addHook("preClose", async () => watch.end());
  registerEndpoints(app, extended(context, { watch }), CHANGE_ENDPOINTS);
}
