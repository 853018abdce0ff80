import type { BodyLayout } from "../accept/body-layout.ts";
import { openLayout } from "../accept/open-layout.ts";
import { lowestIdAt } from "../accept/request-id.ts";
import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import { InflatedChunks } from "./inflated-chunks.ts";

const readParts = readStatement(new URL("./sql/read-parts.sql", import.meta.url));
const readChunks = readStatement(new URL("./sql/read-chunks.sql", import.meta.url));
const readPartsDistributed = readStatement(new URL("./sql/read-parts-distributed.sql", import.meta.url));
const readChunksDistributed = readStatement(new URL("./sql/read-chunks-distributed.sql", import.meta.url));

const readLogHorizon = readStatement(new URL("./sql/read-log-horizon.sql", import.meta.url));

/** Where a record lies in the log. */
export interface RecordPointer {
  readonly bucket: number;
  readonly requestId: string;
  readonly index: number;
}

/** Parts read at once; a layout has 8 bytes a record of its batch, so theirs hold at most 5 MB. */
const PARTS_AT_ONCE = 64;
/** Records whose places are held at once. */
const POINTERS_AT_ONCE = 1_024;
/** A stored body up to this size comes with its layout: a second statement would cost more than its bytes. */
const WHOLE_BODY_BYTES_MAX = 65_536;
/** Stored bytes fetched at once of larger bodies. One chunk may be larger: then it is fetched alone. */
const STORED_BYTES_AT_ONCE = 4 * 1_048_576;

/** What is known of one part of a batch: where its records lie, and its body where that is small. */
interface Part {
  readonly layout: BodyLayout;
  readonly body: Buffer | null;
}

/** What stands for a record that is no longer kept (docs/retention.md): the JSON value null. */
const NO_LONGER_KEPT = Buffer.from("null");

/** Whether what `loadRecords` yielded stands for a record that is no longer kept. */
export function isNoLongerKept(record: Buffer): boolean {
  return record === NO_LONGER_KEPT;
}

/** One stored chunk, and the records that are wanted of it. */
interface Place {
  readonly part: string;
  readonly pointer: RecordPointer;
  readonly layout: BodyLayout;
  readonly position: number;
  readonly chunk: number;
  readonly from: number;
  readonly bytes: number;
}

function partOf({ bucket, requestId }: RecordPointer): string {
  return `${requestId}/${bucket}`;
}

async function loadParts(
  pool: Queryable,
  pointers: readonly RecordPointer[],
  wholeBodyBytesMax: number,
): Promise<Map<string, Part>> {
  const parts = [...new Map(pointers.map((pointer) => [partOf(pointer), pointer])).values()];
  const buckets = parts.map(({ bucket }) => bucket);
  const values = [buckets, parts.map(({ requestId }) => requestId), wholeBodyBytesMax];
  const { rows } = await pool.query<{
    bucket: number;
    request_id: string;
    layout: Buffer;
    body: Buffer | null;
  }>(
    (await isDistributed(pool))
      ? { ...readPartsDistributed, values: [...values, [...new Set(buckets)]] }
      : { ...readParts, values },
  );
  const loaded = new Map<string, Part>();
  for (const { bucket, request_id: requestId, layout, body } of rows) {
    const opened = openLayout({ bucket, requestId }, layout);
    // Nearly always known: a promise a part would cost more than the part.
    const part = { layout: opened instanceof Promise ? await opened : opened, body };
    loaded.set(partOf({ bucket, requestId, index: 0 }), part);
  }
  return loaded;
}

/** Where a record lies; undefined where it is past its retention. `horizon`: of requests from this id on all is kept. */
function locate(
  pointer: RecordPointer,
  parts: ReadonlyMap<string, Part>,
  horizon: string,
): Place | undefined {
  const part = partOf(pointer);
  const layout = parts.get(part)?.layout;
  const position = layout?.positionOf(pointer.index) ?? -1;
  if (layout === undefined || position < 0) {
    if (pointer.requestId < horizon) return undefined;
    throw new Error(`The log has no record ${pointer.index} of request ${pointer.requestId}.`);
  }
  if (layout.bytesAt(position) === 0) return undefined;
  return { part, pointer, layout, position, ...layout.rangeOf(position) };
}

/** From which request on every part of the log is kept; asked where one of these parts is missing. */
async function horizonOf(
  pool: Queryable,
  group: readonly RecordPointer[],
  parts: ReadonlyMap<string, Part>,
): Promise<string> {
  if (group.every((pointer) => parts.has(partOf(pointer)))) return "";
  const { rows } = await pool.query<{ until: number | null }>(readLogHorizon);
  return lowestIdAt(rows[0]?.until ?? 0);
}

/** Splits pointers, in their order, into groups that name so few parts that they are read by one statement. */
function* groupByParts(pointers: readonly RecordPointer[]): Generator<RecordPointer[]> {
  let group: RecordPointer[] = [];
  let parts = new Set<string>();
  for (const pointer of pointers) {
    const part = partOf(pointer);
    if (group.length === POINTERS_AT_ONCE || (parts.size === PARTS_AT_ONCE && !parts.has(part))) {
      yield group;
      group = [];
      parts = new Set();
    }
    group.push(pointer);
    parts.add(part);
  }
  if (group.length > 0) yield group;
}

/** Splits places, in their order, so that the distinct chunks of each group stay within the bytes fetched at once. */
function* groupByBytes(
  places: readonly (Place | undefined)[],
): Generator<{ places: (Place | undefined)[]; chunks: Map<string, Place> }> {
  let group: (Place | undefined)[] = [];
  let chunks = new Map<string, Place>();
  let bytes = 0;
  for (const place of places) {
    const id = `${place?.part}/${place?.chunk}`;
    if (place !== undefined && !chunks.has(id)) {
      if (chunks.size > 0 && bytes + place.bytes > STORED_BYTES_AT_ONCE) {
        yield { places: group, chunks };
        group = [];
        chunks = new Map();
        bytes = 0;
      }
      chunks.set(id, place);
      bytes += place.bytes;
    }
    group.push(place);
  }
  if (group.length > 0) yield { places: group, chunks };
}

async function fetchChunks(
  pool: Queryable,
  chunks: ReadonlyMap<string, Place>,
): Promise<Map<string, Buffer>> {
  const wanted = [...chunks.values()];
  const buckets = wanted.map(({ pointer }) => pointer.bucket);
  const values = [
    buckets,
    wanted.map(({ pointer }) => pointer.requestId),
    wanted.map(({ from }) => from),
    wanted.map(({ bytes }) => bytes),
  ];
  const { rows } = await pool.query<{ stored: Buffer }>(
    (await isDistributed(pool))
      ? { ...readChunksDistributed, values: [...values, [...new Set(buckets)]] }
      : { ...readChunks, values },
  );
  if (rows.length !== wanted.length) throw new Error("A part of the log went missing while it was read.");
  return new Map([...chunks.keys()].map((id, at) => [id, rows[at]?.stored as Buffer]));
}

/** The chunks of places whose bodies did not come with their layouts. */
function storedChunks(
  pool: Queryable,
  chunks: ReadonlyMap<string, Place>,
  parts: ReadonlyMap<string, Part>,
): Promise<Map<string, Buffer>> | Map<string, Buffer> {
  const missing = new Map([...chunks].filter(([, { part }]) => parts.get(part)?.body === null));
  return missing.size === 0 ? new Map() : fetchChunks(pool, missing);
}

/**
 * Yields the bytes of records as they were sent, in the order of the pointers; each are good until the next is asked for. Some parts are read at a time, the next
 * ones while these are yielded, and inflated chunk by chunk: memory does not grow with the number of records. In the place of a
 * record that is no longer kept stands `null`.
 */
export async function* loadRecords(
  pool: Queryable,
  pointers: readonly RecordPointer[],
): AsyncGenerator<Buffer, void> {
  const inflated = new InflatedChunks();
  const groups = groupByParts(pointers);
  const readNext = (): Promise<{ group: RecordPointer[]; parts: Map<string, Part> }> | undefined => {
    const { value: group } = groups.next();
    if (group === undefined) return undefined;
    const reading = loadParts(pool, group, WHOLE_BODY_BYTES_MAX).then((parts) => ({ group, parts }));
    // Whoever asked may be gone before it is awaited.
    reading.catch(() => undefined);
    return reading;
  };
  try {
    for (let next = readNext(); next !== undefined; ) {
      const { group, parts } = await next;
      next = readNext();
      const horizon = await horizonOf(pool, group, parts);
      for (const { places, chunks } of groupByBytes(
        group.map((pointer) => locate(pointer, parts, horizon)),
      )) {
        const fetched = await storedChunks(pool, chunks, parts);
        for (const place of places) {
          if (place === undefined) {
            yield NO_LONGER_KEPT;
            continue;
          }
          const { part, chunk, layout, position, from, bytes } = place;
          const id = `${part}/${chunk}`;
          const stored = parts.get(part)?.body?.subarray(from, from + bytes) ?? (fetched.get(id) as Buffer);
          yield inflated.recordAt(id, layout, chunk, position, stored);
        }
      }
    }
  } finally {
    inflated.free();
  }
}

/** Yields every record of one part that is still kept, chunk by chunk, for a search that ends at the first hit. */
export async function* loadPart(
  pool: Queryable,
  bucket: number,
  requestId: string,
): AsyncGenerator<{ readonly index: number; readonly bytes: Buffer }, void> {
  const pointer = { bucket, requestId, index: 0 };
  const layout = (await loadParts(pool, [pointer], 0)).get(partOf(pointer))?.layout;
  if (layout === undefined)
    throw new Error(`The log has no part of request ${requestId} in bucket ${bucket}.`);
  let position = 0;
  while (position < layout.recordCount) {
    const place = { part: "", pointer, layout, position, ...layout.rangeOf(position) };
    const stored = (await fetchChunks(pool, new Map([["", place]]))).get("") as Buffer;
    for (const record of layout.recordsOf(place.chunk, stored)) {
      if (record.bytes.length > 0) yield { index: layout.indexAt(record.position), bytes: record.bytes };
      position = record.position + 1;
    }
  }
}
