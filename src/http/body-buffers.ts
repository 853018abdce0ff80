/** Larger buffers are not kept: few bodies need one, and one would be most of what is kept. */
const KEPT_BYTES_EACH_MAX = 4 * 1_048_576;
/** What is kept of each thread that serves, beyond the bodies in flight. */
const KEPT_BYTES_MAX = 8 * 1_048_576;
const SMALLEST_BYTES = 131_072;

/**
 * Buffers for bodies, used again by the next ones. A new buffer a body costs little by itself, but it lies outside the
 * heap, where it makes V8 mark the whole heap again and again: at 100 records of 2 kB a body that was a third of the
 * CPU time of the process. Sizes are powers of two, so that one fits many bodies.
 */
export class BodyBuffers {
  readonly #kept = new Map<number, Buffer[]>();
  #keptBytes = 0;

  /** A buffer of at least so many bytes; what it holds is of another body and must not be shown. */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const kept = this.#kept.get(size)?.pop();
    if (kept === undefined) return Buffer.allocUnsafeSlow(size);
    this.#keptBytes -= size;
    return kept;
  }

  /** Gives a buffer back that nothing refers to any more. */
  giveBack(buffer: Buffer): void {
    const size = buffer.length;
    if (size > KEPT_BYTES_EACH_MAX || this.#keptBytes + size > KEPT_BYTES_MAX) return;
    const same = this.#kept.get(size);
    if (same === undefined) this.#kept.set(size, [buffer]);
    else same.push(buffer);
    this.#keptBytes += size;
  }
}

function sizeFor(bytes: number): number {
  if (bytes > KEPT_BYTES_EACH_MAX) return bytes;
  return Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
}
