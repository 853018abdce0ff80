import type pg from "pg";
import type { Resource } from "#contract/resource.ts";
import { BodyLayout } from "../ingest/log/body-layout.ts";
import { queryEachBucket, readStatementOfBucket } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";
import {
  firstOf,
  isIndex,
  type PageRange,
  type Position,
  type PositionShape,
} from "../platform/http/position.ts";
import type { RecordNotice } from "./console/answers.ts";
import { loadRecordsWithPauses } from "./load-records.ts";
import { keyNameOf } from "./openapi/read-parameters.ts";
import { OUTCOME_MESSAGES, type Outcome, outcomeName } from "./outcome.ts";
import { textsOfRecord } from "./record-texts.ts";

/**
 * Locations and outcome letters of the records of one request; rejected and detailed are indexes in the batch. Plan: index scan of
 * accept_log_client in one partition, then request_outcome's primary key.
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

/** A record of a request: its location and first outcome. */
export interface RecordOfRequest {
  readonly bucket: number;
  readonly index: number;
  readonly outcome: Outcome | "pending";
}

/** `notable`: not applied, or with warnings. `decided`: with an outcome. */
type WhichRecords = "all" | "decided" | "notable";

interface PartRow {
  readonly bucket: number;
  readonly layout: Buffer;
  readonly outcomes: string | null;
  readonly rejected: readonly number[];
  readonly detailed: readonly number[];
}

/** `outcomes` has one letter per accepted record of the part, in order; rejected ones have none. */
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
    } else if (which !== "notable" || decided !== "a" || detailed.has(index)) {
      yield { bucket, index, outcome: outcomeName(decided) };
    }
  }
}

/** The records of a client's request, ascending by index in the batch as sent. */
export async function findRecordsOf(
  pool: pg.Pool,
  clientId: string,
  requestId: string,
  which: WhichRecords,
): Promise<RecordOfRequest[]> {
  const { rows } = await pool.query<PartRow>({ ...readParts, values: [clientId, requestId] });
  return rows.flatMap((part) => [...recordsOf(part, which)]).sort((left, right) => left.index - right.index);
}

const readDetails = readStatementOfBucket(new URL("./sql/read-request-details.sql", import.meta.url), 5);

export const REQUEST_RECORDS_POSITION: PositionShape = [isIndex];

/** Page size: reading some of a part's details parses all of them (bounded by `warningsListedMax` and VIOLATIONS_KEPT_OF_BATCH). */
const RECORDS_AT_ONCE = 1_000;
/** Longer texts are no codes or keys. */
const TEXT_CHARACTERS_MAX = 256;

interface DetailRow {
  readonly index: number;
  readonly code: string | null;
  readonly message: string | null;
  readonly warnings: readonly RecordNotice[] | null;
  readonly violations: readonly RecordNotice[] | null;
  readonly violationTotal: number | null;
  readonly outcome: string | null;
  readonly resolvedAt: Date | null;
}

/** The codes and key of a record. */
interface Identity {
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly key: string | null;
}

/** The codes and key of a record, if it contains them: a rejected record may be any JSON. */
export async function identityOf(resource: Resource, bytes: Buffer): Promise<Identity> {
  const keyName = keyNameOf(resource);
  const texts = await textsOfRecord(bytes, ["clientCode", "propertyCode", keyName]);
  const textOf = (name: string) => {
    const text = texts[name];
    return text !== undefined && text.length <= TEXT_CHARACTERS_MAX ? text : null;
  };
  return { clientCode: textOf("clientCode"), propertyCode: textOf("propertyCode"), key: textOf(keyName) };
}

/** For a quarantined record that was resolved, its final outcome. */
function outcomeOf(record: RecordOfRequest, detail: DetailRow | undefined): Outcome | "pending" {
  return detail?.outcome === null || detail === undefined ? record.outcome : outcomeName(detail.outcome);
}

/** One record of the answer as JSON. Pointers are relative to the batch as sent. */
function itemOf(record: RecordOfRequest, identity: Identity, detail: DetailRow | undefined): Buffer {
  const { index } = record;
  const outcome = outcomeOf(record, detail);
  const { code, message, violations, violationTotal, resolvedAt } = detail ?? {};
  const first = violations?.[0];
  const meaning = outcome === "pending" ? undefined : OUTCOME_MESSAGES[outcome];
  const warnings = (detail?.warnings ?? []).map(({ pointer, code: of, message: why }) => {
    return { pointer: `/${index}${pointer}`, code: of, message: why };
  });
  const item = {
    index,
    ...identity,
    outcome,
    code: code ?? first?.code ?? null,
    pointer: first?.pointer ?? `/${index}`,
    message: message ?? first?.message ?? meaning ?? null,
    warnings,
    ...(violations == null ? {} : { violations, violationTotal }),
    ...(resolvedAt == null ? {} : { resolvedAt: resolvedAt.toISOString() }),
  };
  return Buffer.from(JSON.stringify(item));
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
  return new Map(rows.map((row) => [row.index, row]));
}

/** A request, and the resource of its records. */
interface NamedRequest {
  readonly requestId: string;
  readonly resource: Resource;
}

async function* itemsOf(
  pool: pg.Pool,
  clientId: string,
  { requestId, resource }: NamedRequest,
  records: readonly RecordOfRequest[],
  { outcome: wanted, within }: RequestRecordFilter,
): AsyncGenerator<Buffer, void> {
  const details = await detailsOf(pool, clientId, requestId, records);
  let at = 0;
  const pointers = records.map(({ bucket, index }) => ({ bucket, index, requestId }));
  for await (const bytes of loadRecordsWithPauses(pool, pointers)) {
    const record = records[at] as RecordOfRequest;
    at += 1;
    const detail = details.get(record.index);
    if (wanted !== undefined && outcomeOf(record, detail) !== wanted) continue;
    const identity = await identityOf(resource, bytes);
    if (within?.permits(identity.clientCode ?? "", identity.propertyCode ?? "") === false) continue;
    yield itemOf(record, identity, detail);
  }
}

/** Selects records of a request. */
export interface RequestRecordFilter {
  readonly which: WhichRecords;
  /** Only those with this first or final outcome. */
  readonly outcome?: Outcome | undefined;
  /** Only the record with this index. */
  readonly index?: number | undefined;
  /** Only records of these properties; a record with unreadable codes belongs to none. */
  readonly within?: PropertyTest | undefined;
}

export interface PropertyTest {
  permits(clientCode: string, propertyCode: string): boolean;
}

/** A quarantined record may have any final outcome, which its details contain. */
function mayHave(record: RecordOfRequest, outcome: Outcome | undefined): boolean {
  return outcome === undefined || record.outcome === outcome || record.outcome === "quarantined";
}

/** Yields the records of a client's request as JSON, by index; returns the position of the next page, or null. */
export async function* listRequestRecords(
  pool: pg.Pool,
  clientId: string,
  request: NamedRequest,
  { start, limit }: PageRange,
  filter: RequestRecordFilter = { which: "notable" },
): AsyncGenerator<Buffer, Position | null> {
  const [last = -1] = start ?? [];
  const { which, outcome, index } = filter;
  const rest = (await findRecordsOf(pool, clientId, request.requestId, which)).filter(
    (record) =>
      record.index > Number(last) && (index ?? record.index) === record.index && mayHave(record, outcome),
  );
  const { items: page, next } = firstOf(rest, limit, (record) => [record.index]);
  for (let at = 0; at < page.length; at += RECORDS_AT_ONCE) {
    yield* itemsOf(pool, clientId, request, page.slice(at, at + RECORDS_AT_ONCE), filter);
  }
  return next;
}
