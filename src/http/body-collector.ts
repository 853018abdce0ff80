import { ServiceError } from "../errors/registry.ts";
import type { BodyBudget } from "./body-budget.ts";
import { BodyBuffers } from "./body-buffers.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
}

const EMPTY = Buffer.alloc(0);
const buffers = new BodyBuffers();

/**
 * Each chunk costs about 2 µs whatever its size: 16 MiB by the byte would hold the event loop for half a minute. A
 * million leaves chunks of 17 bytes for the largest body.
 */
const CHUNKS_MAX = 1_000_000;

/** Smaller chunks weigh little; larger ones make the garbage collector work the harder the longer they wait for it. */
const DISCARDED_BYTES_MIN = 16_384;

/**
 * Collects one body into one buffer, under the limits and the budget, counting bytes as they come. Chunks are copied
 * instead of kept: a chunked body of one-byte chunks would cost a hundred times its size in Buffer objects.
 */
export class BodyCollector {
  readonly #clientId: string;
  readonly #limits: BodyLimits;
  readonly #budget: BodyBudget;
  readonly #expected: number;
  #bytes: Buffer = EMPTY;
  /** Whether `#bytes` is one of `buffers`, and not a chunk as it came. */
  #owned = false;
  #length = 0;
  #wireBytes = 0;
  #chunks = 0;

  /**
   * `expectedBytes` is what the body is said to have, 0 where that is not known or it is compressed; room for it is made
   * once more than one chunk has come, and chunks that were copied are then given back: nobody else may use them.
   */
  constructor(clientId: string, limits: BodyLimits, budget: BodyBudget, expectedBytes = 0) {
    this.#expected = expectedBytes;
    this.#clientId = clientId;
    this.#limits = limits;
    this.#budget = budget;
  }

  /** Counts a chunk's bytes on the wire. Throws ServiceError `bellhop.http.PayloadTooLarge`. */
  countWire(bytes: number): void {
    this.#wireBytes += bytes;
    this.#chunks += 1;
    if (this.#chunks > CHUNKS_MAX) {
      throw new ServiceError("bellhop.http.PayloadTooLarge", {
        message: `The body came in more than ${CHUNKS_MAX} chunks; send it in larger ones.`,
      });
    }
    if (this.#wireBytes > this.#limits.bodyBytesMax) throw new ServiceError("bellhop.http.PayloadTooLarge");
  }

  /** Adds decompressed bytes. Throws ServiceError: PayloadTooLarge, or Unavailable when the budget is used up. */
  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#limits.inflatedBytesMax) {
      throw new ServiceError("bellhop.http.PayloadTooLarge", {
        message: "The body is larger than is allowed once it is decompressed.",
      });
    }
    if (!this.#budget.take(this.#clientId, chunk.length)) {
      throw new ServiceError("bellhop.accept.Unavailable", {
        message:
          "Too many large bodies are being received at once; nothing was accepted. Send it again later.",
        retryAfterSeconds: 1,
      });
    }
    if (this.#length === 0) {
      // Most bodies are one chunk, which is taken as it is.
      this.#bytes = chunk;
    } else {
      if (length > this.#bytes.length) this.#grow(length);
      chunk.copy(this.#bytes, this.#length);
      this.#discard(chunk);
    }
    this.#length = length;
  }

  /** All that was added. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Gives the bytes back to the budget, once nothing refers to `whole()` any more. */
  release(): void {
    this.#budget.release(this.#clientId, this.#length);
    if (this.#owned) buffers.giveBack(this.#bytes);
    this.#owned = false;
    this.#bytes = EMPTY;
    this.#length = 0;
  }

  /** Gives the memory of a copied chunk back at once; what a decompressor gave out may still be its own. */
  #discard({ buffer, byteLength }: Buffer): void {
    const isAlone = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer;
    if (this.#expected > 0 && isAlone && byteLength >= DISCARDED_BYTES_MIN) buffer.transfer(0);
  }

  #grow(length: number): void {
    // What a client only says gets no more than eight times the room of what it has sent.
    const believed = Math.min(this.#expected, length * 8);
    const wanted = Math.max(length, this.#bytes.length * 2, believed);
    const grown = buffers.take(Math.min(wanted, this.#limits.inflatedBytesMax));
    this.#bytes.copy(grown, 0, 0, this.#length);
    if (this.#owned) buffers.giveBack(this.#bytes);
    else this.#discard(this.#bytes);
    this.#owned = true;
    this.#bytes = grown;
  }
}
