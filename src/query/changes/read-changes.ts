import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { ALL_BUCKETS, bucketOf, isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { queryEachBucket, readStatementOfBucket } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import type { Property, PropertyCodes } from "../property.ts";
import { type Positions, readChangeEnds } from "./change-cursor.ts";
import { distribute } from "./share-out.ts";

/** Property codes by client code, in the form of a client's grants: "*" is every property of the client code. */
export type GrantedProperties = ReadonlyMap<string, ReadonlySet<string>>;

export interface ChangeFilter {
  /** Limits the feed to these properties. */
  readonly granted: GrantedProperties;
  readonly resources?: readonly ResourceLetter[] | undefined;
  readonly clientCode?: string | undefined;
  /** Requires `clientCode`. */
  readonly propertyCode?: string | undefined;
}

const EVERY_PROPERTY = "*";

/**
 * The buckets in a reader's positions: the bucket of the one requested property, otherwise all. Includes buckets without a granted
 * property, so that a later grant takes effect from then on.
 */
export function bucketsOf({ clientCode, propertyCode }: ChangeFilter): readonly number[] {
  if (clientCode === undefined || propertyCode === undefined) return ALL_BUCKETS;
  return [bucketOf(clientCode, propertyCode)];
}

/** Known properties of the client codes $1, and those with the pairs of codes $2 and $3. */
const findGranted = namedStatement(
  "find-granted-properties",
  `select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode"
  from bellhop.property
  where client_code = any ($1::text[])
  union all
  select property.property_id, property.bucket, property.client_code, property.property_code
  from unnest($2::text[], $3::text[]) as named (client_code, property_code)
  join bellhop.property as property
    on property.client_code = named.client_code and property.property_code = named.property_code`,
);

type FeedProperty = Property & PropertyCodes;

/** The granted properties that a filter selects and that exist now, by id. */
async function findGrantedProperties(
  on: Queryable,
  { granted, clientCode, propertyCode }: ChangeFilter,
): Promise<ReadonlyMap<number, FeedProperty>> {
  const everyOf: string[] = [];
  const named: [clientCode: string, propertyCode: string][] = [];
  for (const [code, properties] of granted) {
    if (clientCode !== undefined && clientCode !== code) continue;
    const isEvery = properties.has(EVERY_PROPERTY);
    if (propertyCode !== undefined) {
      if (isEvery || properties.has(propertyCode)) named.push([code, propertyCode]);
    } else if (isEvery) everyOf.push(code);
    else for (const property of properties) named.push([code, property]);
  }
  if (everyOf.length + named.length === 0) return new Map();
  const values = [everyOf, named.map(([code]) => code), named.map(([, property]) => property)];
  const { rows } = await on.query<FeedProperty>({ ...findGranted, values });
  return new Map(rows.map((row) => [row.propertyId, row]));
}

const readOfBuckets = readStatementOfBucket(new URL("./sql/read-changes.sql", import.meta.url), 7);

const EVERY_RESOURCE: readonly ResourceLetter[] = ["i", "r", "g"];
/** Maximum change numbers scanned per call, at about 3 µs each: bounds filters that match little. */
const PASSED_MAX = 20_000;

/** Minimum share of one bucket: changes received together are stored together and read together. */
const TOGETHER = 128;

/** A change of a record's current content, and the record's location in the log. */
interface Change {
  readonly bucket: number;
  /** Position among the changes of its bucket. */
  readonly changeNumber: number;
  readonly resource: ResourceLetter;
  readonly propertyId: number;
  readonly key: string;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  /** Whether it replaced an earlier version of the record. */
  readonly isUpdate: boolean;
}

export interface ChangePage {
  /** Ordered by number within each bucket, bucket after bucket. */
  readonly changes: readonly (Change & Pick<FeedProperty, "clientCode" | "propertyCode">)[];
  /** The reader's positions before the first change, advanced past buckets without granted properties. */
  readonly before: Positions;
  readonly positions: Positions;
  /** Whether the page reached the end of the feed as of the start of the call. */
  readonly caughtUp: boolean;
}

/** The range of one bucket to read: numbers after `behind`, up to `until`, and at most `most` changes. */
interface Stretch {
  readonly bucket: number;
  readonly behind: number;
  readonly until: number;
  readonly most: number;
}

/** The range of each bucket to read in one call. */
function stretchesOf(buckets: readonly number[], from: Positions, ends: Positions, limit: number): Stretch[] {
  const behind = buckets.map((bucket) => from.get(bucket) ?? 0);
  const backlogs = buckets.map((bucket, at) => (ends.get(bucket) ?? 0) - (behind[at] ?? 0));
  const passed = distribute(backlogs, Math.max(PASSED_MAX, limit));
  const most = distribute(backlogs, limit, TOGETHER);
  return buckets
    .map((bucket, at) => {
      const start = behind[at] ?? 0;
      return { bucket, behind: start, until: start + (passed[at] ?? 0), most: most[at] ?? 0 };
    })
    .filter((stretch) => stretch.most > 0);
}

async function readRows(
  on: Queryable,
  stretches: readonly Stretch[],
  properties: readonly number[],
  resources: string,
): Promise<Change[]> {
  const { text, onCitus } = readOfBuckets;
  const { rows } = await queryEachBucket<Change, Stretch>(on, { text, onCitus }, stretches, (some) => [
    some.map(({ bucket }) => bucket),
    some.map(({ behind }) => behind),
    some.map(({ until }) => until),
    some.map(({ most }) => most),
    properties,
    resources,
  ]);
  return rows;
}

/** The position reached in each range: its last change if the limit was reached, otherwise its end. */
function passedBy(stretches: readonly Stretch[], rows: readonly Change[]): Map<number, number> {
  const found = Map.groupBy(rows, ({ bucket }) => bucket);
  return new Map(
    stretches.map(({ bucket, until, most }) => {
      const changes = found.get(bucket) ?? [];
      return [bucket, changes.length === most ? (changes.at(-1)?.changeNumber ?? until) : until];
    }),
  );
}

/**
 * The next changes after `from` that match the filter, at most `limit`. A page may be short or empty before the end. One statement if there
 * is nothing new. Throws ServiceError `bellhop.feed.CursorGone` for positions beyond the end. No change is skipped: see
 * docs/decisions/0013.
 */
export async function readChanges(
  on: Queryable,
  from: Positions,
  filter: ChangeFilter,
  limit: number,
): Promise<ChangePage> {
  const buckets = bucketsOf(filter);
  const ends = await readChangeEnds(on, buckets);
  const before = new Map(buckets.map((bucket) => [bucket, from.get(bucket) ?? 0]));
  const waiting = buckets.filter((bucket) => {
    const [position, end] = [before.get(bucket) ?? 0, ends.get(bucket) ?? 0];
    if (position > end) throw new ServiceError("bellhop.feed.CursorGone");
    return position < end;
  });
  if (waiting.length === 0) return { changes: [], before, positions: before, caughtUp: true };
  // Read after the ends: a property is registered before its first change, so all properties up to the ends are found.
  const properties = await findGrantedProperties(on, filter);
  const own = new Set([...properties.values()].map(({ bucket }) => bucket));
  for (const bucket of waiting) if (!own.has(bucket)) before.set(bucket, ends.get(bucket) ?? 0);
  const stretches = stretchesOf(
    waiting.filter((bucket) => own.has(bucket)),
    before,
    ends,
    limit,
  );
  if (stretches.length === 0) return { changes: [], before, positions: before, caughtUp: true };
  const resources = (filter.resources ?? EVERY_RESOURCE).join("");
  const rows = await readRows(on, stretches, [...properties.keys()], resources);
  const positions = new Map([...before, ...passedBy(stretches, rows)]);
  const caughtUp = buckets.every((bucket) => (positions.get(bucket) ?? 0) === (ends.get(bucket) ?? 0));
  const changes = rows.map((row) => {
    const { clientCode, propertyCode } = properties.get(row.propertyId) as FeedProperty;
    return { ...row, clientCode, propertyCode };
  });
  return { changes, before, positions, caughtUp };
}

/** A change as JSON without its record; the cursor is the position after it. */
function headOf(change: ChangePage["changes"][number], cursor: string | undefined): string {
  return JSON.stringify({
    type: "change",
    resource: resourceOf(change.resource),
    clientCode: change.clientCode,
    propertyCode: change.propertyCode,
    key: change.key,
    sourceTime: change.sourceTime,
    receivedAt: isoOfMicroseconds(microsecondsOf(change.requestId)),
    requestId: change.requestId,
    index: change.index,
    change: change.isUpdate ? "updated" : "created",
    ...(cursor === undefined ? {} : { cursor }),
  });
}

const [LINE_FEED, CARRIAGE_RETURN, SPACE] = [0x0a, 0x0d, 0x20];

/**
 * Replaces line breaks by spaces: in JSON they stand only between tokens, where a space is equivalent. Byte by byte, because a record may
 * consist of millions of them, and a search for each took 0.8 s.
 */
function spaceLineBreaks(json: Buffer): void {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return;
  for (let at = 0; at < json.length; at += 1)
    if (json[at] === LINE_FEED || json[at] === CARRIAGE_RETURN) json[at] = SPACE;
}

/**
 * Yields the changes of a page as JSON objects of one line, in order, each with its record and, if `cursorAt` returns one, a cursor. Omits
 * changes whose record is no longer retained. Memory does not grow with the page.
 */
export async function* changeObjects(
  on: Queryable,
  { changes, before }: ChangePage,
  cursorAt: (positions: Positions) => string | undefined,
): AsyncGenerator<Buffer, void> {
  const pointers = changes.map(({ bucket, requestId, index }) => ({ bucket, requestId, index }));
  const positions = new Map(before);
  let next = 0;
  for await (const record of loadRecords(on, pointers)) {
    const change = changes[next] as ChangePage["changes"][number];
    next += 1;
    positions.set(change.bucket, change.changeNumber);
    // A later change of the record follows.
    if (isNoLongerKept(record)) continue;
    const head = headOf(change, cursorAt(positions));
    const object = Buffer.concat([Buffer.from(`${head.slice(0, -1)},"record":`), record, Buffer.from("}")]);
    spaceLineBreaks(object);
    yield object;
  }
}
