import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import { RESOURCES } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import {
  authorize,
  authorizeAgain,
  EmptyRefusal,
  lacksGrant,
  lacksScope,
  refuseEmpty,
} from "../identity/authorize.ts";
import { hasScope, type Principal, permits } from "../identity/permissions.ts";
import { type FormContext, receiveForm, receiveFormBytes } from "../identity/receive-form.ts";
import { writeScopeOf } from "../identity/scopes.ts";
import { readFor } from "../platform/db/connection.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { ClientSemaphores } from "../platform/http/client-semaphores.ts";
import { jsonAnswer, jsonContent, tokenOperation } from "../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import { type Operation, type Parameter, type PathItem, schemaOf } from "../platform/http/openapi/model.ts";
import { pathParameter } from "../platform/http/openapi/schema.ts";
import { readPaging } from "../platform/http/page-cursors.ts";
import { readingFor } from "../platform/http/reader.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import { PAGE_PARAMETERS, query } from "../query/openapi/read-parameters.ts";
import { mayRead, type ReadContext } from "../query/property.ts";
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
import { BACKFILL_EXAMPLES } from "./openapi.ts";
import {
  type BackfillQueryContext,
  backfillAnswer,
  backfillItem,
  onBackfill,
  progressOf,
} from "./progress.ts";
import type { CountRead } from "./tally.ts";

const BASE = "/api/public/v1/backfills";
/** Any of these scopes allows a change; opening a backfill requires those of all its resources. */
const WRITE_SCOPES = RESOURCES.map(writeScopeOf);
const READ_SCOPES = ["read", ...WRITE_SCOPES] as const;
/** Every 100 records that a query reads from the log cost one request, as for a batch. */
const RECORDS_PER_REQUEST = 100;

/** What the routes of backfills work with, created once per thread. */
export interface BackfillContext extends ReadContext, FormContext {
  /** A small separate pool for insights and backfills. */
  readonly questions: pg.Pool;
  /** One insight or backfill query per client and thread at a time, each using one connection of the pool. */
  readonly querySemaphores: ClientSemaphores;
  /** One slot for backfill queries of all clients, within each client's slot, so that a connection always remains for insights. */
  readonly backfillSemaphore: ClientSemaphores;
}

interface Asked {
  readonly context: BackfillContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** As last checked. */
  readonly principal: Principal;
  readonly clientId: string;
  readonly backfillId: string;
  /** Throws ServiceError for invalid parameters. */
  parameters(): DefinedParameters;
}

const findOwn = ({ context, backfillId, clientId }: Asked) =>
  requireBackfill(context.pool, backfillId, clientId);

/** Throws EmptyRefusal if the client may not read the property. */
async function requireGrant({ context, principal }: Asked, { manifest }: Pick<Backfill, "manifest">) {
  if (!(await mayRead(context, principal, manifest)))
    throw lacksGrant(manifest.clientCode, manifest.propertyCode);
}

/** The client's backfill, if the client may still read the property. */
async function find(asked: Asked): Promise<Backfill> {
  const backfill = await findOwn(asked);
  await requireGrant(asked, backfill);
  return backfill;
}

/** Reads when a slot is free, until the client disconnects: a large backfill may have many copies to read. */
function inTurn<Answer>(
  asked: Asked,
  backfill: Backfill,
  read: (pool: pg.Pool, countRead: CountRead) => Promise<Answer>,
): Promise<Answer> {
  const { context, request, reply, principal, clientId } = asked;
  const { questions, querySemaphores, backfillSemaphore, rateLimiter, nodes } = context;
  const { requestRate, requestBurst } = principal;
  let uncharged = 0;
  // In addition to the request itself.
  const countRead = (records: number) => {
    uncharged += records;
    const more = Math.floor(uncharged / RECORDS_PER_REQUEST);
    uncharged %= RECORDS_PER_REQUEST;
    if (more > 0) rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("read"));
  };
  const reading = readingFor(reply.raw);
  const reads = async () => {
    // The turn may have taken long.
    if ((await authorizeAgain(context, request)) !== principal) await requireGrant(asked, backfill);
    return readFor(reading, () => read(questions, countRead));
  };
  // One slot shared by all clients; each may have only one query waiting here.
  return querySemaphores.run(clientId, () => backfillSemaphore.run("", reads, reading), reading);
}

async function describe(asked: Asked, backfill: Backfill) {
  return backfillAnswer(
    await inTurn(asked, backfill, (pool, countRead) => progressOf(pool, backfill, countRead)),
  );
}

async function open(asked: Asked) {
  const { context, request, reply, clientId } = asked;
  const manifest = readManifest(await receiveFormBytes(context, request));
  const { principal } = asked;
  const lacking = manifest.resources
    .map(({ resource }) => writeScopeOf(resource))
    .filter((scope) => !hasScope(principal, scope));
  if (lacking.length > 0) throw lacksScope(lacking.slice(0, 1));
  await requireGrant(asked, { manifest });
  const backfill = await openBackfill(context.pool, clientId, manifest);
  const { backfillId } = backfill;
  const { clientCode, propertyCode } = manifest;
  const detail = { backfillId, clientCode, propertyCode };
  await recordAudit(context.pool, { who: `client:${clientId}`, what: "open-backfill", clientId, detail });
  reply.code(201).header("location", `${BASE}/${backfillId}`);
  return describe(asked, backfill);
}

async function close(asked: Asked) {
  const { context, request } = asked;
  const { acceptGaps = false } = await receiveForm(context, request, ["acceptGaps"]);
  if (typeof acceptGaps !== "boolean")
    throw new ServiceError("bellhop.http.BadRequest", { message: "acceptGaps must be true or false." });
  const backfill = await find(asked);
  return describe(
    asked,
    await inTurn(asked, backfill, (pool, countRead) =>
      closeBackfill(pool, backfill, { acceptGaps, countRead }),
    ),
  );
}

/** The reason in `{"why":"…"}`; null without a body. */
async function readWhy({ context, request }: Asked): Promise<string | null> {
  const { why = null } = await receiveForm(context, request, ["why"]);
  if (why === null) return null;
  const isText = typeof why === "string" && [...why].length <= WHY_CHARACTERS_MAX;
  if (isText && why.isWellFormed() && !why.includes("\0")) return why;
  const message = `why must be a string of at most ${WHY_CHARACTERS_MAX} characters.`;
  throw new ServiceError("bellhop.http.BadRequest", { message });
}

async function abandon(asked: Asked) {
  const why = await readWhy(asked);
  const backfill = await findOwn(asked);
  const { pool } = asked.context;
  const abandoned = await abandonBackfill(pool, backfill, why, `client:${asked.clientId}`).catch((cause) => {
    if (!(cause instanceof BackfillRefusal)) throw cause;
    throw new ServiceError("bellhop.backfill.NotOpen", { message: cause.message, cause });
  });
  const { clientCode, propertyCode } = backfill.manifest;
  if (permits(asked.principal, clientCode, propertyCode)) return describe(asked, abandoned);
  return backfillAnswer({
    backfill: abandoned,
    resources: [],
    waitingBatches: 0,
    oldestWaitingAt: null,
    lateBatches: 0,
  });
}

async function list(asked: Asked) {
  const { context, clientId } = asked;
  const parameters = asked.parameters();
  const state = (parameters.textOf("state") as Backfill["state"] | undefined) ?? null;
  const question = { clientId, path: "backfills", filters: parameters.filters };
  const { start, limit, cursorOf } = readPaging(context, question, parameters.page, BACKFILL_POSITION);
  const { items, next } = await listBackfills(context.pool, { clientId, state }, start, limit);
  return { items: items.map(backfillItem), nextCursor: cursorOf(next) };
}

async function gaps(asked: Asked) {
  const { context, clientId, backfillId } = asked;
  const parameters = asked.parameters();
  const question = { clientId, path: `backfills/${backfillId}/gaps`, filters: parameters.filters };
  const { start, limit, cursorOf } = readPaging(context, question, parameters.page, GAP_POSITION);
  const backfill = await find(asked);
  const page = ({ client, asked: of, tally }: BackfillQueryContext) =>
    readGaps(client, of, tally, start, limit);
  const { items, next } = await inTurn(asked, backfill, (pool, countRead) =>
    onBackfill(pool, backfill, page, countRead),
  );
  return { items, nextCursor: cursorOf(next) };
}

async function statement(asked: Asked): Promise<string> {
  const { statement: text } = await find(asked);
  if (text !== null) return text;
  const message = "This backfill is not closed, so it has no statement.";
  throw new ServiceError("bellhop.backfill.NotFound", { message });
}

/** A route with its OpenAPI operation. `work` returns JSON as text, or an object; throws ServiceError and EmptyRefusal. */
interface Route extends Pick<Operation, "operationId" | "summary" | "description" | "requestBody"> {
  readonly method: "get" | "post";
  readonly path: string;
  /** Query parameters; a GET without them accepts none. */
  readonly parameters?: readonly Parameter[];
  readonly answers: Parameters<typeof tokenOperation>[2];
  work(asked: Asked): Promise<object | string>;
}

const answerOf = (description: string, schema: string, example: unknown) =>
  jsonAnswer(description, schema, { answer: example });

function bodyOf(description: string, schema: string, form: unknown, required = false) {
  return { description, required, content: jsonContent(schema, { form }) };
}

const NOT_READ = { 413: "PayloadTooLarge", 415: "UnsupportedMediaType" } as const;
const NOT_FOUND = { 400: "InvalidParameter", 404: "BackfillNotFound" } as const;
const STATES = ["open", "closed", "abandoned"];
const ID = pathParameter("backfillId", "The UUID of the backfill.", schemaOf("BackfillId"));

const ROUTES: readonly Route[] = [
  {
    method: "get",
    path: "",
    operationId: "listBackfills",
    summary: "List your backfills",
    description: "Every backfill of this client, newest first.",
    parameters: [
      query("state", "Only backfills in this state.", { type: "string", enum: STATES, examples: ["open"] }),
      ...PAGE_PARAMETERS,
    ],
    answers: {
      200: answerOf("A page of backfills.", "BackfillPage", BACKFILL_EXAMPLES.page),
      400: "InvalidParameter",
    },
    work: list,
  },
  {
    method: "post",
    path: "",
    operationId: "openBackfill",
    summary: "Open a backfill",
    description:
      "Declares the data of one property: each resource with its range of dates and, if known, its number of distinct records. Send the batches with the header `Backfill-Id`. The client needs the write scope of every resource in the manifest.",
    requestBody: bodyOf("The manifest.", "BackfillManifest", BACKFILL_EXAMPLES.manifest, true),
    answers: {
      201: {
        ...answerOf("The backfill is open.", "Backfill", BACKFILL_EXAMPLES.open),
        headers: ratedHeadersOf("Cache-Control", "Location"),
      },
      400: "InvalidManifest",
      ...NOT_READ,
      429: "TooManyBackfills",
    },
    work: open,
  },
  {
    method: "get",
    path: "/{backfillId}",
    operationId: "getBackfill",
    summary: "Get backfill progress",
    description:
      "Calculated at the time of the request: batches, outcomes, distinct records, dates covered, and the backlog.",
    answers: { 200: answerOf("The backfill.", "Backfill", BACKFILL_EXAMPLES.open), ...NOT_FOUND },
    work: async (asked) => describe(asked, await find(asked)),
  },
  {
    method: "get",
    path: "/{backfillId}/gaps",
    operationId: "listBackfillGaps",
    summary: "List backfill gaps",
    description:
      "By resource: first missing records, then dates without inventory, then records that were rejected, quarantined or discarded.",
    parameters: PAGE_PARAMETERS,
    answers: { 200: answerOf("A page of gaps.", "BackfillGapPage", BACKFILL_EXAMPLES.gaps), ...NOT_FOUND },
    work: gaps,
  },
  {
    method: "get",
    path: "/{backfillId}/statement",
    operationId: "getBackfillStatement",
    summary: "Read the closing statement",
    description: "The exact bytes that were hashed and signed.",
    answers: {
      200: answerOf("The statement.", "BackfillStatement", BACKFILL_EXAMPLES.statement),
      ...NOT_FOUND,
    },
    work: statement,
  },
  {
    method: "post",
    path: "/{backfillId}/close",
    operationId: "closeBackfill",
    summary: "Close a backfill",
    description:
      "Writes the closing statement, hashed and signed by this client; the operator signs it afterwards. A 409 means that batches are not applied yet (retry after `Retry-After`) or that data is missing. Closing a closed backfill returns it unchanged.",
    requestBody: bodyOf("Options; the body may be empty.", "BackfillClosing", { acceptGaps: true }),
    answers: {
      200: answerOf("The backfill is closed.", "Backfill", BACKFILL_EXAMPLES.closed),
      409: "BackfillNotClosed",
      ...NOT_FOUND,
      ...NOT_READ,
    },
    work: close,
  },
  {
    method: "post",
    path: "/{backfillId}/abandon",
    operationId: "abandonBackfill",
    summary: "Abandon a backfill",
    description:
      "Ends an open backfill without a statement. Its records stay, and accepted batches are still applied. Abandoning an abandoned backfill returns it unchanged. A client without the grant of the property can abandon it, too; then `resources` is empty.",
    requestBody: bodyOf("The reason; the body may be empty.", "BackfillAbandoning", {
      why: "opened for the wrong property",
    }),
    answers: {
      200: answerOf("The backfill is abandoned.", "Backfill", BACKFILL_EXAMPLES.abandoned),
      409: "BackfillNotAbandoned",
      ...NOT_FOUND,
      ...NOT_READ,
    },
    work: abandon,
  },
];

/** The backfill operations of the OpenAPI document. */
export function backfillOperations(): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  for (const { method, path, parameters = [], answers, work: _, requestBody, ...words } of ROUTES) {
    const all = path === "" ? parameters : [ID, ...parameters];
    const operation = tokenOperation("Backfills", method === "get" ? READ_SCOPES : WRITE_SCOPES, answers, {
      ...words,
      ...(all.length > 0 && { parameters: all }),
      ...(requestBody && { requestBody }),
    });
    paths[BASE + path] = { ...paths[BASE + path], [method]: operation };
  }
  return paths;
}

/** `get`: reads a client's backfills. `post`: opens, closes or abandons one. */
export function registerBackfillRoutes(
  app: FastifyInstance,
  context: BackfillContext,
  method: Route["method"],
): void {
  const onRequest = authorize(context, method === "get" ? READ_SCOPES : WRITE_SCOPES);
  for (const route of ROUTES.filter((one) => one.method === method)) {
    const url = BASE + route.path.replace("{backfillId}", ":backfillId");
    app[method](url, { onRequest }, async (request, reply) => {
      const { clientId } = request.principal as Principal;
      const { backfillId = "" } = request.params as { backfillId?: string };
      const id = backfillId.toLowerCase();
      const parameters = () => new DefinedParameters(request, route.parameters ?? []);
      if (method === "get") parameters();
      const asked: Asked = {
        context,
        request,
        reply,
        get principal() {
          return request.principal as Principal;
        },
        clientId,
        backfillId: id,
        parameters,
      };
      let answer: object | string;
      try {
        answer = await route.work(asked);
      } catch (refusal) {
        if (refusal instanceof EmptyRefusal) return refuseEmpty(reply, refusal);
        throw refusal;
      }
      reply.header("cache-control", "no-store").type("application/json; charset=utf-8");
      return reply.send(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
  }
}
