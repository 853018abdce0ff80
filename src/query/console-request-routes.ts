import type { FastifyInstance } from "fastify";
import { RESOURCES } from "#contract/resource.ts";
import type { Page, RecordAnswer, RequestAnswer, RequestItem } from "../console/answers.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { type Asked, addQuestion, pagingOf } from "../console/console-routes.ts";
import { bucketOf } from "../ingest/log/bucket.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { isUuid } from "../platform/http/position.ts";
import { checkOrder, invalidParameter, type QueryParameters } from "../platform/http/read-parameters.ts";
import { readPayload } from "./console/payload.ts";
import { findRequest, listRequestsOfAll } from "./console/requests.ts";
import { findRecordsOf, listRequestRecords, REQUEST_RECORDS_POSITION } from "./list-request-records.ts";
import { isIdPrefix, OUTCOME_FILTERS, REQUEST_POSITION } from "./list-requests.ts";
import { OUTCOMES } from "./outcome.ts";

const ID_PREFIX_CHARACTERS_MIN = 4;
const RECORDS_LIMIT_MAX = 500;

/** A property's codes, both or none. */
function codesOf(query: QueryParameters): { clientCode: string; propertyCode: string } | undefined {
  const clientCode = query.code("clientCode");
  const propertyCode = query.code("propertyCode");
  if (clientCode === undefined && propertyCode === undefined) return undefined;
  if (clientCode === undefined || propertyCode === undefined)
    throw invalidParameter("clientCode and propertyCode are given together or not at all.");
  return { clientCode, propertyCode };
}

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
  const codes = codesOf(query);
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
