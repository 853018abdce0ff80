import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { ALL_BUCKETS, bucketOf, isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { queryEachBucket } from "../../platform/db/dialect.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import type { Property, PropertyCodes } from "../property.ts";
import { type Positions, readChangeEnds } from "./change-cursor.ts";

/** Properties by their client code, arranged as a client's grants are: "*" is every property of the code. */
export type GrantedProperties = ReadonlyMap<string, ReadonlySet<string>>;

export interface ChangeFilter {
  /** Nothing outside these, whatever else is asked for. */
  readonly granted: GrantedProperties;
  readonly resources?: readonly ResourceLetter[] | undefined;
  readonly clientCode?: string | undefined;
  /** Only together with its client code. */
  readonly propertyCode?: string | undefined;
}

const EVERY_PROPERTY = "*";

/**
 * The buckets that a reader's positions are of: that of the one property it asks for, else all. Buckets without a granted property
 * are included, so that a later grant applies from then on.
 */
export function bucketsOf({ clientCode, propertyCode }: ChangeFilter): readonly number[] {
  if (clientCode === undefined || propertyCode === undefined) return ALL_BUCKETS;
  return [bucketOf(clientCode, propertyCode)];
}

/** The properties of the client codes $1, and those of the pairs of codes $2 and $3, as far as a batch has ever named them. */
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

/** The granted properties that a filter selects and that exist now, by their number. */
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

/** Distributes `total`: at most what each wants, the rest in equal parts of `least` or more; the smallest wants are served first. */
export function shareOut(wanted: readonly number[], total: number, least = 1): number[] {
  const shares = wanted.map(() => 0);
  const order = wanted.map((_, at) => at).sort((left, right) => (wanted[left] ?? 0) - (wanted[right] ?? 0));
  let left = total;
  order.forEach((at, served) => {
    const part = Math.max(least, Math.ceil(left / (order.length - served)));
    const share = Math.min(wanted[at] ?? 0, left, part);
    shares[at] = share;
    left -= share;
  });
  return shares;
}

const readOfBuckets = readStatement(new URL("./sql/read-changes.sql", import.meta.url));

const EVERY_RESOURCE: readonly ResourceLetter[] = ["i", "r", "g"];
/** Change numbers read in one call, at some 3 µs each: the bound for a filter that matches little. */
const PASSED_MAX = 20_000;

/** The least share of one bucket: changes that were received together lie together, and are read together. */
const TOGETHER = 128;

/** A change of a record's current content, and where the record lies in the log. */
interface Change {
  readonly bucket: number;
  /** Its place among the changes of its bucket. */
  readonly changeNumber: number;
  readonly resource: ResourceLetter;
  readonly propertyId: number;
  readonly key: string;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  /** Whether it replaced another version of its record. */
  readonly isUpdate: boolean;
}

export interface ChangePage {
  /** In the order of their numbers within each bucket, the buckets one after another. */
  readonly changes: readonly (Change & Pick<FeedProperty, "clientCode" | "propertyCode">)[];
  /** Where the reader stood before the first of them, after buckets without a property of its own. */
  readonly before: Positions;
  readonly positions: Positions;
  /** Whether this was the end of the feed when the call began. */
  readonly caughtUp: boolean;
}

/** The part of one bucket that is read: numbers after `behind`, up to `until`, and at most `most` changes. */
interface Stretch {
  readonly bucket: number;
  readonly behind: number;
  readonly until: number;
  readonly most: number;
}

/** The parts of the buckets' backlogs that one call reads. */
function stretchesOf(buckets: readonly number[], from: Positions, ends: Positions, limit: number): Stretch[] {
  const behind = buckets.map((bucket) => from.get(bucket) ?? 0);
  const backlogs = buckets.map((bucket, at) => (ends.get(bucket) ?? 0) - (behind[at] ?? 0));
  const passed = shareOut(backlogs, Math.max(PASSED_MAX, limit));
  const most = shareOut(backlogs, limit, TOGETHER);
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
  const { text } = readOfBuckets;
  const { rows } = await queryEachBucket<Change, Stretch>(on, { text }, stretches, (some) => [
    some.map(({ bucket }) => bucket),
    some.map(({ behind }) => behind),
    some.map(({ until }) => until),
    some.map(({ most }) => most),
    properties,
    resources,
  ]);
  return rows;
}

/** How far each stretch was read: to its last change where it has as many as allowed, else to its end. */
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
 * The next changes after `from` that match the filter, at most `limit`; a page may be short or empty and not the last. One statement
 * while there is nothing new. Throws ServiceError `bellhop.feed.CursorGone` for positions beyond the end. Why nothing is skipped:
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
  // After the ends: a property is registered before its first change is, so all those up to the ends are among these.
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

/** A change as JSON without its record; the cursor continues after it. */
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

/**
 * Yields the changes of a page as JSON objects without line breaks, in order, each with its record and, where `cursorAt` answers one,
 * the cursor after it. Changes whose record is no longer kept are left out. Memory does not grow with the page.
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
    // A line break of JSON stands between tokens, where a space is as good.
    for (const lineBreak of ["\n", "\r"])
      for (let at = object.indexOf(lineBreak); at >= 0; at = object.indexOf(lineBreak, at)) object[at] = 0x20;
    yield object;
  }
}
