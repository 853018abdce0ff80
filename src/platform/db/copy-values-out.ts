import type pg from "pg";

/** What stands before the first row of the binary format: its signature, flags, and the length of an extension, of which there is none. */
const HEADER_BYTES = 19;
/** Before the one value of a row: how many there are (16 bits; -1 after the last row), and its length (32 bits). */
const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;

/** A binary COPY of one column as pg's client drives it: each message of the server is one row, the first with the header before it. */
class CopyValuesOut {
  // pg takes the place of this function where queries have a timeout, so that its clock stops.
  callback: (error?: Error) => void;
  readonly #text: string;
  readonly #take: (value: Buffer) => void;
  #isFirst = true;
  #failure: Error | undefined;

  constructor(text: string, take: (value: Buffer) => void, settle: (error?: Error) => void) {
    this.#text = text;
    this.#take = take;
    this.callback = settle;
  }

  submit(connection: unknown): void {
    (connection as { query(text: string): void }).query(this.#text);
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const at = this.#isFirst ? HEADER_BYTES : 0;
    this.#isFirst = false;
    if (this.#failure !== undefined || chunk.length < at + COUNT_BYTES || chunk.readInt16BE(at) !== 1) return;
    try {
      this.#take(chunk.subarray(at + COUNT_BYTES + LENGTH_BYTES));
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure);
  }
}

/**
 * Runs `copy (select …) to stdout (format binary)` of one column that is never null, and gives each value to `take` as it comes:
 * the bytes are a view of what is read from the connection, and gone when `take` returns. What other statements answer comes as
 * text: large bytes as twice as many digits. Throws what the server answers and what `take` throws, after the last row.
 */
export async function copyValuesOut(
  client: pg.ClientBase,
  text: string,
  take: (value: Buffer) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.query(new CopyValuesOut(text, take, (error) => (error === undefined ? resolve() : reject(error))));
  await promise;
}
