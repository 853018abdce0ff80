import { once } from "node:events";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type pg from "pg";
import { freeMemory } from "../runtime/free-memory.ts";
import { ArrayParameter, BinaryFields, type ElementType } from "./binary-fields.ts";
import { isDistributed, oneBucketOf, type Placed } from "./distribution.ts";
import type { Queryable } from "./transaction.ts";

// PostgreSQL's manual, COPY, "Binary Format": a signature, flags, the length of an extension; rows, each a count of length-prefixed
// fields; then a count of -1.
const HEADER = Buffer.from("5047434f50590aff0d0a000000000000000000", "hex");
const EXTENSION_LENGTH_AT = 15;
const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;
const END = -1;

/** The offset of the first row, after the header and its extension. */
const firstRowAt = (bytes: Buffer): number => HEADER.length + bytes.readInt32BE(EXTENSION_LENGTH_AT);

const BYTES_FIRST = 262_144;
const CHUNK_BYTES = 65_536;
/** Approximate bytes per statement: bounds memory, and yields to the event loop. */
const STATEMENT_BYTES_TARGET = 1_048_576;

/** The memory of the last rows that were copied, for the next: new memory costs page faults and collections of the whole heap. */
let unused: Buffer | undefined;
const UNUSED_BYTES_MAX = 2 * STATEMENT_BYTES_TARGET;

/** Rows for `copy … from stdin (format binary)`. Add fields in the order of the statement's columns. */
export class CopyRows extends BinaryFields {
  readonly #columns: number;

  constructor(columns: number) {
    super(unused ?? Buffer.allocUnsafeSlow(BYTES_FIRST));
    unused = undefined;
    this.#columns = columns;
    this.raw(HEADER);
  }

  /** Begins a row. */
  row(): void {
    this.rawSmallint(this.#columns);
  }

  /** The complete COPY data. No rows can be added afterwards. */
  finish(): Buffer {
    this.rawSmallint(END);
    return this.taken();
  }

  /** Leaves the memory to other rows, once the server has received these. */
  release(): void {
    if (this.memory.length <= UNUSED_BYTES_MAX) unused = this.memory;
    else freeMemory(this.memory);
  }
}

/** COPY methods of pg's Connection, which its types omit. */
interface CopyConnection {
  readonly stream: Socket;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** A COPY for pg's client, which calls `submit` to send it and the `handle…` methods for messages of the server. */
class Copy {
  // pg replaces this function to stop the timer of query_timeout.
  callback: (error?: unknown) => void;
  /** Name for the slow statement log: `copy` and the table. */
  readonly name: string;
  /** Resolves to the number of rows when the server is ready for another statement. */
  readonly ended: Promise<number>;
  text: string;
  #rows = 0;

  constructor(text: string) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.name = text.split(" ", 2).join(" ");
    this.text = text;
    this.ended = promise;
    this.callback = (error) => (error === undefined ? resolve(this.#rows) : reject(error));
    // It may reject before it is awaited.
    promise.catch(() => undefined);
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.text);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#rows += Number(/^COPY (\d+)$/.exec(text)?.[1] ?? Number.NaN);
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(_connection: CopyConnection): void {
    this.callback();
  }
}

function sendRows(connection: CopyConnection, rows: Buffer): void {
  for (let at = 0; at < rows.length; at += CHUNK_BYTES)
    connection.sendCopyFromChunk(rows.subarray(at, at + CHUNK_BYTES));
}

/** Copies rows that are in memory. If the statement fails midway, the server drains the rest. */
class CopyIn extends Copy {
  readonly #rows: Buffer;

  constructor(text: string, rows: Buffer) {
    super(text);
    this.#rows = rows;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    sendRows(connection, this.#rows);
    connection.endCopyFrom();
  }
}

/** Runs `copy … from stdin` with rows that are in memory. Throws the server's error with its SQLSTATE. */
export async function copyIn(client: pg.ClientBase, text: string, rows: Buffer): Promise<void> {
  const copy = new CopyIn(text, rows);
  client.query(copy);
  await copy.ended;
}

/** Copies items into a table, in statements of about STATEMENT_BYTES_TARGET. `add` writes the rows of an item. */
export async function copyItems<Item>(
  client: pg.ClientBase,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  items: readonly Item[],
  add: (rows: CopyRows, item: Item) => void,
): Promise<void> {
  const statement = `copy ${table} (${columns.join(", ")}) from stdin (format binary)`;
  const copySome = async (some: CopyRows) => {
    await copyIn(client, statement, some.finish());
    some.release();
  };
  let rows: CopyRows | undefined;
  for (const item of items) {
    rows ??= new CopyRows(columns.length);
    add(rows, item);
    if (rows.size < STATEMENT_BYTES_TARGET) continue;
    await copySome(rows);
    rows = undefined;
  }
  if (rows !== undefined) await copySome(rows);
}

/** Copies a stream of rows. */
class StreamedCopyIn extends Copy {
  readonly #opened = Promise.withResolvers<CopyConnection>();

  /** Resolves when the server is ready for rows. */
  get opened(): Promise<CopyConnection> {
    return this.#opened.promise;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#opened.resolve(connection);
  }

  override handleError(error: Error): void {
    this.#opened.reject(error);
    super.handleError(error);
  }
}

/**
 * Runs `copy … from stdin` with a stream of data, with backpressure. Returns the number of rows. Throws the server's error. If `parts`
 * throws, the statement is aborted.
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

/** Sends data, or throws the reason of `ended` if the statement or connection has failed. */
async function send(connection: CopyConnection, part: Buffer, ended: Promise<unknown>): Promise<void> {
  sendRows(connection, part);
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

/** Parts buffered before reading from the server is paused. */
const WAITING_PARTS_MAX = 2;

/** Concatenates binary COPYs to the client, in parts of one size. */
class CopyOut extends Copy {
  readonly parts: Readable;
  /** Number of finished statements, and whether the current one has sent its header. */
  #done = 0;
  #isBegun = false;
  readonly #count: number;
  readonly #partBytes: number;
  #connection: CopyConnection | undefined;
  #part: Buffer | undefined;
  #used = 0;

  constructor(texts: readonly string[], partBytes: number) {
    super(texts.join(";\n"));
    this.#count = texts.length;
    this.#partBytes = partBytes;
    this.parts = new Readable({
      objectMode: true,
      highWaterMark: WAITING_PARTS_MAX,
      read: () => this.#connection?.stream.resume(),
      destroy: (error, done) => {
        // The only way to end the COPY.
        if (!this.parts.readableEnded) this.#connection?.stream.destroy();
        done(error);
      },
    });
    // It may fail before a part is read.
    this.parts.on("error", () => undefined);
  }

  override submit(connection: unknown): void {
    this.#connection = connection as CopyConnection;
    super.submit(connection);
  }

  /** A message is a row (the first has the header, too) or the end. The chunk is a view of the parser's buffer and must be copied. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }, connection: CopyConnection): void {
    const rowAt = this.#isBegun ? 0 : firstRowAt(chunk);
    const isEnd = chunk.readInt16BE(rowAt) === END;
    const end = isEnd && this.#done < this.#count - 1 ? rowAt : chunk.length;
    const from = this.#done === 0 ? 0 : rowAt;
    this.#isBegun = true;
    for (let at = from; at < end; ) {
      this.#part ??= Buffer.allocUnsafeSlow(this.#partBytes);
      const copied = chunk.copy(this.#part, this.#used, at, end);
      at += copied;
      this.#used += copied;
      if (this.#used === this.#partBytes && !this.#handOver()) connection.stream.pause();
    }
  }

  override handleCommandComplete(message: { readonly text: string }): void {
    super.handleCommandComplete(message);
    this.#done += 1;
    this.#isBegun = false;
  }

  #handOver(): boolean {
    const part = this.#part?.subarray(0, this.#used);
    this.#part = undefined;
    this.#used = 0;
    return this.parts.push(part);
  }

  override handleError(error: Error): void {
    this.#connection = undefined;
    this.parts.destroy(error);
    super.handleError(error);
  }

  override handleReadyForQuery(connection: CopyConnection): void {
    this.#connection = undefined;
    if (this.#used > 0) this.#handOver();
    this.parts.push(null);
    super.handleReadyForQuery(connection);
  }
}

/**
 * Concatenates `copy … to stdout (format binary)` statements: a stream of parts of `partBytes`, with backpressure, which throws the
 * server's error, and the number of rows once it is read. Stopping early closes the connection.
 */
export function copyOut(
  client: pg.ClientBase,
  texts: readonly string[],
  partBytes: number,
): { readonly parts: AsyncIterable<Buffer>; readonly rows: Promise<number> } {
  const copy = new CopyOut(texts, partBytes);
  client.query(copy);
  return { parts: copy.parts, rows: copy.ended };
}

/** Parses a complete binary COPY. For small tables. */
export function readCopiedRows(bytes: Buffer): (Buffer | null)[][] {
  const rows: (Buffer | null)[][] = [];
  let at = firstRowAt(bytes);
  const value = (): Buffer | null => {
    const length = bytes.readInt32BE(at);
    at += LENGTH_BYTES;
    if (length < 0) return null;
    at += length;
    return bytes.subarray(at - length, at);
  };
  for (let count = bytes.readInt16BE(at); count !== END; count = bytes.readInt16BE(at)) {
    at += COUNT_BYTES;
    rows.push(Array.from({ length: count }, value));
  }
  return rows;
}

/** Writes the value of a column. */
type Write<Item> = (to: BinaryFields, item: Item) => void;

/** Column types and functions that write an item's value; one of them is `bucket`. */
export type Columns<Item> = Readonly<Record<string, readonly [type: ElementType, write: Write<Item>]>>;

/** A table and the types of the written columns; one of them is `bucket`. */
interface WrittenTable {
  readonly table: string;
  readonly columns: Readonly<Record<string, ElementType>>;
}

/** The values of all items as an array parameter. */
export function column<Item>(items: readonly Item[], type: ElementType, write: Write<Item>): Buffer {
  const parameter = new ArrayParameter(type, items.length);
  for (const item of items) write(parameter, item);
  return parameter.finish();
}

/** Rows per statement, of some hundred bytes each. */
const ROWS_A_STATEMENT = 1_000;

/**
 * Writes a row per item: by COPY or, on Citus, by arrays that the worker of their bucket turns into rows. (Citus would run a COPY as a
 * two-phase transaction, and lose the SQLSTATE of errors.)
 */
export async function writeItems<Item extends Placed>(
  client: pg.ClientBase,
  table: string,
  columns: Columns<Item>,
  items: readonly Item[],
): Promise<void> {
  if (items.length === 0) return;
  const written = Object.values(columns);
  if (!(await isDistributed(client))) {
    const writes = written.map(([, write]) => write);
    await copyItems(client, { table, columns: Object.keys(columns) }, items, (rows, item) => {
      rows.row();
      for (const write of writes) write(rows, item);
    });
    return;
  }
  const types = Object.fromEntries(Object.entries(columns).map(([name, [type]]) => [name, type]));
  const text = insertOfBucket({ table, columns: types }, "arrays");
  for (let at = 0; at < items.length; at += ROWS_A_STATEMENT) {
    const slice = items.slice(at, at + ROWS_A_STATEMENT);
    const values = written.map(([type, write]) => column(slice, type, write));
    await client.query({ name: `insert-${table}`, text, values: [...values, oneBucketOf(items)] });
  }
}

/** Whether a written column may be an array. Not on Citus, where rows are written as arrays of their columns. */
export async function takesArrays(on: Queryable): Promise<boolean> {
  return !(await isDistributed(on));
}

export interface InsertedTable extends WrittenTable {
  /** `on conflict do nothing` */
  readonly skipsExisting?: boolean;
  /** What else to do `on conflict`. */
  readonly onConflict?: string;
}

/** Rows per statement: a batch may have a million, which would exceed the statement timeout on every attempt. */
const INSERTED_AT_ONCE = 5_000;

/** Inserts a few rows; on Citus of one bucket. */
export async function insertRows(
  client: Queryable,
  into: InsertedTable,
  rows: readonly { readonly bucket: number }[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += INSERTED_AT_ONCE) {
    const some = rows.slice(from, from + INSERTED_AT_ONCE);
    const values: unknown[] = [JSON.stringify(some)];
    let text = insertText(into);
    if (await isDistributed(client)) {
      values.push(oneBucketOf(some));
      text = insertOfBucket(into, "json");
    }
    const { skipsExisting = false, onConflict = skipsExisting ? "do nothing" : undefined } = into;
    const conflict = onConflict === undefined ? "" : ` on conflict ${onConflict}`;
    await client.query({ name: `write-${into.table}`, text: `${text}${conflict}`, values });
  }
}

function insertText({ table, columns }: WrittenTable): string {
  const names = Object.keys(columns).join(", ");
  return `insert into ${table} (${names}) select ${names} from json_to_recordset($1::json) as sent (${typed(columns)})`;
}

const typed = (columns: WrittenTable["columns"]): string =>
  Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ");

/** Selects from the bucket's own row, so that Citus sends the whole statement to its worker. The bucket is the last parameter. */
function insertOfBucket({ table, columns }: WrittenTable, from: "arrays" | "json"): string {
  const names = Object.keys(columns);
  const selected = names.map((name) => (name === "bucket" ? "home.bucket" : `sent.${name}`));
  const arrays = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
  const sent =
    from === "json"
      ? `json_to_recordset($1::json) as sent (${typed(columns)})`
      : `unnest(${arrays.join(", ")}) as sent (${names.join(", ")})`;
  return `insert into ${table} (${names.join(", ")})
    select ${selected.join(", ")}
    from bellhop.bucket_lease as home
    cross join ${sent}
    where home.bucket = $${from === "json" ? 2 : names.length + 1}`;
}
