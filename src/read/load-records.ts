import type pg from "pg";
import { BodyLayout } from "../accept/body-layout.ts";
import { readStatement } from "../db/statement.ts";
import { InflatedChunks } from "./inflated-chunks.ts";

const readLayouts = readStatement(new URL("./sql/read-layouts.sql", import.meta.url));
const readChunks = readStatement(new URL("./sql/read-chunks.sql", import.meta.url));

/** Where a record lies in the log. */
export interface RecordPointer {
  readonly bucket: number;
  readonly requestId: string;
  readonly index: number;
}

/** Pointers resolved at once; a layout has 8 bytes a record of its batch, so these hold at most 5 MB. */
const POINTERS_AT_ONCE = 64;
/** Stored bytes fetched at once. One chunk may be larger: then it is fetched alone. */
const STORED_BYTES_AT_ONCE = 4 * 1_048_576;

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

async function loadLayouts(
  pool: pg.Pool,
  pointers: readonly RecordPointer[],
): Promise<Map<string, BodyLayout>> {
  const parts = [...new Map(pointers.map((pointer) => [partOf(pointer), pointer])).values()];
  const { rows } = await pool.query<{ bucket: number; request_id: string; layout: Buffer }>({
    ...readLayouts,
    values: [parts.map(({ bucket }) => bucket), parts.map(({ requestId }) => requestId)],
  });
  return new Map(
    rows.map((row) => [
      partOf({ bucket: row.bucket, requestId: row.request_id, index: 0 }),
      new BodyLayout(row.layout),
    ]),
  );
}

function locate(pointer: RecordPointer, layouts: ReadonlyMap<string, BodyLayout>): Place {
  const part = partOf(pointer);
  const layout = layouts.get(part);
  const position = layout?.positionOf(pointer.index) ?? -1;
  if (layout === undefined || position < 0)
    throw new Error(`The log has no record ${pointer.index} of request ${pointer.requestId}.`);
  return { part, pointer, layout, position, ...layout.rangeOf(position) };
}

/** Splits places, in their order, so that the distinct chunks of each group stay within the bytes fetched at once. */
function* groupByBytes(places: readonly Place[]): Generator<{ places: Place[]; chunks: Map<string, Place> }> {
  let group: Place[] = [];
  let chunks = new Map<string, Place>();
  let bytes = 0;
  for (const place of places) {
    const id = `${place.part}/${place.chunk}`;
    if (!chunks.has(id)) {
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

async function fetchChunks(pool: pg.Pool, chunks: ReadonlyMap<string, Place>): Promise<Map<string, Buffer>> {
  const wanted = [...chunks.values()];
  const { rows } = await pool.query<{ stored: Buffer }>({
    ...readChunks,
    values: [
      wanted.map(({ pointer }) => pointer.bucket),
      wanted.map(({ pointer }) => pointer.requestId),
      wanted.map(({ from }) => from),
      wanted.map(({ bytes }) => bytes),
    ],
  });
  if (rows.length !== wanted.length) throw new Error("A part of the log went missing while it was read.");
  return new Map([...chunks.keys()].map((id, at) => [id, rows[at]?.stored as Buffer]));
}

/**
 * Yields the bytes of records as they were sent, in the order of the pointers. Only the chunks that hold them are
 * fetched, some at a time, and inflated one by one: memory does not grow with the number of records.
 */
export async function* loadRecords(
  pool: pg.Pool,
  pointers: readonly RecordPointer[],
): AsyncGenerator<Buffer, void> {
  const inflated = new InflatedChunks();
  for (let at = 0; at < pointers.length; at += POINTERS_AT_ONCE) {
    const some = pointers.slice(at, at + POINTERS_AT_ONCE);
    const layouts = await loadLayouts(pool, some);
    for (const { places, chunks } of groupByBytes(some.map((pointer) => locate(pointer, layouts)))) {
      const stored = await fetchChunks(pool, chunks);
      for (const { part, chunk, layout, position } of places) {
        const id = `${part}/${chunk}`;
        yield inflated.recordAt(id, layout, chunk, position, stored.get(id) as Buffer);
      }
    }
  }
}

/** Yields every record of one part chunk by chunk, for a search that ends at the first hit. */
export async function* loadPart(
  pool: pg.Pool,
  bucket: number,
  requestId: string,
): AsyncGenerator<{ readonly index: number; readonly bytes: Buffer }, void> {
  const part = { bucket, requestId, index: 0 };
  const layout = (await loadLayouts(pool, [part])).get(partOf(part));
  if (layout === undefined)
    throw new Error(`The log has no part of request ${requestId} in bucket ${bucket}.`);
  let position = 0;
  while (position < layout.recordCount) {
    const place = { part: "", pointer: part, layout, position, ...layout.rangeOf(position) };
    const stored = (await fetchChunks(pool, new Map([["", place]]))).get("") as Buffer;
    for (const record of layout.recordsOf(place.chunk, stored)) {
      yield { index: layout.indexAt(record.position), bytes: record.bytes };
      position = record.position + 1;
    }
  }
}
