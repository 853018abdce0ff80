import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, ServiceError } from "../errors/registry.ts";
import { errorBody } from "./error-body.ts";

function codeOf(error: { code?: string | undefined }): ErrorCode {
  if (error.code === "HPE_HEADER_OVERFLOW") return "bellhop.http.HeadersTooLarge";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "bellhop.http.RequestTimeout";
  return "bellhop.http.BadRequest";
}

/**
 * Answers what never became a request (malformed framing, headers too large or too slow) and closes the connection: after
 * bad framing nothing that follows on it can be trusted to be a request.
 */
export function refuseConnection(error: { code?: string | undefined }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new ServiceError(codeOf(error));
  const body = JSON.stringify(errorBody(refusal));
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
