import type { HttpContext } from "../service-context.ts";
import {
  admitBackfill,
  append,
  authenticate,
  checkFraming,
  checkReady,
  type DataPost,
  fingerprint,
  judgeRecords,
  limitRate,
  readHeaders,
  readRecords,
  receive,
  redact,
  refuseForeign,
  registerProperties,
} from "./steps.ts";

/**
 * A POST to a data endpoint, step by step to its durable 202, in the contract's order. A step leaves what it finds in the post and
 * throws where the request is refused.
 */
const STEPS: readonly ((context: HttpContext, post: DataPost) => Promise<void> | void)[] = [
  checkFraming, // 400, and the connection is closed
  authenticate, // 401 no bearer token, 403 not a good one
  limitRate, // 403 scope, 429
  readHeaders, // 415 media type, 422 optional headers
  checkReady, // 503 disk almost full, no log writer
  admitBackfill, // 409, 422, 429: before the body is read, so that a batch put off costs little
  receive, // 413, 415, 503; inflates, and charges the client's rate for the bytes as they come
  readRecords, // 400 not a JSON array; checks each record and charges the rate for all of them
  refuseForeign, // 403 a property not granted, 422 one that is not the backfill's
  judgeRecords, // 400 invalid records
  registerProperties, // 429 too many new properties
  fingerprint, // of the path, the handling and the body, for the Idempotency-Key
  redact, // what the erasure list and the settings of a client code keep out
  append, // 409 Idempotency-Key reused, 503; on disk once it resolves
];

/** Resolves once the batch is on disk, with its id in `post.acceptedRequestId`; throws EmptyRefusal or what `asServiceError` renders. */
export async function acceptPost(context: HttpContext, post: DataPost): Promise<void> {
  try {
    for (const step of STEPS) {
      const pending = step(context, post);
      // With one record a request each wait shows: what is known at once is not waited for.
      if (pending !== undefined) await pending;
    }
  } finally {
    post.body?.release();
    post.backfill?.done();
  }
}
