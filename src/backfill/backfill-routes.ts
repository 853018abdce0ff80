import type pg from "pg";
import { RESOURCES } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { authorizeAgain, lacksScope } from "../identity/authorize.ts";
import { hasScope, permits } from "../identity/permissions.ts";
import { type FormContext, receiveForm, receiveFormBytes } from "../identity/receive-form.ts";
import { writeScopeOf } from "../identity/scopes.ts";
import { readFor } from "../platform/db/connection.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { ClientSemaphores } from "../platform/http/client-semaphores.ts";
import { jsonAnswer, jsonContent } from "../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import { schemaOf } from "../platform/http/openapi/model.ts";
import type { Component } from "../platform/http/openapi/schema.ts";
import { pages, pathId, word } from "../platform/http/parameters.ts";
import { readingFor } from "../platform/http/reader.ts";
import { type Asked, endpointOf, pagingOf } from "../query/endpoint.ts";
import { type ReadContext, requireRead } from "../query/property.ts";
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
import { BACKFILL, BACKFILL_EXAMPLES, BACKFILL_PAGE, GAP_PAGE } from "./openapi.ts";
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
/** Every so many records or bytes that a query reads from the log cost one request, as for a batch. */
const RECORDS_PER_REQUEST = 100;
const BYTES_PER_REQUEST = 262_144;

/** What the routes of backfills work with, created once per thread. */
export interface BackfillContext extends ReadContext, FormContext {
  /** A small separate pool for insights and backfills. */
  readonly questions: pg.Pool;
  /** One insight or backfill query per client and thread at a time, each using one connection of the pool. */
  readonly querySemaphores: ClientSemaphores;
  /** One slot for backfill queries of all clients, within each client's slot, so that a connection always remains for insights. */
  readonly backfillSemaphore: ClientSemaphores;
}

const ID = pathId("The UUID of the backfill.", schemaOf("BackfillId"));

type AskedAny = Omit<Asked<BackfillContext>, "parameters">;
type AskedOne = Asked<BackfillContext, { readonly backfillId: typeof ID }>;

const findOwn = ({ context, parameters, clientId }: AskedOne) =>
  requireBackfill(context.pool, parameters.backfillId, clientId);

/** The client's backfill, if the client may still read the property. */
async function find(asked: AskedOne): Promise<Backfill> {
  const backfill = await findOwn(asked);
  await requireRead(asked.context, asked.principal, backfill.manifest);
  return backfill;
}

/** Reads when a slot is free, until the client disconnects: a large backfill may have many copies to read. */
function inTurn<Answer>(
  asked: AskedAny,
  backfill: Backfill,
  readIn: (pool: pg.Pool, countRead: CountRead) => Promise<Answer>,
): Promise<Answer> {
  const { context, request, reply, principal, clientId } = asked;
  const { questions, querySemaphores, backfillSemaphore, rateLimiter, nodes } = context;
  const { requestRate, requestBurst } = principal;
  const read = { records: 0, bytes: 0, charged: 0 };
  // In addition to the request itself.
  const countRead = (records: number, bytes: number) => {
    read.records += records;
    read.bytes += bytes;
    const all = Math.max(read.records / RECORDS_PER_REQUEST, read.bytes / BYTES_PER_REQUEST);
    const more = Math.floor(all) - read.charged;
    read.charged += more;
    if (more > 0) rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("read"));
  };
  const reading = readingFor(reply.raw);
  const reads = async () => {
    // The turn may have taken long.
    if ((await authorizeAgain(context, request)) !== principal)
      await requireRead(context, asked.principal, backfill.manifest);
    return readFor(reading, () => readIn(questions, countRead));
  };
  // One slot shared by all clients; each may have only one query waiting here.
  return querySemaphores.run(clientId, () => backfillSemaphore.run("", reads, reading), reading);
}

async function describe(asked: AskedAny, backfill: Backfill) {
  return backfillAnswer(
    await inTurn(asked, backfill, (pool, countRead) => progressOf(pool, backfill, countRead)),
  );
}

async function open(asked: AskedAny) {
  const { context, request, reply, clientId } = asked;
  const manifest = readManifest(await receiveFormBytes(context, request));
  const { principal } = asked;
  const lacking = manifest.resources
    .map(({ resource }) => writeScopeOf(resource))
    .filter((scope) => !hasScope(principal, scope));
  if (lacking.length > 0) throw lacksScope(lacking.slice(0, 1));
  await requireRead(context, principal, manifest);
  const backfill = await openBackfill(context.pool, clientId, manifest);
  const { backfillId } = backfill;
  const { clientCode, propertyCode } = manifest;
  const detail = { backfillId, clientCode, propertyCode };
  await recordAudit(context.pool, { who: `client:${clientId}`, what: "open-backfill", clientId, detail });
  reply.header("location", `${BASE}/${backfillId}`);
  return describe(asked, backfill);
}

async function close(asked: AskedOne) {
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
async function readWhy({ context, request }: AskedAny): Promise<string | null> {
  const { why = null } = await receiveForm(context, request, ["why"]);
  if (why === null) return null;
  const isText = typeof why === "string" && [...why].length <= WHY_CHARACTERS_MAX;
  if (isText && why.isWellFormed() && !why.includes("\0")) return why;
  const message = `why must be a string of at most ${WHY_CHARACTERS_MAX} characters.`;
  throw new ServiceError("bellhop.http.BadRequest", { message });
}

async function abandon(asked: AskedOne) {
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

const answerOf = <Value>(description: string, schema: string | Component<Value>, example: NoInfer<Value>) =>
  jsonAnswer(description, schema, { answer: example });

function bodyOf(description: string, schema: string, form: unknown, required = false) {
  return { description, required, content: jsonContent(schema, { form }) };
}

const NOT_READ = { 413: "PayloadTooLarge", 415: "UnsupportedMediaType" } as const;
const NOT_FOUND = { 400: "InvalidParameter", 404: "BackfillNotFound" } as const;

const endpoint = endpointOf<BackfillContext>();
const READ = { method: "get", tag: "Backfills", scopes: READ_SCOPES } as const;
const WRITE = { method: "post", tag: "Backfills", scopes: WRITE_SCOPES } as const;

const listOfBackfills = endpoint({
  ...READ,
  path: BASE,
  operationId: "listBackfills",
  summary: "List your backfills",
  description: "Every backfill of this client, newest first.",
  parameters: {
    state: word("Only backfills in this state.", ["open", "closed", "abandoned"], "open"),
    ...pages(),
  },
  answer: answerOf("A page of backfills.", BACKFILL_PAGE, BACKFILL_EXAMPLES.page),
  async work(asked) {
    const { context, clientId, parameters } = asked;
    const { start, limit, cursorOf } = pagingOf(asked, "backfills", BACKFILL_POSITION);
    const filter = { clientId, state: parameters.state ?? null };
    const { items, next } = await listBackfills(context.pool, filter, start, limit);
    return { items: items.map(backfillItem), nextCursor: cursorOf(next) };
  },
});

const newBackfill = endpoint({
  ...WRITE,
  path: BASE,
  operationId: "openBackfill",
  summary: "Open a backfill",
  description:
    "Declares the data of one property: each resource with its range of dates and, if known, its number of distinct records. Send the batches with the header `Backfill-Id`. The client needs the write scope of every resource in the manifest.",
  requestBody: bodyOf("The manifest.", "BackfillManifest", BACKFILL_EXAMPLES.manifest, true),
  status: 201,
  answer: {
    ...answerOf("The backfill is open.", BACKFILL, BACKFILL_EXAMPLES.open),
    headers: ratedHeadersOf("Cache-Control", "Location"),
  },
  refusals: { 400: "InvalidManifest", ...NOT_READ, 429: "TooManyBackfills" },
  work: open,
});

const progress = endpoint({
  ...READ,
  path: `${BASE}/{backfillId}`,
  operationId: "getBackfill",
  summary: "Get backfill progress",
  description:
    "Calculated at the time of the request: batches, outcomes, distinct records, dates covered, and the backlog.",
  parameters: { backfillId: ID },
  answer: answerOf("The backfill.", BACKFILL, BACKFILL_EXAMPLES.open),
  refusals: NOT_FOUND,
  work: async (asked) => describe(asked, await find(asked)),
});

const gaps = endpoint({
  ...READ,
  path: `${BASE}/{backfillId}/gaps`,
  operationId: "listBackfillGaps",
  summary: "List backfill gaps",
  description:
    "By resource: first missing records, then dates without inventory, then records that were rejected, quarantined or discarded.",
  parameters: { backfillId: ID, ...pages() },
  answer: answerOf("A page of gaps.", GAP_PAGE, BACKFILL_EXAMPLES.gaps),
  refusals: NOT_FOUND,
  async work(asked) {
    const { start, limit, cursorOf } = pagingOf(
      asked,
      `backfills/${asked.parameters.backfillId}/gaps`,
      GAP_POSITION,
    );
    const backfill = await find(asked);
    const page = ({ client, asked: of, tally }: BackfillQueryContext) =>
      readGaps(client, of, tally, start, limit);
    const { items, next } = await inTurn(asked, backfill, (pool, countRead) =>
      onBackfill(pool, backfill, page, countRead),
    );
    return { items, nextCursor: cursorOf(next) };
  },
});

const statement = endpoint({
  ...READ,
  path: `${BASE}/{backfillId}/statement`,
  operationId: "getBackfillStatement",
  summary: "Read the closing statement",
  description: "The exact bytes that were hashed and signed.",
  parameters: { backfillId: ID },
  answer: answerOf("The statement.", "BackfillStatement", BACKFILL_EXAMPLES.statement),
  refusals: NOT_FOUND,
  async work(asked) {
    const { statement: text } = await find(asked);
    if (text !== null) return text;
    const message = "This backfill is not closed, so it has no statement.";
    throw new ServiceError("bellhop.backfill.NotFound", { message });
  },
});

const closing = endpoint({
  ...WRITE,
  path: `${BASE}/{backfillId}/close`,
  operationId: "closeBackfill",
  summary: "Close a backfill",
  description:
    "Writes the closing statement, hashed and signed by this client; the operator signs it afterwards. A 409 means that batches are not applied yet (retry after `Retry-After`) or that data is missing. Closing a closed backfill returns it unchanged.",
  parameters: { backfillId: ID },
  requestBody: bodyOf("Options; the body may be empty.", "BackfillClosing", { acceptGaps: true }),
  answer: answerOf("The backfill is closed.", BACKFILL, BACKFILL_EXAMPLES.closed),
  refusals: { 409: "BackfillNotClosed", ...NOT_FOUND, ...NOT_READ },
  work: close,
});

const abandoning = endpoint({
  ...WRITE,
  path: `${BASE}/{backfillId}/abandon`,
  operationId: "abandonBackfill",
  summary: "Abandon a backfill",
  description:
    "Ends an open backfill without a statement. Its records stay, and accepted batches are still applied. Abandoning an abandoned backfill returns it unchanged. A client without the grant of the property can abandon it, too; then `resources` is empty.",
  parameters: { backfillId: ID },
  requestBody: bodyOf("The reason; the body may be empty.", "BackfillAbandoning", {
    why: "opened for the wrong property",
  }),
  answer: answerOf("The backfill is abandoned.", BACKFILL, BACKFILL_EXAMPLES.abandoned),
  refusals: { 409: "BackfillNotAbandoned", ...NOT_FOUND, ...NOT_READ },
  work: abandon,
});

/** Reading a client's backfills, and opening, closing and abandoning one. */
export const BACKFILL_ENDPOINTS = [
  listOfBackfills,
  newBackfill,
  progress,
  gaps,
  statement,
  closing,
  abandoning,
];
