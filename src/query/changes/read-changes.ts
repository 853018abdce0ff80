import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { ALL_BUCKETS, bucketOf, isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { queryEachBucket } from "../../platform/db/dialect.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { isNoLongerKept, loadRecords } from "../load-records.ts";
import { type Positions, readChangeEnds } from "./change-cursor.ts";

/** Properties by their client code, arranged as a client's grants are: "*" is every property of the code. */
export type GrantedProperties = ReadonlyMap<string, ReadonlySet<string>>;

/** Which changes a reader is told of. */
export interface ChangeFilter {
  /** Nothing outside these is told, whatever else is asked for. */
  readonly granted: GrantedProperties;
  /** Only these; without it, all. */
  readonly resources?: readonly ResourceLetter[] | undefined;
  readonly clientCode?: string | undefined;
  /** Only together with its client code. */
  readonly propertyCode?: string | undefined;
}

/** The properties of a filter: all those of a client code, and single ones by both codes. */
interface WantedProperties {
  readonly everyOf: readonly string[];
  readonly named: readonly { readonly clientCode: string; readonly propertyCode: string }[];
}

const EVERY_PROPERTY = "*";

/** What is granted, as far as it is asked for. */
function wantedProperties({ granted, clientCode, propertyCode }: ChangeFilter): WantedProperties {
  const everyOf: string[] = [];
  const named: { clientCode: string; propertyCode: string }[] = [];
  for (const [code, properties] of granted) {
    if (clientCode !== undefined && clientCode !== code) continue;
    const isEvery = properties.has(EVERY_PROPERTY);
    if (propertyCode !== undefined) {
      if (isEvery || properties.has(propertyCode)) named.push({ clientCode: code, propertyCode });
    } else if (isEvery) everyOf.push(code);
    else for (const property of properties) named.push({ clientCode: code, propertyCode: property });
  }
  return { everyOf, named };
}

/**
 * The buckets whose changes a reader with this filter passes, which its positions are of. That of the one property it asks
 * for; otherwise all of them, also those in which nothing is granted: what is granted later is then told from then on,
 * in whichever bucket it lies.
 */
export function bucketsOf({ clientCode, propertyCode }: ChangeFilter): readonly number[] {
  if (clientCode === undefined || propertyCode === undefined) return ALL_BUCKETS;
  return [bucketOf(clientCode, propertyCode)];
}

/**
 * The properties of the client codes $1, and those of the pairs of codes $2 and $3, as far as a batch has ever named them.
 * By the table's unique key.
 */
const findGranted = namedStatement(
  "find-granted-properties",
  `select property_id, bucket, client_code, property_code
  from bellhop.property
  where client_code = any ($1::text[])
  union all
  select property.property_id, property.bucket, property.client_code, property.property_code
  from unnest($2::text[], $3::text[]) as named (client_code, property_code)
  join bellhop.property as property
    on property.client_code = named.client_code and property.property_code = named.property_code`,
);

/** A property as changes name it. */
interface FeedProperty {
  readonly bucket: number;
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** The properties of a filter that there are now, by their number. */
async function findGrantedProperties(
  on: Queryable,
  filter: ChangeFilter,
): Promise<ReadonlyMap<number, FeedProperty>> {
  const { everyOf, named } = wantedProperties(filter);
  if (everyOf.length + named.length === 0) return new Map();
  const { rows } = await on.query<{
    property_id: number;
    bucket: number;
    client_code: string;
    property_code: string;
  }>({
    ...findGranted,
    values: [
      everyOf,
      named.map(({ clientCode }) => clientCode),
      named.map(({ propertyCode }) => propertyCode),
    ],
  });
  return new Map(
    rows.map(({ property_id, bucket, client_code, property_code }) => [
      property_id,
      { bucket, clientCode: client_code, propertyCode: property_code },
    ]),
  );
}

/**
 * Shares `total` out: nobody gets more than wanted, and what those who want little leave goes to the others in equal parts of
 * `least` or more. Where that is not enough for all, those who want least come first: they have soon been served.
 */
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
/** Numbers passed in one call, at most: what a filter that matches little can cost, at some 3 µs each. */
const PASSED_MAX = 20_000;

/** Changes of one bucket at a time where there are so many: those that were received together lie together, and are read together. */
const TOGETHER = 128;

/** A change of a record's current content, and where the record lies in the log. */
interface Change {
  readonly bucket: number;
  /** Its place among the changes of its bucket; a later change of the bucket has a greater one. */
  readonly changeNumber: number;
  readonly resource: ResourceLetter;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
  /** ISO 8601 UTC with six fractional digits. */
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  /** Whether it replaced another version of its record, or brought a record that had none. */
  readonly isUpdate: boolean;
}

/** What comes next in the feed. */
export interface ChangePage {
  /** In the order of their numbers within each bucket, the buckets one after another. */
  readonly changes: readonly Change[];
  /** Where the reader stood before the first of them: what is not its own was passed already. */
  readonly before: Positions;
  /** Where it stands after the last of them; like `before` of each bucket that the filter looks at. */
  readonly positions: Positions;
  /** Whether that was all there was when the call began. */
  readonly caughtUp: boolean;
}

interface ChangeRow {
  readonly bucket: number;
  readonly resource: ResourceLetter;
  readonly change_no: number;
  readonly property_id: number;
  readonly key: string;
  readonly source_time: string;
  readonly request_id: string;
  readonly record_index: number;
  readonly is_update: boolean;
}

/** What is looked at of one bucket: numbers behind `behind`, up to `until`, and at most so many changes. */
interface Stretch {
  readonly bucket: number;
  readonly behind: number;
  readonly until: number;
  readonly most: number;
}

/** The reader stands where no change has come yet: the database is not the one, or not as far, as it was when it read. */
function beyondTheEnd(): ServiceError {
  return new ServiceError("bellhop.feed.CursorGone");
}

/** What of the buckets' backlogs one call looks at, and how many changes it may answer of each. */
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
): Promise<ChangeRow[]> {
  const { text } = readOfBuckets;
  const { rows } = await queryEachBucket<ChangeRow, Stretch>(on, { text }, stretches, (some) => [
    some.map(({ bucket }) => bucket),
    some.map(({ behind }) => behind),
    some.map(({ until }) => until),
    some.map(({ most }) => most),
    properties,
    resources,
  ]);
  return rows;
}

function changeOf(row: ChangeRow, properties: ReadonlyMap<number, FeedProperty>): Change {
  const { clientCode, propertyCode } = properties.get(row.property_id) as FeedProperty;
  return {
    bucket: row.bucket,
    changeNumber: row.change_no,
    resource: row.resource,
    clientCode,
    propertyCode,
    key: row.key,
    sourceTime: row.source_time,
    requestId: row.request_id,
    index: row.record_index,
    isUpdate: row.is_update,
  };
}

/** How far each stretch was looked through: to the last change that was answered, or, where that is not all it might answer, to its end. */
function passedBy(stretches: readonly Stretch[], rows: readonly ChangeRow[]): Map<number, number> {
  const last = new Map<number, { count: number; changeNumber: number }>();
  for (const { bucket, change_no } of rows)
    last.set(bucket, { count: (last.get(bucket)?.count ?? 0) + 1, changeNumber: change_no });
  return new Map(
    stretches.map(({ bucket, until, most }) => {
      const found = last.get(bucket);
      return [bucket, found?.count === most ? found.changeNumber : until];
    }),
  );
}

/**
 * The next changes behind `from` that match the filter, at most `limit` (and a bounded number of others are passed: a page may
 * be short, or empty, and yet not the last). Costs one statement while there is nothing new. Why nothing is ever skipped:
 * docs/decisions/0021. Throws ServiceError `bellhop.feed.CursorGone` for positions that no change has reached.
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
    if (position > end) throw beyondTheEnd();
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
  return { changes: rows.map((row) => changeOf(row, properties)), before, positions, caughtUp };
}

/** What is told of a change beside its record; the cursor is where to go on behind it. */
function headOf(change: Change, cursor: string | undefined): string {
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
 * Yields the changes of a page as JSON objects, in order, each with its record as the very bytes that were sent, and, where
 * `cursorAt` (asked with the positions behind it) writes one, with the cursor that goes on behind it. Left out are those whose record is no longer kept. Memory does not grow with the page.
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
    const change = changes[next] as Change;
    next += 1;
    positions.set(change.bucket, change.changeNumber);
    // Something has changed the record since, and comes after this.
    if (isNoLongerKept(record)) continue;
    const head = headOf(change, cursorAt(positions));
    yield Buffer.concat([Buffer.from(`${head.slice(0, -1)},"record":`), record, Buffer.from("}")]);
  }
}
