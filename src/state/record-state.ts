import type pg from "pg";
import { isoMicroseconds } from "./sql-text.ts";
import { type ResourceLetter, VERSION_TABLES } from "./version-tables.ts";

/** Identity of a record within the whole service. */
export interface RecordKey {
  readonly bucket: number;
  readonly propertyId: number;
  readonly resource: ResourceLetter;
  readonly key: string;
}

/** Where a document lies in the log, and at once when it was received relative to others: ids of one bucket are ordered. */
export interface Receipt {
  readonly requestId: string;
  readonly index: number;
}

/** One version as the order and the classification see it. Times are ISO UTC with six fraction digits, hashes hex. */
export interface Version extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  /** Source time of the version that holds the typed facts of this content. */
  readonly factsSourceTime: string;
  /** What lists filter by: the label as sent, and the first and last date that the record is about. */
  readonly status: string | null;
  readonly fromDate: string;
  readonly toDate: string;
}

/** `a` applied, `u` unchanged, `s` stale: the outcomes that make a version. */
export type VersionOutcome = "a" | "u" | "s";

/** A version to be written. `facts` is null where another version of the same content holds them (an unchanged record). */
export interface NewVersion {
  readonly of: RecordKey;
  readonly version: Version;
  readonly outcome: VersionOutcome;
  readonly changeNumber: string | null;
  readonly facts: Readonly<Record<string, unknown>> | null;
}

/** One string for a RecordKey, for maps. */
export function textOfKey(of: RecordKey): string {
  return `${of.propertyId}\0${of.resource}\0${of.key}`;
}

const KEY_COLUMNS = `bucket smallint, property_id integer, resource "char", key text`;

function rowOfKey(of: RecordKey): Record<string, unknown> {
  return { bucket: of.bucket, property_id: of.propertyId, resource: of.resource, key: of.key };
}

interface VersionRow {
  property_id: number;
  resource: ResourceLetter;
  key: string;
  source_time: string;
  content_hash: string;
  request_id: string;
  record_index: number;
  facts_source_time: string;
  status: string | null;
  from_date: string;
  to_date: string;
}

function versionOf(row: VersionRow): Version {
  return {
    sourceTime: row.source_time,
    contentHash: row.content_hash,
    requestId: row.request_id,
    index: row.record_index,
    factsSourceTime: row.facts_source_time,
    status: row.status,
    fromDate: row.from_date,
    toDate: row.to_date,
  };
}

const VERSION_COLUMNS = `${isoMicroseconds("t.source_time")} as source_time, encode(t.content_hash, 'hex') as content_hash,
  t.request_id, t.record_index, ${isoMicroseconds("t.facts_source_time")} as facts_source_time,
  t.status, t.from_date::text as from_date, t.to_date::text as to_date`;

const LOAD_CURRENT = {
  name: "load-current",
  text: `select t.property_id, t.resource, t.key, ${VERSION_COLUMNS}
  from json_to_recordset($1::json) as w (${KEY_COLUMNS})
  join current_record t using (bucket, property_id, resource, key)`,
};

/** Loads the current records of these keys, by `textOfKey`. */
export async function loadCurrent(
  client: pg.ClientBase,
  keys: readonly RecordKey[],
): Promise<Map<string, Version>> {
  const { rows } = await client.query<VersionRow>({
    ...LOAD_CURRENT,
    values: [JSON.stringify(keys.map(rowOfKey))],
  });
  return new Map(
    rows.map((row) => [
      textOfKey({ bucket: 0, propertyId: row.property_id, resource: row.resource, key: row.key }),
      versionOf(row),
    ]),
  );
}

/** Loads the versions that exist at these source times of these keys, by `textOfKey`. */
export async function loadVersionsAt(
  client: pg.ClientBase,
  wanted: readonly { readonly of: RecordKey; readonly sourceTime: string }[],
): Promise<Map<string, Version[]>> {
  const found = new Map<string, Version[]>();
  for (const resource of ["i", "r", "g"] as const) {
    const ofResource = wanted.filter(({ of }) => of.resource === resource);
    if (ofResource.length === 0) continue;
    const { rows } = await client.query<VersionRow>({
      name: `load-versions-${resource}`,
      text: `select t.property_id, '${resource}' as resource, t.key, ${VERSION_COLUMNS}
      from (select distinct * from json_to_recordset($1::json) as w (${KEY_COLUMNS}, source_time timestamptz)) w
      join ${VERSION_TABLES[resource].table} t using (bucket, property_id, key, source_time)`,
      values: [
        JSON.stringify(
          ofResource.map(({ of, sourceTime }) => ({ ...rowOfKey(of), source_time: sourceTime })),
        ),
      ],
    });
    for (const row of rows) {
      const text = textOfKey({ bucket: 0, propertyId: row.property_id, resource, key: row.key });
      const versions = found.get(text);
      if (versions === undefined) found.set(text, [versionOf(row)]);
      else versions.push(versionOf(row));
    }
  }
  return found;
}

function insertVersionsStatement(resource: ResourceLetter): { name: string; text: string } {
  const { table, facts } = VERSION_TABLES[resource];
  const names = Object.keys(facts).join(", ");
  const typed = Object.entries(facts).map(([name, type]) => `${name} ${type}`);
  return {
    name: `insert-versions-${resource}`,
    text: `insert into ${table} (bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome,
      facts_source_time, change_no, status, from_date, to_date, ${names})
    select bucket, property_id, key, source_time, decode(content_hash, 'hex'), request_id, record_index, outcome,
      facts_source_time, change_no, status, from_date, to_date, ${names}
    from json_to_recordset($1::json) as v (bucket smallint, property_id integer, key text, source_time timestamptz,
      content_hash text, request_id uuid, record_index integer, outcome "char", facts_source_time timestamptz,
      change_no bigint, status text, from_date date, to_date date, ${typed.join(", ")})`,
  };
}

const INSERT_VERSIONS = {
  i: insertVersionsStatement("i"),
  r: insertVersionsStatement("r"),
  g: insertVersionsStatement("g"),
};

/** Characters of rows that one statement carries, about: bounds what both sides hold, and lets the event loop turn. */
const STATEMENT_CHARACTERS_TARGET = 2 * 1_048_576;

/** JSON arrays of the rows, in their order. */
function* jsonArraysOf(rows: readonly object[]): Generator<string> {
  let texts: string[] = [];
  let characters = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    texts.push(text);
    characters += text.length;
    if (characters >= STATEMENT_CHARACTERS_TARGET) {
      yield `[${texts.join(",")}]`;
      texts = [];
      characters = 0;
    }
  }
  if (texts.length > 0) yield `[${texts.join(",")}]`;
}

/** Writes new versions with their typed facts. */
export async function insertVersions(client: pg.ClientBase, versions: readonly NewVersion[]): Promise<void> {
  for (const resource of ["i", "r", "g"] as const) {
    const rows = versions
      .filter(({ of }) => of.resource === resource)
      .map(({ of, version, outcome, changeNumber, facts }) => ({
        ...facts,
        bucket: of.bucket,
        property_id: of.propertyId,
        key: of.key,
        source_time: version.sourceTime,
        content_hash: version.contentHash,
        request_id: version.requestId,
        record_index: version.index,
        outcome,
        facts_source_time: version.factsSourceTime,
        change_no: changeNumber,
        status: version.status,
        from_date: version.fromDate,
        to_date: version.toDate,
      }));
    for (const json of jsonArraysOf(rows))
      await client.query({ ...INSERT_VERSIONS[resource], values: [json] });
  }
}

/**
 * Writes the receipts of versions that exist, where a copy that another lane received first was applied later, and the
 * change number of one that became current by that (null leaves the number as it is).
 */
export async function writeReceipts(
  client: pg.ClientBase,
  received: readonly {
    readonly of: RecordKey;
    readonly version: Version;
    readonly changeNumber: string | null;
  }[],
): Promise<void> {
  for (const { of, version, changeNumber } of received) {
    await client.query(
      `update ${VERSION_TABLES[of.resource].table}
       set request_id = $6, record_index = $7, change_no = coalesce($8::bigint, change_no)
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

const UPSERT_CURRENT = {
  name: "upsert-current",
  text: `insert into current_record (bucket, property_id, resource, key, source_time, request_id, record_index,
    content_hash, facts_source_time, status, from_date, to_date)
  select bucket, property_id, resource, key, source_time, request_id, record_index, decode(content_hash, 'hex'),
    facts_source_time, status, from_date, to_date
  from json_to_recordset($1::json) as c (${KEY_COLUMNS}, source_time timestamptz, request_id uuid,
    record_index integer, content_hash text, facts_source_time timestamptz, status text, from_date date, to_date date)
  on conflict (bucket, property_id, resource, key) do update set
    source_time = excluded.source_time, request_id = excluded.request_id, record_index = excluded.record_index,
    content_hash = excluded.content_hash, facts_source_time = excluded.facts_source_time, status = excluded.status,
    from_date = excluded.from_date, to_date = excluded.to_date`,
};

/** Writes the newest version of each key; the caller has decided that it is the newest. */
export async function upsertCurrent(
  client: pg.ClientBase,
  records: readonly { readonly of: RecordKey; readonly current: Version }[],
): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map(({ of, current }) => ({
    ...rowOfKey(of),
    source_time: current.sourceTime,
    request_id: current.requestId,
    record_index: current.index,
    content_hash: current.contentHash,
    facts_source_time: current.factsSourceTime,
    status: current.status,
    from_date: current.fromDate,
    to_date: current.toDate,
  }));
  await client.query({ ...UPSERT_CURRENT, values: [JSON.stringify(rows)] });
}
