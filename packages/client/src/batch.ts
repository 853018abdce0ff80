import { createHash } from "node:crypto";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { BellhopError, invalidOption } from "./error.ts";
import type { Compression, SendSettings } from "./options.ts";

export interface Item {
  /** Position in the input of `send`, from 0. */
  readonly index: number;
  readonly record: unknown;
  readonly json: string | Uint8Array;
  readonly bytes: number;
}

export interface Batch {
  /** Position of the first record in the input of `send`. */
  readonly first: number;
  /** The first record, or the JsonBatch that contains it. */
  readonly given: unknown;
  readonly count: number;
  items(): readonly Item[];
  body(): Buffer<ArrayBuffer>;
}

export type Records<Of> = Iterable<Of | JsonRecord | JsonBatch> | AsyncIterable<Of | JsonRecord | JsonBatch>;

function itemOf(record: unknown, index: number): Item {
  const json = record instanceof JsonRecord ? record.json : JSON.stringify(record);
  if (json === undefined) throw new TypeError(`A record is an object, not ${typeof record}.`);
  if (record instanceof JsonRecord && !isOneValue(json)) throw new TypeError("A record is one JSON value.");
  const bytes = typeof json === "string" ? Buffer.byteLength(json) : json.byteLength;
  return { index, record, json, bytes };
}

/** Whether the text is exactly one JSON value, by brackets and quotes only. Several values would shift the indexes of later records. */
function isOneValue(json: string | Uint8Array): boolean {
  const bytes = typeof json === "string" ? Buffer.from(json) : json;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) isInText = !isInText;
    else if (isInText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    if (depth < 0 || (depth === 0 && byte === COMMA && !isInText)) return false;
  }
  return depth === 0 && !isInText && bytes.length > 0;
}

export function batchOf(items: readonly Item[]): Batch {
  const { index = 0, record } = items[0] ?? {};
  return { first: index, given: record, count: items.length, items: () => items, body: () => bodyOf(items) };
}

function batchMadeBefore(given: JsonBatch, first: number): Batch {
  const { body, records } = given;
  return { first, given, count: records, items: () => itemsOf(body, records, first), body: () => body };
}

function itemsOf(body: Uint8Array, count: number, first: number): Item[] {
  const cutter = new RecordCutter();
  const records = cutter.push(body);
  cutter.end();
  if (records.length !== count)
    throw unreadable(`a batch of ${count} records was given, and there are ${records.length} in it`);
  return records.map((record, at) => itemOf(record, first + at));
}

/** Groups records in order into full batches. Grouping is deterministic, so an interrupted send can be resumed. */
export async function* cutBatches(
  records: Records<unknown>,
  { batchRecords, batchBytes }: Pick<SendSettings, "batchRecords" | "batchBytes">,
  onUnwritable: (index: number, record: unknown, cause: unknown) => void,
): AsyncGenerator<Batch, void, undefined> {
  let batch: Item[] = [];
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
    let item: Item;
    try {
      item = itemOf(record, index);
    } catch (cause) {
      onUnwritable(index, record, cause);
      continue;
    }
    const isFull = batch.length === batchRecords || bytes + item.bytes > batchBytes;
    if (isFull && batch.length > 0) {
      yield batchOf(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += item.bytes + 1;
  }
  if (batch.length > 0) yield batchOf(batch);
}

const OPEN_BYTES = Buffer.from("[");
const COMMA_BYTES = Buffer.from(",");
const CLOSE_BYTES = Buffer.from("]");

function bodyOf(items: readonly Item[]): Buffer<ArrayBuffer> {
  if (items.every(({ json }) => typeof json === "string"))
    return Buffer.from(`[${items.map(({ json }) => json).join(",")}]`);
  const parts: Uint8Array[] = [];
  for (const { json } of items)
    parts.push(
      parts.length === 0 ? OPEN_BYTES : COMMA_BYTES,
      typeof json === "string" ? Buffer.from(json) : json,
    );
  parts.push(CLOSE_BYTES);
  return Buffer.concat(parts);
}

/** A hash of the body and `context`: a repeated batch has the same key in any process, so nothing is stored twice. */
export function idempotencyKeyOf(context: readonly unknown[], body: Uint8Array): string {
  const hash = createHash("sha256")
    .update(`${JSON.stringify(context)}\n`)
    .update(body)
    .digest("base64url");
  return `bellhop-client-1-${hash}`;
}

const COMPRESSED_BYTES_MIN = 1_024;

const gzip = promisify<Buffer, zlib.ZlibOptions, Buffer<ArrayBuffer>>(zlib.gzip);

interface PackedBody {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Throws `client.InvalidOption` if this Node version lacks the compression. */
export function requireCompression(compression: Compression): void {
  if (compression === "zstd" && typeof zlib.zstdCompress !== "function")
    throw invalidOption("compression zstd needs Node 22.15 or newer; gzip works everywhere.");
}

/** Compresses a body off the event loop. Higher levels than 1 take longer than they save on the wire. */
export async function pack(body: Buffer<ArrayBuffer>, compression: Compression): Promise<PackedBody> {
  if (compression === "none" || body.length < COMPRESSED_BYTES_MIN) return { body, headers: {} };
  if (compression === "gzip")
    return { body: await gzip(body, { level: 1 }), headers: { "content-encoding": "gzip" } };
  const packed = await promisify<Buffer, Buffer<ArrayBuffer>>(zlib.zstdCompress)(body);
  return { body: packed, headers: { "content-encoding": "zstd" } };
}

/** The codes of a record's property as one string; the same string for all records whose codes cannot be read. */
export function codesOf({ record }: Item): string {
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

export function byCodes(items: readonly Item[]): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const codes = codesOf(item);
    const group = groups.get(codes);
    if (group === undefined) groups.set(codes, [item]);
    else group.push(item);
  }
  return groups;
}

/** A record as JSON text, sent verbatim, so no number is rounded. `readRecords` yields these. */
export class JsonRecord {
  readonly json: string | Uint8Array;
  /** The line of the input, from 1, on which it begins; undefined if it was not read by `readRecords`. */
  readonly line: number | undefined;

  constructor(json: string | Uint8Array, line?: number) {
    this.json = json;
    this.line = line;
  }

  /** Throws SyntaxError for invalid JSON. */
  parse(): unknown {
    return JSON.parse(this.toString());
  }

  toString(): string {
    return typeof this.json === "string" ? this.json : new TextDecoder().decode(this.json);
  }
}

/**
 * Records that are already one body: the bytes of a JSON array, sent verbatim as one batch.
 *
 * @example
 * await bellhop.inventories.send([new JsonBatch(await readFile("monday.json"), 365)]);
 */
export class JsonBatch {
  readonly body: Buffer<ArrayBuffer>;
  readonly records: number;

  /** `records` is the length of the array. The bytes are not copied: do not change them before they are sent. */
  constructor(body: Uint8Array<ArrayBuffer>, records: number) {
    this.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.records = records;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const FORMATS = "Send a JSON array, or one JSON record per line (NDJSON)";
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/** Twice the service's limit for one record, so that the service refuses records that are too large. */
const RECORD_BYTES_MAX = 16_777_216;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function unreadable(clause: string, cause?: unknown): BellhopError {
  return new BellhopError(`The input cannot be read: ${clause}${clause.endsWith(".") ? "" : "."}`, {
    exception: "client.UnreadableInput",
    cause,
  });
}

/** Finds the records of a JSON array or of NDJSON in chunks of any size, by brackets and quotes only. */
export class RecordCutter {
  #kind: "unknown" | "array" | "lines" | "over" = "unknown";
  /** Bytes of the incomplete record; `#at` of them are scanned. */
  #rest: Uint8Array = new Uint8Array(0);
  #at = 0;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isAfterComma = false;
  #offset = 0;
  /** The line of the next byte to scan, and the one on which the incomplete record begins; 0: not begun. */
  #line = 1;
  #beganOn = 0;

  /** The records that these bytes complete, without the whitespace around them. */
  push(chunk: Uint8Array): JsonRecord[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const records: JsonRecord[] = [];
    let start = this.#kind === "unknown" ? this.#open(bytes) : 0;
    if (this.#kind === "lines") start = this.#cutLines(bytes, start, records);
    if (this.#kind === "array") start = this.#cutArray(bytes, start, records);
    if (this.#kind === "over") start = this.#closed(bytes, start);
    this.#rest = bytes.subarray(start);
    this.#offset += start;
    this.#at = this.#kind === "unknown" || this.#kind === "over" ? 0 : this.#rest.length;
    if (this.#rest.length > RECORD_BYTES_MAX)
      throw unreadable(`the record at byte ${this.#offset} has more than ${RECORD_BYTES_MAX} bytes`);
    return records;
  }

  /** The last record, if no line feed follows it. Throws `client.UnreadableInput` if the input is truncated. */
  end(): JsonRecord | undefined {
    if (this.#kind === "unknown") throw unreadable(`it is empty. ${FORMATS}`);
    if (this.#kind === "array") {
      const record = this.#beganOn === 0 ? "" : ` The last record begins on line ${this.#beganOn}.`;
      throw unreadable(
        `it ends before the array's ']': it was cut off, or a record's brackets do not match.${record}`,
      );
    }
    const last = this.#kind === "lines" ? trimmed(this.#rest, 0, this.#rest.length) : undefined;
    return last === undefined || last.length === 0 ? undefined : new JsonRecord(last, this.#line);
  }

  /** Detects the format by the first bytes. Returns where the first record may begin. */
  #open(bytes: Uint8Array): number {
    const hasMark = this.#offset === 0 && BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte);
    let at = hasMark ? BYTE_ORDER_MARK.length : 0;
    for (; isSpace(bytes[at]); at += 1) if (bytes[at] === LINE_FEED) this.#line += 1;
    const first = bytes[at];
    if (first === undefined) return at;
    // A text of ASCII characters has zero bytes in these encodings; others begin with a mark of them.
    if (bytes.subarray(at, at + 4).includes(0) || first === 0xff || first === 0xfe)
      throw unreadable("it is UTF-16 or UTF-32. Save it as UTF-8");
    if (first === OPEN_ARRAY) this.#kind = "array";
    else if (first === OPEN_OBJECT) this.#kind = "lines";
    else if (!hasMark && first === BYTE_ORDER_MARK[0] && bytes.length < BYTE_ORDER_MARK.length) return at;
    else throw unreadable(`it is not JSON. ${FORMATS}`);
    return first === OPEN_ARRAY ? at + 1 : at;
  }

  #cutLines(bytes: Uint8Array, from: number, records: JsonRecord[]): number {
    let start = from;
    for (;;) {
      const end = bytes.indexOf(LINE_FEED, Math.max(start, this.#at));
      if (end < 0) return start;
      const record = trimmed(bytes, start, end);
      if (record.length > 0) records.push(new JsonRecord(record, this.#line));
      this.#line += 1;
      start = end + 1;
    }
  }

  #cutArray(bytes: Uint8Array, from: number, records: JsonRecord[]): number {
    let start = from;
    for (let at = Math.max(from, this.#at); at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === LINE_FEED) this.#line += 1;
      if (this.#beganOn === 0 && !isSpace(byte)) this.#beganOn = this.#line;
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isInText = false;
      } else if (byte === QUOTE) this.#isInText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
      else if (this.#depth > 0) {
        if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth -= 1;
      } else if (byte === COMMA || byte === CLOSE_ARRAY) {
        const record = trimmed(bytes, start, at);
        const isLast = byte === CLOSE_ARRAY;
        if (record.length > 0) records.push(new JsonRecord(record, this.#beganOn));
        else if (!isLast || this.#isAfterComma)
          throw unreadable(`on line ${this.#line}, at byte ${this.#offset + at}, a record was expected`);
        this.#beganOn = 0;
        start = at + 1;
        this.#isAfterComma = !isLast;
        if (!isLast) continue;
        this.#kind = "over";
        return start;
      }
    }
    return start;
  }

  #closed(bytes: Uint8Array, from: number): number {
    const next = bytes.subarray(from).findIndex((byte) => !isSpace(byte));
    for (const byte of bytes.subarray(from, next < 0 ? bytes.length : from + next))
      if (byte === LINE_FEED) this.#line += 1;
    if (next >= 0)
      throw unreadable(
        `on line ${this.#line}, at byte ${this.#offset + from + next}, its end was expected after the array's ']'`,
      );
    return bytes.length;
  }
}

function trimmed(bytes: Uint8Array, from: number, to: number): Uint8Array {
  let start = from;
  let end = to;
  while (start < end && isSpace(bytes[start])) start += 1;
  while (end > start && isSpace(bytes[end - 1])) end -= 1;
  return bytes.subarray(start, end);
}
