import type { HttpConnection } from "./http-connection.ts";

/** Where and how a contestant takes a batch. */
export interface Target {
  readonly port: number;
  readonly path: string;
  /** Lines of the head, each without its end. */
  readonly headers: readonly string[];
  /** What stands around the batch's array in the body. */
  readonly prefix: string;
  readonly suffix: string;
  /** Whether it is sent the compressed bodies of a case that has them. */
  readonly gzip: boolean;
  readonly status: number;
  /** Stands in every good answer; empty where the status says enough. */
  readonly answerHolds: string;
}

const LENGTH_DIGITS = 10;
const KEY_DIGITS = 12;
/** Up to here one copy and one write are cheaper than a write of several parts. */
const SMALL_BYTES = 16_384;
/** No Idempotency-Key comes twice in a run. */
let keys = 0;

/** A connection and the head that it sends again and again: only the length and the key are written anew. */
export class Sender {
  readonly connection: HttpConnection;
  readonly #head: Buffer;
  readonly #lengthAt: number;
  readonly #keyAt: number;
  readonly #parts: Buffer[];
  readonly #small = Buffer.allocUnsafe(SMALL_BYTES);
  readonly #aroundBytes: number;
  readonly #bodyPart: number;

  constructor(connection: HttpConnection, host: string, target: Target) {
    this.connection = connection;
    const lines = [
      `POST ${target.path} HTTP/1.1`,
      `Host: ${host}:${target.port}`,
      "Content-Type: application/json",
      ...target.headers,
    ];
    const before = `${lines.join("\r\n")}\r\nIdempotency-Key: 00000000-0000-7000-8000-`;
    const between = "\r\nContent-Length: ";
    this.#keyAt = before.length;
    this.#lengthAt = before.length + KEY_DIGITS + between.length;
    this.#head = Buffer.from(
      `${before}${"0".repeat(KEY_DIGITS)}${between}${"0".repeat(LENGTH_DIGITS)}\r\n\r\n`,
    );
    const [prefix, suffix] = [Buffer.from(target.prefix), Buffer.from(target.suffix)];
    this.#parts = [this.#head, prefix, Buffer.alloc(0), suffix].filter(
      (part, at) => at === 2 || part.length > 0,
    );
    this.#aroundBytes = prefix.length + suffix.length;
    this.#bodyPart = prefix.length > 0 ? 2 : 1;
  }

  send(body: Buffer, done: (error: Error | undefined, status: number) => void): void {
    keys += 1;
    this.#head.write(String(keys).padStart(KEY_DIGITS, "0"), this.#keyAt, "latin1");
    const length = String(body.length + this.#aroundBytes).padStart(LENGTH_DIGITS, "0");
    this.#head.write(length, this.#lengthAt, "latin1");
    this.#parts[this.#bodyPart] = body;
    let whole = 0;
    for (const part of this.#parts) whole += part.length;
    if (whole <= SMALL_BYTES) {
      let at = 0;
      for (const part of this.#parts) at += part.copy(this.#small, at);
      this.connection.send([this.#small.subarray(0, whole)], done);
    } else this.connection.send(this.#parts, done);
  }
}
