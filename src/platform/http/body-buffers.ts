/** Larger buffers are not kept: few bodies need one, and one would be most of what is kept. */
export const KEPT_BYTES_EACH_MAX = 4 * 1_048_576;
/** What is kept of each thread that serves, beyond the bodies in flight. */
const KEPT_BYTES_MAX = 8 * 1_048_576;
/** Smaller ones are not worth keeping. */
export const SMALLEST_BYTES = 131_072;

/**
 * Buffers for bodies, used again by the next ones. A new buffer a body costs little by itself, but it lies outside the
 * heap, where it makes V8 mark the whole heap again and again: at 100 records of 2 kB a body that was a third of the
 * CPU time of the process. Sizes are powers of two, so that one fits many bodies.
 */
export class BodyBuffers {
  readonly #kept = new Map<number, Buffer[]>();
  #keptBytes = 0;

  /** A buffer that is exactly so large, of those that are kept; what it holds is of another body and must not be shown. */
  takeKept(size: number): Buffer | undefined {
    const kept = this.#kept.get(size)?.pop();
    if (kept !== undefined) this.#keptBytes -= size;
    return kept;
  }

  /** Takes a buffer back that nothing refers to any more. `false`: it was not kept, and its memory is free. */
  giveBack(buffer: Buffer): boolean {
    const size = buffer.length;
    if (size > KEPT_BYTES_EACH_MAX || this.#keptBytes + size > KEPT_BYTES_MAX) {
      freeBuffer(buffer);
      return false;
    }
    const same = this.#kept.get(size);
    if (same === undefined) this.#kept.set(size, [buffer]);
    else same.push(buffer);
    this.#keptBytes += size;
    return true;
  }

  /** Frees all that is kept; answers how many bytes that were. */
  clear(): number {
    const bytes = this.#keptBytes;
    for (const buffers of this.#kept.values()) buffers.forEach(freeBuffer);
    this.#kept.clear();
    this.#keptBytes = 0;
    return bytes;
  }
}

/** How large a buffer for so many bytes is made. */
export function sizeFor(bytes: number): number {
  if (bytes > KEPT_BYTES_EACH_MAX) return bytes;
  return Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
}

/**
 * Frees a buffer's memory at once, where the buffer has it for itself; it is empty then. Left to the garbage collector, 64 MB
 * of them would be there on each thread before it looks.
 */
export function freeBuffer({ buffer, byteLength }: Buffer): void {
  const isAlone = byteLength > 0 && byteLength === buffer.byteLength;
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
