import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4_096;

/** Many ids' bytes, drawn at once: one by one they would cost more than all else of a span. */
const pool = Buffer.alloc(POOL_BYTES);
let next = POOL_BYTES;

function take(bytes: number): number {
  if (next + bytes > POOL_BYTES) {
    randomFillSync(pool);
    next = 0;
  }
  next += bytes;
  return next - bytes;
}

/** A random id in lower-case hexadecimal digits, two a byte. */
export function randomId(bytes: number): string {
  const from = take(bytes);
  return pool.toString("hex", from, from + bytes);
}

/** Writes the bytes of a random id to where they are to stand: one that nobody is told of needs no digits. */
export function writeRandomId(into: Buffer, at: number, bytes: number): void {
  const from = take(bytes);
  for (let offset = 0; offset < bytes; offset += 1) into[at + offset] = pool[from + offset] as number;
}
