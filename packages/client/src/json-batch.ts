/**
 * Records that are one body already: a JSON array of them, as bytes. It goes out as it is, as one batch whatever the bounds of the
 * `send` are, so that nothing is put together while it is sent; only what is refused is taken apart into its records.
 *
 * @example
 * await bellhop.inventories.send([new JsonBatch(await readFile("monday.json"), 365), new JsonBatch(await readFile("tuesday.json"), 365)]);
 */
export class JsonBatch {
  readonly body: Buffer<ArrayBuffer>;
  readonly records: number;

  /** `records` is how many there are in the array. The bytes are kept, not copied: they must not change until they were sent. */
  constructor(body: Uint8Array<ArrayBuffer>, records: number) {
    this.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.records = records;
  }
}
