import type { KeyObject } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { freeMemory } from "../../platform/runtime/free-memory.ts";
import { decryptChunk, payloadKeyIdOf } from "./encrypt-body.ts";
import { CHUNK_WORDS, HEAD_WORDS, RECORD_WORDS, wordAt } from "./layout-words.ts";
import type { StoredBody } from "./part-name.ts";

/*
 * A part is stored as separately compressed chunks of up to 256 records, and a layout that locates each record: reading one record
 * inflates one chunk. Larger chunks save little (docs/decisions/0003-log-and-state.md). Small chunks are not
 * worth a frame (about 45 µs) and are stored uncompressed.
 */
const CHUNK_RECORDS_MAX = 256;
const CHUNK_BYTES_TARGET = 262_144;
const COMPRESS_BYTES_MIN = 6_144;
const ZSTD_LEVEL_1 = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A record's index in the batch and its range `[start, end)` in the received body, or in its own `bytes` if it was rewritten. */
export interface RecordSlice {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly bytes?: Buffer;
}

/** Original content hashes of rewritten records, by index in the batch: a replay compares contents by them. */
export type HashOverrides = ReadonlyMap<number, string>;

/**
 * Optional sections follow the indexes: a type, a length in words, and that many words. Hash overrides have five words per record:
 * its position and the 16 bytes of its content hash.
 */
const HASH_OVERRIDES = 1;
const HASH_OVERRIDE_WORDS = 5;

interface Chunk {
  readonly from: number;
  readonly storedBytes: number;
  readonly inflatedBytes: number;
  readonly firstRecord: number;
  readonly recordCount: number;
}

/** Consecutive chunks of a part, and where they lie in its stored body. */
export interface BodyPiece {
  readonly firstChunk: number;
  /** The chunk after the last. */
  readonly endChunk: number;
  /** The position of the record after the last. */
  readonly untilRecord: number;
  readonly from: number;
  readonly storedBytes: number;
}

/** An inflated chunk's buffer is so much larger, which avoids a second call and buffer to find the end. */
const UNUSED_BYTES = 1;

/** Inflates into one buffer. */
function inflateFrame(frame: Buffer, inflatedBytes: number): Buffer {
  return zstdDecompressSync(frame, {
    maxOutputLength: inflatedBytes,
    chunkSize: inflatedBytes + UNUSED_BYTES,
  });
}

/** Frees the memory of a chunk if it was inflated; its records must not be used afterwards. */
export function freeChunk(chunk: Buffer): void {
  freeMemory(chunk, UNUSED_BYTES);
}

function chunkBounds(slices: readonly RecordSlice[]): number[] {
  const bounds: number[] = [];
  let bytes = 0;
  let count = 0;
  slices.forEach((slice, at) => {
    if (count > 0 && (count === CHUNK_RECORDS_MAX || bytes >= CHUNK_BYTES_TARGET)) {
      bounds.push(at);
      bytes = 0;
      count = 0;
    }
    bytes += slice.end - slice.start;
    count += 1;
  });
  bounds.push(slices.length);
  return bounds;
}

/** Holds the concatenated records of a chunk for compression. Larger chunks get a buffer of their own. */
const scratch = Buffer.allocUnsafeSlow(2 * CHUNK_BYTES_TARGET);

/** Records `from` to `to`, concatenated: a view of a single one, otherwise valid until the next call. */
function bytesOf(received: Buffer, slices: readonly RecordSlice[], from: number, to: number): Buffer {
  if (to === from + 1) {
    const { bytes: own, start, end } = slices[from] as RecordSlice;
    return (own ?? received).subarray(start, end);
  }
  let bytes = 0;
  for (let at = from; at < to; at += 1)
    bytes += (slices[at] as RecordSlice).end - (slices[at] as RecordSlice).start;
  const fits = bytes <= scratch.length && bytes >= COMPRESS_BYTES_MIN;
  const room = fits ? scratch : Buffer.allocUnsafe(bytes);
  let length = 0;
  for (let at = from; at < to; at += 1) {
    const { bytes: own, start, end } = slices[at] as RecordSlice;
    length += (own ?? received).copy(room, length, start, end);
  }
  return room.subarray(0, length);
}

const NO_HASH_OVERRIDES: HashOverrides = new Map();
const NO_INDEXES: ReadonlySet<number> = new Set();

/** The hash override section of a layout; empty without overrides. */
function hashOverrideSection(
  slices: readonly RecordSlice[],
  hashOverrides: HashOverrides,
): readonly number[] {
  if (hashOverrides.size === 0) return [];
  const words: number[] = [];
  slices.forEach(({ index }, position) => {
    const hashOverride = hashOverrides.get(index);
    if (hashOverride === undefined) return;
    const hash = Buffer.from(hashOverride, "hex");
    words.push(position, ...[0, 4, 8, 12].map((at) => hash.readUInt32LE(at)));
  });
  return [HASH_OVERRIDES, words.length, ...words];
}

/** Packs records, ascending by index. The layout is 32-bit little endian: counts, chunks, lengths, indexes, sections. */
export function packBody(
  received: Buffer,
  slices: readonly RecordSlice[],
  hashOverrides: HashOverrides = NO_HASH_OVERRIDES,
): StoredBody {
  return inOneTurn(packing(received, slices, hashOverrides));
}

/** Runs work that yields where other work may come between. */
function inOneTurn<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Bytes packed per turn of the event loop, about 2 ms. */
const TURN_BYTES = 524_288;

/** As `packBody`, but yields where other work may come between: a body of 64 MiB takes a quarter of a second. */
export function* packing(
  received: Buffer,
  slices: readonly RecordSlice[],
  hashOverrides: HashOverrides = NO_HASH_OVERRIDES,
): Generator<void, StoredBody> {
  const bounds = chunkBounds(slices);
  const section = hashOverrideSection(slices, hashOverrides);
  const lengthsAt = HEAD_WORDS + bounds.length * CHUNK_WORDS;
  const sectionsAt = lengthsAt + slices.length * RECORD_WORDS;
  const layout = new Uint32Array(sectionsAt + section.length);
  layout.set(section, sectionsAt);
  layout[0] = bounds.length;
  layout[1] = slices.length;
  const stored: Buffer[] = [];
  let at = 0;
  let sinceTurn = 0;
  for (const [chunk, bound] of bounds.entries()) {
    if (sinceTurn >= TURN_BYTES) {
      sinceTurn = 0;
      yield;
    }
    const plain = bytesOf(received, slices, at, bound);
    const frame = plain.length < COMPRESS_BYTES_MIN ? plain : zstdCompressSync(plain, ZSTD_LEVEL_1);
    // Equal lengths mean "uncompressed", so a frame that is not smaller is not used.
    const kept = frame.length < plain.length ? frame : plain;
    stored.push(kept.buffer === scratch.buffer ? Buffer.from(kept) : kept);
    const chunkAt = HEAD_WORDS + chunk * CHUNK_WORDS;
    layout[chunkAt] = kept.length;
    layout[chunkAt + 1] = plain.length;
    layout[chunkAt + 2] = bound - at;
    at = bound;
    sinceTurn += plain.length;
  }
  slices.forEach((slice, position) => {
    layout[lengthsAt + position] = slice.end - slice.start;
    layout[lengthsAt + slices.length + position] = slice.index;
  });
  return {
    layout: Buffer.from(layout.buffer),
    body: stored.length === 1 ? (stored[0] as Buffer) : Buffer.concat(stored),
  };
}

export function recordCountOf(layout: Buffer): number {
  return wordAt(layout, 1);
}

/** Locates and extracts the records of a stored body. Extracting encrypted records needs a layout from `openLayout`. */
export class BodyLayout {
  readonly recordCount: number;
  readonly #words: Uint32Array;
  readonly #chunks: readonly Chunk[];
  readonly #isEncrypted: boolean;
  readonly #partKey: KeyObject | undefined;
  /** By position. */
  readonly #hashOverrides: HashOverrides;

  constructor(layout: Buffer, partKey?: KeyObject) {
    this.#words = new Uint32Array(layout.buffer.slice(layout.byteOffset, layout.byteOffset + layout.length));
    this.#isEncrypted = payloadKeyIdOf(layout) !== undefined;
    this.#partKey = partKey;
    const chunkCount = this.#word(0);
    this.recordCount = this.#word(1);
    const chunks: Chunk[] = [];
    let from = 0;
    let firstRecord = 0;
    for (let chunk = 0; chunk < chunkCount; chunk += 1) {
      const storedBytes = this.#word(2 + chunk * 3);
      const recordCount = this.#word(4 + chunk * 3);
      chunks.push({ from, storedBytes, inflatedBytes: this.#word(3 + chunk * 3), firstRecord, recordCount });
      from += storedBytes;
      firstRecord += recordCount;
    }
    this.#chunks = chunks;
    const sectionsAt = 2 + chunkCount * 3 + this.recordCount * 2;
    this.#hashOverrides =
      this.#words.length === sectionsAt ? NO_HASH_OVERRIDES : this.#readHashOverrides(sectionsAt);
  }

  /** Whether any record was rewritten (see HashOverrides). */
  get hasHashOverrides(): boolean {
    return this.#hashOverrides.size > 0;
  }

  /** The original content hash of the record at a position, if it was rewritten. */
  hashOverrideAt(position: number): string | undefined {
    return this.#hashOverrides.get(position);
  }

  /** Total bytes of the uncompressed records. */
  get inflatedBytes(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.inflatedBytes, 0);
  }

  /** The index in the batch of the record at a position in this part. */
  indexAt(position: number): number {
    return this.#word(2 + this.#chunks.length * 3 + this.recordCount + position);
  }

  /** The position in this part of the record with an index in the batch; -1 if it is in another part. */
  positionOf(index: number): number {
    const from = 2 + this.#chunks.length * 3 + this.recordCount;
    return this.#words.subarray(from, from + this.recordCount).indexOf(index);
  }

  /** The chunk that contains the record at a position, and its range in the stored body. */
  rangeOf(position: number): {
    readonly from: number;
    readonly bytes: number;
    readonly inflatedBytes: number;
    readonly chunk: number;
  } {
    const chunk = this.#chunks.findLastIndex((candidate) => candidate.firstRecord <= position);
    const { from, storedBytes, inflatedBytes } = this.#chunkAt(chunk);
    return { from, bytes: storedBytes, inflatedBytes, chunk };
  }

  /** The length of the record at a position; 0 if it was dropped. */
  bytesAt(position: number): number {
    return this.#word(2 + this.#chunks.length * 3 + position);
  }

  /** The chunks from the one with the record at a position, until they have so many records or inflated bytes; at least one. */
  pieceFrom(position: number, { records, bytes }: { records: number; bytes: number }): BodyPiece {
    const { chunk: firstChunk, from } = this.rangeOf(position);
    let endChunk = firstChunk;
    let untilRecord = position;
    let inflatedBytes = 0;
    let storedBytes = 0;
    for (const chunk of this.#chunks.slice(firstChunk)) {
      if (untilRecord - position >= records || inflatedBytes >= bytes) break;
      endChunk += 1;
      untilRecord = chunk.firstRecord + chunk.recordCount;
      inflatedBytes += chunk.inflatedBytes;
      storedBytes += chunk.storedBytes;
    }
    return { firstChunk, endChunk, untilRecord, from, storedBytes };
  }

  /**
   * Inflates the chunks of a stored body one by one, except those with no other records than the indexes in `without`. With `piece`,
   * `body` has only its chunks.
   */
  *chunksOf(
    body: Buffer,
    without: ReadonlySet<number> = NO_INDEXES,
    piece?: BodyPiece,
  ): Generator<{ bytes: Buffer; firstRecord: number; recordCount: number }> {
    const { firstChunk = 0, endChunk = this.#chunks.length, from: bodyFrom = 0 } = piece ?? {};
    for (let chunk = firstChunk; chunk < endChunk; chunk += 1) {
      const { from, storedBytes, firstRecord, recordCount } = this.#chunkAt(chunk);
      if (this.#hasOnly(without, firstRecord, recordCount)) continue;
      const at = from - bodyFrom;
      const bytes = this.#inflate(chunk, body.subarray(at, at + storedBytes));
      yield { bytes, firstRecord, recordCount };
    }
  }

  /** Inflates one chunk and yields its records, or only those at some positions. */
  *recordsOf(
    chunk: number,
    storedBytes: Buffer,
    only?: ReadonlySet<number>,
  ): Generator<{ position: number; bytes: Buffer }> {
    const { firstRecord, recordCount } = this.#chunkAt(chunk);
    const plain = this.#inflate(chunk, storedBytes);
    let from = 0;
    for (let position = firstRecord; position < firstRecord + recordCount; position += 1) {
      const length = this.bytesAt(position);
      if (only?.has(position) !== false) yield { position, bytes: plain.subarray(from, from + length) };
      from += length;
    }
  }

  /** Yields every record of a stored body. */
  *allRecords(body: Buffer): Generator<{ index: number; bytes: Buffer }> {
    for (const [number, chunk] of this.#chunks.entries()) {
      const stored = body.subarray(chunk.from, chunk.from + chunk.storedBytes);
      for (const { position, bytes } of this.recordsOf(number, stored))
        yield { index: this.indexAt(position), bytes };
    }
  }

  /** The concatenated records of a chunk. Throws DecryptionError. */
  #inflate(chunk: number, stored: Buffer): Buffer {
    const { inflatedBytes } = this.#chunkAt(chunk);
    const packed = this.#isEncrypted ? decryptChunk(this.#partKey, chunk, stored) : stored;
    return packed.length === inflatedBytes ? packed : inflateFrame(packed, inflatedBytes);
  }

  #readHashOverrides(sectionsAt: number): HashOverrides {
    const hashOverrides = new Map<number, string>();
    for (let at = sectionsAt; at < this.#words.length; at += 2 + this.#word(at + 1)) {
      if (this.#word(at) !== HASH_OVERRIDES) continue;
      for (let from = at + 2; from < at + 2 + this.#word(at + 1); from += HASH_OVERRIDE_WORDS) {
        const hash = Buffer.from(this.#words.slice(from + 1, from + HASH_OVERRIDE_WORDS).buffer);
        hashOverrides.set(this.#word(from), hash.toString("hex"));
      }
    }
    return hashOverrides;
  }

  #hasOnly(indexes: ReadonlySet<number>, firstRecord: number, recordCount: number): boolean {
    if (indexes.size < recordCount) return false;
    for (let position = firstRecord; position < firstRecord + recordCount; position += 1)
      if (!indexes.has(this.indexAt(position))) return false;
    return true;
  }

  #chunkAt(chunk: number): Chunk {
    const found = this.#chunks[chunk];
    if (found === undefined) throw new RangeError(`No chunk ${chunk} in this layout.`);
    return found;
  }

  #word(at: number): number {
    const word = this.#words[at];
    if (word === undefined) throw new RangeError("The layout is truncated.");
    return word;
  }
}
