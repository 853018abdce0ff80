import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Answered {
  readonly status: number;
  readonly body: string;
}

const HEAD_END = "\r\n\r\n";

/**
 * One keep-alive HTTP/1.1 connection with one request at a time. It does as little as a client can, so that on a
 * machine shared with the service the client's own cost does not become the figure. Understands answers with a
 * Content-Length only; throws for any other.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #received = "";
  #waiting: { resolve: (answered: Answered) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#receive(text));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The connection was closed.")));
  }

  static async open(host: string, port: number): Promise<HttpConnection> {
    const socket = connect(port, host);
    await once(socket, "connect");
    return new HttpConnection(socket);
  }

  /** Sends a head (without its empty line) and a body; answers once the whole answer is there. */
  send(head: string, body: Buffer): Promise<Answered> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.cork();
      this.#socket.write(head + HEAD_END, "latin1");
      this.#socket.write(body);
      this.#socket.uncork();
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#received.slice(0, headEnd))?.[1];
    if (length === undefined) {
      this.#fail(new Error("An answer without a Content-Length."));
      return;
    }
    const bodyEnd = headEnd + HEAD_END.length + Number(length);
    if (this.#received.length < bodyEnd) return;
    const answered = {
      status: Number(this.#received.slice(9, 12)),
      body: this.#received.slice(headEnd + HEAD_END.length, bodyEnd),
    };
    this.#received = this.#received.slice(bodyEnd);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answered);
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}
