import type pg from "pg";

/** What pg's Connection has for COPY; its types leave it out. */
interface CopyConnection {
  readonly stream: { pause(): void; resume(): void; destroy(): void };
  query(text: string): void;
}

/** Parts that wait to be taken; beyond it the server is not read from. With the one being taken and the one being filled it bounds memory. */
const WAITING_PARTS_MAX = 2;

/** A COPY to the client as pg's client drives it: what comes is put into parts of one size, which are taken one after another. */
class CopyOut {
  // pg takes the place of this function where queries have a timeout, so that its clock stops.
  callback: (error?: Error) => void;
  readonly #text: string;
  readonly #partBytes: number;
  readonly #take: (part: Buffer) => Promise<void>;
  #part: Buffer | undefined;
  #used = 0;
  #waiting = 0;
  #taken: Promise<void> = Promise.resolve();
  #failure: Error | undefined;
  rows = 0;

  constructor(
    text: string,
    partBytes: number,
    take: (part: Buffer) => Promise<void>,
    settle: (error?: Error) => void,
  ) {
    this.#text = text;
    this.#partBytes = partBytes;
    this.#take = take;
    this.callback = settle;
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.#text);
  }

  /** The chunk is a view of the parser's buffer, which is used again: it is copied before this returns. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }, connection: CopyConnection): void {
    for (let at = 0; at < chunk.length; ) {
      this.#part ??= Buffer.allocUnsafeSlow(this.#partBytes);
      const copied = chunk.copy(this.#part, this.#used, at);
      at += copied;
      this.#used += copied;
      if (this.#used === this.#partBytes) this.#handOver(connection);
    }
  }

  #handOver(connection: CopyConnection): void {
    const part = (this.#part as Buffer).subarray(0, this.#used);
    this.#part = undefined;
    this.#used = 0;
    this.#waiting += 1;
    if (this.#waiting > WAITING_PARTS_MAX) connection.stream.pause();
    this.#taken = this.#taken
      .then(() => (this.#failure === undefined ? this.#take(part) : undefined))
      .catch((error: unknown) => {
        this.#failure ??= error instanceof Error ? error : new Error(String(error));
        // Nobody wants the rest, and there is no other way to have the server end.
        connection.stream.destroy();
      })
      .finally(() => {
        this.#waiting -= 1;
        connection.stream.resume();
      });
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? Number.NaN);
  }

  /** What could not be taken is the cause of a connection that was then cut. */
  handleError(error: Error): void {
    void this.#taken.then(() => this.callback(this.#failure ?? error));
  }

  handleReadyForQuery(connection: CopyConnection): void {
    if (this.#used > 0) this.#handOver(connection);
    void this.#taken.then(() => this.callback(this.#failure));
  }
}

/**
 * Runs `copy … to stdout` and gives what comes to `take` in parts of `partBytes` (the last one is shorter), each when the one
 * before was taken; meanwhile the server waits. Answers how many rows there were. Throws what the server answers, and what
 * `take` throws: the connection is cut then.
 */
export async function copyOut(
  client: pg.ClientBase,
  text: string,
  partBytes: number,
  take: (part: Buffer) => Promise<void>,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const copy = new CopyOut(text, partBytes, take, (error) =>
    error === undefined ? resolve() : reject(error),
  );
  client.query(copy);
  await promise;
  return copy.rows;
}
