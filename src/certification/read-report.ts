import { createHash } from "node:crypto";
import type pg from "pg";
import { isUtcTimestamp, microsecondTimestamp } from "#contract/calendar.ts";
import type { Resource } from "#contract/resource.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { readInstant } from "../platform/http/instant.ts";
import { findRecordsOf, listRequestRecords, type RecordOfRequest } from "../query/list-request-records.ts";
import { findRequests } from "../query/list-requests.ts";
import { loadRecords } from "../query/load-records.ts";
import type { Outcome } from "../query/outcome.ts";
import type { RequestSummary } from "../query/request-summary.ts";
import type { Certification } from "./certification.ts";
import { textOf } from "./fields.ts";
import { judgeEvidence, type Report } from "./report.ts";
import type { Evidence, SeenBackfill, SeenRecord, SeenWarning } from "./step.ts";
import type { NotedEvent } from "./wire-notes.ts";

/** What was noted of the certification $1 from $2 to $3, in order. */
const LIST_EVENTS = namedStatement(
  "list-events",
  `select kind, detail, to_char(noted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from bellhop.certification_event
  where certification_id = $1 and noted_at >= $2::timestamptz and noted_at <= coalesce($3::timestamptz, 'infinity')
  order by noted_at, event_no`,
);
/** The statements of the backfills that the client $1 has closed from $2 to $3, oldest first: of a year's few. */
const LIST_CLOSED_BACKFILLS = namedStatement(
  "list-closed-backfills",
  `select backfill_id, statement, statement_hash as hash
  from bellhop.backfill
  where client_id = $1 and state = 'c' and ended_at >= $2::timestamptz and ended_at <= coalesce($3::timestamptz, 'infinity')
  order by opened_at, backfill_id
  limit 20`,
);
/** What the operator says that labels of reservations mean, of these client codes. */
const LIST_LABEL_MAPPINGS = namedStatement(
  "list-label-mappings",
  `select client_code, label, deducts from bellhop.status_mapping where resource = 'r' and client_code = any ($1)`,
);

/** What one report looks at: the newest requests, and of those no more records and bytes than are quickly read. */
const REQUESTS_MAX = 1_000;
const RECORDS_MAX = 10_000;
const BYTES_MAX = 8 * 1_048_576;
/** A larger record is judged by its outcome alone: it would hold the event loop. */
const PARSED_BYTES_MAX = 262_144;

/** From when to when what was seen counts; both included. */
interface EvidenceSpan {
  /** By default since the certification was opened. Earlier things never count. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Everything that was seen of the client under a certification, as far as it counts. */
async function readEvidence(
  pool: pg.Pool,
  certification: Certification,
  { since, until }: EvidenceSpan = {},
): Promise<Evidence> {
  const { certificationId, openedAt, endsAt, isOpen } = certification;
  const from = since === undefined || since < openedAt ? openedAt : since;
  const to = until ?? (isOpen ? undefined : endsAt);
  const { requests, isWhole } = await newestRequests(pool, certification.clientId, from, to);
  const { rows: events } = await pool.query<NotedEvent>({
    ...LIST_EVENTS,
    values: [certificationId, from, to ?? null],
  });
  const records: SeenRecord[] = [];
  let bytes = 0;
  let isAll = isWhole;
  // From the newest back, so that what is left out is the oldest; then in the order of receipt.
  for (const request of requests.toReversed()) {
    if (records.length + request.counts.records > RECORDS_MAX || bytes > BYTES_MAX) {
      isAll = false;
      break;
    }
    const seen = await recordsOf(pool, certification.clientId, request);
    bytes += seen.bytes;
    records.push(...seen.records.toReversed());
  }
  return {
    certification,
    from,
    requests: requests.map(({ requestId, receivedAt, resource, counts }) => ({
      requestId,
      receivedAt,
      resource,
      records: counts.records,
    })),
    records: await withMappings(pool, records.toReversed()),
    events,
    backfills: await closedBackfills(pool, certification.clientId, from, to),
    isWhole: isAll,
  };
}

/** Reservations with what the operator's mapping says of their labels, as of now: a label is mapped once it has been seen. */
async function withMappings(pool: pg.Pool, records: readonly SeenRecord[]): Promise<SeenRecord[]> {
  const codes = new Set(
    records.flatMap(({ resource, clientCode }) => (resource === "reservations" ? [clientCode] : [])),
  );
  if (codes.size === 0) return [...records];
  const { rows } = await pool.query<{ client_code: string; label: string; deducts: boolean }>({
    ...LIST_LABEL_MAPPINGS,
    values: [[...codes]],
  });
  const nameOf = (clientCode: string, label: string) => JSON.stringify([clientCode, label]);
  const mapped = new Map(rows.map((row) => [nameOf(row.client_code, row.label), row.deducts]));
  return records.map((record) => {
    if (record.resource !== "reservations") return record;
    const deducts = mapped.get(nameOf(record.clientCode, textOf(record.fields, "status") ?? ""));
    return deducts === undefined ? record : { ...record, mapped: deducts };
  });
}

async function closedBackfills(
  pool: pg.Pool,
  clientId: string,
  from: string,
  to: string | undefined,
): Promise<SeenBackfill[]> {
  const { rows } = await pool.query<{ backfill_id: string; statement: string; hash: string }>({
    ...LIST_CLOSED_BACKFILLS,
    values: [clientId, from, to ?? null],
  });
  return rows.map(({ backfill_id: backfillId, statement, hash }) => {
    const { complete, resources } = JSON.parse(statement) as Pick<SeenBackfill, "complete" | "resources">;
    return { backfillId, complete, resources, hash };
  });
}

/** The client's newest requests, the oldest of them first. */
async function newestRequests(
  pool: pg.Pool,
  clientId: string,
  from: string,
  to: string | undefined,
): Promise<{ requests: RequestSummary[]; isWhole: boolean }> {
  const bounds = { from: readInstant(from), to: to === undefined ? undefined : readInstant(to) };
  const filter = { ...bounds, resource: undefined, outcome: undefined, property: undefined };
  const found: RequestSummary[] = [];
  const page = findRequests(pool, clientId, filter, null, REQUESTS_MAX);
  for (;;) {
    const step = await page.next();
    if (step.done === true) return { requests: found.toReversed(), isWhole: step.value === null };
    found.push(...step.value.map(({ summary }) => summary));
  }
}

/** What is told of a record that is more than plainly applied. */
interface Told {
  readonly index: number;
  readonly outcome: Outcome | "pending";
  readonly warnings: readonly SeenWarning[];
}

async function toldOf(
  pool: pg.Pool,
  clientId: string,
  request: RequestSummary,
): Promise<ReadonlyMap<number, Told>> {
  const { warned, quarantined, discarded, rejected } = request.counts;
  const told = new Map<number, Told>();
  // Without any of these the letters of the outcomes say it all.
  if (warned + quarantined + discarded + rejected === 0) return told;
  for await (const item of listRequestRecords(pool, clientId, request, null, RECORDS_MAX)) {
    const one = JSON.parse(item.toString("utf8")) as Told;
    told.set(one.index, one);
  }
  return told;
}

async function recordsOf(
  pool: pg.Pool,
  clientId: string,
  request: RequestSummary,
): Promise<{ records: SeenRecord[]; bytes: number }> {
  const { requestId } = request;
  const places = await findRecordsOf(pool, clientId, requestId, "all");
  const told = await toldOf(pool, clientId, request);
  const records: SeenRecord[] = [];
  let bytes = 0;
  const pointers = places.map(({ bucket, index }) => ({ bucket, index, requestId }));
  for await (const sent of loadRecords(pool, pointers)) {
    const place = places[records.length] as RecordOfRequest;
    bytes += sent.length;
    records.push(seenRecord(request, place, told.get(place.index), sent));
  }
  return { records, bytes };
}

const NAMES: Readonly<Record<Resource, { readonly key: string; readonly sourceTime: string }>> = {
  inventories: { key: "occupancyDate", sourceTime: "createDateTime" },
  reservations: { key: "reservationId", sourceTime: "lastModifiedDateTime" },
  groups: { key: "groupCode", sourceTime: "lastModifiedDateTime" },
};

function seenRecord(
  { requestId, receivedAt, resource }: RequestSummary,
  { index, outcome }: RecordOfRequest,
  told: Told | undefined,
  sent: Buffer,
): SeenRecord {
  const parsed: unknown = sent.length > PARSED_BYTES_MAX ? null : JSON.parse(sent.toString("utf8"));
  const fields = (typeof parsed === "object" && parsed !== null ? parsed : {}) as Record<string, unknown>;
  const textOf = (name: string): string => {
    const value = fields[name];
    return typeof value === "string" ? value : "";
  };
  const sourceTime = textOf(NAMES[resource].sourceTime);
  return {
    requestId,
    receivedAt,
    index,
    resource,
    fields,
    clientCode: textOf("clientCode"),
    propertyCode: textOf("propertyCode"),
    key: textOf(NAMES[resource].key),
    sourceTime: isUtcTimestamp(sourceTime) ? microsecondTimestamp(sourceTime) : "",
    outcome: told?.outcome ?? outcome,
    warnings: told?.warnings ?? [],
    digest: createHash("sha256").update(sent).digest("hex"),
  };
}

/** Reports are read one after another: each may hold some tens of megabytes while it is made. */
let last: Promise<unknown> = Promise.resolve();

/** The report of a certification as it stands, or stood. */
export function readReport(
  pool: pg.Pool,
  certification: Certification,
  span: EvidenceSpan = {},
): Promise<Report> {
  const report = last.then(async () => judgeEvidence(await readEvidence(pool, certification, span)));
  last = report.catch(() => undefined);
  return report;
}
