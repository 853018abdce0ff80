import type { LogPart } from "../../src/apply/backlog.ts";

/** A part of a bucket as the backlog gives it, of a batch of reservations, without its body. */
export function logPart(bucket: number, requestId: string): LogPart {
  return {
    bucket,
    logWriterId: "1",
    requestId,
    kind: "b",
    resource: "r",
    receivedAt: new Date(0),
    target: null,
    rejectedIndexes: new Set(),
    layout: null,
    body: null,
  };
}
