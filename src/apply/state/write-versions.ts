import type pg from "pg";
import { readWindowMs } from "../../ingest/log/partitions.ts";
import type { BinaryFields } from "../../platform/db/binary-fields.ts";
import { type Columns, column, writeItems } from "../../platform/db/copy.ts";
import { type Asked, ofBucket, queryOfBucket } from "../../platform/db/dialect.ts";
import {
  ensureWindows,
  isWindowed,
  readWindows,
  type WindowedTable,
} from "../../platform/db/time-windows.ts";
import { CurrentRecordMoved, type StoredCurrent } from "./look-up.ts";
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

const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** A partition bound of a time; the year after 9999 has five digits, which PostgreSQL would not read. */
const boundOf = (ms: number): string => (ms > LAST_MS ? "infinity" : new Date(ms).toISOString());

/** Parses a partition bound: `2026-01-31 12:00:00+00` or `infinity`. */
function timeOf(bound: string): number {
  if (bound === "infinity") return Number.POSITIVE_INFINITY;
  const ms = Date.parse(bound.replace(" ", "T").replace(/\+00$/, "Z"));
  if (Number.isNaN(ms)) throw new Error(`Not a time: ${bound}`);
  return ms;
}

/** The version tables of a state schema, partitioned by source time. */
function versionWindowsOf(schema: string): readonly WindowedTable[] {
  return Object.values(VERSION_TABLES).map((table) => {
    return { schema, table, column: "source_time", boundOf, timeOf };
  });
}

export const VERSION_WINDOWS = versionWindowsOf(STATE_SCHEMA);

/** The end of the contiguous windows of a table in ms; -Infinity without windows, Infinity if it is not partitioned. */
async function endOf(client: pg.ClientBase, of: WindowedTable): Promise<number> {
  if (!(await isWindowed(client, of))) return Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of await readWindows(client, of)) {
    if (fromMs > endMs) break;
    endMs = toMs;
  }
  return endMs;
}

/** Source times are at most ten minutes ahead of receipt, except for released records. */
const AHEAD_MS = 11 * 60_000;
/** Limit on windows created at once; a longer gap is filled with longer windows. */
const WINDOWS_AT_ONCE = 50;

/** Ensures that the windows exist before versions are written. */
export class VersionCover {
  readonly #pool: pg.Pool;
  readonly #tables: readonly WindowedTable[];
  #endMs = Number.NEGATIVE_INFINITY;

  constructor(pool: pg.Pool, schema: string) {
    this.#pool = pool;
    this.#tables = versionWindowsOf(schema);
  }

  /** Creates windows up to `latest` (ISO 8601), on a separate connection so that they are committed at once. */
  async reach(latest: string): Promise<void> {
    if (latest === "" || Date.parse(latest) < this.#endMs) return;
    const client = await this.#pool.connect();
    try {
      const windowMs = await readWindowMs(client);
      this.#endMs = await coverUntil(client, this.#tables, Date.parse(latest), windowMs);
    } finally {
      client.release();
    }
  }

  forget(): void {
    this.#endMs = Number.NEGATIVE_INFINITY;
  }
}

/** Creates missing windows up to `latestMs` and returns the end of the contiguous ones. */
async function coverUntil(
  client: pg.ClientBase,
  tables: readonly WindowedTable[],
  latestMs: number,
  windowMs: number,
): Promise<number> {
  const targetMs = Math.min(latestMs, Date.now() + AHEAD_MS);
  let coveredMs = Number.POSITIVE_INFINITY;
  for (const table of tables) {
    let endMs = await endOf(client, table);
    const lengthMs = windowMs * Math.max(1, Math.ceil((targetMs - endMs) / windowMs / WINDOWS_AT_ONCE));
    while (endMs <= targetMs) {
      await ensureWindows(client, [table], { atMs: endMs, windowMs: lengthMs, ahead: 0 });
      endMs = await endOf(client, table);
    }
    // A released record far in the future gets a single window.
    if (endMs <= latestMs) await ensureWindows(client, [table], { atMs: latestMs, windowMs, ahead: 0 });
    coveredMs = Math.min(coveredMs, endMs);
  }
  return coveredMs;
}

function textOrNull(to: BinaryFields, text: string | null): void {
  if (text === null) to.null();
  else to.text(text);
}

const VERSION: Columns<NewVersion> = {
  source_time: ["timestamptz", (to, { version }) => to.timestamp(version.sourceTime)],
  facts_source_time: ["timestamptz", (to, { version }) => to.timestamp(version.factsSourceTime)],
  change_no: [
    "bigint",
    (to, { changeNumber }) => (changeNumber === null ? to.null() : to.bigint(changeNumber)),
  ],
  property_id: ["integer", (to, { of }) => to.integer(of.propertyId)],
  record_index: ["integer", (to, { version }) => to.integer(version.index)],
  from_date: ["date", (to, { version }) => to.date(version.filters().fromDate)],
  to_date: ["date", (to, { version }) => to.date(version.filters().toDate)],
  bucket: ["smallint", (to, { of }) => to.smallint(of.bucket)],
  outcome: ['"char"', (to, { outcome }) => to.letter(outcome)],
  request_id: ["uuid", (to, { version }) => to.uuid(version.requestId)],
  content_hash: ["bytea", (to, { version }) => to.hex(version.contentHash)],
  key: ["text", (to, { of }) => to.text(of.key)],
  status: ["text", (to, { version }) => textOrNull(to, version.filters().status)],
  facts: ["text", (to, { facts }) => (facts === null ? to.null() : to.written(facts))],
  is_update: [
    "boolean",
    (to, { changeNumber, isUpdate }) => (changeNumber === null ? to.null() : to.boolean(isUpdate)),
  ],
};

/** Writes new versions with their facts. Throws UnstorableFact for facts that could not be read back. */
export async function insertVersions(client: pg.ClientBase, versions: readonly NewVersion[]): Promise<void> {
  for (const resource of RESOURCE_LETTERS) {
    const ofResource = versions.filter(({ of }) => of.resource === resource);
    await writeItems(client, VERSION_TABLES[resource], VERSION, ofResource);
  }
}

/** Lowers the receipts of versions whose earlier copy was applied later. `changeNumber` is set if that made the version current. */
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
      `update ${VERSION_TABLES[of.resource]}
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

/** The new current version of a key, and the stored one that it replaces. */
export interface NewCurrent {
  readonly of: RecordKey;
  readonly current: Version;
  readonly before: StoredCurrent | null;
  readonly warningFree: WarningFree;
  /** See `encodeCompact`; null: readers use the facts. */
  readonly compactNights: string | null;
}

/** The columns that an unchanged record updates. */
const RECEIPT: Columns<NewCurrent> = {
  source_time: ["timestamptz", (to, { current }) => to.timestamp(current.sourceTime)],
  request_id: ["uuid", (to, { current }) => to.uuid(current.requestId)],
  record_index: ["integer", (to, { current }) => to.integer(current.index)],
};

const CONTENT: Columns<NewCurrent> = {
  ...RECEIPT,
  content_hash: ["bytea", (to, { current }) => to.hex(current.contentHash)],
  facts_source_time: ["timestamptz", (to, { current }) => to.timestamp(current.factsSourceTime)],
  status: ["text", (to, { current }) => textOrNull(to, current.filters().status)],
  from_date: ["date", (to, { current }) => to.date(current.filters().fromDate)],
  to_date: ["date", (to, { current }) => to.date(current.filters().toDate)],
  warning_free: [
    "boolean",
    (to, { warningFree }) => {
      const stored = storedWarningFree(warningFree);
      if (stored === null) to.null();
      else to.boolean(stored);
    },
  ],
  compact_nights: [
    "bytea",
    (to, { compactNights }) => (compactNights === null ? to.null() : to.hex(compactNights)),
  ],
};

const CURRENT: Columns<NewCurrent> = {
  bucket: ["smallint", (to, { of }) => to.smallint(of.bucket)],
  property_id: ["integer", (to, { of }) => to.integer(of.propertyId)],
  resource: ['"char"', (to, { of }) => to.letter(of.resource)],
  key: ["text", (to, { of }) => to.text(of.key)],
  ...CONTENT,
};

/** Updates rows by the ctid from the lookup in this transaction: finding them by key again would cost half as much more. */
function updateStatement(name: string, columns: Columns<NewCurrent>): Asked {
  const names = Object.keys(columns);
  const arrays = Object.values(columns).map(([type], at) => `$${at + 2}::${type}[]`);
  return {
    name,
    ...ofBucket(
      arrays.length + 2,
      ({ andBucket }) => `update current_record as t set ${names.map((of) => `${of} = w.${of}`).join(", ")}
      from unnest($1::tid[], ${arrays.join(", ")}) as w (place, ${names.join(", ")})
      where t.ctid = w.place ${andBucket}`,
    ),
  };
}

const ADVANCE = updateStatement("advance-current", RECEIPT);
const REPLACE = updateStatement("replace-current", CONTENT);

type Replaced = NewCurrent & { readonly before: StoredCurrent };

async function update(
  client: pg.ClientBase,
  statement: Asked,
  columns: Columns<NewCurrent>,
  records: readonly Replaced[],
): Promise<void> {
  if (records.length === 0) return;
  const values = [
    column(records, "tid", (to, { before }) => to.place(before.place)),
    ...Object.values(columns).map(([type, write]) => column(records, type, write)),
  ];
  const { rowCount } = await queryOfBucket(client, statement, values, records);
  if (rowCount !== records.length) throw new CurrentRecordMoved(records.length - rowCount);
}

/** Writes new current versions, at most one per key. */
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
  await writeItems(client, "current_record", CURRENT, added);
  await update(client, ADVANCE, RECEIPT, advanced);
  await update(client, REPLACE, CONTENT, replaced);
}
