import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { JsonRecord } from "./json-record.ts";
import { RecordCutter, unreadable } from "./record-cutter.ts";

/** Where the bytes of a file of records come from: its path, or a stream of it. */
export type RecordSource = string | URL | AsyncIterable<Uint8Array>;

const GZIP = [0x1f, 0x8b] as const;
const READ_BYTES = 262_144;

/**
 * The records of a file, one by one and byte for byte: a JSON array or NDJSON (a record a line), plain or gzip; which of them is
 * seen from its first bytes. No more than one record and one chunk are in memory, however large the file is.
 * Throws `client.UnreadableInput` where it is none of these, or ends in the middle of a record.
 *
 * @example
 * await bellhop.reservations.send(readRecords("bookings.json.gz"));
 * await bellhop.reservations.send(readRecords(process.stdin));
 */
export async function* readRecords(source: RecordSource): AsyncGenerator<JsonRecord, void, undefined> {
  const bytes =
    typeof source === "string" || source instanceof URL
      ? createReadStream(source, { highWaterMark: READ_BYTES })
      : source;
  const cutter = new RecordCutter();
  for await (const chunk of unpacked(bytes))
    for (const json of cutter.push(chunk)) yield new JsonRecord(json);
  const last = cutter.end();
  if (last !== undefined) yield new JsonRecord(last);
}

/** The bytes of a source, unpacked if they are gzip. */
async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = source[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let headBytes = 0;
  while (headBytes < GZIP.length) {
    const { done, value } = await chunks.next();
    if (done === true) break;
    head.push(value);
    headBytes += value.byteLength;
  }
  const first = Buffer.concat(head);
  const rest = (async function* () {
    try {
      if (first.length > 0) yield first;
      for (;;) {
        const { done, value } = await chunks.next();
        if (done === true) return;
        yield value;
      }
    } finally {
      // Whoever stops early leaves no file open.
      await chunks.return?.();
    }
  })();
  if (!GZIP.every((byte, at) => first[at] === byte)) yield* rest;
  else yield* gunzipped(rest);
}

async function* gunzipped(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  // What goes wrong on either side destroys the stream, and is thrown where it is read.
  pipeline(packed, gunzip).catch(() => undefined);
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (!isOfZlib(cause)) throw cause;
    throw unreadable(`it is not whole gzip (${cause.message})`, cause);
  } finally {
    gunzip.destroy();
  }
}

function isOfZlib(cause: unknown): cause is Error {
  return cause instanceof Error && "code" in cause && /^Z_|^ERR_ZLIB/.test(String(cause.code));
}
