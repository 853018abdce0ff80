import { readRecord } from "#contract/read-record.ts";
import type { Resource } from "#contract/resource.ts";
import type { RejectedRecord, SubmittedRecord } from "./log/submission.ts";
import type { RedactionList } from "./redact/redaction-list.ts";
import type { ValidatedBatch } from "./validate-batch.ts";

/** Bytes redacted between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 65_536;

/** A judged batch, and the bytes that its records lie in. */
export interface RedactedBatch extends ValidatedBatch {
  readonly body: Buffer;
}

/** Whether any of a batch's records may have to be redacted: one look-up for each property in a row. */
function isConcerned({ records, rejected }: ValidatedBatch, redactions: RedactionList): boolean {
  if (redactions.isEmpty) return false;
  if (rejected.length > 0) return true;
  let last: SubmittedRecord | undefined;
  for (const record of records) {
    const { clientCode, propertyCode } = record;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) continue;
    if (redactions.concerns(clientCode, propertyCode)) return true;
    last = record;
  }
  return false;
}

/** A record as it is to be kept. */
function keptOf(
  resource: Resource,
  bytes: Buffer,
  record: SubmittedRecord | RejectedRecord,
  redactions: RedactionList,
): Buffer {
  if ("violations" in record) return redactions.redactedRejected(resource, bytes) ?? bytes;
  const { clientCode, propertyCode } = record;
  if (!redactions.concerns(clientCode, propertyCode)) return bytes;
  const { key } = readRecord(resource, bytes);
  return redactions.redacted({ resource, clientCode, propertyCode, key }, bytes) ?? bytes;
}

/**
 * Takes out of a batch, before it is kept, what the erasure list names and what client codes are set not to keep
 * (docs/privacy.md). The batch itself, where that is nothing, as nearly always; else a copy, for which a promise.
 */
export function redactBatch(
  resource: Resource,
  batch: RedactedBatch,
  redactions: RedactionList,
): RedactedBatch | Promise<RedactedBatch> {
  return isConcerned(batch, redactions) ? redactInTurns(resource, batch, redactions) : batch;
}

async function redactInTurns(
  resource: Resource,
  { body, records, rejected }: RedactedBatch,
  redactions: RedactionList,
): Promise<RedactedBatch> {
  const pieces: Buffer[] = [];
  let end = 0;
  let turnAt = TURN_BYTES;
  const placed = async <Kept extends SubmittedRecord | RejectedRecord>(
    all: readonly Kept[],
  ): Promise<Kept[]> => {
    const moved: Kept[] = [];
    for (const record of all) {
      const kept = keptOf(resource, body.subarray(record.start, record.end), record, redactions);
      pieces.push(kept);
      moved.push({ ...record, start: end, end: end + kept.length });
      end += kept.length;
      if (end < turnAt) continue;
      turnAt = end + TURN_BYTES;
      await new Promise((resume) => setImmediate(resume));
    }
    return moved;
  };
  const kept = { records: await placed(records), rejected: await placed(rejected) };
  return { ...kept, body: Buffer.concat(pieces) };
}
