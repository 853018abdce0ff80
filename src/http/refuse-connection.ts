import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, ServiceError } from "../errors/registry.ts";
import { findFramingFault } from "./check-framing.ts";
import { errorBody } from "./error-body.ts";
import { COMMON_HEADERS } from "./security-headers.ts";

/** How long a refused client may take to read its answer before the connection is cut. */
const LINGER_MS = 1_000;

/** Beside the codes of Node's parser: a body of more chunks than are allowed. */
export const TOO_MANY_CHUNKS = "TOO_MANY_CHUNKS";

/** `reason` is one of the parser's own fixed texts, such as "Missing expected CR after header value". */
interface ParserError {
  readonly code?: string | undefined;
  readonly reason?: unknown;
}

/** The latest answer on each connection, owed or given. */
const latest = new WeakMap<Socket, ServerResponse>();
const refused = new WeakSet<Socket>();

/**
 * The request behind which nothing on its connection is to be trusted, and what is wrong with its framing. Nothing is
 * wrong with one that offers another protocol, which is not taken up: but Node drops whatever came in the same segment
 * behind it, so that the next segment may begin in the middle of a body, and be read as a request.
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
  return found !== undefined && found.request !== request;
}

/**
 * Answers what is no request, or ends early as one (malformed framing, headers too large, too slow), and closes the
 * connection: after bad framing nothing that follows on it can be trusted to be a request. Exactly one answer a request:
 * a request that is still being worked on gets its own first, and one that was answered before its body came gets no second.
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
  // Node forgets the request with its answer: whoever still reads its body would wait for ever, and keep its bytes.
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
    return "The body has more than a million chunks. Send it again in larger chunks.";
  if (code === "bellhop.http.BadRequest" && typeof error.reason === "string")
    return `The request is not HTTP/1.1 as RFC 9112 defines it: ${error.reason}.`;
  return undefined;
}

function codeOf(error: ParserError): ErrorCode {
  if (error.code === TOO_MANY_CHUNKS) return "bellhop.http.PayloadTooLarge";
  if (error.code === "HPE_HEADER_OVERFLOW") return "bellhop.http.HeadersTooLarge";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "bellhop.http.RequestTimeout";
  return "bellhop.http.BadRequest";
}
