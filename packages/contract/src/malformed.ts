import { isUtf8 } from "node:buffer";

const CHUNK_BYTES = 65_536;
const SEQUENCE_BYTES_MAX = 4;

/** The offset of the first byte that is not part of well-formed UTF-8 (RFC 3629). The body is known to be ill-formed. */
export function firstInvalidUtf8(body: Buffer): number {
  let from = 0;
  while (from < body.length) {
    const to = sequenceStart(body, Math.min(from + CHUNK_BYTES, body.length));
    if (!isUtf8(body.subarray(from, to))) break;
    from = to;
  }
  for (let at = from; at < body.length; ) {
    const size = sequenceBytes(body[at] as number);
    if (!isUtf8(body.subarray(at, at + size)) || at + size > body.length) return at;
    at += size;
  }
  return from;
}

/** The last position at or before `limit` that does not cut a sequence of the body; `limit` itself at the end. */
function sequenceStart(body: Buffer, limit: number): number {
  let at = limit;
  for (let back = 1; back < SEQUENCE_BYTES_MAX && at < body.length; back += 1) {
    if (((body[at] as number) & 0xc0) !== 0x80) break;
    at -= 1;
  }
  return at;
}

function sequenceBytes(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
