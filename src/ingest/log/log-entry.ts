import { packBody, type RecordSlice } from "./body-layout.ts";
import { bucketOf } from "./bucket.ts";
import { isoOfMicroseconds, microsecondsOf } from "./request-id.ts";
import { type PayloadKey, sealBody } from "./seal-body.ts";
import type { Resolution, Submission, SubmittedRecord } from "./submission.ts";

/**
 * One row of the log to be, without the id that its log writer stamps at the flush. Fields that are undefined stay out of the
 * JSON in which rows travel, and are null in the row.
 */
export interface LogEntry {
  readonly bucket: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** What is wrong with the rejected records among its own, as JSON. */
  readonly rejections: Buffer | null;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

/** What one flush may carry of one request: its rows, and the key it claims. */
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
    // Most batches name one property: its bucket is looked up once.
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

/** As it is stored, so that a flush of which it is part neither writes nor parses it within its own JSON: it may be megabytes. */
function rejectionsOf(rejected: Submission["rejected"]): Buffer | null {
  if (rejected.length === 0) return null;
  const told = rejected.map(({ index, violations, violationTotal }) => ({
    index,
    violations,
    violationTotal,
  }));
  return Buffer.from(JSON.stringify(told));
}

function bytesOf({ rejections, layout, body }: LogEntry): number {
  return (rejections?.length ?? 0) + (layout?.length ?? 0) + (body?.length ?? 0);
}

/**
 * Splits a submission into one entry a bucket, ascending by bucket (so that flushes take locks in one order).
 * Rejected records lie in the first entry beside the accepted ones; `rejections` says which they are.
 */
export function entriesOf(submission: Submission): PendingAppend {
  const parts = [...splitByBucket(submission)].sort(([left], [right]) => left - right);
  const entries = parts.map(([bucket, slices], at): LogEntry => {
    const rejected = at === 0 ? submission.rejected : [];
    const kept =
      rejected.length === 0
        ? slices
        : [...slices, ...rejected].sort((left, right) => left.index - right.index);
    return {
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
      ...packBody(submission.body, kept),
    };
  });
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  return { entries, bytes, clientId: submission.clientId, idempotency: submission.idempotency };
}

/** The entry of a release or discard. */
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

/** An entry's records as they are stored under the id stamped for it: sealed where there is a key for that. */
function storedOf(
  { bucket, layout, body }: LogEntry,
  requestId: string,
  key: PayloadKey | undefined,
): Pick<LogEntry, "layout" | "body"> {
  if (layout === null || body === null || key === undefined) return { layout, body };
  return sealBody({ layout, body }, { bucket, requestId }, key);
}

/**
 * The two parameters of sql/append-entries.sql for the appends of one flush, each with the id stamped for it. `key`: what
 * their records are sealed with.
 */
export function flushParameters(
  logWriterId: string,
  stamped: readonly { readonly append: PendingAppend; readonly requestId: string }[],
  key: PayloadKey | undefined,
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
        idempotency_key: append.idempotency?.key,
        fingerprint: append.idempotency?.fingerprint,
      });
    }
  }
  return [JSON.stringify(rows), Buffer.concat(pieces)];
}
