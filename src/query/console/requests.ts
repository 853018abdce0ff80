import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { RESOURCES } from "#contract/resource.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { type Asked, addQuestion, pagingOf } from "../../console/console-routes.ts";
import { requireInScope } from "../../console/guard.ts";
import { isWithinKeys, type Scope } from "../../identity/scope.ts";
import { bucketOf } from "../../ingest/log/part-name.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import type { Page } from "../../platform/http/answers.ts";
import { instantIn } from "../../platform/http/instant.ts";
import { code, instant, pages, word } from "../../platform/http/parameters.ts";
import { isUuid, type Position } from "../../platform/http/position.ts";
import { checkOrder, invalidParameter } from "../../platform/http/read-parameters.ts";
import { wholePage } from "../bounded-scan.ts";
import { findRecordsOf, listRequestRecords, REQUEST_RECORDS_POSITION } from "../list-request-records.ts";
import {
  confineRequest,
  findRequests,
  isIdPrefix,
  OUTCOME_FILTERS,
  REQUEST_POSITION,
  type RequestFilter,
} from "../list-requests.ts";
import { isNoLongerKept, loadRecords, type RecordPointer } from "../load-records.ts";
import { OUTCOMES } from "../outcome.ts";
import { bothCodes } from "../property.ts";
import { type FoundRequest, readSummariesOf } from "../request-summary.ts";
import type { Payload, RecordAnswer, RequestAnswer, RequestItem } from "./answers.ts";
import { fieldsOf } from "./record-fields.ts";

/** A record may have tens of megabytes; a page shows the beginning. */
const SHOWN_BYTES_MAX = 1_048_576;

/** The text of a record, truncated to `bytesMax` at a character boundary. */
export function payloadOf(record: Buffer, bytesMax = SHOWN_BYTES_MAX): Payload {
  let end = Math.min(record.length, bytesMax);
  // Bytes 10xxxxxx continue a character.
  while (end < record.length && end > 0 && ((record[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const text = record.toString("utf8", 0, end);
  return { text, bytes: record.length, truncated: end < record.length };
}

/** One record of the log. */
export async function readStored(pool: pg.Pool, pointer: RecordPointer): Promise<Buffer> {
  // Ending the loop frees the record's memory, so copy it.
  for await (const record of loadRecords(pool, [pointer]))
    return isNoLongerKept(record) ? record : Buffer.from(record);
  throw new Error(`The log has no record ${pointer.index} of request ${pointer.requestId}.`);
}

/** The client of a request. Plan: an index scan of accept_log_request, pruned to one partition by the id. */
const findClientStatement = namedStatement(
  "find-request-client",
  `select client_id as "clientId" from bellhop.accept_log where request_id = $1 and kind = 'b' limit 1`,
);
const nameClientsStatement = namedStatement(
  "name-clients",
  `select client_id as "clientId", name from bellhop.client where client_id = any ($1::text[])`,
);

const listBucketsStatement = namedStatement(
  "list-buckets-within",
  `select distinct bucket from bellhop.property where ${isWithinKeys("$1")}`,
);

/** The buckets of a scope's properties. */
export async function bucketsWithin(pool: pg.Pool, keys: readonly string[]): Promise<number[]> {
  const { rows } = await pool.query<{ bucket: number }>({ ...listBucketsStatement, values: [keys] });
  return rows.map(({ bucket }) => bucket);
}

/** The properties that a list is confined to: the scope, or one client code of it. */
async function withinOf(
  pool: pg.Pool,
  scope: Scope,
  clientCode: string | undefined,
): Promise<RequestFilter["within"]> {
  const keys = clientCode === undefined ? scope.keys : [`${clientCode}\n*`];
  if (keys === null) return undefined;
  return {
    permits: (...codes) => (clientCode ?? codes[0]) === codes[0] && scope.permits(...codes),
    buckets: await bucketsWithin(pool, keys),
  };
}

async function withNames(pool: pg.Pool, found: readonly FoundRequest[]): Promise<RequestItem[]> {
  const ids = [...new Set(found.map(({ clientId }) => clientId))];
  if (ids.length === 0) return [];
  const names = await clientNames(pool, ids);
  return found.map(({ clientId, summary }) => {
    return { ...summary, clientId, clientName: names.get(clientId) ?? null };
  });
}

/** The names of clients by id. */
export async function clientNames(
  pool: pg.Pool,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const named = { ...nameClientsStatement, values: [clientIds] };
  const { rows } = await pool.query<{ clientId: string; name: string }>(named);
  return new Map(rows.map(({ clientId, name }) => [clientId, name]));
}

/** As `findRequests`, of one client or (null) of all, confined to the scope's properties. */
export async function listRequestsOfAll(
  pool: pg.Pool,
  scope: Scope,
  clientId: string | null,
  filter: RequestFilter & { readonly clientCode?: string | undefined },
  start: Position | null,
  limit: number,
): Promise<{ items: RequestItem[]; next: Position | null }> {
  const within = await withinOf(pool, scope, filter.clientCode);
  const { rows, next } = await wholePage(findRequests(pool, clientId, { ...filter, within }, start, limit));
  return { items: await withNames(pool, rows), next };
}

/** One request of any client; undefined unless it has a record within the scope. */
export async function findRequest(
  pool: pg.Pool,
  scope: Scope,
  requestId: string,
): Promise<RequestItem | undefined> {
  const { rows } = await pool.query<{ clientId: string }>({ ...findClientStatement, values: [requestId] });
  const clientId = rows[0]?.clientId;
  if (clientId === undefined) return undefined;
  const [found] = await readSummariesOf(pool, [{ requestId, clientId }]);
  const seen = found === undefined || scope.isEverything ? found : await confineRequest(pool, found, scope);
  return seen === undefined ? undefined : (await withNames(pool, [seen]))[0];
}

/** A filter that matches every request. */
export const ANY_REQUEST = {
  resource: undefined,
  outcome: undefined,
  from: undefined,
  to: undefined,
  property: undefined,
} as const satisfies RequestFilter;

const ID_PREFIX_CHARACTERS_MIN = 4;
const RECORDS_LIMIT_MAX = 500;

/** The text as an id prefix in lower case; undefined if it is not one or is too short. */
export function idPrefixIn(text: string): string | undefined {
  const prefix = text.toLowerCase();
  return prefix.length >= ID_PREFIX_CHARACTERS_MIN && isIdPrefix(prefix) ? prefix : undefined;
}

function idPrefixOf(text: string | undefined): string | undefined {
  const prefix = text === undefined ? undefined : idPrefixIn(text);
  if (text !== undefined && prefix === undefined)
    throw invalidParameter(
      `id takes the first ${ID_PREFIX_CHARACTERS_MIN} to 36 characters of a request id.`,
    );
  return prefix;
}

const SEARCH = {
  clientCode: code(),
  propertyCode: code(),
  clientId: code(),
  resource: word("", RESOURCES, "reservations"),
  outcome: word("", OUTCOME_FILTERS, "applied"),
  from: instant(),
  to: instant(),
  id: code(),
  ...pages(),
};

async function answerList(parts: ConsoleParts, asked: Asked<typeof SEARCH>): Promise<Page<RequestItem>> {
  const { operator } = asked;
  const { clientCode, propertyCode, clientId = null, resource, outcome, from, to, id } = asked.parameters;
  const codes = propertyCode === undefined ? undefined : bothCodes(clientCode, propertyCode);
  const filter = {
    clientCode: codes === undefined ? clientCode : undefined,
    resource,
    outcome,
    from: instantIn(from),
    to: instantIn(to),
    idPrefix: idPrefixOf(id),
    property:
      codes === undefined ? undefined : { ...codes, bucket: bucketOf(codes.clientCode, codes.propertyCode) },
  };
  checkOrder(from, to);
  if (codes !== undefined) requireInScope(operator, codes.clientCode, codes.propertyCode);
  const { limit, start, cursorOf } = pagingOf(parts, "requests", asked, REQUEST_POSITION);
  const { items, next } = await listRequestsOfAll(
    parts.context.pool,
    operator.scope,
    clientId,
    filter,
    start,
    limit,
  );
  return { items, nextCursor: cursorOf(next) };
}

async function requireRequest(
  { context }: ConsoleParts,
  { named, operator }: Pick<Asked, "named" | "operator">,
): Promise<RequestItem> {
  const requestId = (named["requestId"] ?? "").toLowerCase();
  const found = isUuid(requestId) ? await findRequest(context.pool, operator.scope, requestId) : undefined;
  if (found !== undefined) return found;
  throw new ServiceError("bellhop.read.RequestNotFound", { message: "No request has this id." });
}

const ONE = {
  records: word("", ["notable", "all"], "all", "notable"),
  outcome: word("", OUTCOMES, "applied"),
  ...pages(),
};

async function answerOne(parts: ConsoleParts, asked: Asked<typeof ONE>): Promise<RequestAnswer> {
  const { records: which, outcome } = asked.parameters;
  const path = `requests/${asked.named["requestId"]?.toLowerCase()}`;
  const paging = pagingOf(parts, path, asked, REQUEST_RECORDS_POSITION, RECORDS_LIMIT_MAX);
  const { cursorOf } = paging;
  const request = await requireRequest(parts, asked);
  const { pool } = parts.context;
  const page = listRequestRecords(pool, request.clientId, request, paging, {
    which: outcome === undefined ? which : "all",
    outcome,
    within: asked.operator.scope,
  });
  const records: RequestAnswer["records"][number][] = [];
  for (;;) {
    const step = await page.next();
    if (step.done === true) return { ...request, records, nextCursor: cursorOf(step.value) };
    records.push(JSON.parse(step.value.toString("utf8")) as RequestAnswer["records"][number]);
  }
}

function noSuchRecord(): ServiceError {
  const message = "The request has no record with this index.";
  return new ServiceError("bellhop.read.RequestNotFound", { message });
}

async function answerRecord(
  parts: ConsoleParts,
  asked: Pick<Asked, "named" | "operator">,
): Promise<RecordAnswer> {
  const request = await requireRequest(parts, asked);
  const { pool } = parts.context;
  const { requestId, clientId, resource, receivedAt } = request;
  const text = asked.named["index"] ?? "";
  const index = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  const place = (await findRecordsOf(pool, clientId, requestId, "all")).find(
    (record) => record.index === index,
  );
  if (place === undefined) throw noSuchRecord();
  const filter = { which: "all", index, within: asked.operator.scope } as const;
  const { value } = await listRequestRecords(
    pool,
    clientId,
    request,
    { start: null, limit: 1 },
    filter,
  ).next();
  if (!Buffer.isBuffer(value)) throw noSuchRecord();
  const record = JSON.parse(value.toString("utf8")) as RecordAnswer["record"];
  const stored = await readStored(pool, { bucket: place.bucket, requestId, index });
  const fields = isNoLongerKept(stored) ? [] : fieldsOf(resource, stored);
  return { requestId, resource, receivedAt, record, payload: payloadOf(stored), fields };
}

/** Adds the routes for requests of every client: search, one request with its outcomes, one record verbatim. */
export function addRequestRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  addQuestion(scope, parts, { permission: "read-data", path: "requests", parameters: SEARCH }, (asked) =>
    answerList(parts, asked),
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "requests/:requestId", parameters: ONE },
    (asked) => answerOne(parts, asked),
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "requests/:requestId/records/:index" },
    (asked) => answerRecord(parts, asked),
  );
}
