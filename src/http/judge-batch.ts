import type { RejectedRecord, SubmittedRecord } from "../accept/submission.ts";
import { checkRecord } from "../contract/check-record.ts";
import type { BatchRecord } from "../contract/read-batch.ts";
import type { Resource } from "../contract/resource.ts";
import type { Violation } from "../contract/violation.ts";
import { ServiceError } from "../errors/registry.ts";

/** Most violations one answer lists. */
const VIOLATIONS_MAX = 100;
/** Most violations kept of one rejected record. */
const VIOLATIONS_KEPT_MAX = 10;
/** Records checked between two turns of the event loop: about a millisecond's work. */
const TURN_RECORDS = 256;

/** A batch whose records were checked: what may be accepted, and what is rejected (empty unless lenient). */
export interface JudgedBatch {
  readonly records: readonly SubmittedRecord[];
  readonly rejected: readonly RejectedRecord[];
}

/**
 * Checks every record. Throws ServiceError `bellhop.contract.InvalidRecords` with up to 100 violations when any is
 * invalid and the batch is strict, or when none is valid.
 */
export async function judgeBatch(
  resource: Resource,
  batch: readonly BatchRecord[],
  lenient: boolean,
): Promise<JudgedBatch> {
  const records: SubmittedRecord[] = [];
  const rejected: RejectedRecord[] = [];
  const listed: Violation[] = [];
  let total = 0;
  for (const record of batch) {
    if (record.index % TURN_RECORDS === TURN_RECORDS - 1) await new Promise((resume) => setImmediate(resume));
    const wanted = Math.max(VIOLATIONS_MAX - listed.length, lenient ? VIOLATIONS_KEPT_MAX : 0);
    const found = checkRecord(resource, record, wanted);
    const { index, start, end, clientCode, propertyCode } = record;
    if (found.total === 0 && clientCode !== undefined && propertyCode !== undefined) {
      records.push({ index, start, end, clientCode, propertyCode });
      continue;
    }
    total += found.total;
    listed.push(...found.violations.slice(0, VIOLATIONS_MAX - listed.length));
    if (lenient) {
      const kept = found.violations.slice(0, VIOLATIONS_KEPT_MAX);
      rejected.push({ index, start, end, violations: kept, violationTotal: found.total });
    }
  }
  if (records.length === 0 || (total > 0 && !lenient)) {
    throw new ServiceError("bellhop.contract.InvalidRecords", { violations: listed, violationTotal: total });
  }
  return { records, rejected };
}
