import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { CHUNK_WORDS, HEAD_WORDS, RECORD_WORDS, WORD_BYTES, wordAt } from "./layout-words.ts";
import { drawRandom, type PartName, type StoredBody } from "./part-name.ts";

/*
 * Each chunk of a body is encrypted with AES-256-GCM, under a key derived from a data key (bellhop.payload_key), the part's name, a
 * random salt and the layout. A chunk can be decrypted only in its place, and because each write has its own key, the nonce can be
 * the chunk's number (docs/decisions/0018-secrets-and-encrypted-payloads.md).
 */

/** A data key; `keyId` is a random UUID. A KeyObject, because importing plain bytes on each use costs more than the use itself. */
export interface PayloadKey {
  readonly keyId: string;
  /** 32 bytes. */
  readonly key: KeyObject;
}

/** A part cannot be decrypted: the key is missing or wrong, or its bytes were changed or moved. */
export class DecryptionError extends Error {}

/** Section type: id of the data key and salt, 16 bytes each. */
const ENCRYPTION_SECTION = 2;
const KEY_ID_BYTES = 16;
const SALT_BYTES = 16;

const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const PURPOSE = Buffer.from("bellhop part, version 1\0");

function bytesOfUuid(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

/** Offset of the encryption section in words; undefined for a plaintext part. */
function encryptionSectionAt(layout: Buffer): number | undefined {
  const words = layout.length / WORD_BYTES;
  let at = HEAD_WORDS + wordAt(layout, 0) * CHUNK_WORDS + wordAt(layout, 1) * RECORD_WORDS;
  while (at < words && wordAt(layout, at) !== ENCRYPTION_SECTION) at += 2 + wordAt(layout, at + 1);
  return at < words ? at : undefined;
}

/** The id of the data key of a part; undefined for a plaintext part. */
export function payloadKeyIdOf(layout: Buffer): string | undefined {
  const section = encryptionSectionAt(layout);
  if (section === undefined) return undefined;
  const from = (section + 2) * WORD_BYTES;
  const hex = layout.toString("hex", from, from + KEY_ID_BYTES);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Derives the key of an encrypted part from its data key, name and stored layout. */
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

/** Encrypts a packed body for its place in the log. Adds 16 bytes per chunk and 40 per part. */
export function encryptBody(packed: StoredBody, part: PartName, { keyId, key }: PayloadKey): StoredBody {
  if (payloadKeyIdOf(packed.layout) !== undefined) throw new Error("The part is already encrypted.");
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
  if (partKey === undefined)
    throw new DecryptionError("The layout of an encrypted part was not opened with openLayout.");
  try {
    const decipher = createDecipheriv("aes-256-gcm", partKey, nonceOf(chunk), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(stored.subarray(stored.length - TAG_BYTES));
    const opened = decipher.update(stored.subarray(0, stored.length - TAG_BYTES));
    decipher.final();
    return opened;
  } catch (cause) {
    throw new DecryptionError("A chunk cannot be decrypted: it was changed or belongs to another part.", {
      cause,
    });
  }
}
