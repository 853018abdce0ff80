import { ServiceError } from "../errors/registry.ts";
import type { BodyBudget } from "./body-budget.ts";
import { freeBuffer, KEPT_BYTES_EACH_MAX, SMALLEST_BYTES, sizeFor } from "./body-buffers.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
}

/** What is known of a body before it comes. */
export interface BodyPromise {
  /** What it is said to have; 0 where that is not known or it is compressed. */
  readonly bytes: number;
  /** The most that a decompressor remembers of what it gave out; 0 where there is none. */
  readonly windowBytes: number;
}

const EMPTY = Buffer.alloc(0);
const UNKNOWN: BodyPromise = { bytes: 0, windowBytes: 0 };

/** Smaller chunks weigh little; larger ones make the garbage collector work the harder the longer they wait for it. */
const FREED_BYTES_MIN = 16_384;

/** Room beside a buffer of the budget's is taken in steps, so that its lock is not entered for each chunk. */
const STEP_BYTES = 1_048_576;

/** The room that the largest body may take at one time, with what it is copied from. */
export function roomOfLargest({ inflatedBytesMax }: BodyLimits, windowBytesMax: number): number {
  const window = Math.min(inflatedBytesMax, windowBytesMax);
  if (inflatedBytesMax <= KEPT_BYTES_EACH_MAX) return window + sizeFor(inflatedBytesMax) * 1.5;
  return window + inflatedBytesMax + KEPT_BYTES_EACH_MAX + STEP_BYTES;
}

/**
 * Collects one body into one buffer, under the limits and the budget, counting room as it is made. Chunks are copied
 * instead of kept: a chunked body of one-byte chunks would cost a hundred times its size in Buffer objects.
 */
export class BodyCollector {
  readonly #clientId: string;
  readonly #limits: BodyLimits;
  readonly #budget: BodyBudget;
  readonly #promise: BodyPromise;
  readonly #weigh: ((bytes: number) => void) | undefined;
  #bytes: Buffer = EMPTY;
  /** `chunk`: as it came; `kept`: one of the budget's; `own`: made for this body, whose pages are memory once they are written. */
  #kind: "chunk" | "kept" | "own" = "chunk";
  #length = 0;
  /** What was taken beside a buffer of the budget's. */
  #taken = 0;
  #wireBytes = 0;

  /**
   * Chunks that were copied are given back at once where the body's length is promised: nobody else may use them then. `weigh` is
   * told after each chunk how many bytes there are, decompressed.
   */
  constructor(
    clientId: string,
    limits: BodyLimits,
    budget: BodyBudget,
    promise: BodyPromise = UNKNOWN,
    weigh?: (bytes: number) => void,
  ) {
    this.#promise = promise;
    this.#weigh = weigh;
    this.#clientId = clientId;
    this.#limits = limits;
    this.#budget = budget;
  }

  /** Counts a chunk's bytes on the wire. Throws ServiceError `bellhop.http.PayloadTooLarge`. */
  countWire(bytes: number): void {
    this.#wireBytes += bytes;
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
    if (this.#length === 0 && chunk.length >= this.#promise.bytes) {
      // Most bodies are one chunk, which is taken as it is.
      this.#needBeside(chunk.length + this.#windowOf(length));
      this.#bytes = chunk;
    } else {
      if (length > this.#bytes.length) this.#grow(length);
      else if (this.#taken > 0) this.#needBeside(this.#roomBeside(length));
      chunk.copy(this.#bytes, this.#length);
      this.#discard(chunk);
    }
    this.#length = length;
    this.#weigh?.(length);
  }

  /** All that was added. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /**
   * Gives back what is larger than a chunk, once nothing refers to `whole()` any more, but for so many bytes that were made
   * of it. Throws ServiceError Unavailable when there is no room for them.
   */
  keepOnly(bytes: number): void {
    if (this.#kind !== "chunk") this.#leave(bytes);
  }

  /** Gives all memory back, once nothing refers to `whole()` any more; may be called again. */
  release(): void {
    this.#leave(0);
  }

  #leave(bytesLeft: number): void {
    if (this.#kind === "kept") this.#budget.giveBackBuffer(this.#clientId, this.#bytes);
    else if (this.#kind === "own") freeBuffer(this.#bytes);
    this.#kind = "chunk";
    this.#bytes = EMPTY;
    this.#length = 0;
    if (bytesLeft > this.#taken) this.#needBeside(bytesLeft);
    else this.#leaveBeside(bytesLeft);
  }

  /** Gives the memory of a copied chunk back at once; what a decompressor gave out may still be its own. */
  #discard(chunk: Buffer): void {
    if (this.#promise.bytes > 0 && chunk.length >= FREED_BYTES_MIN) freeBuffer(chunk);
  }

  /**
   * Moves to a larger buffer: at once to one for all that is promised, so that a body without room is refused when it
   * begins; else to one twice as large. Smaller and larger than those that are kept it is one for the largest body there is, and
   * counted as it is filled, so that none is copied a second time.
   */
  #grow(length: number): void {
    const { inflatedBytesMax } = this.#limits;
    const wanted = Math.min(inflatedBytesMax, Math.max(length, this.#promise.bytes, this.#bytes.length * 2));
    const [before, kindBefore] = [this.#bytes, this.#kind];
    if (inflatedBytesMax >= SMALLEST_BYTES && wanted <= KEPT_BYTES_EACH_MAX) {
      const buffer = this.#budget.takeBuffer(this.#clientId, sizeFor(wanted));
      if (buffer === undefined) throw noRoom();
      this.#kind = "kept";
      this.#bytes = buffer;
    } else {
      // Beside it, for as long as it is copied, lies what it takes the place of.
      const room = Math.max(length, this.#promise.bytes);
      this.#needBeside(room + this.#windowOf(length) + (kindBefore === "chunk" ? before.length : 0));
      this.#bytes = Buffer.allocUnsafeSlow(this.#promise.bytes > 0 ? room : inflatedBytesMax);
      this.#kind = "own";
    }
    before.copy(this.#bytes, 0, 0, this.#length);
    if (kindBefore === "kept") this.#budget.giveBackBuffer(this.#clientId, before);
    else this.#discard(before);
    this.#leaveBeside(this.#roomBeside(length));
  }

  /** What is to be taken for so many bytes, beside a buffer of the budget's. */
  #roomBeside(length: number): number {
    const window = this.#windowOf(length);
    return this.#kind === "kept" ? window : Math.max(length, this.#promise.bytes) + window;
  }

  #windowOf(length: number): number {
    return Math.min(length, this.#promise.windowBytes);
  }

  #needBeside(bytes: number): void {
    if (bytes <= this.#taken) return;
    const more = Math.max(bytes - this.#taken, Math.min(this.#taken, STEP_BYTES));
    if (!this.#budget.take(this.#clientId, more)) throw noRoom();
    this.#taken += more;
  }

  #leaveBeside(bytes: number): void {
    if (bytes >= this.#taken) return;
    this.#budget.release(this.#clientId, this.#taken - bytes);
    this.#taken = bytes;
  }
}

function noRoom(): ServiceError {
  return new ServiceError("bellhop.accept.Unavailable", {
    message: "Too many bodies are being received at once; nothing was accepted. Send it again later.",
    retryAfterSeconds: 1,
  });
}
