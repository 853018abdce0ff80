import { hash } from "node:crypto";
import { skipValue, skipWhitespace } from "./walk-value.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;

/** Start and end of each run of consecutive top-level members that are content. */
export function contentRuns(record: Buffer, notContent: readonly string[]): number[] {
  const runs: number[] = [];
  let isOpen = false;
  let at = skipWhitespace(record, skipWhitespace(record, 0) + 1);
  while (record[at] === QUOTE) {
    const nameEnd = skipValue(record, at);
    const end = skipValue(record, skipWhitespace(record, skipWhitespace(record, nameEnd) + 1));
    const isContent = !notContent.includes(JSON.parse(record.toString("utf8", at, nameEnd)) as string);
    if (!isContent) isOpen = false;
    else if (isOpen) runs[runs.length - 1] = end;
    else {
      runs.push(at, end);
      isOpen = true;
    }
    at = skipWhitespace(record, end);
    if (record[at] !== COMMA) break;
    at = skipWhitespace(record, at + 1);
  }
  return runs;
}

const HASH_DIGITS = 32;

// Records are about 2 kB; a larger one gets a temporary buffer.
const SCRATCH_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * The content hash of an accepted record: the first 16 bytes, in hexadecimal, of SHA-256 over its bytes without the top-level source
 * time and correlation id. Hashes `{`, the runs of content joined by commas, and `}`, which is JSON again, so different contents never
 * hash the same text. Different spellings of one content may hash differently.
 */
export function contentHash(record: Buffer, runs: ArrayLike<number>, numbers = runs.length): string {
  const bytes = (runs[numbers - 1] ?? 0) - (runs[0] ?? 0) + 2;
  const room = bytes <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(bytes);
  let size = 0;
  room[size++] = 0x7b;
  for (let run = 0; run < numbers; run += 2) {
    if (run > 0) room[size++] = 0x2c;
    size += record.copy(room, size, runs[run], runs[run + 1]);
  }
  room[size++] = 0x7d;
  return hash("sha256", room.subarray(0, size), "hex").slice(0, HASH_DIGITS);
}
