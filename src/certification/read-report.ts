import { createHash } from "node:crypto";
import type pg from "pg";
import { isUtcTimestamp, microsecondTimestamp } from "#contract/calendar.ts";
import type { Resource } from "#contract/resource.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { readInstant } from "../platform/http/instant.ts";
import { wholePage } from "../query/bounded-scan.ts";
import {
  findRecordsOf,
  listRequestRecords,
  type PropertyTest,
  type RecordOfRequest,
} from "../query/list-request-records.ts";
import { findRequests } from "../query/list-requests.ts";
import { loadRecordsWithPauses } from "../query/load-records.ts";
import type { PropertyCodes } from "../query/property.ts";
import type { RequestSummary } from "../query/request-summary.ts";
import type { Certification } from "./certification.ts";
import { textOf } from "./fields.ts";
import { judgeEvidence, type Report } from "./report.ts";
import type { Evidence, SeenBackfill, SeenRecord } from "./step.ts";
import type { NotedEvent } from "./wire-notes.ts";

/** The events of certification $1 from $2 to $3, in order. */
const LIST_EVENTS = namedStatement(
  "list-events",
  `select kind, detail, to_char(noted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from bellhop.certification_event
  where certification_id = $1 and noted_at >= $2::timestamptz and noted_at <= coalesce($3::timestamptz, 'infinity')
  order by noted_at, event_no`,
);
/** The statements of backfills that client $1 closed from $2 to $3, oldest first. */
const LIST_CLOSED_BACKFILLS = namedStatement(
  "list-closed-backfills",
  `select backfill_id as "backfillId", statement, statement_hash as hash
  from bellhop.backfill
  where client_id = $1 and state = 'c' and ended_at >= $2::timestamptz and ended_at <= coalesce($3::timestamptz, 'infinity')
  order by opened_at, backfill_id
  limit 20`,
);
/** Status mappings of reservations for the client codes $1. */
const LIST_RESERVATION_MAPPINGS = namedStatement(
  "list-reservation-mappings",
  `select client_code as "clientCode", status, deducts from bellhop.status_mapping where resource = 'r' and client_code = any ($1)`,
);

/** Limits of one report: the newest requests, and among those the newest records and bytes. */
const REQUESTS_MAX = 1_000;
const RECORDS_MAX = 10_000;
const BYTES_MAX = 8 * 1_048_576;
/** Larger records are evaluated by outcome only, because parsing would block the event loop. */
const PARSED_BYTES_MAX = 262_144;
/** About what a value takes in memory beside its text; and what all parsed records may take. Those beyond are evaluated by outcome only. */
const VALUE_BYTES = 64;
const MEMORY_BYTES_MAX = 128 * 1_048_576;

/** The time span of the evidence, inclusive. */
export interface EvidenceSpan {
  /** Default and earliest: when the certification was opened. */
  readonly since?: string | undefined;
  /** Default and latest: now, or when the certification ended. */
  readonly until?: string | undefined;
  /** Only records, requests and backfills of these properties: an operator's, as the client may have had grants of others. */
  readonly within?: PropertyTest | undefined;
}

async function readEvidence(
  pool: pg.Pool,
  certification: Certification,
  { since, until, within }: EvidenceSpan = {},
): Promise<Evidence> {
  const { certificationId, clientId, openedAt, endsAt, isOpen } = certification;
  const from = since === undefined || since < openedAt ? openedAt : since;
  const to = isOpen || (until !== undefined && until < endsAt) ? until : endsAt;
  const { requests, isWhole } = await newestRequests(pool, clientId, from, to);
  const values = [certificationId, from, to ?? null];
  const { rows: events } = await pool.query<NotedEvent>({ ...LIST_EVENTS, values });
  const isWithin = ({ clientCode, propertyCode }: PropertyCodes) =>
    within?.permits(clientCode, propertyCode) !== false;
  const records: SeenRecord[] = [];
  let bytes = 0;
  let memory = 0;
  let isAll = isWhole;
  // Newest first, so that the oldest are omitted; then in order of receipt.
  for (const request of requests.toReversed()) {
    const isFull = bytes > BYTES_MAX || memory > MEMORY_BYTES_MAX;
    if (isFull || records.length + request.counts.records > RECORDS_MAX) {
      isAll = false;
      break;
    }
    const seen = await recordsOf(pool, clientId, request, MEMORY_BYTES_MAX - memory);
    bytes += seen.bytes;
    memory += seen.memory;
    if (memory > MEMORY_BYTES_MAX) isAll = false;
    records.push(...seen.records.filter(isWithin).toReversed());
  }
  const own = Map.groupBy(records, ({ requestId }) => requestId);
  const recordsIn = ({ requestId, counts }: RequestSummary) =>
    within === undefined ? counts.records : (own.get(requestId)?.length ?? 0);
  const seenRequests = requests.map((request) => {
    const { requestId, receivedAt, resource } = request;
    return { requestId, receivedAt, resource, records: recordsIn(request) };
  });
  return {
    certification,
    from,
    requests: seenRequests.filter(({ records: count }) => count > 0),
    records: await withMappings(pool, records.toReversed()),
    events,
    backfills: (await closedBackfills(pool, [clientId, from, to ?? null])).filter(isWithin),
    isWhole: isAll,
  };
}

/** Adds the operator's current mapping to reservations, because a status is mapped after it was received. */
async function withMappings(pool: pg.Pool, records: readonly SeenRecord[]): Promise<SeenRecord[]> {
  const isMapped = ({ resource }: SeenRecord) => resource === "reservations";
  const codes = [...new Set(records.filter(isMapped).map(({ clientCode }) => clientCode))];
  if (codes.length === 0) return [...records];
  const { rows } = await pool.query<{ clientCode: string; status: string; deducts: boolean }>({
    ...LIST_RESERVATION_MAPPINGS,
    values: [codes],
  });
  const nameOf = (clientCode: string, status: string) => JSON.stringify([clientCode, status]);
  const mapped = new Map(rows.map((row) => [nameOf(row.clientCode, row.status), row.deducts]));
  return records.map((record) => {
    if (!isMapped(record)) return record;
    const deducts = mapped.get(nameOf(record.clientCode, textOf(record.fields, "status") ?? ""));
    return deducts === undefined ? record : { ...record, mapped: deducts };
  });
}

type StatedBackfill = Pick<SeenBackfill, "complete" | "resources"> & PropertyCodes;

async function closedBackfills(
  pool: pg.Pool,
  values: readonly unknown[],
): Promise<(SeenBackfill & PropertyCodes)[]> {
  const { rows } = await pool.query<{ backfillId: string; statement: string; hash: string }>({
    ...LIST_CLOSED_BACKFILLS,
    values: [...values],
  });
  return rows.map(({ backfillId, statement, hash }) => {
    const { complete, resources, clientCode, propertyCode } = JSON.parse(statement) as StatedBackfill;
    return { backfillId, complete, resources, hash, clientCode, propertyCode };
  });
}

/** The client's newest requests, oldest first. */
async function newestRequests(
  pool: pg.Pool,
  clientId: string,
  from: string,
  to: string | undefined,
): Promise<{ requests: RequestSummary[]; isWhole: boolean }> {
  const bounds = { from: readInstant(from), to: to === undefined ? undefined : readInstant(to) };
  const filter = { ...bounds, resource: undefined, outcome: undefined, property: undefined };
  const { rows, next } = await wholePage(findRequests(pool, clientId, filter, null, REQUESTS_MAX));
  return { requests: rows.map(({ summary }) => summary).toReversed(), isWhole: next === null };
}

type ReportedRecord = Pick<SeenRecord, "index" | "outcome" | "warnings">;

/** Details of a request's records by index, for records that have any. */
async function reportedOf(pool: pg.Pool, clientId: string, request: RequestSummary) {
  const { warned, quarantined, discarded, rejected } = request.counts;
  const reported = new Map<number, ReportedRecord>();
  if (warned + quarantined + discarded + rejected === 0) return reported;
  for await (const item of listRequestRecords(pool, clientId, request, { start: null, limit: RECORDS_MAX })) {
    const one = JSON.parse(item.toString("utf8")) as ReportedRecord;
    reported.set(one.index, one);
  }
  return reported;
}

/** About what a parsed record takes in memory, by what separates values, also within texts. */
function memoryOf(sent: Buffer): number {
  let values = 1;
  for (const byte of sent) if (byte === COMMA || byte === OPEN_OBJECT || byte === OPEN_ARRAY) values += 1;
  return sent.length + VALUE_BYTES * values;
}

async function recordsOf(pool: pg.Pool, clientId: string, request: RequestSummary, memoryMax: number) {
  const { requestId } = request;
  const places = await findRecordsOf(pool, clientId, requestId, "all");
  const reported = await reportedOf(pool, clientId, request);
  const records: SeenRecord[] = [];
  let bytes = 0;
  let memory = 0;
  const pointers = places.map(({ bucket, index }) => ({ bucket, index, requestId }));
  for await (const sent of loadRecordsWithPauses(pool, pointers)) {
    const place = places[records.length] as RecordOfRequest;
    bytes += sent.length;
    if (sent.length <= PARSED_BYTES_MAX) memory += memoryOf(sent);
    const isParsed = sent.length <= PARSED_BYTES_MAX && memory <= memoryMax;
    records.push(seenRecord(request, place, reported.get(place.index), sent, isParsed));
  }
  return { records, bytes, memory };
}

const [COMMA, OPEN_OBJECT, OPEN_ARRAY] = [0x2c, 0x7b, 0x5b];

const NAMES: Readonly<Record<Resource, { readonly key: string; readonly sourceTime: string }>> = {
  inventories: { key: "occupancyDate", sourceTime: "createDateTime" },
  reservations: { key: "reservationId", sourceTime: "lastModifiedDateTime" },
  groups: { key: "groupCode", sourceTime: "lastModifiedDateTime" },
};

function seenRecord(
  { requestId, receivedAt, resource }: RequestSummary,
  { index, outcome }: RecordOfRequest,
  reported: ReportedRecord | undefined,
  sent: Buffer,
  isParsed: boolean,
): SeenRecord {
  const parsed: unknown = isParsed ? JSON.parse(sent.toString("utf8")) : null;
  const fields = (typeof parsed === "object" && parsed !== null ? parsed : {}) as Record<string, unknown>;
  const sourceTime = textOf(fields, NAMES[resource].sourceTime) ?? "";
  return {
    requestId,
    receivedAt,
    index,
    resource,
    fields,
    clientCode: textOf(fields, "clientCode") ?? "",
    propertyCode: textOf(fields, "propertyCode") ?? "",
    key: textOf(fields, NAMES[resource].key) ?? "",
    sourceTime: isUtcTimestamp(sourceTime) ? microsecondTimestamp(sourceTime) : "",
    outcome: reported?.outcome ?? outcome,
    warnings: reported?.warnings ?? [],
    digest: createHash("sha256").update(sent).digest("hex"),
  };
}

/**
 * The report of a certification, now or in a span. May need tens of megabytes, so the service limits concurrency by `CertificationContext.reports`.
 */
export async function readReport(
  pool: pg.Pool,
  certification: Certification,
  span: EvidenceSpan = {},
): Promise<Report> {
  return judgeEvidence(await readEvidence(pool, certification, span));
}
