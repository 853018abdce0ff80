import { once } from "node:events";
import type { Socket } from "node:net";
import type pg from "pg";

/** What pg's Connection has for COPY; its types leave it out. */
interface CopyConnection {
  readonly stream: Socket;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

const CHUNK_BYTES = 65_536;

/** A COPY from the client whose rows come by and by. */
class StreamedCopyIn {
  // pg wants one, and takes its place where queries have a timeout.
  callback: (error?: Error) => void = () => undefined;
  readonly #text: string;
  readonly #opened = Promise.withResolvers<CopyConnection>();
  readonly #ended = Promise.withResolvers<number>();
  #rows = 0;

  constructor(text: string) {
    this.#text = text;
    // Whoever waits for neither at that moment hears of it at the next wait.
    this.#opened.promise.catch(() => undefined);
    this.#ended.promise.catch(() => undefined);
  }

  /** Settles when the server is ready for rows. */
  get opened(): Promise<CopyConnection> {
    return this.#opened.promise;
  }

  /** Settles, with how many rows there were, when all is written. */
  get ended(): Promise<number> {
    return this.#ended.promise;
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.#text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#opened.resolve(connection);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? Number.NaN);
  }

  handleError(error: Error): void {
    this.#opened.reject(error);
    this.#ended.reject(error);
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.#ended.resolve(this.#rows);
    this.callback();
  }
}

/**
 * Runs `copy … from stdin` with parts as they come (wherever they are cut), no faster than the server takes them. Answers how
 * many rows it took. Throws what the server answers; what `parts` throws ends the statement, and nothing of it is written.
 */
export async function copyPartsIn(
  client: pg.ClientBase,
  text: string,
  parts: AsyncIterable<Buffer>,
): Promise<number> {
  const copy = new StreamedCopyIn(text);
  client.query(copy);
  const connection = await copy.opened;
  try {
    for await (const part of parts) await send(connection, part, copy.ended);
  } catch (error) {
    connection.sendCopyFail("its rows ended too early");
    await copy.ended.catch(() => undefined);
    throw error;
  }
  connection.endCopyFrom();
  return await copy.ended;
}

/** A statement that fails midway, or a connection that is lost, rejects `ended`: then that is what this throws. */
async function send(connection: CopyConnection, part: Buffer, ended: Promise<unknown>): Promise<void> {
  for (let at = 0; at < part.length; at += CHUNK_BYTES)
    connection.sendCopyFromChunk(part.subarray(at, at + CHUNK_BYTES));
  if (!connection.stream.writableNeedDrain) return;
  const waiting = new AbortController();
  const drained = once(connection.stream, "drain", { signal: waiting.signal });
  try {
    await Promise.race([drained, ended]);
  } finally {
    drained.catch(() => undefined);
    waiting.abort();
  }
}
