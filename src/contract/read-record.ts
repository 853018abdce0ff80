import type { RecordReading } from "./record-reading.ts";
import type { Resource } from "./resource.ts";
import { RecordBytes, walkHead } from "./walk-head.ts";
import { headReading, wholeReading } from "./walked-record.ts";

/**
 * Reads one accepted record: the bytes of a record that `checkRecord` found valid, as they were sent. The same bytes always
 * give the same reading, so a replay derives what apply derived. Throws UnreadableRecord where they name no identity or
 * source time.
 */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  return new RecordReader(resource, bytes).read(0, bytes.length);
}

/** Reads the records that lie end to end in some bytes, in their order, each as `readRecord` does. */
export class RecordReader {
  readonly #resource: Resource;
  readonly #records: RecordBytes;

  constructor(resource: Resource, bytes: Buffer) {
    this.#resource = resource;
    this.#records = new RecordBytes(bytes);
  }

  read(start: number, end: number): RecordReading {
    return walkHead(this.#resource, this.#records, start, end)
      ? headReading(this.#resource, this.#records, start, end)
      : wholeReading(this.#resource, this.#records, start, end);
  }
}
