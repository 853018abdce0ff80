import { bucketOf } from "../../src/ingest/log/part-name.ts";
import type { Resolution, Submission } from "../../src/ingest/log/submission.ts";

/** The `reply_to` of a batch that the database refuses to store, as a data error. */
export const POISON = "poison";

const CLIENT_CODE = "SIM";
const COUNTS_MAX = 10_000;

/** Properties of the world, each in a bucket of its own. */
export const PROPERTIES: readonly { readonly code: string; readonly bucket: number }[] = (() => {
  const found = new Map<number, string>();
  for (let number = 0; found.size < 4; number += 1) {
    const code = `P${number}`;
    const bucket = bucketOf(CLIENT_CODE, code);
    if (!found.has(bucket)) found.set(bucket, code);
  }
  return [...found]
    .map(([bucket, code]) => ({ bucket, code }))
    .sort((left, right) => left.bucket - right.bucket);
})();

/** What a client wants to be stored once, however often it has to be sent. */
export interface Batch {
  readonly number: number;
  readonly properties: readonly { readonly code: string; readonly bucket: number }[];
  readonly recordCount: number;
  readonly kind: "batch" | "resolution" | "poison";
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /** The request that it became, as the log has it. */
  storedAs: string | undefined;
  /** The request that its client was answered. */
  answeredAs: string | undefined;
  /** How often it was sent again. */
  sent: number;
}

/** One time that a batch was sent. */
export interface Attempt {
  readonly batch: Batch;
  /** The greatest id that the node had answered to anybody when this was sent. */
  readonly answeredBefore: string;
  storedAs: string | undefined;
}

const NO_BODY = Buffer.from("[{}]");

/** Where the number of an attempt travels with a batch, and how many records it counts as. */
function encodeAttempt(attempt: number, recordCount: number): number {
  return attempt * COUNTS_MAX + recordCount;
}

export function decodeAttempt(code: number): { attempt: number; recordCount: number } {
  return { attempt: Math.floor(code / COUNTS_MAX), recordCount: code % COUNTS_MAX };
}

export function submissionOf(batch: Batch, attempt: number): Submission {
  return {
    clientId: "client",
    resource: "r",
    body: NO_BODY,
    records: batch.properties.map(({ code }) => ({
      index: 0,
      start: 1,
      end: 3,
      clientCode: CLIENT_CODE,
      propertyCode: code,
    })),
    rejected: [],
    lenient: false,
    correlationId: String(encodeAttempt(attempt, batch.recordCount)),
    replyTo: batch.kind === "poison" ? POISON : null,
    idempotency: batch.idempotency,
  };
}

export function resolutionOf(batch: Batch, attempt: number): Resolution {
  return {
    kind: "release",
    operator: "operator",
    bucket: batch.properties[0]?.bucket ?? 0,
    resource: "r",
    requestId: "",
    index: encodeAttempt(attempt, 1),
  };
}
