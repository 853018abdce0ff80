/** As much as a hundred records: what one of them keeps alive is small, and each is soon sent. */
const CHUNK_BYTES = 262_144;
/** A text of so many characters has at most three times as many bytes. */
const BYTES_A_CHARACTER_MAX = 3;

/**
 * Turns texts into bytes, many in one block of memory. A text that was put together from a hundred pieces is a tree of them
 * until somebody reads it; bytes are what is sent in the end, and half the time of a simulation went into clearing such trees away.
 */
export class RecordBytes {
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;

  /** The bytes of a text. */
  of(text: string): Buffer {
    const chunk = this.#room(text.length * BYTES_A_CHARACTER_MAX);
    const start = this.#at;
    this.#at += chunk.write(text, start, "utf8");
    return chunk.subarray(start, this.#at);
  }

  /** An ASCII text, and bytes behind it. */
  joined(text: string, rest: Uint8Array): Buffer {
    const chunk = this.#room(text.length + rest.length);
    const start = this.#at;
    const middle = start + chunk.write(text, start, "latin1");
    chunk.set(rest, middle);
    this.#at = middle + rest.length;
    return chunk.subarray(start, this.#at);
  }

  #room(bytes: number): Buffer {
    if (this.#at + bytes > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
      this.#at = 0;
    }
    return this.#chunk;
  }
}
