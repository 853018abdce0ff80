import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { RESOURCES } from "#contract/resource.ts";
import type { Page, Payload, RecordAnswer, RequestAnswer, RequestItem } from "../../console/answers.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { type Asked, addQuestion, pagingOf } from "../../console/console-routes.ts";
import { bucketOf } from "../../ingest/log/part-name.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { isUuid, type Position } from "../../platform/http/position.ts";
import { checkOrder, invalidParameter, type QueryParameters } from "../../platform/http/read-parameters.ts";
import { wholePage } from "../bounded-scan.ts";
import { findRecordsOf, listRequestRecords, REQUEST_RECORDS_POSITION } from "../list-request-records.ts";
import {
  findRequests,
  isIdPrefix,
  OUTCOME_FILTERS,
  REQUEST_POSITION,
  type RequestFilter,
} from "../list-requests.ts";
import { loadRecords, type RecordPointer } from "../load-records.ts";
import { OUTCOMES } from "../outcome.ts";
import { bothCodes } from "../property.ts";
import { type FoundRequest, readSummariesOf } from "../request-summary.ts";

/** A record may have tens of megabytes; a page is shown the beginning. */
const SHOWN_BYTES_MAX = 1_048_576;

/** The text of a record, at most `bytesMax` of it, cut between two characters. */
export function payloadOf(record: Buffer, bytesMax = SHOWN_BYTES_MAX): Payload {
  let end = Math.min(record.length, bytesMax);
  // A byte 10xxxxxx goes on with a character that began before it.
  while (end < record.length && end > 0 && ((record[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return {
    text: record.toString("utf8", 0, end),
    bytes: record.length,
    truncated: end < record.length,
  };
}

/** The payload of one record of the log. */
export async function readPayload(pool: pg.Pool, pointer: RecordPointer): Promise<Payload> {
  for await (const record of loadRecords(pool, [pointer])) return payloadOf(record);
  throw new Error(`The log has no record ${pointer.index} of request ${pointer.requestId}.`);
}

/** Whose request this is. An index scan of accept_log_request, pruned to one partition by the id. */
const findClientStatement = namedStatement(
  "find-request-client",
  `select client_id as "clientId" from bellhop.accept_log where request_id = $1 and kind = 'b' limit 1`,
);
const nameClientsStatement = namedStatement(
  "name-clients",
  `select client_id as "clientId", name from bellhop.client where client_id = any ($1::text[])`,
);

async function withNames(pool: pg.Pool, found: readonly FoundRequest[]): Promise<RequestItem[]> {
  const ids = [...new Set(found.map(({ clientId }) => clientId))];
  const { rows } =
    ids.length === 0
      ? { rows: [] }
      : await pool.query<{ clientId: string; name: string }>({ ...nameClientsStatement, values: [ids] });
  const names = new Map(rows.map(({ clientId, name }) => [clientId, name]));
  return found.map(({ clientId, summary }) => ({
    ...summary,
    clientId,
    clientName: names.get(clientId) ?? null,
  }));
}

/** One page of requests of one client or (null) of all, newest first, as `findRequests`. */
export async function listRequestsOfAll(
  pool: pg.Pool,
  clientId: string | null,
  filter: RequestFilter,
  start: Position | null,
  limit: number,
): Promise<{ items: RequestItem[]; next: Position | null }> {
  const { rows, next } = await wholePage(findRequests(pool, clientId, filter, start, limit));
  return { items: await withNames(pool, rows), next };
}

/** One request, whoever sent it; undefined when there is none of this id. */
export async function findRequest(pool: pg.Pool, requestId: string): Promise<RequestItem | undefined> {
  const { rows } = await pool.query<{ clientId: string }>({ ...findClientStatement, values: [requestId] });
  const clientId = rows[0]?.clientId;
  if (clientId === undefined) return undefined;
  return (await withNames(pool, await readSummariesOf(pool, [{ requestId, clientId }], null)))[0];
}

const ID_PREFIX_CHARACTERS_MIN = 4;
const RECORDS_LIMIT_MAX = 500;

function idPrefixOf(query: QueryParameters): string | undefined {
  const prefix = query.code("id")?.toLowerCase();
  if (prefix === undefined) return undefined;
  if (prefix.length < ID_PREFIX_CHARACTERS_MIN || !isIdPrefix(prefix))
    throw invalidParameter(
      `id takes the first ${ID_PREFIX_CHARACTERS_MIN} to 36 characters of a request id.`,
    );
  return prefix;
}

async function answerList(parts: ConsoleParts, { query }: Asked): Promise<Page<RequestItem>> {
  const codes = bothCodes(query.code("clientCode"), query.code("propertyCode"));
  const filter = {
    resource: query.word("resource", RESOURCES),
    outcome: query.word("outcome", OUTCOME_FILTERS),
    from: query.instant("from"),
    to: query.instant("to"),
    idPrefix: idPrefixOf(query),
    property:
      codes === undefined ? undefined : { ...codes, bucket: bucketOf(codes.clientCode, codes.propertyCode) },
  };
  checkOrder(query.timestamp("from"), query.timestamp("to"));
  const { limit, start, cursorOf } = pagingOf(parts, "requests", query, REQUEST_POSITION);
  const clientId = query.code("clientId") ?? null;
  const { items, next } = await listRequestsOfAll(parts.context.pool, clientId, filter, start, limit);
  return { items, nextCursor: cursorOf(next) };
}

async function requireRequest({ context }: ConsoleParts, { named }: Asked): Promise<RequestItem> {
  const requestId = (named["requestId"] ?? "").toLowerCase();
  const found = isUuid(requestId) ? await findRequest(context.pool, requestId) : undefined;
  if (found !== undefined) return found;
  throw new ServiceError("bellhop.read.RequestNotFound", { message: "No request has this id." });
}

async function answerOne(parts: ConsoleParts, asked: Asked): Promise<RequestAnswer> {
  const { query } = asked;
  const which = query.word("records", ["notable", "all"] as const) ?? "notable";
  const outcome = query.word("outcome", OUTCOMES);
  const path = `requests/${asked.named["requestId"]?.toLowerCase()}`;
  const { limit, start, cursorOf } = pagingOf(
    parts,
    path,
    query,
    REQUEST_RECORDS_POSITION,
    RECORDS_LIMIT_MAX,
  );
  const request = await requireRequest(parts, asked);
  const { pool } = parts.context;
  const page = listRequestRecords(pool, request.clientId, request, start, limit, {
    which: outcome === undefined ? which : "all",
    outcome,
  });
  const records: RequestAnswer["records"][number][] = [];
  for (;;) {
    const step = await page.next();
    if (step.done === true) return { ...request, records, nextCursor: cursorOf(step.value) };
    records.push(JSON.parse(step.value.toString("utf8")) as RequestAnswer["records"][number]);
  }
}

async function answerRecord(parts: ConsoleParts, asked: Asked): Promise<RecordAnswer> {
  const request = await requireRequest(parts, asked);
  const { pool } = parts.context;
  const { requestId, clientId, resource, receivedAt } = request;
  const text = asked.named["index"] ?? "";
  const index = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  const place = (await findRecordsOf(pool, clientId, requestId, "all")).find(
    (record) => record.index === index,
  );
  if (place === undefined) {
    const message = "The request has no record with this index.";
    throw new ServiceError("bellhop.read.RequestNotFound", { message });
  }
  const filter = { which: "all", index } as const;
  const { value } = await listRequestRecords(pool, clientId, request, null, 1, filter).next();
  const record = JSON.parse(String(value)) as RecordAnswer["record"];
  const payload = await readPayload(pool, { bucket: place.bucket, requestId, index });
  return { requestId, resource, receivedAt, record, payload };
}

/** Requests of every client: a search, one with what became of its records, and one record as it was sent. */
export function addRequestRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const searched = [
    "clientCode",
    "propertyCode",
    "clientId",
    "resource",
    "outcome",
    "from",
    "to",
    "id",
    "limit",
    "cursor",
  ];
  addQuestion(scope, parts, "requests", searched, (asked) => answerList(parts, asked));
  const paged = ["records", "outcome", "limit", "cursor"];
  addQuestion(scope, parts, "requests/:requestId", paged, (asked) => answerOne(parts, asked));
  addQuestion(scope, parts, "requests/:requestId/records/:index", [], (asked) => answerRecord(parts, asked));
}
