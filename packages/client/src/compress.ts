import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { invalidOption } from "./error.ts";
import type { Compression } from "./options.ts";

/** Smaller bodies are not worth the time. */
const COMPRESSED_BYTES_MIN = 1_024;

const gzip = promisify<Buffer, zlib.ZlibOptions, Buffer<ArrayBuffer>>(zlib.gzip);

export interface PackedBody {
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
