import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { letterOf, RESOURCES, type Resource, type ResourceLetter } from "#contract/resource.ts";
import { authorize, lacksGrant, refuseEmpty } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { bucketOf } from "../ingest/log/part-name.ts";
import { EXAMPLE_RECORDS } from "../ingest/openapi/record-examples.ts";
import { createWait, type WaitAsked } from "../ingest/wait-until-applied.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { jsonAnswer, tokenOperation } from "../platform/http/openapi/errors.ts";
import { type HeaderName, ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import type { Answer, Operation, PathItem } from "../platform/http/openapi/model.ts";
import { type Paging, readPaging } from "../platform/http/page-cursors.ts";
import { isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import { checkOrder } from "../platform/http/read-parameters.ts";
import { registerChangeRoutes } from "./changes/change-routes.ts";
import { DefinedParameters } from "./defined-parameters.ts";
import {
  HISTORY_POSITION,
  listHistory,
  listRecords,
  type RecordFilter,
  recordPositionShape,
} from "./list-records.ts";
import { listRequestRecords, REQUEST_RECORDS_POSITION } from "./list-request-records.ts";
import { listRequests, REQUEST_POSITION } from "./list-requests.ts";
import {
  historyParameters,
  KEY_OF,
  PAGE_PARAMETERS,
  REQUEST_ID_PARAMETER,
  REQUEST_LIST_PARAMETERS,
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
import type { Outcome } from "./outcome.ts";
import {
  authorizeReadAgain,
  bothCodes,
  findProperty,
  mayRead,
  type Property,
  type PropertyCodes,
  type ReadContext,
  readKnownFrom,
} from "./property.ts";
import { type Items, sendPage } from "./read-page.ts";
import { readSummariesOf } from "./request-summary.ts";

const SCOPE = "read";

interface Call {
  readonly context: ReadContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly wait: WaitAsked;
}

interface Asked {
  readonly codes: PropertyCodes;
  readonly paging: Paging;
  readonly list: (property: Property) => Items;
  /** The resource if the list contains versions that are not current, which retention may have deleted. */
  readonly past: ResourceLetter | undefined;
}

function pagingOf(
  context: ReadContext,
  request: FastifyRequest,
  { filters, page }: DefinedParameters,
  shape: PositionShape,
  path = request.routeOptions.url ?? "",
): Paging {
  const { clientId } = request.principal as Principal;
  return readPaging(context, { clientId, path, filters }, page, shape);
}

function readListQuestion(context: ReadContext, resource: Resource, request: FastifyRequest): Asked {
  const parameters = new DefinedParameters(request, recordListParameters(resource));
  const filter: RecordFilter = {
    resource: letterOf(resource),
    key: parameters.textOf(KEY_OF[resource].name),
    from: parameters.textOf("from"),
    to: parameters.textOf("to"),
    status: parameters.textOf("status"),
    modifiedSince: parameters.textOf("modifiedSince"),
    asOf: parameters.instantOf("asOf"),
  };
  checkOrder(filter.from, filter.to);
  const paging = pagingOf(context, request, parameters, recordPositionShape(filter));
  return {
    codes: parameters.codes,
    paging,
    list: (property) => listRecords(context.pool, property, filter, paging.start, paging.limit),
    past: filter.asOf === undefined ? undefined : filter.resource,
  };
}

function readHistoryQuestion(context: ReadContext, resource: Resource, request: FastifyRequest): Asked {
  const parameters = new DefinedParameters(request, historyParameters(resource));
  const key = parameters.givenText(KEY_OF[resource].name);
  const paging = pagingOf(context, request, parameters, HISTORY_POSITION);
  const letter = letterOf(resource);
  return {
    codes: parameters.codes,
    paging,
    list: (property) => listHistory(context.pool, property, { resource: letter, key }, paging),
    past: letter,
  };
}

async function* nothing(): AsyncGenerator<Buffer, Position | null> {
  yield* [];
  return null;
}

async function answer({ context, request, reply }: Call, { codes, paging, list, past }: Asked) {
  const principal = request.principal as Principal;
  if (!(await mayRead(context, principal, codes)))
    return refuseEmpty(reply, lacksGrant(codes.clientCode, codes.propertyCode));
  const property = await findProperty(context.pool, codes.clientCode, codes.propertyCode);
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

async function answerList({ context, request, reply }: Call) {
  const principal = request.principal as Principal;
  const parameters = new DefinedParameters(request, REQUEST_LIST_PARAMETERS);
  const codes = bothCodes(parameters.textOf("clientCode"), parameters.textOf("propertyCode"));
  const filter = {
    resource: parameters.textOf("resource") as Resource | undefined,
    outcome: parameters.textOf("outcome") as Outcome | undefined,
    from: parameters.instantOf("from"),
    to: parameters.instantOf("to"),
    property:
      codes === undefined ? undefined : { ...codes, bucket: bucketOf(codes.clientCode, codes.propertyCode) },
  };
  checkOrder(parameters.textOf("from"), parameters.textOf("to"));
  const { clientId } = principal;
  const paging = pagingOf(context, request, parameters, REQUEST_POSITION, "requests");
  if (codes !== undefined && !(await mayRead(context, principal, codes)))
    return refuseEmpty(reply, lacksGrant(codes.clientCode, codes.propertyCode));
  return sendPage(reply, listRequests(context.pool, clientId, filter, paging.start, paging.limit), {
    head: '{"items":[',
    tail: tailOf(paging),
    authorizeAgain: () => authorizeReadAgain(context, request, codes),
  });
}

async function answerOne({ context, wait, request, reply }: Call) {
  const { clientId } = request.principal as Principal;
  const requestId = (request.params as { requestId: string }).requestId.toLowerCase();
  const parameters = new DefinedParameters(request, PAGE_PARAMETERS);
  const path = `requests/${requestId}`;
  const paging = pagingOf(context, request, parameters, REQUEST_RECORDS_POSITION, path);
  const ask = async () =>
    isUuid(requestId) ? (await readSummariesOf(context.pool, [{ requestId, clientId }]))[0] : undefined;
  let found = await ask();
  // Another client's request gets the same error as an unknown id, so that ids cannot be probed.
  if (found === undefined) throw new ServiceError("bellhop.read.RequestNotFound");
  const isFinal = () => found?.summary.status !== "accepted";
  const applied = await wait(request, async () => {
    if (!isFinal()) found = (await ask()) ?? found;
    return isFinal();
  });
  if (applied !== null) reply.header("preference-applied", applied);
  const summary = JSON.stringify(found.summary);
  return sendPage(reply, listRequestRecords(context.pool, clientId, found.summary, paging), {
    head: `${summary.slice(0, -1)},"records":[`,
    tail: tailOf(paging),
    authorizeAgain: () => authorizeReadAgain(context, request),
  });
}

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

interface Route {
  readonly path: string;
  readonly operation: Operation;
  work(call: Call): Promise<FastifyReply>;
}

const NAMES: Readonly<Record<Resource, { one: string; many: string; id: string }>> = {
  inventories: { one: "inventory record", many: "inventory records", id: "Inventories" },
  reservations: { one: "reservation", many: "reservations", id: "Reservations" },
  groups: { one: "group block master", many: "group block masters", id: "Groups" },
};

function routesOf(resource: Resource): Route[] {
  const { one, many, id } = NAMES[resource];
  const [items, versions] = [[EXAMPLE_RECORDS[resource]], [exampleVersion(resource)]];
  const records = pageAnswer(`A page of ${many}.`, recordPageName(resource), { items, nextCursor: null });
  const history = { items: versions, nextCursor: null };
  const pageOfHistory = pageAnswer("A page of versions.", historyPageName(resource), history);
  return [
    {
      path: `/api/public/v1/${resource}`,
      operation: tokenOperation("Records", [SCOPE], answersOf(records), {
        operationId: `list${id}`,
        summary: `List current ${many}`,
        description: `The current ${many} of one property, verbatim; with \`asOf\`, those of an earlier instant. Paging does not miss a record that is modified meanwhile, unless \`from\` or \`to\` is given and its dates change.`,
        parameters: recordListParameters(resource),
      }),
      work: async (call) => answer(call, readListQuestion(call.context, resource, call.request)),
    },
    {
      path: `/api/public/v1/${resource}/history`,
      operation: tokenOperation("Records", [SCOPE], answersOf(pageOfHistory), {
        operationId: `list${id}History`,
        summary: `Read the history of one ${one}`,
        description: `Every version of one ${one} that was accepted, oldest source time first, including late versions and versions that changed nothing. Empty if there is none.`,
        parameters: historyParameters(resource),
      }),
      work: async (call) => answer(call, readHistoryQuestion(call.context, resource, call.request)),
    },
  ];
}

const ROUTES: readonly Route[] = [
  {
    path: "/api/public/v1/requests",
    operation: tokenOperation("Requests", [SCOPE], answersOf(REQUEST_PAGE), {
      operationId: "listRequests",
      summary: "List your requests",
      description:
        "Every batch that was accepted from this client, newest first. Requests of other clients are never listed.",
      parameters: REQUEST_LIST_PARAMETERS,
    }),
    work: answerList,
  },
  {
    path: "/api/public/v1/requests/{requestId}",
    operation: tokenOperation(
      "Requests",
      [SCOPE],
      { ...answersOf(REQUEST_STATUS), 404: "RequestNotFound" },
      {
        operationId: "getRequest",
        summary: "Get the outcome of a request",
        description:
          "The number of records per outcome, and for each record that was not applied or has warnings its outcome, the reason and the warnings. `status` is `applied` once every record has an outcome, usually within a second after the 202.",
        parameters: [REQUEST_ID_PARAMETER, WAIT_PARAMETER, ...PAGE_PARAMETERS],
      },
    ),
    work: answerOne,
  },
  ...RESOURCES.flatMap(routesOf),
];

/** The read operations for the OpenAPI document: requests, current records and histories. */
export function readOperations(): Record<string, PathItem> {
  return Object.fromEntries(ROUTES.map(({ path, operation }) => [path, { get: operation }]));
}

/** Adds the routes with scope `read`: requests, records and the change feed. */
export function registerReadRoutes(app: FastifyInstance, context: ReadContext): void {
  const onRequest = authorize(context, SCOPE);
  const wait = createWait(app);
  for (const { path, work } of ROUTES)
    app.get(path.replace("{requestId}", ":requestId"), { onRequest }, (request, reply) =>
      work({ context, request, reply, wait }),
    );
  registerChangeRoutes(app, context);
}
