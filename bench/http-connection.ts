import { once } from "node:events";
import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const RECEIVED_BYTES = 262_144;
const STATUS_AT = 9;

/**
 * One keep-alive HTTP/1.1 connection with one request at a time and minimal client cost, as client and service share a
 * machine. Sends prepared Buffers and reuses its read buffer. Supports only responses with Content-Length; throws for
 * others.
 */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #received = Buffer.allocUnsafe(RECEIVED_BYTES);
  #filled = 0;
  #isClosed = false;
  #done: ((error: Error | undefined, status: number) => void) | undefined;

  private constructor(host: string, port: number) {
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(RECEIVED_BYTES),
        callback: (length, bytes) => {
          this.#receive(bytes as Buffer, length);
          return true;
        },
      },
    });
  }

  static async open(host: string, port: number): Promise<HttpConnection> {
    const connection = new HttpConnection(host, port);
    await once(connection.#socket, "connect");
    connection.#socket.on("error", (error) => connection.#end(error, 0));
    connection.#socket.on("close", () => {
      connection.#isClosed = true;
      connection.#end(new Error("The connection was closed."), 0);
    });
    return connection;
  }

  /** Closed by the peer, or failed: no further request will get a response. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends the parts of one request, which must not change before the response. Calls `done` with the status. */
  send(parts: readonly Buffer[], done: (error: Error | undefined, status: number) => void): void {
    this.#done = done;
    this.#filled = 0;
    if (parts.length === 1) {
      this.#socket.write(parts[0] as Buffer);
      return;
    }
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.uncork();
  }

  /** The last complete response. */
  get answer(): string {
    return this.#received.toString("utf8", 0, this.#filled);
  }

  close(): void {
    this.#done = undefined;
    this.#socket.destroy();
  }

  #receive(bytes: Buffer, length: number): void {
    // Not waiting: closed, or failed before.
    if (this.#done === undefined) return;
    bytes.copy(this.#received, this.#filled, 0, length);
    this.#filled += length;
    const headEnd = this.#received.subarray(0, this.#filled).indexOf(HEAD_END, 0, "latin1");
    if (headEnd < 0) return;
    const head = this.#received.toString("latin1", 0, headEnd);
    const bodyBytes = LENGTH.exec(head)?.[1];
    if (bodyBytes === undefined) {
      this.#end(new Error(`An answer without a Content-Length: ${head}`), 0);
      return;
    }
    const end = headEnd + HEAD_END.length + Number(bodyBytes);
    if (end > RECEIVED_BYTES) this.#end(new Error("An answer that is too long."), 0);
    else if (this.#filled >= end) this.#end(undefined, Number(head.slice(STATUS_AT, STATUS_AT + 3)));
  }

  #end(error: Error | undefined, status: number): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(error, status);
  }
}
