import type pg from "pg";
import { ArrayParameter } from "../../platform/db/binary-fields.ts";
import { BUCKET_TERM, queryOfBucket } from "../../platform/db/dialect.ts";
import { type RowWriter, writeItems } from "../../platform/db/write-rows.ts";
import type { StoredCurrent } from "./load-versions.ts";
import type { RecordKey, Version } from "./record-state.ts";
import { storedWarningFree, type WarningFree } from "./warning-free.ts";

/** A version that has become the newest of its key, and what was stored before. */
export interface NewCurrent {
  readonly of: RecordKey;
  readonly current: Version;
  readonly before: StoredCurrent | null;
  readonly warningFree: WarningFree;
  /** What its nights are in short (`src/apply/ledger/content-nights.ts`); null where that is to be read from its facts. */
  readonly compactNights: string | null;
}

/**
 * A row of current_record is not where the transaction found it. Only its owner writes to a bucket, so somebody else has;
 * with the SQLSTATE of a serialization failure, as the remedy is the same: from the beginning.
 */
export class CurrentRecordMoved extends Error {
  readonly code = "40001";

  constructor(count: number) {
    super(`${count} current records were changed by another.`);
  }
}

const COLUMNS = {
  bucket: "smallint",
  property_id: "integer",
  resource: '"char"',
  key: "text",
  source_time: "timestamptz",
  request_id: "uuid",
  record_index: "integer",
  content_hash: "bytea",
  facts_source_time: "timestamptz",
  status: "text",
  from_date: "date",
  to_date: "date",
  warning_free: "boolean",
  compact_nights: "text",
} as const;

function addCurrent(rows: RowWriter, { of, current, warningFree, compactNights }: NewCurrent): void {
  const { status, fromDate, toDate } = current.filters();
  rows.row();
  rows.smallint(of.bucket);
  rows.integer(of.propertyId);
  rows.letter(of.resource);
  rows.text(of.key);
  rows.timestamp(current.sourceTime);
  rows.uuid(current.requestId);
  rows.integer(current.index);
  rows.hex(current.contentHash);
  rows.timestamp(current.factsSourceTime);
  if (status === null) rows.null();
  else rows.text(status);
  rows.date(fromDate);
  rows.date(toDate);
  const stored = storedWarningFree(warningFree);
  if (stored === null) rows.null();
  else rows.boolean(stored);
  if (compactNights === null) rows.null();
  else rows.text(compactNights);
}

// By the rows' places, which the lookup in this transaction gave: finding them by key again would cost half as much more.
const ADVANCE = {
  name: "advance-current",
  text: `update current_record as t
  set source_time = w.source_time, request_id = w.request_id, record_index = w.record_index
  from unnest($1::tid[], $2::timestamptz[], $3::uuid[], $4::integer[])
    as w (place, source_time, request_id, record_index)
  where t.ctid = w.place ${BUCKET_TERM}`,
};
const REPLACE = {
  name: "replace-current",
  text: `update current_record as t
  set source_time = w.source_time, request_id = w.request_id, record_index = w.record_index,
    content_hash = w.content_hash, facts_source_time = w.facts_source_time, status = w.status,
    from_date = w.from_date, to_date = w.to_date, warning_free = w.warning_free, compact_nights = w.compact_nights
  from unnest($1::tid[], $2::timestamptz[], $3::uuid[], $4::integer[], $5::bytea[], $6::timestamptz[], $7::text[],
    $8::date[], $9::date[], $10::boolean[], $11::text[]) as w (place, source_time, request_id, record_index, content_hash,
    facts_source_time, status, from_date, to_date, warning_free, compact_nights)
  where t.ctid = w.place ${BUCKET_TERM}`,
};

/** A row that is there, and the version that it is to tell of. */
type Replaced = NewCurrent & { readonly before: StoredCurrent };

/** Where the rows are, and the order and receipt of their versions: the first parameters of both statements. */
function receiptsOf(records: readonly Replaced[]): Buffer[] {
  const places = new ArrayParameter("tid", records.length);
  const times = new ArrayParameter("timestamptz", records.length);
  const requests = new ArrayParameter("uuid", records.length);
  const indexes = new ArrayParameter("integer", records.length);
  for (const { before, current } of records) {
    places.place(before.place);
    times.timestamp(current.sourceTime);
    requests.uuid(current.requestId);
    indexes.integer(current.index);
  }
  return [places, times, requests, indexes].map((parameter) => parameter.finish());
}

/** What the versions say: the other parameters of REPLACE. */
function contentsOf(records: readonly Replaced[]): Buffer[] {
  const hashes = new ArrayParameter("bytea", records.length);
  const factsTimes = new ArrayParameter("timestamptz", records.length);
  const statuses = new ArrayParameter("text", records.length);
  const fromDates = new ArrayParameter("date", records.length);
  const toDates = new ArrayParameter("date", records.length);
  const warningFrees = new ArrayParameter("boolean", records.length);
  const nights = new ArrayParameter("text", records.length);
  for (const { current, warningFree, compactNights } of records) {
    const { status, fromDate, toDate } = current.filters();
    hashes.hex(current.contentHash);
    factsTimes.timestamp(current.factsSourceTime);
    if (status === null) statuses.null();
    else statuses.text(status);
    fromDates.date(fromDate);
    toDates.date(toDate);
    const stored = storedWarningFree(warningFree);
    if (stored === null) warningFrees.null();
    else warningFrees.boolean(stored);
    if (compactNights === null) nights.null();
    else nights.text(compactNights);
  }
  return [hashes, factsTimes, statuses, fromDates, toDates, warningFrees, nights].map((parameter) =>
    parameter.finish(),
  );
}

async function update(
  client: pg.ClientBase,
  statement: { readonly name: string; readonly text: string },
  records: readonly Replaced[],
  content: readonly Buffer[],
): Promise<void> {
  if (records.length === 0) return;
  const values = [...receiptsOf(records), ...content];
  const { rowCount } = await queryOfBucket(client, statement, values, records);
  if (rowCount !== records.length) throw new CurrentRecordMoved(records.length - rowCount);
}

/** Writes the newest version of each key (each once); the caller has decided that it is the newest. */
export async function writeCurrent(client: pg.ClientBase, records: readonly NewCurrent[]): Promise<void> {
  const added: NewCurrent[] = [];
  const advanced: Replaced[] = [];
  const replaced: Replaced[] = [];
  for (const record of records) {
    const { before, current, warningFree } = record;
    if (before === null) {
      added.push(record);
      continue;
    }
    const isAdvanced =
      before.version.contentHash === current.contentHash &&
      before.version.factsSourceTime === current.factsSourceTime &&
      before.warningFree === warningFree;
    (isAdvanced ? advanced : replaced).push({ ...record, before });
  }
  await writeItems(client, { table: "current_record", columns: COLUMNS }, added, addCurrent);
  await update(client, ADVANCE, advanced, []);
  await update(client, REPLACE, replaced, contentsOf(replaced));
}
