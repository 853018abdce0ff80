/*
 * The layout of a stored body is 32-bit little-endian words: the numbers of chunks and records, then each chunk, each record, and
 * sections (body-layout.ts, encrypt-body.ts).
 */
export const WORD_BYTES = 4;
/** The numbers of chunks and of records. */
export const HEAD_WORDS = 2;
/** Per chunk: stored bytes, inflated bytes, number of records. */
export const CHUNK_WORDS = 3;
/** Per record: its length and its index. */
export const RECORD_WORDS = 2;

export function wordAt(layout: Buffer, at: number): number {
  return layout.readUInt32LE(at * WORD_BYTES);
}
