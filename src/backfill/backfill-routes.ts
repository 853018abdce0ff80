import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RESOURCES } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { authorize, refuseForbidden } from "../identity/authorize.ts";
import { hasScope, type Principal, writeScopeOf } from "../identity/permissions.ts";
import { receiveForm, receiveFormBytes } from "../identity/receive-form.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import { PAGE_PARAMETERS } from "../query/openapi/read-parameters.ts";
import { PageCursors } from "../query/page-cursors.ts";
import { mayRead } from "../query/property.ts";
import type { HttpContext } from "../service-context.ts";
import {
  BACKFILL_POSITION,
  type Backfill,
  listBackfills,
  openBackfill,
  readManifest,
  requireBackfill,
  WHY_CHARACTERS_MAX,
} from "./backfill.ts";
import { abandonBackfill, BackfillRefusal, closeBackfill } from "./close-backfill.ts";
import { GAP_POSITION, readGaps } from "./gaps.ts";
import { BACKFILL_LIST_PARAMETERS } from "./openapi.ts";
import { backfillAnswer, backfillItem, onBackfill, progressOf } from "./progress.ts";

const BASE = "/api/public/v1/backfills";
const WRITE_SCOPES = RESOURCES.map(writeScopeOf);
/** As a batch counts as a request for each 100 of its records, so does a question that has to read them again. */
const RECORDS_PER_REQUEST = 100;

function principalOf(request: FastifyRequest): Principal {
  return request.principal as Principal;
}

function idOf(request: FastifyRequest): string {
  return (request.params as { backfillId: string }).backfillId;
}

function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.header("cache-control", "no-store").type("application/json; charset=utf-8").send(text);
}

/** Counts a question as the requests that it comes to, beyond the one that it is. */
function charge({ rateLimiter, nodes }: HttpContext, principal: Principal, recordsRead: number): void {
  const more = Math.floor(recordsRead / RECORDS_PER_REQUEST);
  const { clientId, requestRate, requestBurst } = principal;
  if (more > 0) rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("read"));
}

async function sendBackfill(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  backfill: Backfill,
): Promise<FastifyReply> {
  const progress = await progressOf(context.pool, backfill);
  charge(context, principalOf(request), progress.recordsRead);
  return sendJson(reply, JSON.stringify(backfillAnswer(progress)));
}

async function open(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const principal = principalOf(request);
  const manifest = readManifest(await receiveFormBytes(context, request));
  const mayWrite = manifest.resources.every(({ resource }) => hasScope(principal, writeScopeOf(resource)));
  if (!mayWrite || !(await mayRead(context, principal, manifest)))
    return refuseForbidden(reply, "insufficient_scope");
  const { pool } = context;
  const backfill = await openBackfill(pool, principal.clientId, manifest);
  const { backfillId } = backfill;
  await recordAudit(pool, {
    who: `client:${principal.clientId}`,
    what: "open-backfill",
    clientId: principal.clientId,
    detail: { backfillId, clientCode: manifest.clientCode, propertyCode: manifest.propertyCode },
  });
  reply.code(201).header("location", `${BASE}/${backfillId}`);
  return sendBackfill(context, request, reply, backfill);
}

/** Of `{"acceptGaps":true}`; false where there is no body. */
async function acceptsGaps(context: HttpContext, request: FastifyRequest): Promise<boolean> {
  const { acceptGaps = false } = await receiveForm(context, request, ["acceptGaps"]);
  if (typeof acceptGaps === "boolean") return acceptGaps;
  throw new ServiceError("bellhop.http.BadRequest", { message: "acceptGaps is true or false." });
}

async function close(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const { pool } = context;
  const { clientId } = principalOf(request);
  const acceptGaps = await acceptsGaps(context, request);
  const backfill = await requireBackfill(pool, idOf(request), clientId);
  const closed = await closeBackfill(pool, backfill, acceptGaps, (connection, what, detail) =>
    recordAudit(connection, { who: `client:${clientId}`, what, clientId, detail }),
  );
  return sendBackfill(context, request, reply, closed);
}

/** Of `{"why":"…"}`; null where there is no body. */
async function readWhy(context: HttpContext, request: FastifyRequest): Promise<string | null> {
  const { why = null } = await receiveForm(context, request, ["why"]);
  if (why === null) return null;
  const isText = typeof why === "string" && [...why].length <= WHY_CHARACTERS_MAX;
  if (isText && why.isWellFormed() && !why.includes("\0")) return why;
  throw new ServiceError("bellhop.http.BadRequest", {
    message: `why is a text of at most ${WHY_CHARACTERS_MAX} characters.`,
  });
}

/** Abandoning one that is abandoned answers it as it is, as closing does. */
async function abandon(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const { pool } = context;
  const { clientId } = principalOf(request);
  const why = await readWhy(context, request);
  const backfill = await requireBackfill(pool, idOf(request), clientId);
  if (backfill.state === "abandoned") return sendBackfill(context, request, reply, backfill);
  const who = `client:${clientId}`;
  try {
    const abandoned = await abandonBackfill(pool, backfill, why, who, (connection, what, detail) =>
      recordAudit(connection, { who, what, clientId, detail }),
    );
    return await sendBackfill(context, request, reply, abandoned);
  } catch (cause) {
    if (!(cause instanceof BackfillRefusal)) throw cause;
    throw new ServiceError("bellhop.backfill.NotOpen", { message: cause.message, cause });
  }
}

async function list(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const { clientId } = principalOf(request);
  const parameters = new DefinedParameters(request, BACKFILL_LIST_PARAMETERS);
  const state = (parameters.textOf("state") as Backfill["state"] | undefined) ?? null;
  const cursors = new PageCursors(context, { clientId, path: "backfills", filters: parameters.filters });
  const start = cursors.read(parameters.textOf("cursor"), BACKFILL_POSITION);
  const limit = parameters.givenNumber("limit");
  const page = await listBackfills(context.pool, { clientId, state }, start, limit);
  const nextCursor = cursors.write(page.next);
  return sendJson(reply, JSON.stringify({ items: page.items.map(backfillItem), nextCursor }));
}

async function gaps(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const principal = principalOf(request);
  const { clientId } = principal;
  const backfillId = idOf(request).toLowerCase();
  const parameters = new DefinedParameters(request, PAGE_PARAMETERS);
  const path = `backfills/${backfillId}/gaps`;
  const cursors = new PageCursors(context, { clientId, path, filters: parameters.filters });
  const start = cursors.read(parameters.textOf("cursor"), GAP_POSITION);
  const limit = parameters.givenNumber("limit");
  const backfill = await requireBackfill(context.pool, backfillId, clientId);
  const { page, recordsRead } = await onBackfill(
    context.pool,
    backfill,
    async ({ client, asked, tally }) => ({
      page: await readGaps(client, asked, tally, start, limit),
      recordsRead: tally.recordsRead,
    }),
  );
  charge(context, principal, recordsRead);
  const nextCursor = cursors.write(page.next);
  return sendJson(reply, JSON.stringify({ items: page.items, nextCursor }));
}

/** Of an address that takes no parameters. */
function refuseParameters(request: FastifyRequest): DefinedParameters {
  return new DefinedParameters(request, []);
}

async function show(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  refuseParameters(request);
  const backfill = await requireBackfill(context.pool, idOf(request), principalOf(request).clientId);
  return sendBackfill(context, request, reply, backfill);
}

async function statement(context: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  refuseParameters(request);
  const backfill = await requireBackfill(context.pool, idOf(request), principalOf(request).clientId);
  if (backfill.statement === null)
    throw new ServiceError("bellhop.backfill.NotFound", {
      message: "This backfill has no statement: it is not closed.",
    });
  return sendJson(reply, backfill.statement);
}

/** Opening, closing and abandoning a backfill, for a client that may send one of its resources. */
export function registerBackfillChanges(app: FastifyInstance, context: HttpContext): void {
  const options = { onRequest: authorize(context, WRITE_SCOPES) };
  app.post(BASE, options, (request, reply) => open(context, request, reply));
  app.post(`${BASE}/:backfillId/close`, options, (request, reply) => close(context, request, reply));
  app.post(`${BASE}/:backfillId/abandon`, options, (request, reply) => abandon(context, request, reply));
}

/** What there is to know of a client's backfills, for whoever may read or send. */
export function registerBackfillReads(app: FastifyInstance, context: HttpContext): void {
  const options = { onRequest: authorize(context, ["read", ...WRITE_SCOPES]) };
  app.get(BASE, options, (request, reply) => list(context, request, reply));
  app.get(`${BASE}/:backfillId`, options, (request, reply) => show(context, request, reply));
  app.get(`${BASE}/:backfillId/gaps`, options, (request, reply) => gaps(context, request, reply));
  app.get(`${BASE}/:backfillId/statement`, options, (request, reply) => statement(context, request, reply));
}
