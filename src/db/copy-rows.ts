import { BinaryFields } from "./binary-fields.ts";

// PostgreSQL's manual, COPY, "Binary Format": a signature, then rows of length-prefixed fields, then a count of -1.
const HEADER = Buffer.from("5047434f50590aff0d0a000000000000000000", "hex");
const BYTES_FIRST = 262_144;

/** Rows for `copy … from stdin (format binary)`, field by field in the order of the statement's columns. */
export class CopyRows extends BinaryFields {
  readonly #columns: number;

  constructor(columns: number) {
    super(BYTES_FIRST);
    this.#columns = columns;
    this.raw(HEADER);
  }

  /** Begins a row. */
  row(): void {
    this.rawSmallint(this.#columns);
  }

  /** All rows as the bytes that COPY takes; nothing can be added then. */
  finish(): Buffer {
    this.rawSmallint(-1);
    return this.taken();
  }
}
