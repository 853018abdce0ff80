import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { letterOf, RESOURCES, type Resource, type ResourceLetter } from "#contract/resource.ts";
import { authorize, refuseForbidden } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { bucketOf } from "../ingest/log/part-name.ts";
import { createWait, type WaitAsked } from "../ingest/wait-until-applied.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { isUuid, type Position, type PositionShape } from "../platform/http/position.ts";
import { checkOrder } from "../platform/http/read-parameters.ts";
import type { HttpContext } from "../service-context.ts";
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
  REQUEST_LIST_PARAMETERS,
  recordListParameters,
} from "./openapi/read-parameters.ts";
import type { Outcome } from "./outcome.ts";
import { type Paging, readPaging } from "./page-cursors.ts";
import {
  bothCodes,
  findProperty,
  mayRead,
  type Property,
  type PropertyCodes,
  readKnownFrom,
} from "./property.ts";
import { type Items, sendPage } from "./read-page.ts";
import { readSummariesOf } from "./request-summary.ts";

/** A request for a list of a property's records. */
interface Asked {
  readonly codes: PropertyCodes;
  readonly paging: Paging;
  readonly list: (property: Property) => Items;
  /** The resource where the list has versions that are not current: retention may have removed some. */
  readonly past: ResourceLetter | undefined;
}

function pagingOf(
  context: HttpContext,
  request: FastifyRequest,
  { filters, page }: DefinedParameters,
  shape: PositionShape,
  path = request.routeOptions.url ?? "",
): Paging {
  const { clientId } = request.principal as Principal;
  return readPaging(context, { clientId, path, filters }, page, shape);
}

function readListQuestion(context: HttpContext, resource: Resource, request: FastifyRequest): Asked {
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

function readHistoryQuestion(context: HttpContext, resource: Resource, request: FastifyRequest): Asked {
  const parameters = new DefinedParameters(request, historyParameters(resource));
  const key = parameters.givenText(KEY_OF[resource].name);
  const paging = pagingOf(context, request, parameters, HISTORY_POSITION);
  const letter = letterOf(resource);
  return {
    codes: parameters.codes,
    paging,
    list: (property) => listHistory(context.pool, property, letter, key, paging.start, paging.limit),
    past: letter,
  };
}

async function* nothing(): AsyncGenerator<Buffer, Position | null> {
  yield* [];
  return null;
}

async function answer(context: HttpContext, asked: Asked, request: FastifyRequest, reply: FastifyReply) {
  const { codes, paging, list, past } = asked;
  const principal = request.principal as Principal;
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const property = await findProperty(context.pool, codes.clientCode, codes.propertyCode);
  const since = past === undefined ? null : await readKnownFrom(context.pool, codes.clientCode, past);
  const beside = since === null ? "" : `,"knownFrom":${JSON.stringify(since)}`;
  return sendPage(reply, property === undefined ? nothing() : list(property), {
    head: '{"items":[',
    tail: tailOf(paging, beside),
  });
}

function tailOf({ cursorOf }: Paging, beside = "") {
  return (next: Position | null) => `],"nextCursor":${JSON.stringify(cursorOf(next))}${beside}}`;
}

/** `GET` of each resource: its current records or those of an instant, and the history of one. */
function registerRecordRoutes(app: FastifyInstance, context: HttpContext): void {
  const options = { onRequest: authorize(context, "read") };
  for (const resource of RESOURCES) {
    app.get(`/api/public/v1/${resource}`, options, async (request, reply) =>
      answer(context, readListQuestion(context, resource, request), request, reply),
    );
    app.get(`/api/public/v1/${resource}/history`, options, async (request, reply) =>
      answer(context, readHistoryQuestion(context, resource, request), request, reply),
    );
  }
}

async function answerList(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
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
    return refuseForbidden(reply, "insufficient_scope");
  return sendPage(reply, listRequests(context.pool, clientId, filter, paging.start, paging.limit), {
    head: '{"items":[',
    tail: tailOf(paging),
  });
}

async function answerOne(
  context: HttpContext,
  wait: WaitAsked,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { clientId } = request.principal as Principal;
  const requestId = (request.params as { requestId: string }).requestId.toLowerCase();
  const parameters = new DefinedParameters(request, PAGE_PARAMETERS);
  const path = `requests/${requestId}`;
  const paging = pagingOf(context, request, parameters, REQUEST_RECORDS_POSITION, path);
  const ask = async () =>
    isUuid(requestId) ? (await readSummariesOf(context.pool, [{ requestId, clientId }], null))[0] : undefined;
  let found = await ask();
  // Another client's request is answered as one that does not exist: ids are not to be probed.
  if (found === undefined) throw new ServiceError("bellhop.read.RequestNotFound");
  const isFinal = () => found?.summary.status !== "accepted";
  const applied = await wait(request, async () => {
    if (!isFinal()) found = (await ask()) ?? found;
    return isFinal();
  });
  if (applied !== null) reply.header("preference-applied", applied);
  const summary = JSON.stringify(found.summary);
  const { start, limit } = paging;
  return sendPage(reply, listRequestRecords(context.pool, clientId, found.summary, start, limit), {
    head: `${summary.slice(0, -1)},"records":[`,
    tail: tailOf(paging),
  });
}

/** `GET` of a client's requests: the list, newest first, and one request with its outcomes. */
function registerRequestRoutes(app: FastifyInstance, context: HttpContext): void {
  const options = { onRequest: authorize(context, "read") };
  const wait = createWait(app);
  app.get("/api/public/v1/requests", options, (request, reply) => answerList(context, request, reply));
  app.get("/api/public/v1/requests/:requestId", options, (request, reply) =>
    answerOne(context, wait, request, reply),
  );
}

/** What a partner can read, with the scope `read`: its requests, its records and the change feed. */
export function registerReadRoutes(app: FastifyInstance, context: HttpContext): void {
  registerRequestRoutes(app, context);
  registerRecordRoutes(app, context);
  registerChangeRoutes(app, context);
}
