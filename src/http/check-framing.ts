import type { IncomingMessage } from "node:http";
import { ServiceError } from "../errors/registry.ts";

/** A host name or address with an optional port, as RFC 9110 section 7.2 and RFC 3986 section 3.2.2 have it; or nothing. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** More than any client and the proxies before it send. Their size is bounded by Node's parser. */
const HEADERS_MAX = 100;

/** Nearly every request names the same host. */
let lastHost = "";

function isHost(text: string): boolean {
  if (text === lastHost) return true;
  if (!HOST.test(text)) return false;
  lastHost = text;
  return true;
}

/**
 * Finds what Node's parser lets through although two readers of the same bytes could understand it differently: a
 * second Host, Authorization or Content-Type (Node keeps the first), no Host or one that is none (RFC 9112 section 3.2),
 * a fragment in the target (no part of one by section 3.2; some readers cut it off, others do not), a transfer coding
 * besides chunked (section 6.1), a version that is not HTTP/1, more headers than are allowed. The connection is to be closed with the refusal.
 */
export function findFramingFault(request: IncomingMessage): ServiceError | undefined {
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
    return refusal("Transfer-Encoding must be chunked alone; compression is told by Content-Encoding.");
  }
  return undefined;
}

function refusal(message: string): ServiceError {
  return new ServiceError("bellhop.http.BadRequest", { message });
}
