import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { NOTED, SOUGHT } from "#contract/record-plan.ts";
import { letterOf, RESOURCES, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { addQuestion, pagingOf } from "../../console/console-routes.ts";
import { requireInScope } from "../../console/guard.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import type { Page } from "../../platform/http/answers.ts";
import { code, pages, required, word } from "../../platform/http/parameters.ts";
import type { ListPage, PageRange, Position } from "../../platform/http/position.ts";
import { findVersions, HISTORY_POSITION, type HistoryRow, type RecordName } from "../list-records.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import { outcomeName } from "../outcome.ts";
import { findProperty, type Property } from "../property.ts";
import type { Payload, VersionItem } from "./answers.ts";
import { CHANGES_MAX, changesBetween } from "./json-changes.ts";
import { payloadOf } from "./requests.ts";
import { COMPARED_BYTES_MAX, comparableOf, type Node, Written } from "./written-json.ts";

/** Of all payloads of a page; further ones are truncated. */
const PAYLOAD_BYTES_MAX = 4 * 1_048_576;

/**
 * One page of a record's versions, oldest first by (source time, receipt), each with its differences from the previous version. For the
 * first of a page, the last version of the previous page is read again.
 */
export async function readRecordHistory(
  pool: pg.Pool,
  property: Property,
  record: RecordName,
  page: PageRange,
): Promise<ListPage<VersionItem>> {
  const { items: rows, next } = await findVersions(pool, property, record, page);
  const before = page.start === null ? [] : [rowOfPosition(page.start)];
  const wanted = [...before, ...rows];
  const { bucket } = property;
  const pointers = wanted.map(({ requestId, index }) => ({ bucket, requestId, index }));
  const items: VersionItem[] = [];
  let previous: Version | undefined;
  let at = 0;
  let room = PAYLOAD_BYTES_MAX;
  for await (const bytes of loadRecords(pool, pointers)) {
    // Other requests get a turn between two versions.
    await new Promise((resume) => setImmediate(resume));
    const row = wanted[at] as HistoryRow;
    const comparable = isNoLongerKept(bytes) ? undefined : comparableOf(bytes);
    const payload = isNoLongerKept(bytes) ? null : payloadOf(bytes, Math.min(COMPARED_BYTES_MAX, room));
    const version = { row, comparable, payload };
    if (at >= before.length) {
      items.push(itemOf(record.resource, version, previous));
      room -= payload?.text.length ?? 0;
    }
    previous = version;
    at += 1;
  }
  return { items, next };
}

interface Version {
  readonly row: HistoryRow;
  /** Undefined if too large to compare or no longer kept. */
  readonly comparable: Node | undefined;
  readonly payload: Payload | null;
}

function rowOfPosition([sourceTime, requestId, index]: Position): HistoryRow {
  return { sourceTime: String(sourceTime), requestId: String(requestId), index: Number(index), outcome: "a" };
}

/** The record's status; null if it has none. */
function statusOf(resource: ResourceLetter, record: Node | undefined): string | null {
  const field = NOTED[resourceOf(resource)].sought?.[SOUGHT.status];
  const value = record instanceof Map ? record.get(field ?? "") : undefined;
  if (!(value instanceof Written && value.text.startsWith('"'))) return null;
  return JSON.parse(value.text) as string;
}

function itemOf(
  resource: ResourceLetter,
  { row, comparable, payload }: Version,
  previous: Version | undefined,
): VersionItem {
  const isCompared = comparable !== undefined && previous?.comparable !== undefined;
  const { changes, total } = isCompared
    ? changesBetween(previous.comparable, comparable, CHANGES_MAX)
    : { changes: [], total: previous === undefined ? 0 : null };
  return {
    sourceTime: row.sourceTime,
    receivedAt: isoOfMicroseconds(microsecondsOf(row.requestId)),
    requestId: row.requestId,
    index: row.index,
    outcome: outcomeName(row.outcome),
    status: statusOf(resource, comparable),
    // A newer version was current when this one was applied.
    late: row.outcome === "s",
    changes,
    changeTotal: total,
    payload,
  };
}

/** Each version is compared with the previous one. */
const VERSIONS_LIMIT_MAX = 50;

/** Adds the route for the versions of one record with their differences. */
export function addHistoryRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const parameters = {
    resource: required({ ...word("", RESOURCES, "reservations"), takes: RESOURCES.join(", ") }),
    clientCode: required(code()),
    propertyCode: required(code()),
    key: required(code()),
    ...pages(),
  };
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "history", parameters },
    async (asked): Promise<Page<VersionItem>> => {
      const { operator } = asked;
      const { resource, clientCode, propertyCode, key } = asked.parameters;
      requireInScope(operator, clientCode, propertyCode);
      const paging = pagingOf(parts, "history", asked, HISTORY_POSITION, VERSIONS_LIMIT_MAX);
      const { cursorOf } = paging;
      const { pool } = parts.context;
      const property = await findProperty(pool, clientCode, propertyCode);
      if (property === undefined) return { items: [], nextCursor: null };
      const record = { resource: letterOf(resource), key };
      const { items, next } = await readRecordHistory(pool, property, record, paging);
      return { items, nextCursor: cursorOf(next) };
    },
  );
}
