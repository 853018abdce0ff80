import type { BodyLayout } from "../accept/body-layout.ts";

/** Inflated bytes kept at most, beyond the newest chunk (which may be one record of tens of megabytes). */
const KEPT_BYTES_MAX = 8 * 1_048_576;

interface InflatedChunk {
  readonly records: ReadonlyMap<number, Buffer>;
  readonly bytes: number;
  /** The memory that the records lie in, where nothing else lies in it. */
  readonly memory: ArrayBufferLike | undefined;
}

/**
 * The chunks inflated last. Records in the order of their keys are often spread over a few chunks in turn, and
 * inflating a chunk again for each of its records would cost some 100 µs each time.
 */
export class InflatedChunks {
  readonly #kept = new Map<string, InflatedChunk>();
  #bytes = 0;

  /** The record at a position; `stored` are the stored bytes of its chunk, which `id` names. */
  recordAt(id: string, layout: BodyLayout, chunk: number, position: number, stored: Buffer): Buffer {
    const record = (this.#kept.get(id) ?? this.#inflate(id, layout, chunk, stored)).records.get(position);
    if (record === undefined)
      throw new Error("A chunk of the log does not hold a record that its layout names.");
    return record;
  }

  /**
   * Frees the memory of what is kept at once: nothing of it may be looked at any more. Left to the garbage collector, the
   * chunks of some ten pages make it mark the whole heap, and the page that waits for that takes three times as long.
   */
  free(): void {
    for (const { memory } of this.#kept.values()) {
      if (memory instanceof ArrayBuffer) memory.transfer(0);
    }
    this.#kept.clear();
    this.#bytes = 0;
  }

  #inflate(id: string, layout: BodyLayout, chunk: number, stored: Buffer): InflatedChunk {
    const records = new Map<number, Buffer>();
    let bytes = 0;
    let memory: ArrayBufferLike | undefined;
    for (const record of layout.recordsOf(chunk, stored)) {
      records.set(record.position, record.bytes);
      bytes += record.bytes.length;
      memory = record.bytes.buffer;
    }
    // What was stored as it is lies where it was received; what was inflated has one byte of room more than it needs.
    const isAlone = memory !== stored.buffer && memory !== undefined && memory.byteLength <= bytes + 1;
    if (!isAlone) memory = undefined;
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#bytes + bytes <= KEPT_BYTES_MAX) break;
      this.#kept.delete(oldest);
      this.#bytes -= freed;
    }
    const inflated = { records, bytes, memory };
    this.#kept.set(id, inflated);
    this.#bytes += bytes;
    return inflated;
  }
}
