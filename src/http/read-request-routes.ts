import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { bucketOf } from "../accept/bucket.ts";
import type { Principal } from "../auth/principal.ts";
import type { Resource } from "../contract/resource.ts";
import { ServiceError } from "../errors/registry.ts";
import { listRequestRecords, REQUEST_RECORDS_POSITION } from "../read/list-request-records.ts";
import { listRequests, REQUEST_POSITION } from "../read/list-requests.ts";
import type { Outcome } from "../read/outcome.ts";
import { isUuid, type Position } from "../read/position.ts";
import { readSummariesOf } from "../read/request-summary.ts";
import { authorize, refuseForbidden } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { DefinedParameters } from "./defined-parameters.ts";
import { PAGE_PARAMETERS, REQUEST_LIST_PARAMETERS } from "./openapi/read-parameters.ts";
import { PageCursors } from "./page-cursors.ts";
import { sendPage } from "./read-page.ts";
import { checkOrder, invalidParameter } from "./read-parameters.ts";
import { mayRead, type PropertyCodes } from "./read-property.ts";
import { createWait, type WaitAsked } from "./wait-until-applied.ts";

function tailOf(cursors: PageCursors) {
  return (next: Position | null) => `],"nextCursor":${JSON.stringify(cursors.write(next))}}`;
}

function codesOf(parameters: DefinedParameters): PropertyCodes | undefined {
  const clientCode = parameters.textOf("clientCode");
  const propertyCode = parameters.textOf("propertyCode");
  if (clientCode === undefined && propertyCode === undefined) return undefined;
  if (clientCode === undefined || propertyCode === undefined)
    throw invalidParameter("clientCode and propertyCode are given together or not at all.");
  return { clientCode, propertyCode };
}

async function answerList(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const principal = request.principal as Principal;
  const parameters = new DefinedParameters(request, REQUEST_LIST_PARAMETERS);
  const codes = codesOf(parameters);
  const filter = {
    resource: parameters.textOf("resource") as Resource | undefined,
    outcome: parameters.textOf("outcome") as Outcome | undefined,
    from: parameters.instantOf("from"),
    to: parameters.instantOf("to"),
    property:
      codes === undefined ? undefined : { ...codes, bucket: bucketOf(codes.clientCode, codes.propertyCode) },
  };
  checkOrder(parameters.textOf("from"), parameters.textOf("to"));
  const limit = parameters.givenNumber("limit");
  const { clientId } = principal;
  const cursors = new PageCursors(context, { clientId, path: "requests", filters: parameters.filters });
  const start = cursors.read(parameters.textOf("cursor"), REQUEST_POSITION);
  if (codes !== undefined && !(await mayRead(context, principal, codes)))
    return refuseForbidden(reply, "insufficient_scope");
  return sendPage(reply, listRequests(context.pool, clientId, filter, start, limit), {
    head: '{"items":[',
    tail: tailOf(cursors),
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
  const limit = parameters.givenNumber("limit");
  const path = `requests/${requestId}`;
  const cursors = new PageCursors(context, { clientId, path, filters: parameters.filters });
  const start = cursors.read(parameters.textOf("cursor"), REQUEST_RECORDS_POSITION);
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
  return sendPage(reply, listRequestRecords(context.pool, clientId, found.summary, start, limit), {
    head: `${summary.slice(0, -1)},"records":[`,
    tail: tailOf(cursors),
  });
}

/** `GET` of a client's requests: all of them, newest first, and one with what became of its records. */
export function registerRequestRoutes(app: FastifyInstance, context: HttpContext): void {
  const options = { onRequest: authorize(context, "read") };
  const wait = createWait(app);
  app.get("/api/public/v1/requests", options, (request, reply) => answerList(context, request, reply));
  app.get("/api/public/v1/requests/:requestId", options, (request, reply) =>
    answerOne(context, wait, request, reply),
  );
}
