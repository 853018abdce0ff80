import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CURSOR = /^[A-Za-z0-9_-]+$/;

/** The question that a cursor goes on with: whose, at which address, with which filters. */
export interface Question {
  readonly clientId: string;
  readonly path: string;
  /** As one text that is the same for the same filters. */
  readonly filters: string;
}

/**
 * Writes and reads the cursors of one question: encrypted and authenticated with a key of its own, derived from the installation's.
 * A cursor may hold what others do (the counters of buckets that tenants share), so it tells its client nothing: two of one
 * position differ. What must not show in a cursor's length either has to be of one length before it is sealed.
 */
export class SealedCursors {
  readonly #key: Buffer;

  /** `key`: 32 bytes that only this installation has. */
  constructor(key: Buffer, { clientId, path, filters }: Question) {
    this.#key = createHmac("sha256", key)
      .update(JSON.stringify([clientId, path, filters]))
      .digest();
  }

  /** A random nonce for each: of one question 2^32 cursors may be written before one comes twice with a chance of 2^-32. */
  seal(plain: Buffer): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    const body = [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(body).toString("base64url");
  }

  /** Undefined for what this installation has not sealed for this question. */
  open(cursor: string): Buffer | undefined {
    if (!CURSOR.test(cursor)) return undefined;
    const bytes = Buffer.from(cursor, "base64url");
    // Bits that no byte needs are dropped in decoding: two texts for one cursor would not be opaque.
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString("base64url") !== cursor) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    const plain = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    return plain;
  }
}
