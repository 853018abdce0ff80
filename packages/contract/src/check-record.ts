import { findViolations, ViolationList } from "./find-violations.ts";
import type { BatchRecord } from "./read-batch.ts";
import type { Resource } from "./resource.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { NO_VIOLATIONS, type Violation } from "./violation.ts";

/** What is wrong with one record: the first violations, and how many there are in all. A valid record has none. */
export interface RecordCheck {
  readonly violations: readonly Violation[];
  readonly total: number;
}

const VALID: RecordCheck = Object.freeze({ violations: NO_VIOLATIONS, total: 0 });

/**
 * Checks one record of a batch against the contract of its resource (specification, section 2). Pointers are RFC 6901,
 * into the batch as sent. At most `violationsMax` violations are listed, `total` counts all; a valid record costs nothing
 * where `readBatch` has found it valid already.
 *
 * @example
 * const { violations, total } = checkRecord("reservations", record, 100);
 * // violations[0]: { pointer: "/3/roomStays/0/arrivalDate", code: "format.date",
 * //                  message: 'arrivalDate must be a calendar date as YYYY-MM-DD; got "2026-02-30"' }
 */
export function checkRecord(resource: Resource, record: BatchRecord, violationsMax: number): RecordCheck {
  if (record.validAs === resource) return VALID;
  const found = new ViolationList(record.index, violationsMax, record.lexical, record.lexicalTotal);
  findViolations(RECORD_SCHEMAS[resource], record.value, found);
  return found.total === 0 ? VALID : { violations: found.kept, total: found.total };
}
