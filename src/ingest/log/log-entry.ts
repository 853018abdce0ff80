import { packing, type RecordSlice } from "./body-layout.ts";
import { encryptBody, type PayloadKey } from "./encrypt-body.ts";
import { bucketOf, isoOfMicroseconds, microsecondsOf } from "./part-name.ts";
import type { RejectedRecord, Resolution, Submission, SubmittedRecord } from "./submission.ts";

/** A log row before its id is stamped. Undefined fields are omitted from the JSON parameter and become null. */
export interface LogEntry {
  readonly bucket: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Violations of its rejected records, as JSON. */
  readonly rejections: Buffer | null;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

/** The rows of one request, and the idempotency key it claims. */
export interface PendingAppend {
  readonly entries: readonly LogEntry[];
  readonly bytes: number;
  readonly clientId: string;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
}

function splitByBucket(submission: Submission): Map<number, RecordSlice[]> {
  const parts = new Map<number, RecordSlice[]>();
  let last: SubmittedRecord | undefined;
  let part: RecordSlice[] = [];
  for (const record of submission.records) {
    // Consecutive records usually have the same property.
    if (last?.clientCode !== record.clientCode || last.propertyCode !== record.propertyCode) {
      const bucket = bucketOf(record.clientCode, record.propertyCode);
      part = parts.get(bucket) ?? [];
      parts.set(bucket, part);
      last = record;
    }
    part.push(record);
  }
  return parts;
}

/** Adds the rejected records to the parts of the buckets of their properties; those that name none to the first part. */
function addRejected(parts: Map<number, RecordSlice[]>, rejected: Submission["rejected"]) {
  const rejectedOf = new Map<number, RejectedRecord[]>();
  if (rejected.length === 0) return rejectedOf;
  const first = Math.min(...parts.keys());
  for (const record of rejected) {
    const { clientCode, propertyCode } = record;
    const isNamed = clientCode !== undefined && propertyCode !== undefined;
    const bucket = isNamed ? bucketOf(clientCode, propertyCode) : first;
    if (!parts.has(bucket)) parts.set(bucket, []);
    const known = rejectedOf.get(bucket);
    if (known === undefined) rejectedOf.set(bucket, [record]);
    else known.push(record);
  }
  return rejectedOf;
}

/** Serialised here, not within the JSON parameter of the flush, because it may be megabytes. */
function rejectionsOf(rejected: Submission["rejected"]): Buffer | null {
  if (rejected.length === 0) return null;
  const reported = rejected.map(({ index, violations, violationTotal, clientCode, propertyCode }) => ({
    index,
    violations,
    violationTotal,
    clientCode,
    propertyCode,
  }));
  return Buffer.from(JSON.stringify(reported));
}

function bytesOf({ rejections, layout, body }: LogEntry): number {
  return (rejections?.length ?? 0) + (layout?.length ?? 0) + (body?.length ?? 0);
}

/**
 * Splits a submission into one entry per bucket, ascending, so that flushes lock in one order. A large body is packed in several turns of
 * the event loop: only then a promise.
 */
export function entriesOf(submission: Submission): PendingAppend | Promise<PendingAppend> {
  const work = makeEntries(submission);
  const { done, value } = work.next();
  return done === true ? value : finishInTurns(work);
}

async function finishInTurns<Result>(work: Generator<void, Result>): Promise<Result> {
  for (;;) {
    await new Promise((resume) => setImmediate(resume));
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

function* makeEntries(submission: Submission): Generator<void, PendingAppend> {
  const byBucket = splitByBucket(submission);
  const rejectedOf = addRejected(byBucket, submission.rejected);
  const parts = [...byBucket].sort(([left], [right]) => left - right);
  const entries: LogEntry[] = [];
  for (const [bucket, slices] of parts) {
    const rejected = rejectedOf.get(bucket) ?? [];
    const kept =
      rejected.length === 0
        ? slices
        : [...slices, ...rejected].sort((left, right) => left.index - right.index);
    entries.push({
      bucket,
      fields: {
        bucket,
        kind: "b",
        resource: submission.resource,
        client_id: submission.clientId,
        record_count: slices.length,
        batch_record_count: submission.records.length + submission.rejected.length,
        batch_part_count: parts.length,
        lenient: submission.lenient,
        correlation_id: submission.correlationId ?? undefined,
        reply_to: submission.replyTo ?? undefined,
        backfill_id: submission.backfillId ?? undefined,
        trace_context: submission.traceContext ?? undefined,
      },
      rejections: rejectionsOf(rejected),
      ...(yield* packing(submission.body, kept)),
    });
  }
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  return { entries, bytes, clientId: submission.clientId, idempotency: submission.idempotency };
}

export function entryOfResolution(resolution: Resolution): PendingAppend {
  const fields = {
    bucket: resolution.bucket,
    kind: resolution.kind === "release" ? "r" : "d",
    resource: resolution.resource,
    client_id: resolution.operator,
    record_count: 1,
    batch_record_count: 1,
    batch_part_count: 1,
    lenient: false,
    target_request_id: resolution.requestId,
    target_index: resolution.index,
  };
  return {
    entries: [{ bucket: resolution.bucket, fields, rejections: null, layout: null, body: null }],
    bytes: 256,
    clientId: resolution.operator,
    idempotency: null,
  };
}

/** Encrypts an entry's records for the stamped id if there is a key. */
function storedOf(
  { bucket, layout, body }: LogEntry,
  requestId: string,
  key: PayloadKey | undefined,
): Pick<LogEntry, "layout" | "body"> {
  if (layout === null || body === null || key === undefined) return { layout, body };
  return encryptBody({ layout, body }, { bucket, requestId }, key);
}

/** The parameters of sql/append-entries.sql. `key` encrypts the records; `keyBucketOf` is the bucket that stores an Idempotency-Key. */
export function flushParameters(
  logWriterId: string,
  stamped: readonly { readonly append: PendingAppend; readonly requestId: string }[],
  key: PayloadKey | undefined,
  keyBucketOf: (append: PendingAppend) => number,
): [string, Buffer] {
  const rows: Record<string, unknown>[] = [];
  const pieces: Buffer[] = [];
  let at = 1;
  const place = (bytes: Buffer | null): { from?: number; bytes?: number } => {
    if (bytes === null) return {};
    const from = at;
    pieces.push(bytes);
    at += bytes.length;
    return { from, bytes: bytes.length };
  };
  for (const { append, requestId } of stamped) {
    for (const entry of append.entries) {
      const stored = storedOf(entry, requestId, key);
      const rejections = place(entry.rejections);
      const layout = place(stored.layout);
      const body = place(stored.body);
      rows.push({
        ...entry.fields,
        log_writer_id: logWriterId,
        request_id: requestId,
        received_at: isoOfMicroseconds(microsecondsOf(requestId)),
        rejections_from: rejections.from,
        rejections_bytes: rejections.bytes,
        layout_from: layout.from,
        layout_bytes: layout.bytes,
        body_from: body.from,
        body_bytes: body.bytes,
        key: append.idempotency?.key,
        key_bucket: append.idempotency === null ? undefined : keyBucketOf(append),
        fingerprint: append.idempotency?.fingerprint,
      });
    }
  }
  return [JSON.stringify(rows), Buffer.concat(pieces)];
}
