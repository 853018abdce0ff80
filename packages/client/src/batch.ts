import { createHash } from "node:crypto";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { invalidOption } from "./error.ts";
import type { Compression } from "./options.ts";
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

interface BatchBounds {
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
interface UnwritableRecord {
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

/** Smaller bodies are not worth the time. */
const COMPRESSED_BYTES_MIN = 1_024;

const gzip = promisify<Buffer, zlib.ZlibOptions, Buffer<ArrayBuffer>>(zlib.gzip);

interface PackedBody {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Throws `client.InvalidOption` where this Node does not have the compression. */
export function requireCompression(compression: Compression): void {
  if (compression === "zstd" && typeof zlib.zstdCompress !== "function")
    throw invalidOption("compression zstd needs Node 22.15 or newer; gzip works everywhere.");
}

/** Compresses a body off the event loop. Level 1: more of it costs more time than it saves on the wire. */
export async function pack(body: Buffer<ArrayBuffer>, compression: Compression): Promise<PackedBody> {
  if (compression === "none" || body.length < COMPRESSED_BYTES_MIN) return { body, headers: {} };
  if (compression === "gzip")
    return { body: await gzip(body, { level: 1 }), headers: { "content-encoding": "gzip" } };
  const packed = await promisify<Buffer, Buffer<ArrayBuffer>>(zlib.zstdCompress)(body);
  return { body: packed, headers: { "content-encoding": "zstd" } };
}

/** Whose record it is, as one text; the same text for all in which that cannot be read. */
export function codesOf({ record }: Item<unknown>): string {
  let value: unknown = record;
  if (record instanceof JsonRecord) {
    try {
      value = record.parse();
    } catch {
      return "";
    }
  }
  if (typeof value !== "object" || value === null) return "";
  const { clientCode, propertyCode } = value as { clientCode?: unknown; propertyCode?: unknown };
  return JSON.stringify([clientCode, propertyCode]);
}

/** Records by the property that they name, each kept in its order. */
export function byCodes(items: readonly Item<unknown>[]): Map<string, Item<unknown>[]> {
  const groups = new Map<string, Item<unknown>[]>();
  for (const item of items) {
    const codes = codesOf(item);
    const group = groups.get(codes);
    if (group === undefined) groups.set(codes, [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * A record that is JSON text already, as bytes or as a string: it goes out exactly as it is, so that no number in it passes through
 * binary floating point. `readRecords` gives these.
 */
export class JsonRecord {
  readonly json: string | Uint8Array;

  constructor(json: string | Uint8Array) {
    this.json = json;
  }

  /** The record as JavaScript has it. Throws SyntaxError where it is no JSON. */
  parse(): unknown {
    return JSON.parse(typeof this.json === "string" ? this.json : new TextDecoder().decode(this.json));
  }

  toString(): string {
    return typeof this.json === "string" ? this.json : new TextDecoder().decode(this.json);
  }
}

/**
 * Records that are one body already: a JSON array of them, as bytes. It goes out as it is, as one batch whatever the bounds of the
 * `send` are, so that nothing is put together while it is sent; only what is refused is taken apart into its records.
 *
 * @example
 * await bellhop.inventories.send([new JsonBatch(await readFile("monday.json"), 365), new JsonBatch(await readFile("tuesday.json"), 365)]);
 */
export class JsonBatch {
  readonly body: Buffer<ArrayBuffer>;
  readonly records: number;

  /** `records` is how many there are in the array. The bytes are kept, not copied: they must not change until they were sent. */
  constructor(body: Uint8Array<ArrayBuffer>, records: number) {
    this.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.records = records;
  }
}
