import type pg from "pg";
import { BUCKET_TERM, queryOfBucket } from "../../platform/db/dialect.ts";
import {
  ensureWindows,
  isWindowed,
  readWindows,
  type WindowedTable,
} from "../../platform/db/time-windows.ts";
import { type RowWriter, writeItems } from "../../platform/db/write-rows.ts";
import { CurrentRecordMoved, column, type StoredCurrent } from "./look-up.ts";
import {
  type NewVersion,
  RESOURCE_LETTERS,
  type RecordKey,
  storedWarningFree,
  VERSION_TABLES,
  type Version,
  type WarningFree,
} from "./record.ts";
import { STATE_SCHEMA } from "./state-schema.ts";

/** As a session of ours writes a timestamptz: `2026-01-31 12:00:00+00`. */
function timeOf(bound: string): number {
  const ms = Date.parse(bound.replace(" ", "T").replace(/\+00$/, "Z"));
  if (Number.isNaN(ms)) throw new Error(`Not a time: ${bound}`);
  return ms;
}

function bySourceTime(schema: string, table: string): WindowedTable {
  return { schema, table, column: "source_time", boundOf: (ms) => new Date(ms).toISOString(), timeOf };
}

/** The tables of versions in a state schema, in windows of their source times where they have any. */
function versionWindowsOf(schema: string): readonly WindowedTable[] {
  return Object.values(VERSION_TABLES).map(({ table }) => bySourceTime(schema, table));
}

/** Those of the live state. */
export const VERSION_WINDOWS = versionWindowsOf(STATE_SCHEMA);

/** Until when every source time has a window in a table; -Infinity where there is none. */
async function endOf(client: pg.ClientBase, of: WindowedTable): Promise<number> {
  if (!(await isWindowed(client, of))) return Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of await readWindows(client, of)) {
    if (fromMs > endMs) break;
    endMs = toMs;
  }
  return endMs;
}

/** Source times are at most ten minutes ahead of their receipt, but for those that an operator released. */
const AHEAD_MS = 11 * 60_000;
/** After a long time without windows being made ahead a few long ones do. */
const WINDOWS_AT_ONCE = 50;

/** Sees to it that there is a window for what is about to be written. */
export class VersionCover {
  readonly #pool: pg.Pool;
  readonly #tables: readonly WindowedTable[];
  readonly #readWindowMs: (client: pg.ClientBase) => Promise<number>;
  #endMs = Number.NEGATIVE_INFINITY;

  /** `readWindowMs` says how long a window is that is made. */
  constructor(pool: pg.Pool, schema: string, readWindowMs: (client: pg.ClientBase) => Promise<number>) {
    this.#pool = pool;
    this.#tables = versionWindowsOf(schema);
    this.#readWindowMs = readWindowMs;
  }

  /** For all source times up to the latest (ISO 8601). On a connection of its own: what it makes is there at once. */
  async reach(latest: string): Promise<void> {
    if (latest === "" || Date.parse(latest) < this.#endMs) return;
    const client = await this.#pool.connect();
    try {
      this.#endMs = await coverUntil(
        client,
        this.#tables,
        Date.parse(latest),
        await this.#readWindowMs(client),
      );
    } finally {
      client.release();
    }
  }

  /** The windows may be others now. */
  forget(): void {
    this.#endMs = Number.NEGATIVE_INFINITY;
  }
}

/** Makes what windows are missing up to a time, and answers until when there is one for every source time. */
async function coverUntil(
  client: pg.ClientBase,
  tables: readonly WindowedTable[],
  latestMs: number,
  windowMs: number,
): Promise<number> {
  const targetMs = Math.min(latestMs, Date.now() + AHEAD_MS);
  let coveredMs = Number.POSITIVE_INFINITY;
  for (const of of tables) {
    let endMs = await endOf(client, of);
    const lengthMs = windowMs * Math.max(1, Math.ceil((targetMs - endMs) / windowMs / WINDOWS_AT_ONCE));
    while (endMs <= targetMs) {
      await ensureWindows(client, [of], { atMs: endMs, windowMs: lengthMs, ahead: 0 });
      endMs = await endOf(client, of);
    }
    // So far ahead that nothing comes between.
    if (endMs <= latestMs) await ensureWindows(client, [of], { atMs: latestMs, windowMs, ahead: 0 });
    coveredMs = Math.min(coveredMs, endMs);
  }
  return coveredMs;
}

const COLUMNS = {
  source_time: "timestamptz",
  facts_source_time: "timestamptz",
  change_no: "bigint",
  property_id: "integer",
  record_index: "integer",
  from_date: "date",
  to_date: "date",
  bucket: "smallint",
  outcome: '"char"',
  request_id: "uuid",
  content_hash: "bytea",
  key: "text",
  status: "text",
  facts: "text",
  is_update: "boolean",
} as const;

function textOrNull(to: Pick<RowWriter, "null" | "text">, text: string | null): void {
  if (text === null) to.null();
  else to.text(text);
}

function addWarningFree(to: Pick<RowWriter, "null" | "boolean">, warningFree: WarningFree): void {
  const stored = storedWarningFree(warningFree);
  if (stored === null) to.null();
  else to.boolean(stored);
}

function addVersion(
  rows: RowWriter,
  { of, version, outcome, changeNumber, isUpdate, facts }: NewVersion,
): void {
  const { status, fromDate, toDate } = version.filters();
  rows.row();
  rows.timestamp(version.sourceTime);
  rows.timestamp(version.factsSourceTime);
  if (changeNumber === null) rows.null();
  else rows.bigint(changeNumber);
  rows.integer(of.propertyId);
  rows.integer(version.index);
  rows.date(fromDate);
  rows.date(toDate);
  rows.smallint(of.bucket);
  rows.letter(outcome);
  rows.uuid(version.requestId);
  rows.hex(version.contentHash);
  rows.text(of.key);
  textOrNull(rows, status);
  if (facts === null) rows.null();
  else rows.written(facts);
  if (changeNumber === null) rows.null();
  else rows.boolean(isUpdate);
}

/** Writes new versions with their typed facts. Throws UnstorableFact for facts that could not be read again. */
export async function insertVersions(client: pg.ClientBase, versions: readonly NewVersion[]): Promise<void> {
  for (const resource of RESOURCE_LETTERS) {
    const ofResource = versions.filter(({ of }) => of.resource === resource);
    const into = { table: VERSION_TABLES[resource].table, columns: COLUMNS };
    await writeItems(client, into, ofResource, addVersion);
  }
}

/**
 * Lowers the receipt of versions of which a copy received earlier was applied later, and numbers one that
 * became current by that (null: keeps its number).
 */
export async function writeReceipts(
  client: pg.ClientBase,
  received: readonly {
    readonly of: RecordKey;
    readonly version: Version;
    readonly changeNumber: number | null;
  }[],
): Promise<void> {
  for (const { of, version, changeNumber } of received) {
    await client.query(
      `update ${VERSION_TABLES[of.resource].table}
       set request_id = $6, record_index = $7, change_no = coalesce($8::bigint, change_no),
         is_update = $8::bigint is not null or is_update
       where bucket = $1 and property_id = $2 and key = $3 and source_time = $4 and content_hash = decode($5, 'hex')`,
      [
        of.bucket,
        of.propertyId,
        of.key,
        version.sourceTime,
        version.contentHash,
        version.requestId,
        version.index,
        changeNumber,
      ],
    );
  }
}

/** A version that has become the newest of its key, and what was stored before. */
export interface NewCurrent {
  readonly of: RecordKey;
  readonly current: Version;
  readonly before: StoredCurrent | null;
  readonly warningFree: WarningFree;
  /** What its nights are in short (`src/apply/ledger/content-nights.ts`); null where that is to be read from its facts. */
  readonly compactNights: string | null;
}

const CURRENT_COLUMNS = {
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
  textOrNull(rows, status);
  rows.date(fromDate);
  rows.date(toDate);
  addWarningFree(rows, warningFree);
  textOrNull(rows, compactNights);
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
  return [
    column("tid", records, (to, { before }) => to.place(before.place)),
    column("timestamptz", records, (to, { current }) => to.timestamp(current.sourceTime)),
    column("uuid", records, (to, { current }) => to.uuid(current.requestId)),
    column("integer", records, (to, { current }) => to.integer(current.index)),
  ];
}

/** What the versions say: the other parameters of REPLACE. */
function contentsOf(records: readonly Replaced[]): Buffer[] {
  return [
    column("bytea", records, (to, { current }) => to.hex(current.contentHash)),
    column("timestamptz", records, (to, { current }) => to.timestamp(current.factsSourceTime)),
    column("text", records, (to, { current }) => textOrNull(to, current.filters().status)),
    column("date", records, (to, { current }) => to.date(current.filters().fromDate)),
    column("date", records, (to, { current }) => to.date(current.filters().toDate)),
    column("boolean", records, (to, { warningFree }) => addWarningFree(to, warningFree)),
    column("text", records, (to, { compactNights }) => textOrNull(to, compactNights)),
  ];
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
  await writeItems(client, { table: "current_record", columns: CURRENT_COLUMNS }, added, addCurrent);
  await update(client, ADVANCE, advanced, []);
  await update(client, REPLACE, replaced, contentsOf(replaced));
}
