import { createHash } from "node:crypto";
import { JsonBatch } from "./json-batch.ts";
import { JsonRecord } from "./json-record.ts";
import { RecordCutter, unreadable } from "./record-cutter.ts";

/** One of the caller's records, on its way. */
export interface Item<Of> {
  /** Its place in what was given to `send`, from 0. */
  readonly index: number;
  readonly record: Of | JsonRecord;
  /** What goes out. */
  readonly json: string | Uint8Array;
  readonly bytes: number;
}

export interface BatchBounds {
  readonly recordsMax: number;
  readonly bytesMax: number;
}

/** Records of one request, in their order. */
export interface Batch {
  /** The place of the first in what was given to `send`, from 0. */
  readonly first: number;
  /** What was given for the first: the record, or the JsonBatch in which it lies. */
  readonly given: unknown;
  readonly count: number;
  /** Each by itself. Throws `client.UnreadableInput` for a JsonBatch that is none. */
  items(): readonly Item<unknown>[];
  /** A JSON array of the records as they are. */
  body(): Buffer<ArrayBuffer>;
}

export type Records<Of> = Iterable<Of | JsonRecord | JsonBatch> | AsyncIterable<Of | JsonRecord | JsonBatch>;

/** A record that cannot be written as JSON, and why. */
export interface UnwritableRecord {
  readonly index: number;
  readonly record: unknown;
  readonly cause: unknown;
}

function itemOf<Of>(record: Of | JsonRecord, index: number): Item<Of> {
  const json = record instanceof JsonRecord ? record.json : JSON.stringify(record);
  if (json === undefined) throw new TypeError(`A record is an object, not ${typeof record}.`);
  const bytes = typeof json === "string" ? Buffer.byteLength(json) : json.byteLength;
  return { index, record, json, bytes };
}

/** Records as one batch. */
export function batchOf(items: readonly Item<unknown>[]): Batch {
  const { index = 0, record } = items[0] ?? {};
  return { first: index, given: record, count: items.length, items: () => items, body: () => bodyOf(items) };
}

function batchMadeBefore(given: JsonBatch, first: number): Batch {
  const { body, records } = given;
  return { first, given, count: records, items: () => itemsOf(body, records, first), body: () => body };
}

function itemsOf(body: Uint8Array, count: number, first: number): Item<unknown>[] {
  const cutter = new RecordCutter();
  const records = cutter.push(body);
  cutter.end();
  if (records.length !== count)
    throw unreadable(`a batch of ${count} records was given, and there are ${records.length} in it`);
  return records.map((json, at) => itemOf(new JsonRecord(json), first + at));
}

/**
 * Cuts records into batches, in their order, each as full as the bounds allow: the same records always make the same batches, which
 * is what a send that was interrupted goes on by. A record larger than `bytesMax` is a batch of its own, and so is a JsonBatch.
 */
export async function* cutBatches<Of>(
  records: Records<Of>,
  bounds: BatchBounds,
  onUnwritable: (record: UnwritableRecord) => void,
): AsyncGenerator<Batch, void, undefined> {
  let batch: Item<Of>[] = [];
  let bytes = 0;
  let next = 0;
  for await (const record of records) {
    const index = next;
    if (record instanceof JsonBatch) {
      if (batch.length > 0) yield batchOf(batch);
      batch = [];
      bytes = 0;
      next += record.records;
      yield batchMadeBefore(record, index);
      continue;
    }
    next += 1;
    let item: Item<Of>;
    try {
      item = itemOf(record, index);
    } catch (cause) {
      onUnwritable({ index, record, cause });
      continue;
    }
    const isFull = batch.length === bounds.recordsMax || bytes + item.bytes > bounds.bytesMax;
    if (isFull && batch.length > 0) {
      yield batchOf(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    // Its comma, or the bracket, too.
    bytes += item.bytes + 1;
  }
  if (batch.length > 0) yield batchOf(batch);
}

const OPEN = Buffer.from("[");
const COMMA = Buffer.from(",");
const CLOSE = Buffer.from("]");

function bodyOf(items: readonly Item<unknown>[]): Buffer<ArrayBuffer> {
  if (items.every(({ json }) => typeof json === "string"))
    return Buffer.from(`[${items.map(({ json }) => json).join(",")}]`);
  const parts: Uint8Array[] = [];
  for (const { json } of items)
    parts.push(parts.length === 0 ? OPEN : COMMA, typeof json === "string" ? Buffer.from(json) : json);
  parts.push(CLOSE);
  return Buffer.concat(parts);
}

/**
 * The Idempotency-Key of a batch: a hash of its body and of all else that the service compares under a key (`context`). The same batch has the same key in another
 * process, tomorrow: sent again within 24 hours it gets the first answer again, and nothing is stored twice. No two
 * batches share one, and a batch that is sent twice on purpose says nothing new the second time.
 */
export function idempotencyKeyOf(context: readonly unknown[], body: Uint8Array): string {
  const hash = createHash("sha256")
    .update(`${JSON.stringify(context)}\n`)
    .update(body)
    .digest("base64url");
  return `bellhop-client-1-${hash}`;
}
