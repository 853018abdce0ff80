import type pg from "pg";

/** The COPY methods of pg's Connection, which its types lack. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** A COPY statement for pg's client: `submit` sends it, the other methods handle messages. */
class CopyStatement {
  readonly chunks: Buffer[] = [];
  readonly #text: string;
  readonly #rows: readonly Buffer[];
  readonly #settle: (error?: Error) => void;
  #error: Error | undefined;

  constructor(text: string, rows: readonly Buffer[], settle: (error?: Error) => void) {
    this.#text = text;
    this.#rows = rows;
    this.#settle = settle;
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.#text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (const chunk of this.#rows) connection.sendCopyFromChunk(chunk);
    connection.endCopyFrom();
  }

  handleCopyData(message: { chunk: Buffer }): void {
    this.chunks.push(Buffer.from(message.chunk));
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#error = error;
    this.#settle(error);
  }

  handleReadyForQuery(): void {
    if (this.#error === undefined) this.#settle();
  }
}

async function run(client: pg.ClientBase, text: string, rows: readonly Buffer[]): Promise<Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const statement = new CopyStatement(text, rows, (error) =>
    error === undefined ? resolve() : reject(error),
  );
  client.query(statement);
  await promise;
  return statement.chunks;
}

/** Reads the result of a query in COPY's binary format. */
export async function copyOut(client: pg.ClientBase, query: string): Promise<Buffer> {
  return Buffer.concat(await run(client, `copy (${query}) to stdout (format binary)`, []));
}

const CHUNK_BYTES = 65_536;

/** Writes rows read by `copyOut` into a table. */
export async function copyIn(client: pg.ClientBase, table: string, rows: Buffer): Promise<void> {
  const chunks: Buffer[] = [];
  for (let at = 0; at < rows.length; at += CHUNK_BYTES) chunks.push(rows.subarray(at, at + CHUNK_BYTES));
  await run(client, `copy ${table} from stdin (format binary)`, chunks);
}
