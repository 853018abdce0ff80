import { microsecondsOf } from "../accept/request-id.ts";

// Records of a transaction come from few requests, one after another.
let lastRequest = "";
let lastMicroseconds = 0;

/** When a request was received: microseconds since 1970. */
export function receivedAt(requestId: string): number {
  if (requestId !== lastRequest) {
    lastMicroseconds = microsecondsOf(requestId);
    lastRequest = requestId;
  }
  return lastMicroseconds;
}
