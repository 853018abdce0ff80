import { hash } from "node:crypto";
import { isWhitespace, skipWhitespace } from "./scan-element.ts";

const HASH_BYTES = 16;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

// Records are about 2 kB; a larger one gets a buffer of its own, so that the process keeps no more than this.
const SCRATCH_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * The content hash of an accepted record: the first 16 bytes of SHA-256 over its bytes as sent, less the top-level members
 * `ignored` (its source time and correlation id), wherever they stand and however their names are escaped. What is hashed
 * is `{`, the runs of members that are kept joined by commas, and `}`: JSON again, so records that differ in anything
 * kept never hash the same text. Two spellings of one content may.
 */
export function contentHash(record: Buffer, ignored: ReadonlySet<string>): Buffer {
  const room = record.length + 2 <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(record.length + 2);
  let size = 0;
  room[size++] = 0x7b;
  eachRun(record, ignored, (start, end) => {
    if (size > 1) room[size++] = 0x2c;
    size += record.copy(room, size, start, end);
  });
  room[size++] = 0x7d;
  return hash("sha256", room.subarray(0, size), "buffer").subarray(0, HASH_BYTES);
}

/** Calls `run` with the bytes of each unbroken run of top-level members whose names are not ignored. */
function eachRun(
  record: Buffer,
  ignored: ReadonlySet<string>,
  run: (start: number, end: number) => void,
): void {
  let runStart = -1;
  let runEnd = -1;
  let at = skipWhitespace(record, skipWhitespace(record, 0) + 1);
  while (record[at] === QUOTE) {
    const nameEnd = textEnd(record, at);
    const next = memberEnd(record, nameEnd);
    let end = next;
    while (isWhitespace(record[end - 1] as number)) end -= 1;
    if (!ignored.has(nameIn(record, at, nameEnd))) {
      if (runStart === -1) runStart = at;
      runEnd = end;
    } else if (runStart !== -1) {
      run(runStart, runEnd);
      runStart = -1;
    }
    if (record[next] !== 0x2c) break;
    at = skipWhitespace(record, next + 1);
  }
  if (runStart !== -1) run(runStart, runEnd);
}

/** Where a text that starts at `from` ends, its closing quote included. */
function textEnd(record: Buffer, from: number): number {
  let at = from + 1;
  while (at < record.length && record[at] !== QUOTE) at += record[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Where the `,` or `}` stands that ends the member whose name ends at `from`. */
function memberEnd(record: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < record.length; at += 1) {
    const byte = record[at] as number;
    if (byte === QUOTE) at = textEnd(record, at) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (byte === 0x2c && depth === 0) return at;
  }
  throw new Error("contentHash was given bytes that are not one JSON object");
}

function nameIn(record: Buffer, start: number, end: number): string {
  const name = record.toString("utf8", start + 1, end - 1);
  return name.includes("\\") ? (JSON.parse(`"${name}"`) as string) : name;
}
