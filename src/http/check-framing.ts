import type { IncomingMessage } from "node:http";
import { ServiceError } from "../errors/registry.ts";

/**
 * Finds what Node's parser lets through although two readers of the same bytes could understand it differently: a
 * second Host or Authorization (Node keeps the first), no Host (RFC 9112 section 3.2), a transfer coding besides
 * chunked (section 6.1), a version that is not HTTP/1. The connection is to be closed with the refusal.
 */
export function findFramingFault(request: IncomingMessage): ServiceError | undefined {
  const { rawHeaders, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1) return refusal("Speak HTTP/1.1 here.");
  let hosts = 0;
  let authorizations = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // The length is asked first: nearly every header is passed by without a lower-case copy of its name.
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
  }
  if (authorizations > 1) return refusal("Authorization must be sent once.");
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return refusal("Host must be sent once.");
  const coding = request.headers["transfer-encoding"];
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || httpVersionMinor === 0)) {
    return refusal("Transfer-Encoding must be chunked alone; compression is told by Content-Encoding.");
  }
  return undefined;
}

function refusal(message: string): ServiceError {
  return new ServiceError("bellhop.http.BadRequest", { message });
}
