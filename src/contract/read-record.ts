import { parsedReading } from "./parsed-record.ts";
import type { RecordReading } from "./record-reading.ts";
import type { Resource } from "./resource.ts";
import { walkSpans } from "./walk-spans.ts";
import { walkedReading } from "./walked-record.ts";

/**
 * Reads one accepted record: the bytes of a record that `checkRecord` found valid, as they were sent. The same bytes always
 * give the same reading, so a replay derives what apply derived. Throws UnreadableRecord where they name no identity or
 * source time.
 */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  return new RecordReader(resource, bytes).read(0, bytes.length);
}

/** Reads the records that lie end to end in some bytes, each as `readRecord` does. */
export class RecordReader {
  readonly #resource: Resource;
  readonly #bytes: Buffer;
  readonly #view: DataView;

  constructor(resource: Resource, bytes: Buffer) {
    this.#resource = resource;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  read(start: number, end: number): RecordReading {
    const spans = walkSpans(this.#resource, this.#bytes, this.#view, start, end);
    return spans === undefined
      ? parsedReading(this.#resource, this.#bytes.subarray(start, end))
      : walkedReading(this.#resource, spans, start, end);
  }
}
