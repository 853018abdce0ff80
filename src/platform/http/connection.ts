import { IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, ServiceError } from "../errors/registry.ts";
import { freeMemory } from "../runtime/free-memory.ts";
import { errorBody } from "./error-body.ts";
import { COMMON_HEADERS } from "./security-headers.ts";

/** Empty, or a host name or address with an optional port (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** More than clients and proxies send. Node's parser limits their size. */
export const HEADERS_MAX = 100;

/** Nearly all requests have the same Host. */
let lastHost = "";

function isHost(text: string): boolean {
  if (text === lastHost) return true;
  if (!HOST.test(text)) return false;
  lastHost = text;
  return true;
}

/**
 * Finds ambiguous framing that Node's parser accepts (RFC 9112, sections 3.2 and 6.1), which could be used for request smuggling. The
 * connection must be closed. (Node keeps the first of repeated headers.)
 */
function findFramingFault(request: IncomingMessage): ServiceError | undefined {
  const { rawHeaders, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1) return refusal("Speak HTTP/1.1 here.");
  if (request.url?.includes("#") === true) return refusal("A request's target has no fragment.");
  if (rawHeaders.length > 2 * HEADERS_MAX) return new ServiceError("bellhop.http.HeadersTooLarge");
  let hosts = 0;
  let authorizations = 0;
  let contentTypes = 0;
  let host = "";
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // Comparing the length first avoids lower-casing nearly all names.
    if (name.length === 4 && name.toLowerCase() === "host") {
      hosts += 1;
      host = rawHeaders[at + 1] as string;
    } else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
    else if (name.length === 12 && name.toLowerCase() === "content-type") contentTypes += 1;
  }
  if (authorizations > 1) return refusal("Authorization must be sent once.");
  if (contentTypes > 1) return refusal("Content-Type must be sent once.");
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return refusal("Host must be sent once.");
  if (!isHost(host)) return refusal("Host must be a host name or address, with an optional port.");
  const coding = request.headers["transfer-encoding"];
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || httpVersionMinor === 0)) {
    return refusal("Transfer-Encoding must be chunked only; declare compression in Content-Encoding.");
  }
  return undefined;
}

function refusal(message: string): ServiceError {
  return new ServiceError("bellhop.http.BadRequest", { message });
}

/** Closes the connection if the client reads nothing of a pending response for `ms` to twice `ms`. */
export function endWhenStalled(response: ServerResponse, ms: number): void {
  // Nothing is pending while the request is received or handled.
  response.setTimeout(ms, () => {
    if (response.writableLength > 0) response.destroy();
  });
}

/** Resolves once all earlier responses of the connection are sent, or once it is closed. */
export async function firstOfConnection(response: ServerResponse): Promise<void> {
  // Node gives the socket to one response at a time.
  if (response.socket !== null || response.closed) return;
  await new Promise<unknown>((resolve) => response.once("socket", resolve).once("close", resolve));
}

/** How long a refused client has to read the response before the connection is destroyed. */
const LINGER_MS = 1_000;

/** Our own code, besides those of Node's parser. */
const CHUNKS_TOO_SMALL = "CHUNKS_TOO_SMALL";

/** `reason` is a fixed text of the parser, such as "Missing expected CR after header value". */
interface ParserError {
  readonly code?: string | undefined;
  readonly reason?: unknown;
}

/** Requests of one connection that are handled at once. Few clients pipeline, and those few requests. */
const PIPELINED_AT_ONCE = 8;
/**
 * Unanswered requests of a connection, after which it is closed. Node parses a whole read of the socket (64 KiB, up to 3,600 requests of
 * 4 kB of memory and 20 µs each) before it can be paused.
 */
const UNANSWERED_MAX = 40;
/** Of all connections of a thread: 8 MB. */
const THREAD_WAITING_MAX = 2_048;

let threadWaiting = 0;

/** Of a turn of the event loop, for requests that wait for nothing. */
const TURN_MS = 1;

/** Shares the event loop: one waiting request begins per turn, in order of arrival, and those of others are served between two. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  #leftMs = TURN_MS;
  #isScheduled = false;

  /** Calls `begin` at once if nothing waits and others have not used this turn's time. */
  run(begin: () => void): void {
    if (this.#leftMs > 0 && this.#waiting.length === 0) this.#begin(begin);
    else this.#waiting.push(begin);
    this.#schedule();
  }

  /** Calls `begin` in a later turn. */
  add(begin: () => void): void {
    this.#waiting.push(begin);
    this.#schedule();
  }

  #begin(begin: () => void): void {
    const startedAt = performance.now();
    try {
      begin();
    } finally {
      this.#leftMs -= performance.now() - startedAt;
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#leftMs = TURN_MS;
      const begin = this.#waiting.shift();
      if (begin === undefined) return;
      this.#schedule();
      this.#begin(begin);
    });
  }
}

const turns = new Turns();

/** Requests that take later turns and are in progress at once on a thread: more would only delay each other, and batches. */
const IN_PROGRESS_MAX = 6;
/** How long a request counts as in progress: one that takes longer waits for the database, a client or an event most of the time. */
const IN_PROGRESS_MS = 100;

interface Arrived {
  readonly response: ServerResponse;
  readonly handle: () => void;
}

/** Bounds the requests in progress, whose continuations fill a turn of the event loop; others wait in order of arrival. */
class InProgress {
  readonly #waiting: Arrived[] = [];
  #count = 0;

  take(arrived: Arrived): void {
    if (this.#count >= IN_PROGRESS_MAX) {
      this.#waiting.push(arrived);
      return;
    }
    this.#count += 1;
    this.#begin(arrived);
  }

  #begin({ response, handle }: Arrived): void {
    const over = () => {
      clearTimeout(timer);
      response.off("close", over);
      this.#passOn();
    };
    const timer = setTimeout(over, IN_PROGRESS_MS);
    response.once("close", over);
    handle();
  }

  /** Gives a place to the next request whose client is still there. */
  #passOn(): void {
    let next = this.#waiting.shift();
    while (next?.response.closed === true) next = this.#waiting.shift();
    if (next === undefined) this.#count -= 1;
    else turns.add(this.#beginner(next));
  }

  #beginner(next: Arrived): () => void {
    return () => {
      if (next.response.closed) this.#passOn();
      else this.#begin(next);
    };
  }
}

const inProgress = new InProgress();

/** What is known of a connection, and its requests that are not answered. */
class Connection {
  /** The latest response, pending or sent. */
  latest: ServerResponse | undefined;
  isRefused = false;
  /**
   * The last request of a connection that must be closed, and its framing fault if any. Without a fault it is an Upgrade request, whose
   * segment Node drops, so that the next one may begin within a body, or there were too many requests.
   */
  last: { readonly request: IncomingMessage; readonly fault: ServiceError | undefined } | undefined;
  readonly #socket: Socket;
  readonly #waiting: (() => void)[] = [];
  #handled = 0;
  #hasTurn = false;
  #isWatched = false;
  /** One function for all responses of the connection. */
  readonly #onClose = () => this.#answered();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Checks the framing of a request. A request that follows the last one may be part of a body: it is dropped, without a response. */
  take(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    if (this.isRefused || this.last !== undefined) {
      // The connection ends with the previous response.
      discardInput(this.#socket, MESSAGE_HANDLERS);
      return;
    }
    this.latest = response;
    const fault = findFramingFault(request);
    if (fault !== undefined || request.headers.upgrade !== undefined) this.last = { request, fault };
    if (this.#handled === 0 && this.#waiting.length === 0) this.#handle(response, handle);
    else this.#hold(request, () => this.#handle(response, handle));
  }

  handleNext(): void {
    this.#hasTurn = false;
    const handle = this.#waiting.shift();
    if (handle === undefined) return;
    threadWaiting -= 1;
    if (this.#waiting.length === 0) this.#socket.resume();
    handle();
    this.#askForTurn();
  }

  #handle(response: ServerResponse, handle: () => void): void {
    this.#handled += 1;
    response.on("close", this.#onClose);
    handle();
  }

  #hold(request: IncomingMessage, handle: () => void): void {
    const socket = this.#socket;
    this.#waiting.push(handle);
    threadWaiting += 1;
    if (this.#handled + this.#waiting.length >= UNANSWERED_MAX || threadWaiting >= THREAD_WAITING_MAX)
      this.last = { request, fault: undefined };
    this.#askForTurn();
    socket.pause();
    if (this.#isWatched) return;
    this.#isWatched = true;
    // Node resumes the socket after each message, and each reader of a body does.
    socket.on("resume", () => {
      if (this.#waiting.length > 0) socket.pause();
    });
    socket.once("close", () => this.#forget());
  }

  #answered(): void {
    this.#handled -= 1;
    // Nobody would get the response.
    if (!this.#socket.writable) this.#forget();
    this.#askForTurn();
  }

  #askForTurn(): void {
    if (this.#hasTurn || this.#waiting.length === 0 || this.#handled >= PIPELINED_AT_ONCE) return;
    this.#hasTurn = true;
    turns.add(() => this.handleNext());
  }

  #forget(): void {
    threadWaiting -= this.#waiting.length;
    this.#waiting.length = 0;
  }
}

const connections = new WeakMap<Socket, Connection>();

function connectionOf(socket: Socket): Connection {
  let connection = connections.get(socket);
  if (connection === undefined) {
    connection = new Connection(socket);
    connections.set(socket, connection);
  }
  return connection;
}

/**
 * Calls `handle` at once if the connection's earlier requests are answered. Otherwise it waits for its turn and for fewer than eight
 * unanswered ones, and no more of the connection is read until then.
 * A request that follows the last one of its connection is dropped. Must be called synchronously in the server's `request` event.
 */
export function takeTurn(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
  connectionOf(request.socket).take(request, response, handle);
}

/**
 * Calls `handle` at once, or in a later turn of the event loop when other requests took this one's time or too many are in progress: what
 * does not take turns goes first. Not called when the client has closed the connection meanwhile.
 */
export function takeLaterTurn(response: ServerResponse, handle: () => void): void {
  turns.run(() => {
    if (!response.closed) inProgress.take({ response, handle });
  });
}

/** The framing fault for which a request must be refused and its connection closed. */
export function faultOf(request: IncomingMessage): ServiceError | undefined {
  const last = connections.get(request.socket)?.last;
  return last?.request === request ? last.fault : undefined;
}

/** Whether the response must close the connection: faulty framing, an Upgrade request, or too many requests before it. */
export function isLast(request: IncomingMessage): boolean {
  return connections.get(request.socket)?.last?.request === request;
}

/**
 * Responds to a malformed, oversized or slow request and closes its connection. Each request gets exactly one response: a request in
 * progress is answered first, and an answered one gets no second response.
 */
export function refuseConnection(error: ParserError, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const connection = connectionOf(socket);
  if (connection.isRefused) return;
  connection.isRefused = true;
  const response = connection.latest;
  if (response === undefined || (response.req.complete && response.writableFinished)) {
    refuseDirectly(error, socket);
  } else if (response.req.complete) {
    // The fault follows a complete request, which must get its own response first.
    if (!isLast(response.req)) response.once("finish", () => refuseDirectly(error, socket));
  } else if (response.headersSent) {
    socket.destroySoon();
  } else {
    refuseRequest(error, response, socket);
  }
}

/**
 * Responds to CONNECT and closes its connection, whose listeners Node has removed: an error of the socket would end the process, and nothing
 * would time out an earlier response that the client does not read.
 */
export function refuseTunnel(socket: Socket): void {
  socket.on("error", () => socket.destroy());
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  refuseConnection({}, socket);
}

function refuseDirectly(error: ParserError, socket: Socket): void {
  const { status, body } = refusalOf(error);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(refusalHeaders(body)).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function refuseRequest(error: ParserError, response: ServerResponse, socket: Socket): void {
  // An earlier response is unanswered or unread, and this one would wait for it.
  if (response.socket === null) {
    socket.destroy();
    return;
  }
  const { status, body } = refusalOf(error);
  // Otherwise a reader of the body would wait forever.
  socket.once("close", () => response.req.destroy());
  response.writeHead(status, refusalHeaders(body)).end(body);
  if (response.req instanceof PacedRequest) response.req.abandon();
}

function refusalHeaders(body: string) {
  return {
    ...COMMON_HEADERS,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
}

function refusalOf(error: ParserError): { status: number; body: string } {
  const code = codeOf(error);
  const message = messageOf(error, code);
  const refusal = new ServiceError(code, message === undefined ? {} : { message });
  return { status: refusal.status, body: JSON.stringify(errorBody(refusal)) };
}

function messageOf(error: ParserError, code: ErrorCode): string | undefined {
  if (code === "bellhop.http.PayloadTooLarge")
    return "The body's chunks are smaller than 64 bytes on average. Send it again in larger chunks.";
  if (code === "bellhop.http.BadRequest" && typeof error.reason === "string")
    return `The request is not HTTP/1.1 as RFC 9112 defines it: ${error.reason}.`;
  return undefined;
}

function codeOf(error: ParserError): ErrorCode {
  if (error.code === CHUNKS_TOO_SMALL) return "bellhop.http.PayloadTooLarge";
  if (error.code === "HPE_HEADER_OVERFLOW") return "bellhop.http.HeadersTooLarge";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "bellhop.http.RequestTimeout";
  return "bellhop.http.BadRequest";
}

/** Smaller chunks are copied into one buffer, because each Buffer takes about 400 bytes. */
const SMALL_BYTES = 512;
const GATHERED_BYTES = 16_384;

/**
 * The minimum average size over any 1,000 consecutive chunks. A one-byte chunk takes 6 bytes to send and 1 µs to read; HTTP clients send
 * records of hundreds of bytes, or buffers of 4 to 64 kB.
 */
const CHUNK_BYTES_MEAN = 64;
const CHUNK_CREDIT = 1_000 * CHUNK_BYTES_MEAN;

/** The cost of a small chunk (1 µs) in bytes read and dropped, the unit of cost. */
const SMALL_CHUNK_COST = 256;

/** Cost of a request before it takes turns with others; most refused bodies are smaller. */
const FREE_COST = 262_144;
/** Cost granted per turn, about one read of a socket. */
const TURN_COST = 65_536;
/**
 * Cost per interval of all requests of a thread: 32 MB or 128,000 small chunks per second. Unlimited, a partner beyond its rate caused
 * 580 MB/s to be read, half of the CPU.
 */
const INTERVAL_COST = 5 * TURN_COST;
const INTERVAL_MS = 10;

/** Limits the time that a thread spends on drained bodies and small chunks. */
class Pace {
  readonly #waiting: (() => void)[] = [];
  #left = INTERVAL_COST;
  #isCounting = false;

  /** Spends cost and returns whether some is left. A debt is carried into the next intervals. */
  spend(cost: number): boolean {
    this.#left -= cost;
    this.#count();
    return this.#left > 0;
  }

  /** Calls back on the next turn, which costs TURN_COST. */
  wait(turn: () => boolean): void {
    this.#waiting.push(() => {
      if (turn()) this.#left -= TURN_COST;
    });
    this.#count();
  }

  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    setTimeout(() => this.#nextInterval(), INTERVAL_MS);
  }

  #nextInterval(): void {
    this.#isCounting = false;
    this.#left = Math.min(INTERVAL_COST, this.#left + INTERVAL_COST);
    while (this.#left > 0) {
      const turn = this.#waiting.shift();
      if (turn === undefined) break;
      turn();
    }
    // Idle: stop the timer.
    if (this.#left < INTERVAL_COST || this.#waiting.length > 0) this.#count();
  }
}

/** A request that limits the cost of its body: gathers small chunks, refuses too many, and takes turns beyond FREE_COST. */
export abstract class PacedRequest extends IncomingMessage {
  protected abstract readonly pace: Pace;
  #gathered: Buffer | undefined;
  #length = 0;
  #isFlushing = false;
  #chunkCredit = CHUNK_CREDIT;
  #credit = FREE_COST;
  #isWaiting = false;
  #isDrained = false;
  #isRefused = false;
  /** Called before the body is read if the client waits for `100 Continue` (RFC 9110, section 10.1.1). */
  askForBody: (() => void) | undefined;

  /** Called by Node with each chunk, and null at the end. `false` stops reading from the socket. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#flush();
      return super.push(null);
    }
    if (this.#isRefused) return false;
    this.#chunkCredit = Math.min(CHUNK_CREDIT, this.#chunkCredit + chunk.length - CHUNK_BYTES_MEAN);
    // Small parts of a body with Content-Length are packets, which cost the sender as much.
    if (this.#chunkCredit < 0 && this.headers["transfer-encoding"] !== undefined) return this.#refuse();
    const isSmall = chunk.length < SMALL_BYTES;
    const goesOn = this.#spend((isSmall ? SMALL_CHUNK_COST : 0) + (this.#isDrained ? chunk.length : 0));
    if (this.#isDrained) {
      if (!isSmall) freeMemory(chunk);
      return goesOn;
    }
    if (isSmall) return this.#gather(chunk) && goesOn;
    this.#flush();
    return super.push(chunk) && goesOn;
  }

  /** Called by the stream when it wants more. */
  override _read(size: number): void {
    this.askForBody?.();
    this.askForBody = undefined;
    if (!this.#isWaiting && !this.#isRefused) super._read(size);
  }

  /**
   * Reads and drops the rest of the body, bounded by the request's timeout, so that a client that sends before it reads gets the response.
   * Frees each chunk at once instead of leaving it to the garbage collector.
   */
  drain(): void {
    if (this.#isRefused) return;
    this.#isDrained = true;
    this.#gathered = undefined;
    this.#length = 0;
    this.resume();
    super._read(0);
  }

  /** Makes the reader of the body fail at once, and drops what still arrives: the request has been answered. */
  abandon(): void {
    this.#isRefused = true;
    this.#gathered = undefined;
    this.#length = 0;
    if (this.listenerCount("error") > 0) this.emit("error", new Error("The body was refused."));
  }

  #gather(chunk: Buffer): boolean {
    if (this.#gathered === undefined) {
      // Most small bodies are one chunk, which is passed on without copying.
      this.#gathered = chunk;
    } else {
      if (this.#gathered.length < GATHERED_BYTES) {
        const room = Buffer.allocUnsafeSlow(GATHERED_BYTES);
        this.#gathered.copy(room);
        this.#gathered = room;
      }
      chunk.copy(this.#gathered, this.#length);
    }
    this.#length += chunk.length;
    if (this.#length > GATHERED_BYTES - SMALL_BYTES) return this.#flush();
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      setImmediate(() => {
        this.#isFlushing = false;
        if (!this.destroyed) this.#flush();
      });
    }
    return true;
  }

  #flush(): boolean {
    if (this.#gathered === undefined) return true;
    const gathered = this.#gathered.subarray(0, this.#length);
    this.#gathered = undefined;
    this.#length = 0;
    return super.push(gathered);
  }

  #spend(cost: number): boolean {
    if (cost <= this.#credit) {
      this.#credit -= cost;
      return true;
    }
    const isLeft = this.pace.spend(cost - this.#credit);
    this.#credit = 0;
    // All chunks of one read are delivered even after reading was paused.
    if (isLeft || this.#isWaiting) return true;
    this.#isWaiting = true;
    this.pace.wait(() => {
      this.#isWaiting = false;
      if (this.destroyed) return false;
      this.#credit = TURN_COST;
      super._read(0);
      return true;
    });
    return false;
  }

  #refuse(): boolean {
    this.#isRefused = true;
    this.#gathered = undefined;
    discardInput(this.socket, ["parserOnBody"]);
    refuseConnection({ code: CHUNKS_TOO_SMALL }, this.socket);
    return false;
  }
}

/** Node's functions that receive the parts of a message; without them the parser makes no request of it. */
const MESSAGE_HANDLERS = [
  "parserOnHeaders",
  "parserOnHeadersComplete",
  "parserOnBody",
  "parserOnMessageComplete",
];

/**
 * Makes Node's parser drop the rest of its current read (up to 10,000 one-byte chunks or 3,600 requests) at a thirtieth of the cost. No
 * effect with an unknown version of the parser.
 */
function discardInput(socket: Socket, handlers: readonly string[]): void {
  const parser = (socket as { parser?: Record<string, unknown> | null }).parser ?? {};
  const removed = Object.entries(parser).filter(
    ([, value]) => typeof value === "function" && handlers.includes(value.name),
  );
  for (const [key] of removed) parser[key] = null;
  // Parsers are reused by other connections.
  setImmediate(() => Object.assign(parser, Object.fromEntries(removed)));
}

/** A request class for one server; the bodies of its requests share one Pace. */
export function pacedRequests(): typeof IncomingMessage {
  const ofServer = new Pace();
  return class extends PacedRequest {
    protected readonly pace = ofServer;
  };
}
