import type pg from "pg";
import { type Asked, BUCKET_TERM, queryOfBucket } from "../../platform/db/dialect.ts";
import type { Receipt, RecordKey } from "../state/record-state.ts";
import { arrayOf, isoOfStored, textArrayOf } from "../state/state-session.ts";
import { VERSION_TABLES } from "../state/version-tables.ts";
import type { NightResource } from "./load-contents.ts";
import { isReceivedBefore } from "./timeline.ts";

/** A version that is stored, and where its facts are. */
export interface StoredVersion extends Receipt {
  readonly sourceTime: string;
  readonly contentHash: string;
  readonly factsSourceTime: string;
}

/** A place among the versions of a key: at a source time, seen from a receipt. */
interface PlaceOfVersion extends Receipt {
  readonly of: RecordKey;
  readonly sourceTime: string;
}

type Row = [
  at: number,
  isAfter: boolean,
  sourceTime: string,
  contentHash: string,
  requestId: string,
  index: number,
  factsSourceTime: string,
];

/** On each side. Most often one does; the others are there where log writers were applied out of the order of receipt. */
const NEIGHBOURS = 8;

const COLUMNS = "t.source_time, t.content_hash, t.request_id, t.record_index, t.facts_source_time";
const TEXTS =
  "near.source_time::text, near.content_hash::text, near.request_id, near.record_index, near.facts_source_time::text";

// Index scans of the primary key from the place on, backward and forward.
function aroundStatement(resource: NightResource): Asked {
  const { table } = VERSION_TABLES[resource];
  const side = (comparison: string, direction: string) => `select * from (
        select ${COLUMNS} from ${table} as t
        where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.key = wanted.key
          and t.source_time ${comparison} wanted.source_time ${BUCKET_TERM}
        order by t.source_time ${direction}, t.request_id ${direction}, t.record_index ${direction}
        limit ${NEIGHBOURS}
      ) as found`;
  return {
    name: `versions-around-${resource}`,
    rowMode: "array",
    text: `select wanted.at::integer, near.is_after, ${TEXTS}
    from unnest($1::smallint[], $2::integer[], $3::text[], $4::timestamptz[])
      with ordinality as wanted (bucket, property_id, key, source_time, at)
    cross join lateral (
      select false as is_after, before.* from (${side("<=", "desc")}) as before
      union all
      select true, after.* from (${side(">", "asc")}) as after
    ) as near`,
  };
}

function allStatement(resource: NightResource): Asked {
  return {
    name: `all-versions-${resource}`,
    rowMode: "array",
    text: `select wanted.at::integer, false, ${TEXTS.replaceAll("near.", "t.")}
    from unnest($1::smallint[], $2::integer[], $3::text[]) with ordinality as wanted (bucket, property_id, key, at)
    join ${VERSION_TABLES[resource].table} as t using (bucket, property_id, key)
    where true ${BUCKET_TERM}`,
  };
}

const AROUND = { r: aroundStatement("r"), g: aroundStatement("g") } as const;
const ALL = { r: allStatement("r"), g: allStatement("g") } as const;

function versionOf([, , sourceTime, contentHash, requestId, index, factsSourceTime]: Row): StoredVersion {
  return {
    sourceTime: isoOfStored(sourceTime),
    contentHash: contentHash.slice(2),
    requestId,
    index,
    factsSourceTime: isoOfStored(factsSourceTime),
  };
}

async function query(
  client: pg.ClientBase,
  statement: Asked,
  of: readonly RecordKey[],
  more: readonly string[],
): Promise<Row[]> {
  const values = [
    arrayOf(of.map(({ bucket }) => bucket)),
    arrayOf(of.map(({ propertyId }) => propertyId)),
    textArrayOf(of.map(({ key }) => key)),
    ...more,
  ];
  return (await queryOfBucket<Row>(client, statement, values, of)).rows;
}

/** Whether a side has a version that was received before the place's, beyond which nothing matters, or ends. */
function isClosed(side: readonly StoredVersion[], place: PlaceOfVersion): boolean {
  return side.length < NEIGHBOURS || side.some((version) => isReceivedBefore(version, place));
}

/**
 * The stored versions around each place that matter to what is entered there: those next to it in the order of source times, up
 * to one that was received before it on either side. Null where these are many (see NEIGHBOURS): then all of the key are asked for.
 */
export async function loadVersionsAround(
  client: pg.ClientBase,
  resource: NightResource,
  places: readonly PlaceOfVersion[],
): Promise<(readonly StoredVersion[] | null)[]> {
  if (places.length === 0) return [];
  const times = arrayOf(places.map(({ sourceTime }) => sourceTime));
  const rows = await query(
    client,
    AROUND[resource],
    places.map(({ of }) => of),
    [times],
  );
  const sides = places.map(() => [[] as StoredVersion[], [] as StoredVersion[]] as const);
  for (const row of rows) sides[row[0] - 1]?.[row[1] ? 1 : 0].push(versionOf(row));
  return places.map((place, at) => {
    const [before = [], after = []] = sides[at] ?? [];
    return isClosed(before, place) && isClosed(after, place) ? [...before, ...after] : null;
  });
}

/** All stored versions of each key. */
export async function loadAllVersions(
  client: pg.ClientBase,
  resource: NightResource,
  keys: readonly RecordKey[],
): Promise<StoredVersion[][]> {
  const found: StoredVersion[][] = keys.map(() => []);
  if (keys.length === 0) return found;
  for (const row of await query(client, ALL[resource], keys, [])) found[row[0] - 1]?.push(versionOf(row));
  return found;
}
