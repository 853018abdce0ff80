import { connect, type Socket } from "node:net";

/** One answer as it was on the wire. `body` is every byte after the headers that Content-Length or chunking gives it. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** A connection on which a test writes bytes that no HTTP client would. */
export class RawConnection {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #closed = false;
  #reset = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNRESET" || error.code === "EPIPE") this.#reset = true;
    });
    for (const event of ["end", "close"]) {
      socket.on(event, () => {
        this.#closed = true;
        this.#wake();
      });
    }
  }

  static async open(address: string): Promise<RawConnection> {
    const { hostname, port } = new URL(address);
    const socket = connect({ host: hostname, port: Number(port) });
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return new RawConnection(socket);
  }

  /** Everything received and not yet taken by `answer`. */
  get received(): Buffer {
    return this.#received;
  }

  /** True once the other side has closed. */
  get closed(): boolean {
    return this.#closed;
  }

  /** True when the connection was reset instead of closed. */
  get wasReset(): boolean {
    return this.#reset;
  }

  write(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  }

  /** The next answer; throws when the connection closes before it is whole. */
  async answer(waitMsMax = 10_000): Promise<RawAnswer> {
    for (;;) {
      const taken = takeAnswer(this.#received);
      if (taken !== undefined) {
        this.#received = this.#received.subarray(taken.bytes);
        if (taken.answer.status >= 200) return taken.answer;
        continue;
      }
      if (this.#closed) throw new Error(`Closed after ${JSON.stringify(this.#received.toString("latin1"))}`);
      await this.#change(waitMsMax);
    }
  }

  /** Waits until the other side closes. */
  async closing(waitMsMax = 10_000): Promise<void> {
    while (!this.#closed) await this.#change(waitMsMax);
  }

  destroy(): void {
    this.socket.destroy();
  }

  async #change(waitMsMax: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`Nothing came within ${waitMsMax} ms.`)), waitMsMax);
      this.#wake = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }
}

function takeAnswer(bytes: Buffer): { answer: RawAnswer; bytes: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`Not a status line: ${JSON.stringify(statusLine)}`);
  const bodyStart = headEnd + 4;
  if (headers.get("transfer-encoding") === "chunked") {
    const end = bytes.indexOf("0\r\n\r\n", bodyStart);
    if (end < 0) return undefined;
    return { answer: { status, headers, body: bytes.subarray(bodyStart, end) }, bytes: end + 5 };
  }
  const length = status < 200 ? 0 : Number(headers.get("content-length") ?? 0);
  if (bytes.length < bodyStart + length) return undefined;
  return {
    answer: { status, headers, body: bytes.subarray(bodyStart, bodyStart + length) },
    bytes: bodyStart + length,
  };
}
