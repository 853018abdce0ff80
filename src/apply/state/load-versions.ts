import type pg from "pg";
import { type Asked, BUCKET_TERM, queryOfBucket } from "../../platform/db/dialect.ts";
import { type RecordKey, textOfKey, type Version } from "./record-state.ts";
import { arrayOf, isoOfStored, textArrayOf } from "./state-session.ts";
import { RESOURCE_LETTERS, type ResourceLetter, VERSION_TABLES } from "./version-tables.ts";
import { type WarningFree, warningFreeOfStored } from "./warning-free.ts";

/** The newest version of a key as it is stored, and the place of its row (ctid), good until the transaction changes it. */
export interface StoredCurrent {
  readonly version: Version;
  readonly place: string;
  readonly warningFree: WarningFree;
}

/** What is asked of a current record `t`; `place` is its ctid. */
export const CURRENT_COLUMNS = `place::text, t.source_time::text, t.content_hash::text, t.request_id, t.record_index,
    case when t.facts_source_time <> t.source_time then t.facts_source_time::text end, t.warning_free, t.status,
    t.from_date::text, case when t.to_date <> t.from_date then t.to_date::text end`;

const LOAD_CURRENT: Asked = {
  name: "load-current",
  rowMode: "array",
  text: `select wanted.at::integer, ${CURRENT_COLUMNS}
  from unnest($1::smallint[], $2::integer[], $3::"char"[], $4::text[])
    with ordinality as wanted (bucket, property_id, resource, key, at)
  join (select ctid as place, * from current_record) as t using (bucket, property_id, resource, key)
  where true ${BUCKET_TERM}`,
};

/** Where the key stood among those asked for, from 1, and CURRENT_COLUMNS. */
export type CurrentRow = [
  at: number,
  place: string,
  sourceTime: string,
  contentHash: string,
  requestId: string,
  index: number,
  factsSourceTime: string | null,
  warningFree: boolean | null,
  status: string | null,
  fromDate: string,
  toDate: string | null,
  compactNights?: string | null,
  facts?: string | null,
];

/** `\x` and hexadecimal digits, as PostgreSQL writes a bytea, without the mark. */
const digitsOf = (bytea: string): string => bytea.slice(2);

export function storedOf(row: CurrentRow): StoredCurrent {
  const [, place, source_time, content_hash, requestId, index, facts_source_time, warningFree] = row;
  const sourceTime = isoOfStored(source_time);
  const factsSourceTime = facts_source_time === null ? sourceTime : isoOfStored(facts_source_time);
  const filters = () => ({ status: row[8], fromDate: row[9], toDate: row[10] ?? row[9] });
  const contentHash = digitsOf(content_hash);
  const facts = row[12] ?? undefined;
  const compactNights = row[11] ?? null;
  const version = {
    sourceTime,
    contentHash,
    factsSourceTime,
    requestId,
    index,
    filters,
    facts,
    compactNights,
  };
  return { version, place, warningFree: warningFreeOfStored(warningFree) };
}

/** The current records of these keys, in their order; null where there is none. On a session of `openStateSession`. */
export async function loadCurrent(
  client: pg.ClientBase,
  keys: readonly RecordKey[],
): Promise<(StoredCurrent | null)[]> {
  const found: (StoredCurrent | null)[] = new Array<null>(keys.length).fill(null);
  const values = [
    arrayOf(keys.map(({ bucket }) => bucket)),
    arrayOf(keys.map(({ propertyId }) => propertyId)),
    arrayOf(keys.map(({ resource }) => resource)),
    textArrayOf(keys.map(({ key }) => key)),
  ];
  const { rows } = await queryOfBucket<CurrentRow>(client, LOAD_CURRENT, values, keys);
  for (const row of rows) found[row[0] - 1] = storedOf(row);
  return found;
}

interface VersionRow {
  property_id: number;
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
    sourceTime: isoOfStored(row.source_time),
    contentHash: digitsOf(row.content_hash),
    requestId: row.request_id,
    index: row.record_index,
    factsSourceTime: isoOfStored(row.facts_source_time),
    filters: () => ({ status: row.status, fromDate: row.from_date, toDate: row.to_date }),
  };
}

function versionsAt(resource: ResourceLetter): Asked {
  return {
    name: `load-versions-${resource}`,
    text: `select t.property_id, t.key, t.source_time::text, t.content_hash::text, t.request_id, t.record_index,
      t.facts_source_time::text, t.status, t.from_date::text, t.to_date::text
    from (
      select distinct *
      from unnest($1::smallint[], $2::integer[], $3::text[], $4::timestamptz[])
        as sent (bucket, property_id, key, source_time)
    ) as wanted
    join ${VERSION_TABLES[resource].table} as t using (bucket, property_id, key, source_time)
    where true ${BUCKET_TERM}`,
  };
}

/** The versions that exist at these source times of these keys, by `textOfKey`. On a session of `openStateSession`. */
export async function loadVersionsAt(
  client: pg.ClientBase,
  wanted: readonly { readonly of: RecordKey; readonly sourceTime: string }[],
): Promise<Map<string, Version[]>> {
  const found = new Map<string, Version[]>();
  for (const resource of RESOURCE_LETTERS) {
    const ofResource = wanted.filter(({ of }) => of.resource === resource);
    if (ofResource.length === 0) continue;
    const values = [
      arrayOf(ofResource.map(({ of }) => of.bucket)),
      arrayOf(ofResource.map(({ of }) => of.propertyId)),
      textArrayOf(ofResource.map(({ of }) => of.key)),
      arrayOf(ofResource.map(({ sourceTime }) => sourceTime)),
    ];
    const { rows } = await queryOfBucket<VersionRow>(client, versionsAt(resource), values, ofResource);
    for (const row of rows) {
      const text = textOfKey({ bucket: 0, propertyId: row.property_id, resource, key: row.key });
      const versions = found.get(text);
      if (versions === undefined) found.set(text, [versionOf(row)]);
      else versions.push(versionOf(row));
    }
  }
  return found;
}
