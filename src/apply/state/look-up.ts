import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import type { BinaryFields, ElementType } from "../../platform/db/binary-fields.ts";
import { column } from "../../platform/db/copy.ts";
import {
  type Asked,
  type BucketDialect,
  ofBucket,
  queryNested,
  queryOfBucket,
} from "../../platform/db/dialect.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import {
  type RankedVersion,
  RESOURCE_LETTERS,
  type RecordKey,
  textOfKey,
  VERSION_TABLES,
  type Version,
  type WarningFree,
  warningFreeOfStored,
} from "./record.ts";

/** A last resort: other appliers terminate an unresponsive session sooner. */
const IDLE_IN_TRANSACTION_SECONDS_MAX = 60;

/** Prepares a connection for the state in `schema` (a trusted name). Times are returned as `isoOfStored` reads them. */
export async function openStateSession(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query(
    `set search_path = ${schema}; set datestyle = 'ISO'; set timezone = 'UTC';
    set idle_in_transaction_session_timeout = '${IDLE_IN_TRANSACTION_SECONDS_MAX}s'`,
  );
}

/** Restricts plans to index and TID scans: statements prepared on empty tables would keep scanning them until the next analyze. */
export async function planByKeys(client: pg.ClientBase, on: boolean): Promise<void> {
  await client.query(
    ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_material"]
      .map((setting) => (on ? `set ${setting} = off` : `reset ${setting}`))
      .join("; "),
  );
}

const FRACTION_DIGITS = 6;

/**
 * Converts a timestamptz of an `openStateSession` session to ISO 8601 with microseconds, which compares as text. (`to_char` would
 * cost the server more than finding the row.)
 *
 * @example isoOfStored("2026-01-31 12:00:00.5+00") // "2026-01-31T12:00:00.500000Z"
 */
export function isoOfStored(text: string): string {
  if (!text.endsWith("+00") || text[10] !== " ") throw new Error(`Not a stored time in UTC: ${text}`);
  const fraction = text.slice(20, -3).padEnd(FRACTION_DIGITS, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

/** Bucket, property id and key of items, as array parameters. */
export function keyColumns(items: readonly { readonly of: RecordKey }[]): Buffer[] {
  return [
    column(items, "smallint", (to, { of }) => to.smallint(of.bucket)),
    column(items, "integer", (to, { of }) => to.integer(of.propertyId)),
    column(items, "text", (to, { of }) => to.text(of.key)),
  ];
}

/** A current record; `place` is its ctid, valid until the transaction updates the row. */
export interface StoredCurrent {
  readonly version: Version;
  readonly place: string;
  readonly warningFree: WarningFree;
}

/** Columns selected of a current record `t`; `place` is its ctid. */
const CURRENT_COLUMNS = `place::text, t.source_time::text, t.content_hash::text, t.request_id, t.record_index,
    case when t.facts_source_time <> t.source_time then t.facts_source_time::text end, t.warning_free, t.status,
    t.from_date::text, case when t.to_date <> t.from_date then t.to_date::text end`;

/** The ordinality of the key in the parameters (from 1), and CURRENT_COLUMNS. */
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

/** Removes the `\x` of a bytea's text. */
const digitsOf = (bytea: string): string => bytea.slice(2);

function storedOf(row: CurrentRow): StoredCurrent {
  const [, place, source_time, content_hash, requestId, index, facts_source_time, warningFree] = row;
  const sourceTime = isoOfStored(source_time);
  const factsSourceTime = facts_source_time === null ? sourceTime : isoOfStored(facts_source_time);
  const filters = () => ({ status: row[8], fromDate: row[9], toDate: row[10] ?? row[9] });
  const contentHash = digitsOf(content_hash);
  const facts = row[12] ?? undefined;
  const compactNights = row[11] == null ? null : digitsOf(row[11]);
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

const VERSIONS = `t.property_id, t.key, t.source_time::text, t.content_hash::text, t.request_id, t.record_index,
      t.facts_source_time::text, t.status, t.from_date::text, t.to_date::text`;

function versionsAt(resource: ResourceLetter): Asked {
  return {
    name: `load-versions-${resource}`,
    ...ofBucket(
      6,
      ({ andBucket }) => `select ${VERSIONS}
    from (
      select distinct *
      from unnest($1::smallint[], $2::integer[], $3::text[], $4::timestamptz[], $5::bytea[])
        as sent (bucket, property_id, key, source_time, content_hash)
    ) as wanted
    join ${VERSION_TABLES[resource]} as t using (bucket, property_id, key, source_time, content_hash)
    where true ${andBucket}`,
    ),
  };
}

function lastVersionsAt(resource: ResourceLetter): Asked {
  return {
    name: `last-versions-${resource}`,
    ...ofBucket(
      6,
      ({ andBucket }) => `select last.*
    from unnest($1::smallint[], $2::integer[], $3::text[], $4::timestamptz[], $5::integer[])
      as wanted (bucket, property_id, key, source_time, count)
    cross join lateral (
      select ${VERSIONS} from ${VERSION_TABLES[resource]} as t
      where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.key = wanted.key
        and t.source_time = wanted.source_time ${andBucket}
      order by t.request_id desc, t.record_index desc
      limit wanted.count
    ) as last`,
    ),
  };
}

interface WantedVersions {
  readonly of: RecordKey;
  readonly sourceTime: string;
}

type FoundVersions = Map<string, Version[]>;

async function loadEach<Wanted extends WantedVersions>(
  client: pg.ClientBase,
  wanted: readonly Wanted[],
  statement: (resource: ResourceLetter) => Asked,
  further: (wanted: readonly Wanted[]) => Buffer,
): Promise<FoundVersions> {
  const found: FoundVersions = new Map();
  for (const resource of RESOURCE_LETTERS) {
    const ofResource = wanted.filter(({ of }) => of.resource === resource);
    if (ofResource.length === 0) continue;
    const times = column(ofResource, "timestamptz", (to, { sourceTime }) => to.timestamp(sourceTime));
    const values = [...keyColumns(ofResource), times, further(ofResource)];
    const { rows } = await queryOfBucket<VersionRow>(client, statement(resource), values, ofResource);
    for (const row of rows) {
      const text = textOfKey({ bucket: 0, propertyId: row.property_id, resource, key: row.key });
      const versions = found.get(text);
      if (versions === undefined) found.set(text, [versionOf(row)]);
      else versions.push(versionOf(row));
    }
  }
  return found;
}

/**
 * The stored versions with these contents at these source times, by `textOfKey`: one source time of a key may have any number of
 * versions. On a session of `openStateSession`.
 */
export function loadVersionsAt(
  client: pg.ClientBase,
  wanted: readonly (WantedVersions & { readonly contentHash: string })[],
): Promise<FoundVersions> {
  return loadEach(client, wanted, versionsAt, (of) =>
    column(of, "bytea", (to, { contentHash }) => to.hex(contentHash)),
  );
}

/** The `count` versions of a key's source time that were received last, by `textOfKey`. */
export function loadLastVersionsAt(
  client: pg.ClientBase,
  wanted: readonly (WantedVersions & { readonly count: number })[],
): Promise<FoundVersions> {
  return loadEach(client, wanted, lastVersionsAt, (of) =>
    column(of, "integer", (to, { count }) => to.integer(count)),
  );
}

const READ = {
  name: "known-versions",
  text: "select resource, client_code, known_from::text from bellhop.retention_horizon where kind = 'versions'",
};

/** The source time from which versions are complete, by `${resource letter} ${client code}`; absent: all are. */
export async function readKnownVersions(on: Queryable): Promise<ReadonlyMap<string, string>> {
  const { rows } = await on.query<{ resource: string; client_code: string; known_from: string }>(READ);
  return new Map(
    rows.map(({ resource, client_code, known_from }) => [
      `${resource} ${client_code}`,
      isoOfStored(known_from),
    ]),
  );
}

/** A session that does not own the bucket changed a row of current_record. Handled like a serialization failure: retry. */
export class CurrentRecordMoved extends Error {
  readonly code = "40001";

  constructor(count: number) {
    super(`${count} current records were changed by another session.`);
  }
}

/** A key of a transaction. */
export interface ArrivedKey {
  readonly of: RecordKey;
  /** The record of this key; null if there are several or the statement must not advance it. */
  readonly arrived: Omit<RankedVersion, "factsSourceTime"> | null;
  /** Whether the property's inventory has named no room type, neither before nor in this transaction. */
  readonly isUnnamed: boolean;
}

/** The lookup found the record unchanged and has written its version and current record. */
export const ADVANCED = "advanced";

/**
 * Looks up current records and, in the same statement, writes the versions of those that are unchanged and warning-free: newer
 * source time, same content and, for records with nights, later receipt.
 *
 * The plan must fetch rows by ctid from `known`. `(select $n)` hides the number of keys from the planner, which would otherwise
 * choose a sequential scan while the table is small and keep it; it expects few rows to match a `letter`. The `case` on `resource`
 * excludes the index on dates.
 *
 * Returns a row per current record not advanced (with the nights that its replacement takes off the books), and one row with `at`
 * 0: a letter per key (`u`: unchanged) and the number of records advanced.
 */
function advanceStatement(resource: ResourceLetter): Asked {
  return {
    name: `advance-unchanged-${resource}`,
    rowMode: "array",
    ...ofBucket(9, (dialect) => advanceText(resource, dialect)),
  };
}

function advanceText(resource: ResourceLetter, { andBucket, nested }: BucketDialect): string {
  const replaced = nightsOfReplaced(resource, nested);
  return `with known as materialized (
      select wanted.at, wanted.new_time, wanted.new_request, wanted.new_index, t.ctid as place, t.source_time,
        t.content_hash, wanted.new_hash, t.bucket, t.property_id, t.key, t.request_id, t.record_index, t.facts_source_time, t.warning_free, t.status, t.from_date, t.to_date,
        t.compact_nights,
        case when coalesce(t.warning_free, wanted.unnamed) and t.content_hash = wanted.new_hash
          and t.source_time < wanted.new_time${receivedLast(resource)} then 'u' else '-' end as letter
      from unnest((select $1::smallint[]), (select $2::integer[]), (select $3::text[]), (select $4::timestamptz[]),
          (select $5::bytea[]), (select $6::uuid[]), (select $7::integer[]), (select $8::boolean[]))
        with ordinality as wanted (bucket, property_id, key, new_time, new_hash, new_request, new_index, unnamed, at)
      left join current_record as t
        on t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = case when wanted.at > 0 then '${resource}'::"char" end
        and t.key = wanted.key ${andBucket}
    ),
    advanced as (
      update current_record as t
      set source_time = known.new_time, request_id = known.new_request, record_index = known.new_index
      from known
      where known.letter = 'u' and t.ctid = known.place ${andBucket}
      returning t.bucket, t.property_id, t.key, t.source_time, t.content_hash, t.request_id, t.record_index,
        t.facts_source_time, t.status, t.from_date, t.to_date
    )${nested(writeVersions(resource))}
    select 0, string_agg(letter, '' order by at),
      (select count(*) from advanced)::text, null, null, null, null, null, null, null, null, null, null
    from known
    union all
    select at::integer, ${CURRENT_COLUMNS}, ${replaced.columns}
    from known as t${replaced.join}
    where place is not null and letter <> 'u'`;
}

/** For records with nights: if the current record was received later, the ledger must be updated too. */
function receivedLast(resource: ResourceLetter): string {
  if (resource === "i") return "";
  return `
          and (t.request_id, t.record_index) < (wanted.new_request, wanted.new_index)`;
}

const KEPT_NIGHTS = "t.compact_nights::text, null";

/** The nights of the current record if its content is replaced: compact nights or, for groups, the facts (on Citus loaded later). */
function nightsOfReplaced(
  resource: ResourceLetter,
  nested: BucketDialect["nested"],
): { readonly columns: string; readonly join: string } {
  if (resource !== "g") return { columns: KEPT_NIGHTS, join: "" };
  return {
    columns: nested("null, replaced.facts", KEPT_NIGHTS),
    join: nested(`
    left join ${VERSION_TABLES[resource]} as replaced
      on replaced.bucket = t.bucket and replaced.property_id = t.property_id and replaced.key = t.key
        and replaced.source_time = case when t.new_hash <> t.content_hash and t.new_time >= t.source_time
          then t.facts_source_time end
        and replaced.content_hash = t.content_hash`),
  };
}

const VERSION_COLUMNS = `bucket, property_id, key, source_time, content_hash, request_id, record_index, facts_source_time,
        status, from_date, to_date`;

function writeVersions(resource: ResourceLetter): string {
  return `,
    versions as (
      insert into ${VERSION_TABLES[resource]} (${VERSION_COLUMNS}, outcome)
      select advanced.*, 'u' from advanced
    )`;
}

const STATEMENTS: Readonly<Record<ResourceLetter, Asked>> = {
  i: advanceStatement("i"),
  r: advanceStatement("r"),
  g: advanceStatement("g"),
};

/** The INSERT of `writeVersions` as a separate statement, from the current records just advanced. */
function versionsOfAdvanced(resource: ResourceLetter): Asked {
  return {
    name: `versions-of-advanced-${resource}`,
    ...ofBucket(
      3,
      ({ andBucket }) => `insert into ${VERSION_TABLES[resource]} (${VERSION_COLUMNS}, outcome)
      select t.${VERSION_COLUMNS.replaceAll(/,\s+/g, ", t.")}, 'u'
      from current_record as t
      join unnest($1::integer[], $2::text[]) as advanced (property_id, key)
        on advanced.property_id = t.property_id and advanced.key = t.key
      where t.resource = '${resource}' ${andBucket}`,
    ),
  };
}

/** Writes the versions of advanced records (`letters`) where the INSERT was not nested. */
async function followAdvanced(
  client: pg.ClientBase,
  resource: ResourceLetter,
  keys: readonly ArrivedKey[],
  letters: string,
): Promise<void> {
  let expected = 0;
  const written = await queryNested(client, versionsOfAdvanced(resource), () => {
    const of = keys.filter((_, at) => letters[at] === "u");
    expected = of.length;
    return { values: keyColumns(of).slice(1), of };
  });
  if (written !== undefined && written.rowCount !== expected)
    throw new CurrentRecordMoved(expected - written.rowCount);
}

function parametersOf(keys: readonly ArrivedKey[]): Buffer[] {
  type Arrived = NonNullable<ArrivedKey["arrived"]>;
  const ofArrived = (type: ElementType, write: (to: BinaryFields, arrived: Arrived) => void) =>
    column(keys, type, (to, { arrived }) => (arrived === null ? to.null() : write(to, arrived)));
  return [
    ...keyColumns(keys),
    ofArrived("timestamptz", (to, { sourceTime }) => to.timestamp(sourceTime)),
    ofArrived("bytea", (to, { contentHash }) => to.hex(contentHash)),
    ofArrived("uuid", (to, { requestId }) => to.uuid(requestId)),
    ofArrived("integer", (to, { index }) => to.integer(index)),
    column(keys, "boolean", (to, { isUnnamed }) => to.boolean(isUnnamed)),
  ];
}

/** The current records of these keys, in order: null if there is none, ADVANCED if the record was unchanged and has been written. */
export async function loadOrAdvance(
  client: pg.ClientBase,
  keys: readonly ArrivedKey[],
): Promise<(StoredCurrent | null | typeof ADVANCED)[]> {
  const found: (StoredCurrent | null | typeof ADVANCED)[] = new Array<null>(keys.length).fill(null);
  for (const resource of RESOURCE_LETTERS) {
    const places: number[] = [];
    keys.forEach(({ of }, at) => {
      if (of.resource === resource) places.push(at);
    });
    if (places.length === 0) continue;
    const ofResource = places.length === keys.length ? keys : places.map((at) => keys[at] as ArrivedKey);
    const { rows } = await queryOfBucket<CurrentRow>(
      client,
      STATEMENTS[resource],
      parametersOf(ofResource),
      ofResource,
    );
    let [expected, advanced] = [0, -1];
    for (const row of rows) {
      const [at, letters, count] = row;
      if (at === 0) await followAdvanced(client, resource, ofResource, letters);
      if (at > 0) {
        found[places[at - 1] as number] = storedOf(row);
        continue;
      }
      advanced = Number(count);
      places.forEach((place, letter) => {
        if (letters[letter] !== "u") return;
        found[place] = ADVANCED;
        expected += 1;
      });
    }
    if (advanced !== expected) throw new CurrentRecordMoved(expected - advanced);
  }
  return found;
}
