import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import type { PartName, StoredBody } from "./stored-part.ts";

/**
 * How a part is sealed: each chunk of its body by AES-256-GCM, under a key of this one writing of this one part. That key is
 * derived from a data key (bellhop.payload_key), the part's name, a salt, and the whole layout; so a chunk opens only where it
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

/** A part does not open: another key, or bytes that were changed or lie in another's place. */
export class SealError extends Error {}

const WORD_BYTES = 4;
const HEAD_WORDS = 2;
/** Of a chunk in the layout, the first of them its stored bytes. */
const CHUNK_WORDS = 3;
/** Of a record: its length and its index. */
const RECORD_WORDS = 2;

/** The section of a layout that says under which data key its part is sealed, and with which salt: 16 bytes each. */
const SEAL_SECTION = 2;
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

/** Where in a layout the seal's section begins, in words; undefined of a part that is stored readable. */
function sealSectionOf(layout: Buffer): number | undefined {
  const words = layout.length / WORD_BYTES;
  let at = HEAD_WORDS + wordAt(layout, 0) * CHUNK_WORDS + wordAt(layout, 1) * RECORD_WORDS;
  while (at < words && wordAt(layout, at) !== SEAL_SECTION) at += 2 + wordAt(layout, at + 1);
  return at < words ? at : undefined;
}

/** The id of the data key that a part is sealed under; undefined for one that is stored readable. */
export function sealedUnder(layout: Buffer): string | undefined {
  const section = sealSectionOf(layout);
  if (section === undefined) return undefined;
  const from = (section + 2) * WORD_BYTES;
  const hex = layout.toString("hex", from, from + KEY_ID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The key of a sealed part, of its data key, its name and its layout as stored. */
export function partKeyOf(key: KeyObject, { bucket, requestId }: PartName, layout: Buffer): KeyObject {
  const place = Buffer.alloc(2);
  place.writeUInt16LE(bucket);
  const bound = Buffer.concat([PURPOSE, bytesOfUuid(requestId), place, layout]);
  return createSecretKey(createHmac("sha256", key).update(bound).digest());
}

/** Random bytes are drawn for some hundred salts at once: by itself each would cost 7 µs. */
const SALTS_BYTES = 4_096;
let salts = Buffer.alloc(0);

function newSalt(): Buffer {
  if (salts.length === 0) salts = randomBytes(SALTS_BYTES);
  const salt = salts.subarray(0, SALT_BYTES);
  salts = salts.subarray(SALT_BYTES);
  return salt;
}

function nonceOf(chunk: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32LE(chunk);
  return nonce;
}

function sealSection(keyId: string): Buffer {
  const head = Buffer.alloc(2 * WORD_BYTES);
  head.writeUInt32LE(SEAL_SECTION);
  head.writeUInt32LE((KEY_ID_BYTES + SALT_BYTES) / WORD_BYTES, WORD_BYTES);
  return Buffer.concat([head, bytesOfUuid(keyId), newSalt()]);
}

/** Seals what `packBody` packed, for its place in the log: 16 bytes more a chunk and 40 a part. */
export function sealBody(packed: StoredBody, part: PartName, { keyId, key }: PayloadKey): StoredBody {
  if (sealedUnder(packed.layout) !== undefined) throw new Error("A part is sealed once.");
  const layout = Buffer.concat([packed.layout, sealSection(keyId)]);
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

/** Opens one chunk of a sealed part. Throws SealError. */
export function openChunk(partKey: KeyObject | undefined, chunk: number, stored: Buffer): Buffer {
  if (partKey === undefined) throw new SealError("A sealed part is read by openLayout, which finds its key.");
  try {
    const decipher = createDecipheriv("aes-256-gcm", partKey, nonceOf(chunk), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(stored.subarray(stored.length - TAG_BYTES));
    const opened = decipher.update(stored.subarray(0, stored.length - TAG_BYTES));
    decipher.final();
    return opened;
  } catch (cause) {
    throw new SealError("A chunk of a sealed part does not open: it was changed, or is another part's.", {
      cause,
    });
  }
}
