import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { hasShape, type PageRange, type Position, type PositionShape } from "./position.ts";
import { invalidParameter } from "./read-parameters.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CURSOR_CHARACTERS_MAX = 2_048;

/** Identifies the query of a cursor. */
interface Question {
  readonly clientId: string;
  readonly path: string;
  /** In a canonical order. */
  readonly filters: string;
}

/**
 * Encrypts and authenticates the cursors of one query with a key derived for it: a cursor may contain counters that tenants share.
 * Discloses only its length.
 */
export class CursorCipher {
  readonly #key: Buffer;

  /** `key`: the installation's 32-byte cursor key. */
  constructor(key: Buffer, { clientId, path, filters }: Question) {
    this.#key = createHmac("sha256", key)
      .update(JSON.stringify([clientId, path, filters]))
      .digest();
  }

  /** Random nonces allow 2^32 cursors per query. */
  encrypt(plain: Buffer): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    const body = [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(body).toString("base64url");
  }

  /** Undefined for a cursor of another query or installation. */
  decrypt(cursor: string): Buffer | undefined {
    if (cursor.length > CURSOR_CHARACTERS_MAX) return undefined;
    const bytes = Buffer.from(cursor, "base64url");
    // Decoding ignores unused bits and foreign characters; accept only the canonical text.
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

/** Positions are padded to a multiple of this to hide their length. */
const STEP_BYTES = 64;
const BLANK = " ";

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The requested page, and how to write the cursor of the next one. */
export interface Paging extends PageRange {
  cursorOf(next: Position | null): string | null;
}

export interface CursorContext {
  /** The key that encrypts cursors, shared by all nodes of the installation. */
  readonly cursorKey: Buffer;
}

/**
 * Reads the requested page; cursors are positions as JSON, encrypted for their query. Throws ServiceError `bellhop.http.InvalidParameter`
 * for a cursor of another query or list.
 */
export function readPaging(
  { cursorKey }: CursorContext,
  question: Question,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
  shape: PositionShape,
): Paging {
  const cipher = new CursorCipher(cursorKey, question);
  const cursorOf = (next: Position | null) => {
    if (next === null) return null;
    const text = Buffer.from(JSON.stringify(next));
    const padding = STEP_BYTES - (text.length % STEP_BYTES);
    return cipher.encrypt(Buffer.concat([text, Buffer.alloc(padding, BLANK)]));
  };
  if (cursor === undefined) return { limit, start: null, cursorOf };
  const bytes = cipher.decrypt(cursor);
  const start = bytes === undefined ? undefined : parse(bytes);
  if (Array.isArray(start) && hasShape(start as Position, shape))
    return { limit, start: start as Position, cursorOf };
  throw invalidParameter("cursor takes the nextCursor of an answer to this same query.");
}
