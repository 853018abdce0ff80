import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { namedStatement } from "../../platform/db/statement.ts";
import { drawRandom, type PartName, type StoredBody } from "./part-name.ts";

/**
 * How a part is encrypted: each chunk of its body by AES-256-GCM, under a key of this one writing of this one part. That key is
 * derived from a data key (bellhop.payload_key), the part's name, a salt, and the whole layout; so a chunk can be decrypted only where it
 * was written, beside the layout it was written with, and the nonces may be the numbers of the chunks: no two messages ever
 * share a key and a nonce, also where a part is written anew in its place (docs/decisions/0018-secrets-and-encrypted-payloads.md).
 */

/**
 * A data key. `keyId` is a random UUID, so that keys of two installations are never taken for each other. A KeyObject, as one made
 * for each use of plain bytes costs more than the use: 41 instead of 14 µs a chunk of 2 kB, 39 instead of 6 µs an HMAC.
 */
export interface PayloadKey {
  readonly keyId: string;
  /** 32 bytes. */
  readonly key: KeyObject;
}

/** A part cannot be decrypted: another key, or bytes that were changed or lie in another's place. */
export class DecryptionError extends Error {}

const WORD_BYTES = 4;
const HEAD_WORDS = 2;
/** Of a chunk in the layout, the first of them its stored bytes. */
const CHUNK_WORDS = 3;
/** Of a record: its length and its index. */
const RECORD_WORDS = 2;

/** The section of a layout that says under which data key its part is encrypted, and with which salt: 16 bytes each. */
const ENCRYPTION_SECTION = 2;
const KEY_ID_BYTES = 16;
const SALT_BYTES = 16;

const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const PURPOSE = Buffer.from("bellhop part, version 1\0");

function wordAt(layout: Buffer, at: number): number {
  return layout.readUInt32LE(at * WORD_BYTES);
}

function bytesOfUuid(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

/** Where in a layout the encryption section begins, in words; undefined of a part that is stored readable. */
function encryptionSectionAt(layout: Buffer): number | undefined {
  const words = layout.length / WORD_BYTES;
  let at = HEAD_WORDS + wordAt(layout, 0) * CHUNK_WORDS + wordAt(layout, 1) * RECORD_WORDS;
  while (at < words && wordAt(layout, at) !== ENCRYPTION_SECTION) at += 2 + wordAt(layout, at + 1);
  return at < words ? at : undefined;
}

/** The id of the data key that a part is encrypted under; undefined for one that is stored readable. */
export function payloadKeyIdOf(layout: Buffer): string | undefined {
  const section = encryptionSectionAt(layout);
  if (section === undefined) return undefined;
  const from = (section + 2) * WORD_BYTES;
  const hex = layout.toString("hex", from, from + KEY_ID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The key of an encrypted part, of its data key, its name and its layout as stored. */
export function partKeyOf(key: KeyObject, { bucket, requestId }: PartName, layout: Buffer): KeyObject {
  const place = Buffer.alloc(2);
  place.writeUInt16LE(bucket);
  const bound = Buffer.concat([PURPOSE, bytesOfUuid(requestId), place, layout]);
  return createSecretKey(createHmac("sha256", key).update(bound).digest());
}

function nonceOf(chunk: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32LE(chunk);
  return nonce;
}

function encryptionSection(keyId: string): Buffer {
  const head = Buffer.alloc(2 * WORD_BYTES);
  head.writeUInt32LE(ENCRYPTION_SECTION);
  head.writeUInt32LE((KEY_ID_BYTES + SALT_BYTES) / WORD_BYTES, WORD_BYTES);
  return Buffer.concat([head, bytesOfUuid(keyId), drawRandom(SALT_BYTES)]);
}

/** Encrypts what `packBody` packed, for its place in the log: 16 bytes more a chunk and 40 a part. */
export function encryptBody(packed: StoredBody, part: PartName, { keyId, key }: PayloadKey): StoredBody {
  if (payloadKeyIdOf(packed.layout) !== undefined) throw new Error("A part is encrypted once.");
  const layout = Buffer.concat([packed.layout, encryptionSection(keyId)]);
  const lengths = Array.from({ length: wordAt(layout, 0) }, (_, chunk) => {
    const at = HEAD_WORDS + chunk * CHUNK_WORDS;
    const length = wordAt(layout, at);
    layout.writeUInt32LE(length + TAG_BYTES, at * WORD_BYTES);
    return length;
  });
  const partKey = partKeyOf(key, part, layout);
  const pieces: Buffer[] = [];
  let from = 0;
  lengths.forEach((length, chunk) => {
    const cipher = createCipheriv("aes-256-gcm", partKey, nonceOf(chunk));
    pieces.push(
      cipher.update(packed.body.subarray(from, from + length)),
      cipher.final(),
      cipher.getAuthTag(),
    );
    from += length;
  });
  return { layout, body: Buffer.concat(pieces) };
}

/** Decrypts one chunk of an encrypted part. Throws DecryptionError. */
export function decryptChunk(partKey: KeyObject | undefined, chunk: number, stored: Buffer): Buffer {
  if (partKey === undefined) throw new DecryptionError("openLayout finds the key of an encrypted part.");
  try {
    const decipher = createDecipheriv("aes-256-gcm", partKey, nonceOf(chunk), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(stored.subarray(stored.length - TAG_BYTES));
    const opened = decipher.update(stored.subarray(0, stored.length - TAG_BYTES));
    decipher.final();
    return opened;
  } catch (cause) {
    throw new DecryptionError("A chunk cannot be decrypted: it was changed, or is another part's.", {
      cause,
    });
  }
}

/**
 * A part is stored as chunks of up to 64 records, each compressed separately, and a layout that says where each record
 * lies: reading one record inflates one chunk. Larger chunks save little (1 record a frame: 650 bytes each; 64: 55;
 * 100: 50). What is too small to be worth a frame (about 45 µs) is stored uncompressed.
 */
const CHUNK_RECORDS_MAX = 64;
const CHUNK_BYTES_TARGET = 131_072;
const COMPRESS_BYTES_MIN = 6_144;
const ZSTD_LEVEL_1 = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A record's place in the body as received, or in `bytes` of its own: `[start, end)`, and its index in the batch as sent. */
export interface RecordSlice {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly bytes?: Buffer;
}

/**
 * The content hashes, by index in the batch, of records whose bytes are no longer those that were sent: each stands for what
 * was hashed then, so that a replay still distinguishes equal contents from different ones.
 */
export type HashOverrides = ReadonlyMap<number, string>;

/**
 * What follows the indexes, where anything does: sections, each a word that says what it is, one with its length in words, and
 * that many words. A section of hash overrides has five words a record: its position, and the 16 bytes of its content hash.
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

/** Inflates into one buffer. One byte more than is needed, or the end is found only by a second turn with a second buffer. */
function inflateFrame(frame: Buffer, inflatedBytes: number): Buffer {
  return zstdDecompressSync(frame, { maxOutputLength: inflatedBytes, chunkSize: inflatedBytes + 1 });
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

/** Where the records of a chunk are put end to end before they are compressed; larger chunks get room of their own. */
const scratch = Buffer.allocUnsafeSlow(2 * CHUNK_BYTES_TARGET);

/** The records from one place to another, end to end; what lies in the scratch is good until the next call. */
function endToEnd(received: Buffer, slices: readonly RecordSlice[], from: number, to: number): Buffer {
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

/** The section of the layout that holds the hash overrides; none where there are none. */
function hashOverrideSection(slices: readonly RecordSlice[], hashOverrides: HashOverrides): Uint32Array {
  if (hashOverrides.size === 0) return new Uint32Array(0);
  const words: number[] = [];
  slices.forEach(({ index }, position) => {
    const hashOverride = hashOverrides.get(index);
    if (hashOverride === undefined) return;
    const hash = Buffer.from(hashOverride, "hex");
    words.push(position, ...[0, 4, 8, 12].map((at) => hash.readUInt32LE(at)));
  });
  return Uint32Array.from([HASH_OVERRIDES, words.length, ...words]);
}

/**
 * Packs records (ascending by index). The layout is 32-bit little endian: counts, chunks, lengths, indexes, then sections. A
 * record without bytes is one that was dropped.
 */
export function packBody(
  received: Buffer,
  slices: readonly RecordSlice[],
  hashOverrides: HashOverrides = NO_HASH_OVERRIDES,
): StoredBody {
  const bounds = chunkBounds(slices);
  const section = hashOverrideSection(slices, hashOverrides);
  const sectionsAt = 2 + bounds.length * 3 + slices.length * 2;
  const layout = new Uint32Array(sectionsAt + section.length);
  layout.set(section, sectionsAt);
  layout[0] = bounds.length;
  layout[1] = slices.length;
  const stored: Buffer[] = [];
  let at = 0;
  bounds.forEach((bound, chunk) => {
    const [first] = slices.slice(at, at + 1);
    const plain =
      first !== undefined && bound === at + 1
        ? (first.bytes ?? received).subarray(first.start, first.end)
        : endToEnd(received, slices, at, bound);
    const frame = plain.length < COMPRESS_BYTES_MIN ? plain : zstdCompressSync(plain, ZSTD_LEVEL_1);
    // Equal lengths say "stored as it is", so a frame that came out no smaller is not used.
    const kept = frame.length < plain.length ? frame : plain;
    stored.push(kept.buffer === scratch.buffer ? Buffer.from(kept) : kept);
    layout.set([kept.length, plain.length, bound - at], 2 + chunk * 3);
    at = bound;
  });
  const lengthsAt = 2 + bounds.length * 3;
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

/**
 * Reads a layout: which byte range of the stored body to fetch for a record, and how to cut the record out of it.
 * `openLayout` also supplies the keys of encrypted records; without them it only locates records.
 */
export class BodyLayout {
  readonly recordCount: number;
  readonly #words: Uint32Array;
  readonly #chunks: readonly Chunk[];
  readonly #isEncrypted: boolean;
  readonly #partKey: KeyObject | undefined;
  /** By position. */
  readonly #hashOverrides: HashOverrides;

  /** `partKey`: of a part that is encrypted. */
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

  /** Whether any record was redacted and has a content hash of its own (see HashOverrides). */
  get hasHashOverrides(): boolean {
    return this.#hashOverrides.size > 0;
  }

  /** The content hash of the record at a position where it is not that of its bytes. */
  hashOverrideAt(position: number): string | undefined {
    return this.#hashOverrides.get(position);
  }

  /** Bytes of all its records together, as they were sent. */
  get inflatedBytes(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.inflatedBytes, 0);
  }

  /** Index in the batch as sent of the record at a position of this part. */
  indexAt(position: number): number {
    return this.#word(2 + this.#chunks.length * 3 + this.recordCount + position);
  }

  /** Position in this part of the record with that index in the batch; -1 if it is in another part. */
  positionOf(index: number): number {
    const from = 2 + this.#chunks.length * 3 + this.recordCount;
    return this.#words.subarray(from, from + this.recordCount).indexOf(index);
  }

  /** The stored bytes that hold the record at a position. */
  rangeOf(position: number): { readonly from: number; readonly bytes: number; readonly chunk: number } {
    const chunk = this.#chunks.findLastIndex((candidate) => candidate.firstRecord <= position);
    const { from, storedBytes } = this.#chunkAt(chunk);
    return { from, bytes: storedBytes, chunk };
  }

  /** Bytes of the record at a position of this part; 0 if it was dropped. */
  bytesAt(position: number): number {
    return this.#word(2 + this.#chunks.length * 3 + position);
  }

  /**
   * Inflates the chunks of a whole stored body one by one: the records of each lie end to end in its bytes. Not those that
   * have only records with these indexes.
   */
  *chunksOf(
    body: Buffer,
    without: ReadonlySet<number> = NO_INDEXES,
  ): Generator<{ bytes: Buffer; firstRecord: number; recordCount: number }> {
    for (const [chunk, { from, storedBytes, firstRecord, recordCount }] of this.#chunks.entries()) {
      if (this.#hasOnly(without, firstRecord, recordCount)) continue;
      const bytes = this.#inflate(chunk, body.subarray(from, from + storedBytes));
      yield { bytes, firstRecord, recordCount };
    }
  }

  /** Inflates one chunk's stored bytes and gives each of its records, by position. */
  *recordsOf(chunk: number, storedBytes: Buffer): Generator<{ position: number; bytes: Buffer }> {
    const { firstRecord, recordCount } = this.#chunkAt(chunk);
    const plain = this.#inflate(chunk, storedBytes);
    let from = 0;
    for (let position = firstRecord; position < firstRecord + recordCount; position += 1) {
      const length = this.bytesAt(position);
      yield { position, bytes: plain.subarray(from, from + length) };
      from += length;
    }
  }

  /** Every record of a whole stored body. */
  *allRecords(body: Buffer): Generator<{ index: number; bytes: Buffer }> {
    for (const [number, chunk] of this.#chunks.entries()) {
      const stored = body.subarray(chunk.from, chunk.from + chunk.storedBytes);
      for (const { position, bytes } of this.recordsOf(number, stored))
        yield { index: this.indexAt(position), bytes };
    }
  }

  /** The records of a chunk end to end, as they were sent. Throws DecryptionError where they cannot be decrypted. */
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
    if (word === undefined) throw new RangeError("The layout is shorter than it says.");
    return word;
  }
}

/** Looks for a data key that this thread has not met; undefined where there is none of this id. */
export type FindPayloadKey = (keyId: string) => Promise<KeyObject | undefined>;

/**
 * The payload keys that this thread has used: few, and needed far below the code that knows the settings. Ids are
 * random, so several databases in one process (tests) do not collide.
 */
const met = new Map<string, KeyObject>();
const finders = new Set<FindPayloadKey>();

/** Registers a way to find payload keys; call the returned function to remove it. */
export function findPayloadKeysBy(find: FindPayloadKey): () => void {
  finders.add(find);
  return () => finders.delete(find);
}

async function findKey(keyId: string): Promise<KeyObject> {
  let cause: unknown;
  for (const find of finders) {
    const key = await find(keyId).catch((error: unknown) => {
      cause = error;
      return undefined;
    });
    if (key === undefined) continue;
    met.set(keyId, key);
    return key;
  }
  // The database did not answer, or its key could not be decrypted.
  if (cause !== undefined) throw cause;
  throw new DecryptionError(`The payload key ${keyId} of a part of the log is not known here.`);
}

/**
 * The layout of a part whose records are to be read: the one way to what is in the log. A promise only where the part is encrypted
 * under a key that this thread has not met. Throws DecryptionError where there is no such key.
 */
export function openLayout(part: PartName, layout: Buffer): BodyLayout | Promise<BodyLayout> {
  const keyId = payloadKeyIdOf(layout);
  if (keyId === undefined) return new BodyLayout(layout);
  const open = (key: KeyObject) => new BodyLayout(layout, partKeyOf(key, part, layout));
  const key = met.get(keyId);
  return key === undefined ? findKey(keyId).then(open) : open(key);
}

/**
 * Encrypts what is to stand in the place of a stored part (`packed`, by `packBody`) as that one is encrypted: under the same data key,
 * whatever the settings are today; a readable one stays readable.
 */
export async function encryptAsBefore(
  packed: StoredBody,
  part: PartName,
  former: Pick<StoredBody, "layout">,
): Promise<StoredBody> {
  const keyId = payloadKeyIdOf(former.layout);
  if (keyId === undefined) return packed;
  return encryptBody(packed, part, { keyId, key: met.get(keyId) ?? (await findKey(keyId)) });
}

/** Writes the records of one part of the log anew, at the same places. */
export const replaceBody = namedStatement(
  "replace-body",
  `update bellhop.accept_log set layout = $4, body = $5
  where bucket = $1 and log_writer_id = $2 and request_id = $3`,
);

/**
 * What becomes of one record of a stored body: it stays, it goes (its place stays, without bytes), or other bytes take its
 * place, and `contentHash` (32 hexadecimal digits) stands for what it was known by. A rejected record is known by none.
 */
export type RecordRewrite =
  | "keep"
  | "drop"
  | { readonly bytes: Buffer; readonly contentHash: string | undefined };

/** A record of a stored body. `hashOverride`: its content hash, where that is not the one of its bytes; no bytes: it was dropped. */
export interface StoredRecord {
  readonly index: number;
  readonly bytes: Buffer;
  readonly hashOverride: string | undefined;
}

/**
 * The body of one part of the log with other records at the same places: indexes and order stay, so that whatever points into it
 * goes on pointing at the same record. It is encrypted as it was. Undefined where all of them are kept.
 */
export async function rewriteBody(
  part: PartName,
  stored: StoredBody,
  decide: (record: StoredRecord) => RecordRewrite,
): Promise<StoredBody | undefined> {
  const layout = await openLayout(part, stored.layout);
  const packed = repack(layout, stored.body, decide);
  return packed === undefined ? undefined : encryptAsBefore(packed, part, stored);
}

function repack(
  layout: BodyLayout,
  body: Buffer,
  decide: (record: StoredRecord) => RecordRewrite,
): StoredBody | undefined {
  const slices: RecordSlice[] = [];
  const hashOverrides = new Map<number, string>();
  let hasChanged = false;
  let position = 0;
  for (const { index, bytes } of layout.allRecords(body)) {
    const hashOverride = layout.hashOverrideAt(position);
    position += 1;
    const rewrite = bytes.length === 0 ? "keep" : decide({ index, bytes, hashOverride });
    if (rewrite !== "keep") hasChanged = true;
    const kept = rewrite === "keep" ? bytes : rewrite === "drop" ? Buffer.alloc(0) : rewrite.bytes;
    const hash = rewrite === "keep" ? hashOverride : rewrite === "drop" ? undefined : rewrite.contentHash;
    if (hash !== undefined) hashOverrides.set(index, hash);
    slices.push({ index, bytes: kept, start: 0, end: kept.length });
  }
  return hasChanged ? packBody(Buffer.alloc(0), slices, hashOverrides) : undefined;
}
