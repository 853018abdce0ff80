import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../auth/principal.ts";
import { letterOf, RESOURCES, type Resource, type ResourceLetter } from "../contract/resource.ts";
import { readKnownFrom } from "../read/known-from.ts";
import { HISTORY_POSITION, listHistory } from "../read/list-history.ts";
import { listRecords, type RecordFilter, recordPositionShape } from "../read/list-records.ts";
import type { Position } from "../read/position.ts";
import { findProperty, type Property } from "../read/property.ts";
import { authorize, refuseForbidden } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { DefinedParameters } from "./defined-parameters.ts";
import { historyParameters, recordListParameters } from "./openapi/read-parameters.ts";
import { PageCursors } from "./page-cursors.ts";
import { type Items, sendPage } from "./read-page.ts";
import { checkOrder } from "./read-parameters.ts";
import { mayRead, type PropertyCodes } from "./read-property.ts";

/** The parameter that names one record of each resource. */
const KEY_PARAMETER = {
  inventories: "occupancyDate",
  reservations: "reservationId",
  groups: "groupCode",
} as const satisfies Record<Resource, string>;

/** What one request for a list comes to, once it was read: whose property, where to start, and how to list it. */
interface Asked {
  readonly codes: PropertyCodes;
  readonly cursors: PageCursors;
  readonly list: (property: Property) => Items;
  /** The resource where it is asked for what is not current: of that something may be known no more. */
  readonly past: ResourceLetter | undefined;
}

function cursorsOf(
  context: HttpContext,
  request: FastifyRequest,
  parameters: DefinedParameters,
): PageCursors {
  const { clientId } = request.principal as Principal;
  const path = request.routeOptions.url ?? "";
  return new PageCursors(context, { clientId, path, filters: parameters.filters });
}

function readListQuestion(context: HttpContext, resource: Resource, request: FastifyRequest): Asked {
  const parameters = new DefinedParameters(request, recordListParameters(resource));
  const filter: RecordFilter = {
    resource: letterOf(resource),
    key: parameters.textOf(KEY_PARAMETER[resource]),
    from: parameters.textOf("from"),
    to: parameters.textOf("to"),
    status: parameters.textOf("status"),
    modifiedSince: parameters.textOf("modifiedSince"),
    asOf: parameters.instantOf("asOf"),
  };
  checkOrder(filter.from, filter.to);
  const limit = parameters.givenNumber("limit");
  const cursors = cursorsOf(context, request, parameters);
  const start = cursors.read(parameters.textOf("cursor"), recordPositionShape(filter));
  return {
    codes: parameters.codes,
    cursors,
    list: (property) => listRecords(context.pool, property, filter, start, limit),
    past: filter.asOf === undefined ? undefined : filter.resource,
  };
}

function readHistoryQuestion(context: HttpContext, resource: Resource, request: FastifyRequest): Asked {
  const parameters = new DefinedParameters(request, historyParameters(resource));
  const key = parameters.givenText(KEY_PARAMETER[resource]);
  const limit = parameters.givenNumber("limit");
  const cursors = cursorsOf(context, request, parameters);
  const start = cursors.read(parameters.textOf("cursor"), HISTORY_POSITION);
  const letter = letterOf(resource);
  return {
    codes: parameters.codes,
    cursors,
    list: (property) => listHistory(context.pool, property, letter, key, start, limit),
    past: letter,
  };
}

async function* nothing(): AsyncGenerator<Buffer, Position | null> {
  yield* [];
  return null;
}

async function answer(context: HttpContext, asked: Asked, request: FastifyRequest, reply: FastifyReply) {
  const { codes, cursors, list, past } = asked;
  const principal = request.principal as Principal;
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const property = await findProperty(context.pool, codes.clientCode, codes.propertyCode);
  const since = past === undefined ? null : await readKnownFrom(context.pool, codes.clientCode, past);
  const knownFrom = since === null ? "" : `,"knownFrom":${JSON.stringify(since)}`;
  return sendPage(reply, property === undefined ? nothing() : list(property), {
    head: '{"items":[',
    tail: (next) => `],"nextCursor":${JSON.stringify(cursors.write(next))}${knownFrom}}`,
  });
}

/** `GET` of each resource: its current records or those of an instant, and the history of one. */
export function registerRecordRoutes(app: FastifyInstance, context: HttpContext): void {
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
