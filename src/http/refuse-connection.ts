import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, ServiceError } from "../errors/registry.ts";
import { errorBody } from "./error-body.ts";

/** How long a refused client may take to read its answer before the connection is cut. */
const LINGER_MS = 1_000;

const JSON_TYPE = "application/json; charset=utf-8";

/** `reason` is one of the parser's own fixed texts, such as "Missing expected CR after header value". */
interface ParserError {
  readonly code?: string | undefined;
  readonly reason?: unknown;
}

/** The latest answer on each connection, owed or given. */
const latest = new WeakMap<Socket, ServerResponse>();
const refused = new WeakSet<Socket>();

/** Notes that a request came whose answer is owed, for `refuseConnection` to know whom a fault on the connection concerns. */
export function noteRequest(request: IncomingMessage, response: ServerResponse): void {
  latest.set(request.socket, response);
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
    response.once("finish", () => refuseDirectly(error, socket));
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
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function refuseRequest(error: ParserError, response: ServerResponse, socket: Socket): void {
  const { status, body } = refusalOf(error);
  const headers = {
    "content-type": JSON_TYPE,
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  // Node forgets the request with its answer: whoever still reads its body would wait for ever, and keep its bytes.
  socket.once("close", () => response.req.destroy());
  response.writeHead(status, headers).end(body);
}

function refusalOf(error: ParserError): { status: number; body: string } {
  const code = codeOf(error);
  const explained = code === "bellhop.http.BadRequest" && typeof error.reason === "string";
  const refusal = new ServiceError(
    code,
    explained ? { message: `The request is not HTTP/1.1 as RFC 9112 defines it: ${error.reason}.` } : {},
  );
  return { status: refusal.status, body: JSON.stringify(errorBody(refusal)) };
}

function codeOf(error: ParserError): ErrorCode {
  if (error.code === "HPE_HEADER_OVERFLOW") return "bellhop.http.HeadersTooLarge";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "bellhop.http.RequestTimeout";
  return "bellhop.http.BadRequest";
}
