import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { hasShape, type Position, type PositionShape } from "../platform/http/position.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";
import type { HttpContext } from "../service-context.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CURSOR = /^[A-Za-z0-9_-]+$/;

/** The question that a cursor goes on with: whose, at which address, with which filters. */
interface Question {
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

const CURSOR_CHARACTERS_MAX = 2_048;
/** Positions are sealed in whole steps of so many bytes: what is in one does not show in its length. */
const STEP_BYTES = 64;
const BLANK = " ";

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The cursors of one list's pages: positions as JSON, sealed for their question. */
export class PageCursors {
  readonly #sealed: SealedCursors;

  constructor({ cursorKey }: Pick<HttpContext, "cursorKey">, question: Question) {
    this.#sealed = new SealedCursors(cursorKey, question);
  }

  /** The cursor of the page that begins behind a position; null where there is none. */
  write(next: Position | null): string | null {
    if (next === null) return null;
    const text = Buffer.from(JSON.stringify(next));
    const padding = STEP_BYTES - (text.length % STEP_BYTES);
    return this.#sealed.seal(Buffer.concat([text, Buffer.alloc(padding, BLANK)]));
  }

  /**
   * Reads a cursor back; null when there is none. Throws ServiceError `bellhop.http.InvalidParameter` for one that is not ours,
   * is of another question, or does not have the shape of this list's positions.
   */
  read(cursor: string | undefined, shape: PositionShape): Position | null {
    if (cursor === undefined) return null;
    const bytes = cursor.length > CURSOR_CHARACTERS_MAX ? undefined : this.#sealed.open(cursor);
    const position = bytes === undefined ? undefined : parse(bytes);
    if (Array.isArray(position) && hasShape(position as Position, shape)) return position as Position;
    throw invalidParameter("cursor takes the nextCursor of an answer to this same query.");
  }
}
