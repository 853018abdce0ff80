import type { StripList } from "../accept/strip-list.ts";
import type { RejectedRecord, SubmittedRecord } from "../accept/submission.ts";
import { readRecord } from "../contract/read-record.ts";
import type { Resource } from "../contract/resource.ts";
import type { JudgedBatch } from "./judge-batch.ts";

/** Bytes stripped between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 65_536;

/** A judged batch, and the bytes that its records lie in. */
export interface StrippedBatch extends JudgedBatch {
  readonly body: Buffer;
}

/** Whether any of a batch's records may have to be stripped: one look-up for each property in a row. */
function isConcerned({ records, rejected }: JudgedBatch, strips: StripList): boolean {
  if (strips.isEmpty) return false;
  if (rejected.length > 0) return true;
  let last: SubmittedRecord | undefined;
  for (const record of records) {
    const { clientCode, propertyCode } = record;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) continue;
    if (strips.concerns(clientCode, propertyCode)) return true;
    last = record;
  }
  return false;
}

/** A record as it is to be kept. */
function keptOf(
  resource: Resource,
  bytes: Buffer,
  record: SubmittedRecord | RejectedRecord,
  strips: StripList,
): Buffer {
  if ("violations" in record) return strips.strippedRejected(resource, bytes) ?? bytes;
  const { clientCode, propertyCode } = record;
  if (!strips.concerns(clientCode, propertyCode)) return bytes;
  const { key } = readRecord(resource, bytes);
  return strips.stripped({ resource, clientCode, propertyCode, key }, bytes) ?? bytes;
}

/**
 * Takes out of a batch, before it is kept, what the erasure list names and what client codes are set not to keep
 * (docs/privacy.md). The batch itself, where that is nothing, as nearly always; else a copy, for which a promise.
 */
export function stripBatch(
  resource: Resource,
  batch: StrippedBatch,
  strips: StripList,
): StrippedBatch | Promise<StrippedBatch> {
  return isConcerned(batch, strips) ? stripInTurns(resource, batch, strips) : batch;
}

async function stripInTurns(
  resource: Resource,
  { body, records, rejected }: StrippedBatch,
  strips: StripList,
): Promise<StrippedBatch> {
  const pieces: Buffer[] = [];
  let end = 0;
  let turnAt = TURN_BYTES;
  const placed = async <Kept extends SubmittedRecord | RejectedRecord>(
    all: readonly Kept[],
  ): Promise<Kept[]> => {
    const moved: Kept[] = [];
    for (const record of all) {
      const kept = keptOf(resource, body.subarray(record.start, record.end), record, strips);
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
