import type pg from "pg";
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

/** What pg's Connection has for COPY; its types leave it out. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

const CHUNK_BYTES = 65_536;
/** Bytes of rows that one statement carries, about: bounds what is held, and lets the event loop turn. */
const STATEMENT_BYTES_TARGET = 1_048_576;

/** A COPY from the client as pg's client drives it: `submit` sends it, the others are called with what the server says. */
class CopyIn {
  // pg takes the place of this function where queries have a timeout, so that its clock stops.
  callback: (error?: Error) => void;
  /** What it is called where it was slow: `copy` and the table. */
  readonly name: string;
  readonly #text: string;
  readonly #rows: Buffer;

  constructor(text: string, rows: Buffer, settle: (error?: Error) => void) {
    this.name = text.split(" ", 2).join(" ");
    this.#text = text;
    this.#rows = rows;
    this.callback = settle;
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.#text);
  }

  // A statement that fails midway has the server pass over what is left of the rows.
  handleCopyInResponse(connection: CopyConnection): void {
    for (let at = 0; at < this.#rows.length; at += CHUNK_BYTES)
      connection.sendCopyFromChunk(this.#rows.subarray(at, at + CHUNK_BYTES));
    connection.endCopyFrom();
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback();
  }
}

/** Runs `copy … from stdin` with rows that are in memory. Throws what the server answers, with its SQLSTATE. */
export async function copyIn(client: pg.ClientBase, text: string, rows: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.query(new CopyIn(text, rows, (error) => (error === undefined ? resolve() : reject(error))));
  await promise;
}

/** Copies a row of each item into a table, in as few statements as their bytes allow; `add` writes one item's row. */
export async function copyItems<Item>(
  client: pg.ClientBase,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  items: readonly Item[],
  add: (rows: CopyRows, item: Item) => void,
): Promise<void> {
  const statement = `copy ${table} (${columns.join(", ")}) from stdin (format binary)`;
  let rows: CopyRows | undefined;
  for (const item of items) {
    rows ??= new CopyRows(columns.length);
    add(rows, item);
    if (rows.size < STATEMENT_BYTES_TARGET) continue;
    await copyIn(client, statement, rows.finish());
    rows = undefined;
  }
  if (rows !== undefined) await copyIn(client, statement, rows.finish());
}
