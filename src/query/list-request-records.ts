import type pg from "pg";
import { BodyLayout } from "../ingest/log/stored-body.ts";
import { queryEachBucket } from "../platform/db/dialect.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { isIndex, type Position, type PositionShape } from "../platform/http/position.ts";
import { loadRecords } from "./load-records.ts";
import { OUTCOME_MESSAGES, type Outcome, outcomeName } from "./outcome.ts";

/**
 * Where the records of one request lie and what became of them: small per record (a letter and some bytes), whatever
 * their details hold. rejected and detailed are indexes in the batch.
 * Plan: index scan of accept_log_client in one partition, then request_outcome's primary key.
 */
const readParts = namedStatement(
  "read-request-parts",
  `select
    log.bucket, log.layout, outcome.outcomes,
    array(select (rejection ->> 'index')::integer from json_array_elements(log.rejections) as rejection) as rejected,
    array(select json_object_keys(outcome.details)::integer) as detailed
  from bellhop.accept_log as log
  left join bellhop.request_outcome as outcome on outcome.bucket = log.bucket and outcome.request_id = log.request_id
  where log.request_id = $2 and log.client_id = $1 and log.kind = 'b'`,
);

/** A record of a request: where it lies, and its outcome when it was first decided. */
export interface RecordOfRequest {
  readonly bucket: number;
  readonly index: number;
  readonly outcome: Outcome | "pending";
}

/** All of a request's records, or those that are more than plainly applied. */
type WhichRecords = "all" | "notable";

interface PartRow {
  readonly bucket: number;
  readonly layout: Buffer;
  readonly outcomes: string | null;
  readonly rejected: readonly number[];
  readonly detailed: readonly number[];
}

/** Outcomes are one letter for each accepted record of the part, in its order; rejected ones have none. */
function* recordsOf(part: PartRow, which: WhichRecords): Generator<RecordOfRequest> {
  const { bucket, outcomes } = part;
  const layout = new BodyLayout(part.layout);
  const rejected = new Set(part.rejected);
  const detailed = new Set(part.detailed);
  let letter = 0;
  for (let position = 0; position < layout.recordCount; position += 1) {
    const index = layout.indexAt(position);
    if (rejected.has(index)) {
      yield { bucket, index, outcome: "rejected" };
      continue;
    }
    const decided = outcomes?.[letter];
    letter += 1;
    if (decided === undefined) {
      if (which === "all") yield { bucket, index, outcome: "pending" };
    } else if (which === "all" || decided !== "a" || detailed.has(index)) {
      yield { bucket, index, outcome: outcomeName(decided) };
    }
  }
}

/**
 * The records of a client's request, ascending by index in the batch as sent. At most as many as a batch has, each a few
 * bytes.
 */
export async function findRecordsOf(
  pool: pg.Pool,
  clientId: string,
  requestId: string,
  which: WhichRecords,
): Promise<RecordOfRequest[]> {
  const { rows } = await pool.query<PartRow>({ ...readParts, values: [clientId, requestId] });
  return rows.flatMap((part) => [...recordsOf(part, which)]).sort((left, right) => left.index - right.index);
}

const readDetails = readStatement(new URL("./sql/read-request-details.sql", import.meta.url));

/** Index of the last record told of. */
export const REQUEST_RECORDS_POSITION: PositionShape = [isIndex];

/** A record may have 101 warnings of up to 750 bytes: so many records at once are at most 8 MB. */
const RECORDS_AT_ONCE = 100;
/** A larger record is not parsed just to name its key: it would hold the event loop. */
const PARSED_BYTES_MAX = 1_048_576;

interface Told {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

interface DetailRow {
  readonly record_index: number;
  readonly code: string | null;
  readonly message: string | null;
  readonly warnings: readonly Told[] | null;
  readonly violations: readonly Told[] | null;
  readonly violation_total: number | null;
  readonly outcome: string | null;
  readonly resolved_at: Date | null;
}

const KEY_FIELD: Readonly<Record<string, string>> = {
  inventories: "occupancyDate",
  reservations: "reservationId",
  groups: "groupCode",
};

/** Whose record it is, as far as that can be read: a rejected one may hold anything, and one that is no longer kept nothing. */
export function identityOf(resource: string, bytes: Buffer) {
  const isRead = bytes.length > 0 && bytes.length <= PARSED_BYTES_MAX;
  const parsed: unknown = isRead ? JSON.parse(bytes.toString("utf8")) : null;
  const fields = (typeof parsed === "object" && parsed !== null ? parsed : {}) as Record<string, unknown>;
  const textOf = (name: string): string | null => {
    const value = fields[name];
    return typeof value === "string" && value.length <= 256 ? value : null;
  };
  return {
    clientCode: textOf("clientCode"),
    propertyCode: textOf("propertyCode"),
    key: textOf(KEY_FIELD[resource] ?? ""),
  };
}

/** A quarantined record that was resolved since is told by what it became. */
function outcomeOf(record: RecordOfRequest, detail: DetailRow | undefined): Outcome | "pending" {
  return detail?.outcome === null || detail === undefined ? record.outcome : outcomeName(detail.outcome);
}

/** What is told of one record. Pointers are into the batch as sent. */
function itemOf(
  record: RecordOfRequest,
  identity: ReturnType<typeof identityOf>,
  detail: DetailRow | undefined,
): Buffer {
  const { index } = record;
  const outcome = outcomeOf(record, detail);
  const first = detail?.violations?.[0];
  return Buffer.from(
    JSON.stringify({
      index,
      ...identity,
      outcome,
      code: detail?.code ?? first?.code ?? null,
      pointer: first?.pointer ?? `/${index}`,
      message:
        detail?.message ??
        first?.message ??
        (outcome === "pending" ? null : OUTCOME_MESSAGES[outcome]) ??
        null,
      warnings: (detail?.warnings ?? []).map(({ pointer, code, message }) => ({
        pointer: `/${index}${pointer}`,
        code,
        message,
      })),
      ...(detail?.violations == null
        ? {}
        : { violations: detail.violations, violationTotal: detail.violation_total }),
      ...(detail?.resolved_at == null ? {} : { resolvedAt: detail.resolved_at.toISOString() }),
    }),
  );
}

async function detailsOf(
  pool: pg.Pool,
  clientId: string,
  requestId: string,
  records: readonly RecordOfRequest[],
): Promise<Map<number, DetailRow>> {
  const { rows } = await queryEachBucket<DetailRow, RecordOfRequest>(pool, readDetails, records, (some) => [
    clientId,
    requestId,
    [...new Set(some.map(({ bucket }) => bucket))],
    some.map(({ index }) => index),
  ]);
  return new Map(rows.map((row) => [row.record_index, row]));
}

async function* tell(
  pool: pg.Pool,
  clientId: string,
  requestId: string,
  resource: string,
  records: readonly RecordOfRequest[],
  { outcome: wanted, within }: RequestRecordFilter,
): AsyncGenerator<Buffer, void> {
  const details = await detailsOf(pool, clientId, requestId, records);
  let at = 0;
  for await (const bytes of loadRecords(
    pool,
    records.map(({ bucket, index }) => ({ bucket, index, requestId })),
  )) {
    const record = records[at] as RecordOfRequest;
    at += 1;
    const detail = details.get(record.index);
    if (wanted !== undefined && outcomeOf(record, detail) !== wanted) continue;
    const identity = identityOf(resource, bytes);
    if (within?.permits(identity.clientCode ?? "", identity.propertyCode ?? "") === false) continue;
    yield itemOf(record, identity, detail);
  }
}

/** Which of a request's records are told of. */
export interface RequestRecordFilter {
  readonly which: WhichRecords;
  /** Only those of this outcome, as it was first decided, or as it became by a release or discard. */
  readonly outcome?: Outcome | undefined;
  /** Only the one with this index. */
  readonly index?: number | undefined;
  /** Only those of these properties; one whose codes cannot be read is of none. */
  readonly within?: PropertyTest | undefined;
}

export interface PropertyTest {
  permits(clientCode: string, propertyCode: string): boolean;
}

/** A quarantined record may have become anything since: which, its details say. */
function mayHave(record: RecordOfRequest, outcome: Outcome | undefined): boolean {
  return outcome === undefined || record.outcome === outcome || record.outcome === "quarantined";
}

/**
 * Yields what is told of records of a request, by index; returns the position of the next page, or null at the end. The
 * caller knows that the request is the client's.
 */
export async function* listRequestRecords(
  pool: pg.Pool,
  clientId: string,
  request: { readonly requestId: string; readonly resource: string },
  start: Position | null,
  limit: number,
  filter: RequestRecordFilter = { which: "notable" },
): AsyncGenerator<Buffer, Position | null> {
  const { requestId, resource } = request;
  const [last = -1] = start ?? [];
  const { which, outcome, index } = filter;
  const rest = (await findRecordsOf(pool, clientId, requestId, which)).filter(
    (record) =>
      record.index > Number(last) && (index ?? record.index) === record.index && mayHave(record, outcome),
  );
  const page = rest.slice(0, limit);
  for (let at = 0; at < page.length; at += RECORDS_AT_ONCE) {
    yield* tell(pool, clientId, requestId, resource, page.slice(at, at + RECORDS_AT_ONCE), filter);
  }
  const lastTold = page.at(-1);
  return rest.length > page.length && lastTold !== undefined ? [lastTold.index] : null;
}
