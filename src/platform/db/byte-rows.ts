import type { Duplex } from "node:stream";
import pg from "pg";
import { freeMemory } from "../runtime/free-memory.ts";
import type { Statement } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

// PostgreSQL's manual, "Message Formats": a code, a length that counts itself, and the content. A row is a count of length-prefixed values.
const DATA_ROW = "D".charCodeAt(0);
const READY_FOR_QUERY = "Z".charCodeAt(0);
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
const COUNT_BYTES = 2;

const SLAB_BYTES = 65_536;

/** A row in PostgreSQL's binary format. */
export type ByteRow = readonly (Buffer | null)[];

type TakeChunk = (chunk: Buffer) => void;

/** The rows of one statement. Memory is freed explicitly: a garbage collection would mark the whole heap and double a page's time. */
export class ByteRows {
  readonly rows: ByteRow[] = [];
  readonly #slabs: Buffer[] = [];
  #usedBytes = 0;

  /** Frees the rows' memory; afterwards they must not be used. */
  free(): void {
    for (const slab of this.#slabs.splice(0)) freeMemory(slab);
  }

  /** Takes the rows from what a connection receives until the statement ends. The other messages go to pg, which reads rows as text. */
  takeFrom(stream: Duplex): void {
    const [pass] = stream.listeners("data") as [TakeChunk];
    const head = Buffer.alloc(HEAD_BYTES);
    let headBytes = 0;
    let missingBytes = 0;
    let row: Buffer | undefined;
    const take = (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; ) {
        if (missingBytes === 0) {
          const copied = chunk.copy(head, headBytes, at);
          at += copied;
          headBytes += copied;
          if (headBytes < HEAD_BYTES) break;
          headBytes = 0;
          missingBytes = head.readUInt32BE(1) - LENGTH_BYTES;
          row = head[0] === DATA_ROW ? this.#make(missingBytes) : undefined;
          // pg copies what follows an incomplete message, so it keeps no view of the chunk.
          if (row === undefined) pass(head);
          if (head[0] === READY_FOR_QUERY) {
            stream.off("data", take).on("data", pass);
            pass(Buffer.from(chunk.subarray(at)));
            break;
          }
        }
        const content = chunk.subarray(at, at + missingBytes);
        at += content.length;
        if (row === undefined) pass(content);
        else content.copy(row, row.length - missingBytes);
        missingBytes -= content.length;
        if (row !== undefined && missingBytes === 0) this.rows.push(valuesOf(row));
      }
      freeMemory(chunk);
    };
    stream.off("data", pass).on("data", take);
  }

  #make(bytes: number): Buffer {
    let slab = this.#slabs.at(-1);
    if (slab === undefined || this.#usedBytes + bytes > slab.length) {
      slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes));
      this.#slabs.push(slab);
      this.#usedBytes = 0;
    }
    this.#usedBytes += bytes;
    return slab.subarray(this.#usedBytes - bytes, this.#usedBytes);
  }
}

function valuesOf(row: Buffer): ByteRow {
  let at = COUNT_BYTES;
  return Array.from({ length: row.readInt16BE(0) }, () => {
    const bytes = row.readInt32BE(at);
    at += LENGTH_BYTES;
    if (bytes < 0) return null;
    at += bytes;
    return row.subarray(at - bytes, at);
  });
}

/** Runs a prepared statement and returns its rows in binary format. (pg returns bytea as hexadecimal text.) */
export async function readByteRows(
  on: Queryable,
  statement: Pick<Statement, "text"> & Partial<Statement>,
  values: readonly unknown[],
): Promise<ByteRows> {
  const read = new ByteRows();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const asked = new pg.Query({ ...statement, values: [...values] });
  const submit = asked.submit.bind(asked) as (connection: pg.Connection) => Error | null;
  Object.assign(asked, {
    binary: true,
    // Without parameters pg would otherwise use the simple protocol, which has no binary format.
    queryMode: "extended",
    ended,
    callback: (error: unknown) => (error ? reject(error) : resolve()),
    submit(connection: pg.Connection) {
      const failure = submit(connection);
      if (failure === null) read.takeFrom(connection.stream);
      return failure;
    },
  });
  await Promise.all([on.query(asked), ended]);
  return read;
}
