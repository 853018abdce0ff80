import { IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, ServiceError } from "../errors/registry.ts";
import { errorBody } from "./error-body.ts";
import { freeBuffer } from "./receive-body.ts";

/** A host name or address with an optional port, as RFC 9110 section 7.2 and RFC 3986 section 3.2.2 have it; or nothing. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** More than any client and the proxies before it send. Their size is bounded by Node's parser. */
export const HEADERS_MAX = 100;

/** Nearly every request names the same host. */
let lastHost = "";

function isHost(text: string): boolean {
  if (text === lastHost) return true;
  if (!HOST.test(text)) return false;
  lastHost = text;
  return true;
}

/**
 * Finds framing that Node's parser accepts and two readers of the same bytes could understand differently (RFC 9112 sections 3.2
 * and 6.1): the connection must close with the refusal. Of repeated headers Node keeps the first.
 */
function findFramingFault(request: IncomingMessage): ServiceError | undefined {
  const { rawHeaders, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1) return refusal("Speak HTTP/1.1 here.");
  if (request.url?.includes("#") === true) return refusal("A request's target has no fragment.");
  if (rawHeaders.length > 2 * HEADERS_MAX) {
    return new ServiceError("bellhop.http.HeadersTooLarge", {
      message: `The request has more than ${HEADERS_MAX} headers.`,
    });
  }
  let hosts = 0;
  let authorizations = 0;
  let contentTypes = 0;
  let host = "";
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // The length is asked first: nearly every header is passed by without a lower-case copy of its name.
    if (name.length === 4 && name.toLowerCase() === "host") {
      hosts += 1;
      host = rawHeaders[at + 1] as string;
    } else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
    else if (name.length === 12 && name.toLowerCase() === "content-type") contentTypes += 1;
  }
  if (authorizations > 1) return refusal("Authorization must be sent once.");
  if (contentTypes > 1) return refusal("Content-Type must be sent once.");
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return refusal("Host must be sent once.");
  if (!isHost(host)) return refusal("Host must be a name or an address, with a port or without.");
  const coding = request.headers["transfer-encoding"];
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || httpVersionMinor === 0)) {
    return refusal("Transfer-Encoding must be chunked alone; name compression in Content-Encoding.");
  }
  return undefined;
}

function refusal(message: string): ServiceError {
  return new ServiceError("bellhop.http.BadRequest", { message });
}

/**
 * The hardening headers of every answer: Helmet's defaults, with a policy that lets our pages load nothing. A test compares them
 * with Helmet, whose hook would take 8 % of the CPU time of a one-record request.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none';frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=31536000; includeSubDomains",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-download-options": "noopen",
  "x-frame-options": "SAMEORIGIN",
  "x-permitted-cross-domain-policies": "none",
  "x-xss-protection": "0",
};

/** Of every answer, errors too: nobody keeps one unless its route says for how long. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  ...SECURITY_HEADERS,
  "cache-control": "no-store",
};

/** Closes the connection of a client that takes nothing of what lies ready of its answer for so long, or up to twice as long. */
export function endWhenStalled(response: ServerResponse, ms: number): void {
  // Nothing lies ready while the request still comes, or its answer is being made.
  response.setTimeout(ms, () => {
    if (response.writableLength > 0) response.destroy();
  });
}

/** How long a refused client may take to read its answer before the connection is cut. */
const LINGER_MS = 1_000;

/** Beside the codes of Node's parser: a body whose chunks are smaller than is allowed. */
const CHUNKS_TOO_SMALL = "CHUNKS_TOO_SMALL";

/** `reason` is one of the parser's own fixed texts, such as "Missing expected CR after header value". */
interface ParserError {
  readonly code?: string | undefined;
  readonly reason?: unknown;
}

/** The latest answer on each connection, owed or given. */
const latest = new WeakMap<Socket, ServerResponse>();
const refused = new WeakSet<Socket>();

/**
 * The last request of a connection and its framing fault. A request that offers another protocol has no fault, but Node drops what
 * follows it in the same segment, so that the next segment may begin in the middle of a body.
 */
const last = new WeakMap<
  Socket,
  { readonly request: IncomingMessage; readonly fault: ServiceError | undefined }
>();

/**
 * Notes that a request came whose answer is owed, for `refuseConnection` to know whom a fault on the connection concerns,
 * and whether its framing can be trusted. To be called at once, in the server's `request` event.
 */
export function noteRequest(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  if (last.has(socket)) return;
  latest.set(socket, response);
  const fault = findFramingFault(request);
  if (fault !== undefined || request.headers.upgrade !== undefined) last.set(socket, { request, fault });
}

/** What is wrong with a request's framing: it is to be refused and its connection closed. */
export function faultOf(request: IncomingMessage): ServiceError | undefined {
  const found = last.get(request.socket);
  return found?.request === request ? found.fault : undefined;
}

/** Whether a request's answer is to close its connection: its framing is at fault, or it offers another protocol. */
export function isLast(request: IncomingMessage): boolean {
  return last.get(request.socket)?.request === request;
}

/** Whether a request came behind the last one of its connection: it may be part of a body, and is not to be done. */
export function followsLast(request: IncomingMessage): boolean {
  const found = last.get(request.socket);
  return refused.has(request.socket) || (found !== undefined && found.request !== request);
}

/**
 * Answers a malformed, oversized or slow request and closes its connection, whose further bytes cannot be trusted. Each request gets
 * exactly one answer: one in progress gets its own first, and one already answered gets no second.
 */
export function refuseConnection(error: ParserError, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  if (refused.has(socket)) return;
  refused.add(socket);
  const response = latest.get(socket);
  if (response === undefined || (response.req.complete && response.writableFinished)) {
    refuseDirectly(error, socket);
  } else if (response.req.complete) {
    // The fault is in what follows a whole request, whose answer must not be lost or mistaken for this one.
    if (!isLast(response.req)) response.once("finish", () => refuseDirectly(error, socket));
  } else if (response.headersSent) {
    socket.destroySoon();
  } else {
    refuseRequest(error, response, socket);
  }
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
  const { status, body } = refusalOf(error);
  // Node drops the request with its answer: a reader of its body would wait for ever, and keep its bytes.
  socket.once("close", () => response.req.destroy());
  response.writeHead(status, refusalHeaders(body)).end(body);
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

/** Smaller chunks are copied into one buffer: each as a Buffer of its own takes some 400 bytes, whatever it holds. */
const SMALL_BYTES = 512;
const GATHERED_BYTES = 16_384;

/**
 * The chunks of a body must average this many bytes over any thousand in a row. A chunk of one byte is 6 bytes to send and about a
 * microsecond to read; HTTP clients send what is written at once, records of hundreds of bytes, or fill buffers of 4 to 64 kB.
 */
const CHUNK_BYTES_MEAN = 64;
const CHUNK_CREDIT = 1_000 * CHUNK_BYTES_MEAN;

/**
 * Costs are counted in bytes that are read and dropped. A small chunk costs about a microsecond, whatever its size: as much as
 * this many bytes.
 */
const SMALL_CHUNK_COST = 256;

/** What each request may cost before it takes turns with the others of its thread: most refused bodies are smaller. */
const FREE_COST = 262_144;
/** What a turn grants: about what a socket is read by. */
const TURN_COST = 65_536;
/**
 * What all requests of a thread may cost together in each interval: 32 MB, or 128,000 small chunks, a second. A partner beyond its
 * rate that sent on as fast as it could had 580 MB a second read, which took half of the processor from the others.
 */
const INTERVAL_COST = 5 * TURN_COST;
const INTERVAL_MS = 10;

/** Shares out what a thread spends on bodies that nobody wants, and on small chunks. */
class Pace {
  readonly #waiting: (() => void)[] = [];
  #left = INTERVAL_COST;
  #isCounting = false;

  /** Whether there is something left after this was spent; a debt is paid in the next intervals. */
  spend(cost: number): boolean {
    this.#left -= cost;
    this.#count();
    return this.#left > 0;
  }

  /** Calls back with the next turn, whose cost is then spent. */
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
    // With nobody waiting and nothing spent, there is no interval to count.
    if (this.#left < INTERVAL_COST || this.#waiting.length > 0) this.#count();
  }
}

/**
 * A request that limits what its body costs, whether or not it is read: small chunks are gathered, too many are
 * refused, and work beyond that of a usual request takes turns with other requests.
 */
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
  /** Called before the body is first read, where the client waits for `100 Continue` (RFC 9110 section 10.1.1). */
  askForBody: (() => void) | undefined;

  /** Called by Node with each chunk, and null at the end. `false` stops reading from the socket. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#flush();
      return super.push(null);
    }
    if (this.#isRefused) return false;
    this.#chunkCredit = Math.min(CHUNK_CREDIT, this.#chunkCredit + chunk.length - CHUNK_BYTES_MEAN);
    // A small part of a body with a length was a packet of its own, which costs its sender as much.
    if (this.#chunkCredit < 0 && this.headers["transfer-encoding"] !== undefined) return this.#refuse();
    const isSmall = chunk.length < SMALL_BYTES;
    const goesOn = this.#spend((isSmall ? SMALL_CHUNK_COST : 0) + (this.#isDrained ? chunk.length : 0));
    if (this.#isDrained) {
      if (!isSmall) freeBuffer(chunk);
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
   * What has come and still comes is dropped, so that the answer reaches a client that sends before it reads; the request's timeout
   * bounds it. Its memory is freed chunk by chunk: a hundred large bodies would leave 64 MB to the garbage collector of each thread.
   */
  drain(): void {
    this.#isDrained = true;
    this.#gathered = undefined;
    this.#length = 0;
    this.resume();
    super._read(0);
  }

  #gather(chunk: Buffer): boolean {
    if (this.#gathered === undefined) {
      // Most small bodies are one chunk, which is passed on as it is.
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
    // Of a read, all chunks come even after reading was stopped: it need not be stopped for each.
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
    discardInput(this.socket);
    refuseConnection({ code: CHUNKS_TOO_SMALL }, this.socket);
    return false;
  }
}

/**
 * Makes the parser drop the rest of its current read: up to 10,000 one-byte chunks, each at a thirtieth of the cost of
 * delivering it. With an unknown version of Node's parser, they keep their full cost.
 */
function discardInput(socket: Socket): void {
  const parser = (socket as { parser?: Record<string, unknown> | null }).parser ?? {};
  const handler = Object.entries(parser).find(
    ([, value]) => typeof value === "function" && value.name === "parserOnBody",
  );
  if (handler === undefined) return;
  const [key, onBody] = handler;
  parser[key] = null;
  // Parsers are used again by other connections.
  setImmediate(() => {
    parser[key] = onBody;
  });
}

/** The class of the requests of one server, whose bodies take turns with each other. */
export function pacedRequests(): typeof IncomingMessage {
  const ofServer = new Pace();
  return class extends PacedRequest {
    protected readonly pace = ofServer;
  };
}
