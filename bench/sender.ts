import type { HttpConnection } from "./http-connection.ts";

/** A contestant's endpoint for batches. */
export interface Target {
  readonly port: number;
  readonly path: string;
  /** Lines of the request head, without line breaks. */
  readonly headers: readonly string[];
  /** Whether it gets the compressed bodies of a case. */
  readonly gzip: boolean;
}

const LENGTH_DIGITS = 10;
const KEY_DIGITS = 12;
/** Up to this size, one copy and one write are cheaper than several writes. */
const SMALL_BYTES = 16_384;
/** Makes each Idempotency-Key of a run unique. */
let keys = 0;

/** A connection with a prepared request head; only the length and the key change. */
export class Sender {
  readonly connection: HttpConnection;
  readonly #head: Buffer;
  readonly #lengthAt: number;
  readonly #keyAt: number;
  readonly #small = Buffer.allocUnsafe(SMALL_BYTES);

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
  }

  send(body: Buffer, done: (error: Error | undefined, status: number) => void): void {
    keys += 1;
    this.#head.write(String(keys).padStart(KEY_DIGITS, "0"), this.#keyAt, "latin1");
    const length = String(body.length).padStart(LENGTH_DIGITS, "0");
    this.#head.write(length, this.#lengthAt, "latin1");
    const whole = this.#head.length + body.length;
    if (whole <= SMALL_BYTES) {
      this.#head.copy(this.#small);
      body.copy(this.#small, this.#head.length);
      this.connection.send([this.#small.subarray(0, whole)], done);
    } else this.connection.send([this.#head, body], done);
  }
}
