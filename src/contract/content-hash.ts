import { hash } from "node:crypto";

const HASH_DIGITS = 32;

// Records are about 2 kB; a larger one gets a buffer of its own, so that the process keeps no more than this.
const SCRATCH_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * The content hash of an accepted record: the first 16 bytes, as hexadecimal digits, of SHA-256 over its bytes as sent, less its top-level source
 * time and correlation id, wherever they stand. `runs` are the bytes that count (see `scanRecord`). What is hashed is `{`,
 * the runs joined by commas, and `}`: JSON again, so records that differ in anything kept never hash the same text.
 * Two spellings of one content may differ.
 */
export function contentHash(record: Buffer, runs: ArrayLike<number>): string {
  const bytes = (runs[runs.length - 1] ?? 0) - (runs[0] ?? 0) + 2;
  const room = bytes <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(bytes);
  let size = 0;
  room[size++] = 0x7b;
  for (let run = 0; run < runs.length; run += 2) {
    if (run > 0) room[size++] = 0x2c;
    size += record.copy(room, size, runs[run], runs[run + 1]);
  }
  room[size++] = 0x7d;
  return hash("sha256", room.subarray(0, size), "hex").slice(0, HASH_DIGITS);
}
