import type pg from "pg";
import { ArrayParameter } from "../../platform/db/binary-fields.ts";
import { type Asked, BUCKET_TERM, nested, queryNested, queryOfBucket } from "../../platform/db/dialect.ts";
import { CURRENT_COLUMNS, type CurrentRow, type StoredCurrent, storedOf } from "./load-versions.ts";
import type { RankedVersion, RecordKey } from "./record-state.ts";
import { arrayOf, textArrayOf } from "./state-session.ts";
import { RESOURCE_LETTERS, type ResourceLetter, VERSION_TABLES } from "./version-tables.ts";
import { CurrentRecordMoved } from "./write-current.ts";

/** A key of a transaction, and what arrived of it: null where there is more than one record, so that an order matters. */
export interface ArrivedKey {
  readonly of: RecordKey;
  readonly arrived: Omit<RankedVersion, "factsSourceTime"> | null;
  /** That its property's inventory has named no room type, and names none in this transaction. */
  readonly isUnnamed: boolean;
}

/** That the record was unchanged, which has been written: its version, and the current record. */
export const ADVANCED = "advanced";

/**
 * Looks up the current records and, in the same statement, does all there is to do for those that are plainly unchanged
 * and quiet: newer source time, same content (and, of what has nights, received last). Their narrow versions repeat what the current row says, so nothing of it
 * goes to Node and back. A source time later than the current one has no version yet, so there is nothing else to look up.
 *
 * The plan must go from `known` to the rows by their places. Reckoned as many, they would be sought by reading the table
 * through while it is small, and that plan would stay while it grows: so their number is hidden (each `(select $1)`), and a
 * letter that equals another is reckoned rare. And the resource is made to depend on the key that is wanted, or the index of dates would serve, too.
 *
 * It answers a row for each current record that was left as it is (with what says which nights are taken off the books again, where
 * what arrived takes its place), and (at 0) one with a letter a
 * key, `u` for those that are unchanged, and how many were advanced.
 */
function advanceStatement(resource: ResourceLetter): Asked {
  const replaced = nightsOfReplaced(resource);
  return {
    name: `advance-unchanged-${resource}`,
    rowMode: "array",
    text: `with known as materialized (
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
        and t.key = wanted.key ${BUCKET_TERM}
    ),
    advanced as (
      update current_record as t
      set source_time = known.new_time, request_id = known.new_request, record_index = known.new_index
      from known
      where known.letter = 'u' and t.ctid = known.place ${BUCKET_TERM}
      returning t.bucket, t.property_id, t.key, t.source_time, t.content_hash, t.request_id, t.record_index,
        t.facts_source_time, t.status, t.from_date, t.to_date
    )${nested(writeVersions(resource))}
    select 0, string_agg(letter, '' order by at),
      (select count(*) from advanced)::text, null, null, null, null, null, null, null, null, null, null
    from known
    union all
    select at::integer, ${CURRENT_COLUMNS}, ${replaced.columns}
    from known as t${replaced.join}
    where place is not null and letter <> 'u'`,
  };
}

/** What has nights is entered by both clocks: where the current record was received later, there is more to do. */
function receivedLast(resource: ResourceLetter): string {
  if (resource === "i") return "";
  return `
          and (t.request_id, t.record_index) < (wanted.new_request, wanted.new_index)`;
}

const KEPT_NIGHTS = "t.compact_nights, null";

/**
 * What says which nights another content takes the place of: what the current row keeps of them, or, of groups, the facts of
 * the content (on Citus these are asked for afterwards, as those of reservations are of which nothing is kept). Inventory has none.
 */
function nightsOfReplaced(resource: ResourceLetter): { readonly columns: string; readonly join: string } {
  if (resource !== "g") return { columns: KEPT_NIGHTS, join: "" };
  return {
    columns: nested("null, replaced.facts", KEPT_NIGHTS),
    join: nested(`
    left join ${VERSION_TABLES[resource].table} as replaced
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
      insert into ${VERSION_TABLES[resource].table} (${VERSION_COLUMNS}, outcome)
      select advanced.*, 'u' from advanced
    )`;
}

const STATEMENTS: Readonly<Record<ResourceLetter, Asked>> = {
  i: advanceStatement("i"),
  r: advanceStatement("r"),
  g: advanceStatement("g"),
};

/** The nested INSERT as a statement of its own, made of the current records that were just advanced. */
function versionsOfAdvanced(resource: ResourceLetter): Asked {
  return {
    name: `versions-of-advanced-${resource}`,
    text: `insert into ${VERSION_TABLES[resource].table} (${VERSION_COLUMNS}, outcome)
      select t.${VERSION_COLUMNS.replaceAll(/,\s+/g, ", t.")}, 'u'
      from current_record as t
      join unnest($1::integer[], $2::text[]) as advanced (property_id, key)
        on advanced.property_id = t.property_id and advanced.key = t.key
      where t.resource = '${resource}' ${BUCKET_TERM}`,
  };
}

/** Writes the versions of those that `letters` says were advanced, where that was not nested. */
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
    const properties = arrayOf(of.map(({ of: { propertyId } }) => propertyId));
    return { values: [properties, textArrayOf(of.map(({ of: { key } }) => key))], of };
  });
  if (written !== undefined && written.rowCount !== expected)
    throw new CurrentRecordMoved(expected - written.rowCount);
}

function parametersOf(keys: readonly ArrivedKey[]): Buffer[] {
  const buckets = new ArrayParameter("smallint", keys.length);
  const properties = new ArrayParameter("integer", keys.length);
  const names = new ArrayParameter("text", keys.length);
  const times = new ArrayParameter("timestamptz", keys.length);
  const hashes = new ArrayParameter("bytea", keys.length);
  const requests = new ArrayParameter("uuid", keys.length);
  const indexes = new ArrayParameter("integer", keys.length);
  const unnamed = new ArrayParameter("boolean", keys.length);
  for (const { of, arrived, isUnnamed } of keys) {
    unnamed.boolean(isUnnamed);
    buckets.smallint(of.bucket);
    properties.integer(of.propertyId);
    names.text(of.key);
    if (arrived === null) {
      for (const parameter of [times, hashes, requests, indexes]) parameter.null();
      continue;
    }
    times.timestamp(arrived.sourceTime);
    hashes.hex(arrived.contentHash);
    requests.uuid(arrived.requestId);
    indexes.integer(arrived.index);
  }
  return [buckets, properties, names, times, hashes, requests, indexes, unnamed].map((parameter) =>
    parameter.finish(),
  );
}

/**
 * The current records of these keys (each once), in their order, null where there is none; or that what arrived was
 * unchanged and has been written. On a session of `openStateSession`, in the transaction of the keys' owner.
 */
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
