import { hash } from "node:crypto";
import type { BodyLayout } from "../ingest/log/body-layout.ts";
import { openLayout } from "../ingest/log/open-layout.ts";
import { lowestIdAt } from "../ingest/log/part-name.ts";
import { queryBytes } from "../platform/db/dialect.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";

/** Maximum bytes cached in addition to those of the newest chunk, which may be one record of tens of megabytes. */
const KEPT_BYTES_MAX = 8 * 1_048_576;
/** Wanted records are copied out of a chunk more than so many times their size: the chunks of a page over many batches would not all fit. */
const SPARSE = 2;

/** The wanted records of a chunk. */
interface InflatedChunk {
  readonly records: ReadonlyMap<number, Buffer>;
  /** What they keep in memory. */
  readonly bytes: number;
  /** The memory of the records, if it contains nothing else. */
  readonly memory: ArrayBufferLike | undefined;
}

/** Recently decompressed chunks: records in key order alternate between chunks, and decompressing one takes up to 200 µs. */
class InflatedChunks {
  readonly #kept = new Map<StoredChunk, InflatedChunk>();
  #bytes = 0;

  /** The record at a position; `fetched` are the stored bytes of chunks that came without their part's body. */
  recordAt(chunk: StoredChunk, position: number, fetched: ReadonlyMap<StoredChunk, Buffer>): Buffer {
    const record = (this.#kept.get(chunk) ?? this.#inflate(chunk, fetched)).records.get(position);
    if (record === undefined)
      throw new Error("A chunk of the log does not hold a record that its layout names.");
    return record;
  }

  /** Frees the memory explicitly after its last use; a garbage collection would mark the whole heap and triple a page's time. */
  free(): void {
    for (const { memory } of this.#kept.values()) {
      if (memory instanceof ArrayBuffer) memory.transfer(0);
    }
    this.#kept.clear();
    this.#bytes = 0;
  }

  #inflate(of: StoredChunk, fetched: ReadonlyMap<StoredChunk, Buffer>): InflatedChunk {
    const { layout, body } = of.part;
    const stored = body?.subarray(of.from, of.from + of.bytes) ?? (fetched.get(of) as Buffer);
    const records = new Map<number, Buffer>();
    let bytes = 0;
    let memory: ArrayBufferLike | undefined;
    for (const record of layout.recordsOf(of.chunk, stored, of.wanted)) {
      records.set(record.position, record.bytes);
      bytes += record.bytes.length;
      memory = record.bytes.buffer;
    }
    // An uncompressed chunk shares the received buffer; a decompressed one has a buffer one byte longer than its records.
    const isAlone = memory !== stored.buffer && (memory?.byteLength ?? 0) <= of.inflatedBytes + 1;
    if (!isAlone) memory = undefined;
    else if (memory instanceof ArrayBuffer && memory.byteLength > SPARSE * bytes) {
      const copies = Buffer.allocUnsafeSlow(bytes);
      let from = 0;
      for (const [position, record] of records) {
        const end = from + record.copy(copies, from);
        records.set(position, copies.subarray(from, end));
        from = end;
      }
      memory.transfer(0);
      memory = copies.buffer;
    }
    bytes = memory?.byteLength ?? bytes;
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#bytes + bytes <= KEPT_BYTES_MAX) break;
      this.#kept.delete(oldest);
      this.#bytes -= freed;
    }
    const inflated = { records, bytes, memory };
    this.#kept.set(of, inflated);
    this.#bytes += bytes;
    return inflated;
  }
}

/** Layouts of batch parts, and their stored bodies up to $3 bytes. Plan: one index scan per part, in one partition. */
const readParts = namedStatement(
  "read-parts",
  `select part.place::integer, log.layout, log.body
  from unnest($1::smallint[], $2::uuid[]) with ordinality as part (bucket, request_id, place)
  cross join lateral (
    select layout, case when octet_length(body) <= $3::integer then body end as body
    from bellhop.accept_log as log
    where log.request_id = part.request_id and log.bucket = part.bucket and log.kind in ('b', 'c')
    limit 1
  ) as log`,
);
const readChunks = readStatement(new URL("./sql/read-chunks.sql", import.meta.url));
/** In milliseconds since 1970. Batches received earlier may have been deleted by retention. */
const readLogHorizon = namedStatement(
  "read-log-horizon",
  `select (extract(epoch from max(known_from)) * 1000)::float8 as until
  from bellhop.retention_horizon
  where kind in ('payloads', 'outcomes')`,
);

export interface RecordPointer {
  readonly bucket: number;
  readonly requestId: string;
  readonly index: number;
}

/** Parts read by one statement. Their layouts, 8 bytes per record, take at most 5 MB. */
const PARTS_AT_ONCE = 64;
const POINTERS_AT_ONCE = 1_024;
/** Stored bodies up to this size are read with their layout, because a second statement would cost more. */
const WHOLE_BODY_BYTES_MAX = 65_536;
/** Stored bytes of larger bodies fetched by one statement; a larger chunk is fetched alone. */
const STORED_BYTES_AT_ONCE = 4 * 1_048_576;

/** One part of a batch, with its body if it is small; otherwise with the SHA-256 of its layout, which its chunks are checked against. */
interface Part {
  readonly bucket: number;
  readonly requestId: string;
  readonly layout: BodyLayout;
  readonly body: Buffer | null;
  readonly layoutHash: Buffer | null;
  /** Those that a record was located in. */
  readonly chunks: Map<number, StoredChunk>;
}

/** A chunk of a part, and where it lies in its stored body. */
interface StoredChunk {
  readonly part: Part;
  readonly chunk: number;
  readonly from: number;
  readonly bytes: number;
  readonly inflatedBytes: number;
  /** The positions of the records located in it. */
  readonly wanted: Set<number>;
}

/** Retries if an erasure, a deletion or retention rewrites a part between two statements. */
const READ_AGAIN_MAX = 5;

/** Replaces a record that retention has deleted (docs/retention.md). */
const NO_LONGER_KEPT = Buffer.from("null");

export function isNoLongerKept(record: Buffer): boolean {
  return record === NO_LONGER_KEPT;
}

/** Where a record lies. */
interface Place {
  readonly stored: StoredChunk;
  readonly position: number;
}

function partOf({ bucket, requestId }: RecordPointer): string {
  return `${requestId}/${bucket}`;
}

/** What was read from the log. `free` frees its memory, if it is large. */
interface Read<Key, Value> {
  readonly found: ReadonlyMap<Key, Value>;
  free(): void;
}

async function loadParts(
  pool: Queryable,
  pointers: readonly RecordPointer[],
  wholeBodyBytesMax: number,
): Promise<Read<string, Part>> {
  const parts = new Map<string, RecordPointer>();
  for (const pointer of pointers) parts.set(partOf(pointer), pointer);
  const wanted = [...parts];
  const [buckets, requestIds] = [wanted.map(([, one]) => one.bucket), wanted.map(([, one]) => one.requestId)];
  const read = await queryBytes(pool, readParts, [buckets, requestIds, wholeBodyBytesMax]);
  const found = new Map<string, Part>();
  for (const [place, layout, body] of read.rows as [Buffer, Buffer, Buffer | null][]) {
    const [id, { bucket, requestId }] = wanted[place.readInt32BE() - 1] as (typeof wanted)[number];
    const opened = openLayout({ bucket, requestId }, layout);
    // Layouts are usually cached; awaiting a promise per part would cost more than the part.
    found.set(id, {
      bucket,
      requestId,
      layout: opened instanceof Promise ? await opened : opened,
      body,
      layoutHash: body === null ? hash("sha256", layout, "buffer") : null,
      chunks: new Map(),
    });
  }
  return { found, free: () => read.free() };
}

function placeOf(part: Part, position: number): Place {
  const { chunk, from, bytes, inflatedBytes } = part.layout.rangeOf(position);
  let stored = part.chunks.get(chunk);
  if (stored === undefined) {
    stored = { part, chunk, from, bytes, inflatedBytes, wanted: new Set() };
    part.chunks.set(chunk, stored);
  }
  stored.wanted.add(position);
  return { stored, position };
}

/** Locates a record; undefined if retention has deleted it. All requests from the id `horizon` on are retained. */
function locate(
  pointer: RecordPointer,
  parts: ReadonlyMap<string, Part>,
  horizon: string,
): Place | undefined {
  const part = parts.get(partOf(pointer));
  const position = part?.layout.positionOf(pointer.index) ?? -1;
  if (part === undefined || position < 0) {
    if (pointer.requestId < horizon) return undefined;
    throw new Error(`The log has no record ${pointer.index} of request ${pointer.requestId}.`);
  }
  if (part.layout.bytesAt(position) === 0) return undefined;
  return placeOf(part, position);
}

/** The request from which the log is complete; read only if a part is missing. */
async function horizonOf(
  pool: Queryable,
  group: readonly RecordPointer[],
  parts: ReadonlyMap<string, Part>,
): Promise<string> {
  if (group.every((pointer) => parts.has(partOf(pointer)))) return "";
  const { rows } = await pool.query<{ until: number | null }>(readLogHorizon);
  return lowestIdAt(rows[0]?.until ?? 0);
}

/** Splits pointers, in order, into groups whose parts can be read by one statement. */
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

/** Splits places, in order, into groups whose distinct chunks fit the fetch limit. */
function* groupByBytes(
  places: readonly (Place | undefined)[],
): Generator<{ places: (Place | undefined)[]; chunks: Set<StoredChunk> }> {
  let group: (Place | undefined)[] = [];
  let chunks = new Set<StoredChunk>();
  let bytes = 0;
  for (const place of places) {
    if (place !== undefined && !chunks.has(place.stored)) {
      if (chunks.size > 0 && bytes + place.stored.bytes > STORED_BYTES_AT_ONCE) {
        yield { places: group, chunks };
        group = [];
        chunks = new Set();
        bytes = 0;
      }
      chunks.add(place.stored);
      bytes += place.stored.bytes;
    }
    group.push(place);
  }
  if (group.length > 0) yield { places: group, chunks };
}

/** The stored bytes of chunks; undefined if one of their parts has been rewritten or deleted. */
async function fetchChunks(
  pool: Queryable,
  wanted: readonly StoredChunk[],
): Promise<Read<StoredChunk, Buffer> | undefined> {
  const checked = new Set<Part>();
  const read = await queryBytes(pool, readChunks, [
    wanted.map(({ part }) => part.bucket),
    wanted.map(({ part }) => part.requestId),
    wanted.map(({ from }) => from),
    wanted.map(({ bytes }) => bytes),
    // Check the layout once per part, as the statement has one snapshot.
    wanted.map(({ part }) => (checked.size < checked.add(part).size ? part.layoutHash : null)),
  ]);
  const stored = read.rows.flat();
  if (stored.length !== wanted.length || stored.includes(null)) return undefined;
  return {
    found: new Map(wanted.map((chunk, at) => [chunk, stored[at] as Buffer])),
    free: () => read.free(),
  };
}

/** The chunks whose bodies were not read with their layouts; undefined as in `fetchChunks`. */
function storedChunks(
  pool: Queryable,
  chunks: ReadonlySet<StoredChunk>,
): Promise<Read<StoredChunk, Buffer> | undefined> | Read<StoredChunk, Buffer> {
  const missing = [...chunks].filter(({ part }) => part.body === null);
  return missing.length === 0 ? { found: new Map(), free: () => undefined } : fetchChunks(pool, missing);
}

/** A group of pointers and their parts. */
interface LoadedGroup {
  readonly group: readonly RecordPointer[];
  readonly parts: Read<string, Part>;
}

async function loadGroup(pool: Queryable, group: readonly RecordPointer[]): Promise<LoadedGroup> {
  return { group, parts: await loadParts(pool, group, WHOLE_BODY_BYTES_MAX) };
}

/** Decompressed bytes of the records that are yielded together. */
const RECORD_BYTES_AT_ONCE = 1_048_576;

/** Yields the records of a group, many at a time. If a part is rewritten meanwhile, the remaining records are read from the new version. */
async function* recordsOfGroup(
  pool: Queryable,
  { group, parts }: LoadedGroup,
  inflated: InflatedChunks,
  readAgain = READ_AGAIN_MAX,
): AsyncGenerator<readonly Buffer[], void> {
  const horizon = await horizonOf(pool, group, parts.found);
  let placed = 0;
  for (const { places, chunks } of groupByBytes(
    group.map((pointer) => locate(pointer, parts.found, horizon)),
  )) {
    const fetched = await storedChunks(pool, chunks);
    if (fetched === undefined) {
      if (readAgain === 0) throw new Error("A part of the log was rewritten during every read.");
      const rest = await loadGroup(pool, group.slice(placed));
      yield* recordsOfGroup(pool, rest, inflated, readAgain - 1);
      return;
    }
    let records: Buffer[] = [];
    let bytes = 0;
    for (const place of places) {
      const record =
        place === undefined ? NO_LONGER_KEPT : inflated.recordAt(place.stored, place.position, fetched.found);
      records.push(record);
      bytes += record.length;
      if (bytes < RECORD_BYTES_AT_ONCE) continue;
      yield records;
      records = [];
      bytes = 0;
    }
    if (records.length > 0) yield records;
    placed += places.length;
    // Cached chunks may be views of this memory, or of an earlier version of a part than the next group's.
    inflated.free();
    fetched.free();
  }
  parts.free();
}

/**
 * Yields records verbatim, in the order of the pointers, many at a time; they are valid until the next are requested. Reads parts ahead
 * and decompresses chunk by chunk, so memory does not grow with the number of records. `null` for a record deleted by retention.
 */
export async function* loadManyRecords(
  pool: Queryable,
  pointers: readonly RecordPointer[],
): AsyncGenerator<readonly Buffer[], void> {
  const inflated = new InflatedChunks();
  const groups = groupByParts(pointers);
  const readNext = (): Promise<LoadedGroup> | undefined => {
    const { value: group } = groups.next();
    if (group === undefined) return undefined;
    const reading = loadGroup(pool, group);
    // Avoids an unhandled rejection if the caller stops early.
    reading.catch(() => undefined);
    return reading;
  };
  try {
    for (let next = readNext(); next !== undefined; ) {
      const loaded = await next;
      next = readNext();
      yield* recordsOfGroup(pool, loaded, inflated);
    }
  } finally {
    inflated.free();
  }
}

/** As `loadManyRecords`, one record at a time. */
export async function* loadRecords(
  pool: Queryable,
  pointers: readonly RecordPointer[],
): AsyncGenerator<Buffer, void> {
  for await (const records of loadManyRecords(pool, pointers)) yield* records;
}

/** As `loadRecords`, with pauses for what the caller does with each record: records of one chunk come without a turn of the event loop between them. */
export async function* loadRecordsWithPauses(
  pool: Queryable,
  pointers: readonly RecordPointer[],
): AsyncGenerator<Buffer, void> {
  const pauses = new WorkPauses();
  for await (const records of loadManyRecords(pool, pointers))
    for (const record of records) {
      if (pauses.isDue) await pauses.pause();
      yield record;
    }
}

/** Yields every retained record of one part, chunk by chunk, so that a search can stop at the first match. */
export async function* loadPart(
  pool: Queryable,
  bucket: number,
  requestId: string,
): AsyncGenerator<Buffer, void> {
  const pointer = { bucket, requestId, index: 0 };
  const load = async (): Promise<Part> => {
    const part = (await loadParts(pool, [pointer], 0)).found.get(partOf(pointer));
    if (part !== undefined) return part;
    throw new Error(`The log has no part of request ${requestId} in bucket ${bucket}.`);
  };
  let part = await load();
  let position = 0;
  for (let readAgain = READ_AGAIN_MAX; position < part.layout.recordCount; ) {
    const { stored: chunk } = placeOf(part, position);
    const stored = (await fetchChunks(pool, [chunk]))?.found.get(chunk);
    if (stored === undefined) {
      if (readAgain === 0) throw new Error("A part of the log was rewritten during every read.");
      readAgain -= 1;
      part = await load();
      continue;
    }
    for (const record of part.layout.recordsOf(chunk.chunk, stored)) {
      // A rewritten part has other chunks, which may start before the last position.
      if (record.position < position) continue;
      if (record.bytes.length > 0) yield record.bytes;
      position = record.position + 1;
    }
  }
}
