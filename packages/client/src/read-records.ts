import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { type JsonRecord, RecordCutter, unreadable } from "./batch.ts";

/** A path, a file URL or a stream of bytes. */
export type RecordSource = string | URL | AsyncIterable<Uint8Array>;

const GZIP = [0x1f, 0x8b] as const;
const READ_BYTES = 262_144;

/**
 * Reads the records of a file verbatim, one at a time: a JSON array or NDJSON, plain or gzip, distinguished by the first bytes.
 * Throws `client.UnreadableInput` for any other input, or one that ends within a record.
 *
 * @example
 * await bellhop.reservations.send(readRecords("bookings.json.gz"));
 */
export async function* readRecords(source: RecordSource): AsyncGenerator<JsonRecord, void, undefined> {
  const bytes =
    typeof source === "string" || source instanceof URL
      ? createReadStream(source, { highWaterMark: READ_BYTES })
      : source;
  const cutter = new RecordCutter();
  for await (const chunk of unpacked(bytes)) yield* cutter.push(chunk);
  const last = cutter.end();
  if (last !== undefined) yield last;
}

/** The bytes of a file, plain or gzip. */
export async function* unpacked(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = source[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < GZIP.length) {
    const { done, value } = await chunks.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  const whole = (async function* () {
    try {
      yield head;
      yield* { [Symbol.asyncIterator]: () => chunks };
    } finally {
      await chunks.return?.();
    }
  })();
  yield* GZIP.every((byte, at) => head[at] === byte) ? gunzipped(whole) : whole;
}

async function* gunzipped(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  // Errors of both streams are thrown to the reader.
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
