/**
 * A request's id short enough for a line. Ids of the same minute begin alike (UUIDv7: the beginning is the time), so what
 * tells them apart, the end, is there too.
 */
export function shortId(requestId: string): string {
  return requestId.length <= 13 ? requestId : `${requestId.slice(0, 8)}…${requestId.slice(-4)}`;
}
