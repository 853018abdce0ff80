import type pg from "pg";
import type { RecordContent } from "#contract/read-record.ts";
import { column, insertRows } from "../../platform/db/copy.ts";
import { type Asked, ofBucket, queryOfBucket } from "../../platform/db/dialect.ts";
import { isReceivedBefore } from "../state/classify.ts";
import { isoOfStored, keyColumns, loadVersionsAt } from "../state/look-up.ts";
import {
  type RankedVersion,
  type Receipt,
  type RecordKey,
  textOfKey,
  VERSION_TABLES,
  type Version,
} from "../state/record.ts";
import { ContentNights, MissingContent, type NightResource } from "./content-nights.ts";

/**
 * One received copy of a version (a content at a source time). The receipt decides between versions of one source time. A released
 * copy counts from its release (`countsFrom`).
 */
export interface TimelineCopy extends Receipt {
  readonly sourceTime: string;
  readonly content: string;
  readonly countsFrom: string;
}

/** Changes the count of a content by `by` from a source time on, as known at `countsFrom` or later. */
export interface TimelineChange {
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly content: string;
  readonly by: number;
}

function compareByCountsFrom(left: TimelineCopy, right: TimelineCopy): number {
  if (left.countsFrom !== right.countsFrom) return left.countsFrom < right.countsFrom ? -1 : 1;
  if (left.requestId !== right.requestId) return left.requestId < right.requestId ? -1 : 1;
  return left.index - right.index;
}

/** The index of the first version after a source time; `versions` are sorted by source time. */
function placeAfter(versions: readonly TimelineCopy[], sourceTime: string): number {
  let [low, high] = [0, versions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((versions[middle] as TimelineCopy).sourceTime <= sourceTime) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Inserts a copy into the sorted versions, replacing a later copy of its version (which `isKnown`); ignores it if an earlier copy is known.
 */
function insertCopy(known: TimelineCopy[], copy: TimelineCopy, isKnown: boolean): void {
  let place = placeAfter(known, copy.sourceTime);
  for (let at = place - 1; isKnown && known[at]?.sourceTime === copy.sourceTime; at -= 1) {
    const version = known[at] as TimelineCopy;
    if (version.content !== copy.content) continue;
    if (!isReceivedBefore(copy, version)) return;
    known.splice(at, 1);
    place -= 1;
    break;
  }
  while (
    known[place - 1]?.sourceTime === copy.sourceTime &&
    isReceivedBefore(copy, known[place - 1] as TimelineCopy)
  )
    place -= 1;
  known.splice(place, 0, copy);
}

/** Sums changes by both instants and content, dropping those that cancel out. */
class Changes {
  readonly #changes = new Map<string, TimelineChange>();

  add(sourceTime: string, countsFrom: string, content: string | null, by: number): void {
    if (content === null) return;
    const text = `${sourceTime} ${countsFrom} ${content}`;
    const sum = (this.#changes.get(text)?.by ?? 0) + by;
    if (sum === 0) this.#changes.delete(text);
    else this.#changes.set(text, { sourceTime, countsFrom, content, by: sum });
  }

  /** Adds the changes that these copies make, multiplied by `times`. */
  addAll(copies: readonly TimelineCopy[], times: number): void {
    const known: TimelineCopy[] = [];
    // One source time may have tens of thousands of versions, which are not all compared with each.
    const versions = new Set<string>();
    const topAt = (sourceTime: string) => known[placeAfter(known, sourceTime) - 1]?.content ?? null;
    for (const copy of [...copies].sort(compareByCountsFrom)) {
      const { sourceTime, countsFrom } = copy;
      const before = topAt(sourceTime);
      const version = `${sourceTime} ${copy.content}`;
      insertCopy(known, copy, versions.has(version));
      versions.add(version);
      const after = topAt(sourceTime);
      if (before === after) continue;
      this.add(sourceTime, countsFrom, before, -times);
      this.add(sourceTime, countsFrom, after, times);
      const next = known[placeAfter(known, sourceTime)];
      if (next === undefined) continue;
      this.add(next.sourceTime, countsFrom, after, -times);
      this.add(next.sourceTime, countsFrom, before, times);
    }
  }

  all(): TimelineChange[] {
    return [...this.#changes.values()];
  }
}

/**
 * The changes that turn the timeline of `before` into that of `after`. As of source instant T and receipt instant R, the newest
 * version with source time ≤ T among copies with `countsFrom` ≤ R counts.
 */
export function timelineDifference(
  before: readonly TimelineCopy[],
  after: readonly TimelineCopy[],
): TimelineChange[] {
  const changes = new Changes();
  changes.addAll(before, -1);
  changes.addAll(after, 1);
  return changes.all();
}

/** A position among the versions of a key, by source time and receipt. */
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

/** Versions needed per side. One is usually enough; more are needed if log writers were applied out of the order of receipt. */
const NEIGHBOURS = 8;

const COLUMNS = "t.source_time, t.content_hash, t.request_id, t.record_index, t.facts_source_time";
const TEXTS =
  "near.source_time::text, near.content_hash::text, near.request_id, near.record_index, near.facts_source_time::text";

const ofKey = (alias: string) =>
  `t.bucket = ${alias}.bucket and t.property_id = ${alias}.property_id and t.key = ${alias}.key`;

// Scans the primary key backward and forward from the position, which does not order versions of one source time by receipt. One more
// than needed shows whether those of the last source time are all there.
function aroundStatement(resource: NightResource): Asked {
  const side = (comparison: string, direction: string, andBucket: string) => `select * from (
        select ${COLUMNS} from ${VERSION_TABLES[resource]} as t
        where ${ofKey("wanted")} and t.source_time ${comparison} wanted.source_time ${andBucket}
        order by t.source_time ${direction}
        limit ${NEIGHBOURS + 1}
      ) as found`;
  return {
    name: `versions-around-${resource}`,
    rowMode: "array",
    ...ofBucket(
      5,
      ({ andBucket }) => `select wanted.at::integer, near.is_after, ${TEXTS}
    from unnest($1::smallint[], $2::integer[], $3::text[], $4::timestamptz[])
      with ordinality as wanted (bucket, property_id, key, source_time, at)
    cross join lateral (
      select false as is_after, before.* from (${side("<=", "desc", andBucket)}) as before
      union all
      select true, after.* from (${side(">", "asc", andBucket)}) as after
    ) as near`,
    ),
  };
}

/** The versions of one source time that are received last or, with $5, first. Reads all of that source time. */
function atTimeStatement(resource: NightResource): Asked {
  const end = (direction: string, condition: string, andBucket: string) => `select * from (
        select ${COLUMNS} from ${VERSION_TABLES[resource]} as t
        where ${ofKey("wanted")} and t.source_time = wanted.source_time and ${condition} ${andBucket}
        order by t.request_id ${direction}, t.record_index ${direction}
        limit ${NEIGHBOURS}
      ) as found`;
  return {
    name: `versions-at-time-${resource}`,
    rowMode: "array",
    ...ofBucket(
      6,
      ({ andBucket }) => `select wanted.at::integer, wanted.is_after, ${TEXTS}
    from unnest($1::smallint[], $2::integer[], $3::text[], $4::timestamptz[], $5::boolean[])
      with ordinality as wanted (bucket, property_id, key, source_time, is_after, at)
    cross join lateral (
      ${end("desc", "not wanted.is_after", andBucket)}
      union all
      ${end("asc", "wanted.is_after", andBucket)}
    ) as near`,
    ),
  };
}

/**
 * The versions of keys that can matter to places among them ($5 to $9, by the key's ordinality): around each place those received in $4 or
 * later, those of a place, and the versions next to them. Others lie beyond versions that count before any of the places does (settled
 * ones), where a stretch ends: a key may have millions.
 */
function betweenStatement(resource: NightResource): Asked {
  const settled = (comparison: string, direction: string, none: string, andBucket: string) => `coalesce((
          select t.source_time from ${VERSION_TABLES[resource]} as t
          where ${ofKey("next")} and t.source_time ${comparison} next.place_time and t.request_id < next.since ${andBucket}
            and (next.at, t.source_time, t.content_hash) not in (select at, source_time, content_hash from place)
          order by t.source_time ${direction} limit 1
        ), '${none}')`;
  const ends = (andBucket: string) =>
    `next.at, next.bucket, next.property_id, next.key, next.since, ${settled("<", "desc", "-infinity", andBucket)}, ${settled(">", "asc", "infinity", andBucket)}`;
  return {
    name: `versions-between-${resource}`,
    rowMode: "array",
    ...ofBucket(
      10,
      ({ andBucket }) => `with recursive place as materialized (
      select * from unnest($5::integer[], $6::timestamptz[], $7::bytea[], $8::uuid[], $9::integer[])
        as place (at, source_time, content_hash, request_id, record_index)
    ), stretch (at, bucket, property_id, key, since, low, high) as (
      select ${ends(andBucket)}
      from (
        select wanted.*, (select min(place.source_time) from place where place.at = wanted.at) as place_time
        from (
          select at::integer, bucket, property_id, key, since
          from unnest($1::smallint[], $2::integer[], $3::text[], $4::uuid[])
            with ordinality as sent (bucket, property_id, key, since, at)
        ) as wanted
      ) as next
      union all
      select ${ends(andBucket)}
      from (
        select stretch.*, (
            select min(place.source_time) from place where place.at = stretch.at and place.source_time >= stretch.high
          ) as place_time
        from stretch
      ) as next
      where next.place_time is not null
    )
    select near.at, false, ${TEXTS}
    from (
      select ordered.*, lag(ordered.is_settled) over receipt as after_settled, lead(ordered.is_settled) over receipt as before_settled
      from (
        select stretch.at, ${COLUMNS},
          t.request_id < stretch.since
            and (stretch.at, t.source_time, t.content_hash) not in (select at, source_time, content_hash from place) as is_settled
        from stretch
        join ${VERSION_TABLES[resource]} as t
          on ${ofKey("stretch")} and t.source_time >= stretch.low and t.source_time <= stretch.high
        where true ${andBucket}
        union all
        select at, source_time, content_hash, request_id, record_index, null, false from place
      ) as ordered
      window receipt as (partition by ordered.at order by ordered.source_time, ordered.request_id, ordered.record_index)
    ) as near
    where near.facts_source_time is not null
      and not (near.is_settled and near.after_settled is true and near.before_settled is true)`,
    ),
  };
}

const AROUND = { r: aroundStatement("r"), g: aroundStatement("g") } as const;
const AT_TIME = { r: atTimeStatement("r"), g: atTimeStatement("g") } as const;
const BETWEEN = { r: betweenStatement("r"), g: betweenStatement("g") } as const;

function versionOf([, , sourceTime, contentHash, requestId, index, factsSourceTime]: Row): RankedVersion {
  return {
    sourceTime: isoOfStored(sourceTime),
    contentHash: contentHash.slice(2),
    requestId,
    index,
    factsSourceTime: isoOfStored(factsSourceTime),
  };
}

/** Whether a side is complete, or has a version received before the place's record: versions beyond that have no effect. */
function isSufficient(side: readonly RankedVersion[], place: PlaceOfVersion): boolean {
  return side.length < NEIGHBOURS || side.some((version) => isReceivedBefore(version, place));
}

/** Versions of one source time of a key, which may be very many: those received last or, after a place, first. */
interface End {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly isAfter: boolean;
}

/** The versions on one side of a place, and the end of those of the farthest source time if they are not all there. */
interface Side {
  readonly versions: readonly RankedVersion[];
  readonly more: End | undefined;
}

function sideOf(of: RecordKey, found: readonly RankedVersion[], isAfter: boolean): Side {
  const last = found[NEIGHBOURS];
  if (last === undefined) return { versions: found, more: undefined };
  const { sourceTime } = last;
  const versions = found.filter((version) => version.sourceTime !== sourceTime);
  return { versions, more: versions.length === NEIGHBOURS ? undefined : { of, sourceTime, isAfter } };
}

const textOfEnd = ({ of, sourceTime, isAfter }: End) => `${textOfKey(of)} ${sourceTime} ${isAfter}`;

/** The first NEIGHBOURS versions of each end, by `textOfEnd`. */
async function loadEnds(
  client: pg.ClientBase,
  resource: NightResource,
  sides: readonly Side[],
): Promise<ReadonlyMap<string, readonly RankedVersion[]>> {
  const ends = [...new Map(sides.flatMap(({ more }) => (more ? [[textOfEnd(more), more]] : []))).entries()];
  const found = new Map<string, RankedVersion[]>(ends.map(([text]) => [text, []]));
  if (ends.length === 0) return found;
  const wanted = ends.map(([, end]) => end);
  const values = [
    ...keyColumns(wanted),
    column(wanted, "timestamptz", (to, { sourceTime }) => to.timestamp(sourceTime)),
    column(wanted, "boolean", (to, { isAfter }) => to.boolean(isAfter)),
  ];
  const { rows } = await queryOfBucket<Row>(client, AT_TIME[resource], values, wanted);
  for (const row of rows) found.get(ends[row[0] - 1]?.[0] ?? "")?.push(versionOf(row));
  return found;
}

/** The stored versions around each place. Null if NEIGHBOURS are not enough: then those that may matter must be loaded. */
async function loadVersionsAround(
  client: pg.ClientBase,
  resource: NightResource,
  places: readonly PlaceOfVersion[],
): Promise<(readonly RankedVersion[] | null)[]> {
  if (places.length === 0) return [];
  const times = column(places, "timestamptz", (to, { sourceTime }) => to.timestamp(sourceTime));
  const { rows } = await queryOfBucket<Row>(client, AROUND[resource], [...keyColumns(places), times], places);
  const found = places.map(() => [[] as RankedVersion[], [] as RankedVersion[]] as const);
  for (const row of rows) found[row[0] - 1]?.[row[1] ? 1 : 0].push(versionOf(row));
  const sides = found.map(([before, after], at) => {
    const { of } = places[at] as PlaceOfVersion;
    return [sideOf(of, before, false), sideOf(of, after, true)] as const;
  });
  const ends = await loadEnds(client, resource, sides.flat());
  const whole = ({ versions, more }: Side) =>
    more === undefined
      ? versions
      : [...versions, ...(ends.get(textOfEnd(more)) ?? []).slice(0, NEIGHBOURS - versions.length)];
  return places.map((place, at) => {
    const [before, after] = (sides[at] as readonly [Side, Side]).map(whole);
    if (before === undefined || after === undefined) return null;
    return isSufficient(before, place) && isSufficient(after, place) ? [...before, ...after] : null;
  });
}

/** The stored versions of keys that can matter to these steps and released copies of each. */
async function loadVersionsBetween(
  client: pg.ClientBase,
  resource: NightResource,
  ofKeys: readonly (readonly AppliedStep[])[],
  released: readonly (readonly TimelineCopy[])[],
): Promise<RankedVersion[][]> {
  const found: RankedVersion[][] = ofKeys.map(() => []);
  if (ofKeys.length === 0) return found;
  const keys = ofKeys.map((steps) => ({
    of: (steps[0] as AppliedStep).of,
    since: steps.reduce((first, { countsFrom }) => (countsFrom < first ? countsFrom : first), LAST_ID),
  }));
  const places = ofKeys.flatMap((steps, key) => [
    ...steps.map(({ record: { contentHash: content, ...record } }) => ({ ...record, content, at: key + 1 })),
    ...(released[key] ?? []).map((copy) => ({ ...copy, at: key + 1 })),
  ]);
  const values = [
    ...keyColumns(keys),
    column(keys, "uuid", (to, { since }) => to.uuid(since)),
    column(places, "integer", (to, { at }) => to.integer(at)),
    column(places, "timestamptz", (to, { sourceTime }) => to.timestamp(sourceTime)),
    column(places, "bytea", (to, { content }) => to.hex(content)),
    column(places, "uuid", (to, { requestId }) => to.uuid(requestId)),
    column(places, "integer", (to, { index }) => to.integer(index)),
  ];
  const { rows } = await queryOfBucket<Row>(client, BETWEEN[resource], values, keys);
  for (const row of rows) found[row[0] - 1]?.push(versionOf(row));
  return found;
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The effect of one record on the versions of its key. */
export interface AppliedStep {
  readonly of: RecordKey;
  /** `textOfKey(of)` */
  readonly text: string;
  readonly record: Receipt & Pick<RankedVersion, "sourceTime" | "contentHash">;
  /** The request that received the record, or the one that released it. */
  readonly countsFrom: string;
  /** The previous newest version of the key. */
  readonly before: Version | null;
  /** The new version; null for a copy of an existing one. */
  readonly made: Version | null;
  /** A new newest or older version; the copy of a version with the earliest receipt; or a later copy, which changes nothing. */
  readonly became: "newest" | "older" | "first copy" | "copy";
  /** Whether the new version stores facts of its own. */
  readonly ownFacts: boolean;
  readonly content: () => RecordContent;
}

/** From a source time and receipt on, content `to` counts instead of `from`; null: none. */
export interface Delta {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly from: ContentNights | null;
  readonly to: ContentNights | null;
  /** `textOfKey(of)` if `to` is the newest content of the key. */
  readonly newestOf?: string;
}

/** Copies of versions of which at least one was quarantined and released. */
const RELEASED_COPIES = {
  table: "released_copy",
  columns: {
    bucket: "smallint",
    property_id: "integer",
    resource: '"char"',
    key: "text",
    source_time: "timestamptz",
    content_hash: "bytea",
    request_id: "uuid",
    record_index: "integer",
    counts_from: "uuid",
  },
  skipsExisting: true,
} as const;

const LATEST_RELEASES: Asked = {
  name: "latest-releases",
  rowMode: "array",
  ...ofBucket(
    5,
    ({ andBucket }) => `select wanted.at::integer, latest.counts_from
    from unnest($1::smallint[], $2::integer[], $3::text[], $4::"char"[])
      with ordinality as wanted (bucket, property_id, key, resource, at)
    cross join lateral (
      select t.counts_from from released_copy as t
      where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = wanted.resource
        and t.key = wanted.key ${andBucket}
      order by t.counts_from desc limit 1
    ) as latest`,
  ),
};
const RELEASED_COPIES_OF_KEYS: Asked = {
  name: "released-copies-of-keys",
  rowMode: "array",
  ...ofBucket(
    5,
    ({
      andBucket,
    }) => `select wanted.at::integer, t.source_time::text, t.content_hash::text, t.request_id, t.record_index, t.counts_from
    from unnest($1::smallint[], $2::integer[], $3::text[], $4::"char"[])
      with ordinality as wanted (bucket, property_id, key, resource, at)
    join released_copy as t using (bucket, property_id, resource, key)
    where true ${andBucket}`,
  ),
};

interface KeyOf {
  readonly of: RecordKey;
}

function releaseParameters(keys: readonly KeyOf[]): Buffer[] {
  return [...keyColumns(keys), column(keys, '"char"', (to, { of }) => to.letter(of.resource))];
}

/** The latest `counts_from` of released copies, by `textOfKey`. */
export async function latestReleasesOf(
  client: pg.ClientBase,
  keys: readonly KeyOf[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await queryOfBucket<[at: number, countsFrom: string]>(
    client,
    LATEST_RELEASES,
    releaseParameters(keys),
    keys,
  );
  return new Map(rows.map(([at, countsFrom]) => [textOfKey((keys[at - 1] as KeyOf).of), countsFrom]));
}

/** The released copies of each key, in the order of `keys`. */
async function loadReleased(client: pg.ClientBase, keys: readonly KeyOf[]): Promise<TimelineCopy[][]> {
  const found: TimelineCopy[][] = keys.map(() => []);
  if (keys.length === 0) return found;
  const { rows } = await queryOfBucket<[number, string, string, string, number, string]>(
    client,
    RELEASED_COPIES_OF_KEYS,
    releaseParameters(keys),
    keys,
  );
  for (const [at, sourceTime, contentHash, requestId, index, countsFrom] of rows) {
    const content = contentHash.slice(2);
    found[at - 1]?.push({ sourceTime: isoOfStored(sourceTime), content, requestId, index, countsFrom });
  }
  return found;
}

/** Writes released copies; skips those that exist. */
async function writeReleased(
  client: pg.ClientBase,
  copies: readonly { readonly of: RecordKey; readonly copy: TimelineCopy }[],
): Promise<void> {
  const rows = copies.map(({ of, copy }) => ({
    bucket: of.bucket,
    property_id: of.propertyId,
    resource: of.resource,
    key: of.key,
    source_time: copy.sourceTime,
    content_hash: `\\x${copy.content}`,
    request_id: copy.requestId,
    record_index: copy.index,
    counts_from: copy.countsFrom,
  }));
  await insertRows(client, RELEASED_COPIES, rows);
}

/** The deltas of out-of-order steps of one resource, computed from the versions around them or, if needed, all that can matter. */
export async function deltasOutOfOrder(
  client: pg.ClientBase,
  resource: NightResource,
  steps: readonly AppliedStep[],
  ofReleases: ReadonlySet<string>,
): Promise<{ readonly deltas: readonly Delta[]; readonly released: readonly RecordKey[] }> {
  const byKey = Map.groupBy(steps, ({ text }) => text);
  const near = await versionsAround(client, resource, byKey, ofReleases);
  const whole = [...byKey.keys()].filter((text) => !near.has(text));
  const ofKeys = whole.map((text) => byKey.get(text) ?? []);
  const keys = ofKeys.flatMap((ofKey) => ofKey.slice(0, 1));
  await checkNewest(client, keys);
  const copies = await loadReleased(client, keys);
  const all = await loadVersionsBetween(client, resource, ofKeys, copies);
  const deltas: Delta[] = [];
  for (const [text, versions] of near) deltas.push(...deltasAmong(byKey.get(text) ?? [], versions, []).all);
  const toWrite: { of: RecordKey; copy: TimelineCopy }[] = [];
  whole.forEach((text, at) => {
    const ofKey = byKey.get(text) ?? [];
    const found = deltasAmong(ofKey, all[at] ?? [], copies[at] ?? []);
    deltas.push(...found.all);
    for (const copy of found.released) toWrite.push({ of: (keys[at] as AppliedStep).of, copy });
  });
  await writeReleased(client, toWrite);
  return { deltas, released: toWrite.map(({ of }) => of) };
}

/** The versions around the steps of each key, for keys where these are sufficient. */
async function versionsAround(
  client: pg.ClientBase,
  resource: NightResource,
  byKey: ReadonlyMap<string, readonly AppliedStep[]>,
  ofReleases: ReadonlySet<string>,
): Promise<Map<string, readonly RankedVersion[]>> {
  const steps = [...byKey].flatMap(([text, ofKey]) =>
    ofReleases.has(text) ? [] : ofKey.filter(({ became }) => became !== "copy"),
  );
  const places = steps.map(({ of, record }) => ({
    of,
    sourceTime: record.sourceTime,
    requestId: record.requestId,
    index: record.index,
  }));
  const around = await loadVersionsAround(client, resource, places);
  const near = new Map<string, readonly RankedVersion[] | null>();
  steps.forEach((step, at) => {
    const { text } = step;
    const found = around[at] ?? null;
    const known = near.get(text);
    const isEnough = found !== null && known !== null && (step.became !== "first copy" || has(found, step));
    near.set(text, isEnough ? [...(known ?? []), ...found] : null);
  });
  return new Map(
    [...near].flatMap(([text, versions]) => (versions === null ? [] : [[text, versions] as const])),
  );
}

function has(versions: readonly RankedVersion[], { record }: AppliedStep): boolean {
  return versions.some(
    ({ sourceTime, contentHash }) => sourceTime === record.sourceTime && contentHash === record.contentHash,
  );
}

/** Throws MissingContent if the newest version of a key is not stored: its nights would stay on the books. `steps`: the first of each key. */
async function checkNewest(client: pg.ClientBase, steps: readonly AppliedStep[]): Promise<void> {
  const newest = steps.flatMap(({ of, before }) => (before === null ? [] : [{ ...before, of }]));
  const stored = await loadVersionsAt(client, newest);
  if (stored.size < newest.length) throw new MissingContent("The newest version of a key is not stored.");
}

/** The deltas of one key's steps among its stored versions, and the released copies to write. */
function deltasAmong(
  steps: readonly AppliedStep[],
  versions: readonly RankedVersion[],
  releasedCopies: readonly TimelineCopy[],
): { readonly all: Delta[]; readonly released: readonly TimelineCopy[] } {
  const of = (steps[0] as AppliedStep).of;
  const textOf = (sourceTime: string, content: string) => `${sourceTime} ${content}`;
  const hasCopies = new Set(releasedCopies.map(({ sourceTime, content }) => textOf(sourceTime, content)));
  const before = [...releasedCopies];
  const contents = new Map<string, ContentNights>();
  const seen = new Set<string>();
  for (const { sourceTime, contentHash, requestId, index, factsSourceTime } of versions) {
    const text = textOf(sourceTime, contentHash);
    // Neighbours of several steps overlap.
    if (seen.has(text)) continue;
    seen.add(text);
    if (!contents.has(contentHash))
      contents.set(contentHash, new ContentNights({ of, contentHash, factsSourceTime }));
    if (!hasCopies.has(text))
      before.push({ sourceTime, content: contentHash, requestId, index, countsFrom: requestId });
  }
  const after = [...before];
  for (const { record, countsFrom, became, ownFacts, content } of steps) {
    const { sourceTime, contentHash, requestId, index } = record;
    // The version of a copy that changes nothing may not have been loaded.
    if (became === "copy" && !seen.has(textOf(sourceTime, contentHash))) continue;
    seen.add(textOf(sourceTime, contentHash));
    after.push({ sourceTime, content: contentHash, requestId, index, countsFrom });
    if (ownFacts && !contents.has(contentHash))
      contents.set(contentHash, new ContentNights({ of, contentHash, content }));
  }
  const all: Delta[] = [];
  for (const { sourceTime, countsFrom, content, by } of timelineDifference(before, after)) {
    const nights = contents.get(content);
    if (nights === undefined) throw new Error(`Content ${content} of a ledger delta was not loaded.`);
    for (let times = Math.abs(by); times > 0; times -= 1)
      all.push({ of, sourceTime, countsFrom, from: by < 0 ? nights : null, to: by < 0 ? null : nights });
  }
  return { all, released: copiesToWrite(after, hasCopies, textOf) };
}

/** All copies of versions that have a released copy, stored (`hadReleases`) or new. */
function copiesToWrite(
  copies: readonly TimelineCopy[],
  hadReleases: ReadonlySet<string>,
  textOf: (sourceTime: string, content: string) => string,
): readonly TimelineCopy[] {
  const released = new Set(hadReleases);
  for (const { sourceTime, content, requestId, countsFrom } of copies)
    if (requestId !== countsFrom) released.add(textOf(sourceTime, content));
  if (released.size === 0) return [];
  return copies.filter(({ sourceTime, content }) => released.has(textOf(sourceTime, content)));
}
