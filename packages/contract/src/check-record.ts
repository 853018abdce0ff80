import { findViolations, type SuggestionCount, ViolationList } from "./field-kinds.ts";
import type { BatchRecord } from "./read-batch.ts";
import type { Resource } from "./resource.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { NO_VIOLATIONS, type Violation } from "./violation.ts";

/** The first violations of a record and their total; none if it is valid. */
export interface RecordCheck {
  readonly violations: readonly Violation[];
  readonly total: number;
}

const VALID: RecordCheck = Object.freeze({ violations: NO_VIOLATIONS, total: 0 });

/**
 * Checks a record against the contract of its resource (specification, section 2). Lists at most `violationsMax` violations, with
 * RFC 6901 pointers into the batch; `total` counts all. All records of a batch should share one `suggestions` object. `nullsAbsent`: null
 * in an optional field is valid.
 *
 * @example
 * const { violations, total } = checkRecord("reservations", record, 100);
 * // violations[0]: { pointer: "/3/roomStays/0/arrivalDate", code: "format.date",
 * //                  message: 'arrivalDate must be a calendar date as YYYY-MM-DD; got "2026-02-30"' }
 */
export function checkRecord(
  resource: Resource,
  record: BatchRecord,
  violationsMax: number,
  suggestions?: SuggestionCount,
  nullsAbsent = false,
): RecordCheck {
  if (record.validAs === resource) return VALID;
  const { index, lexical, lexicalTotal } = record;
  const found = new ViolationList(
    index,
    violationsMax,
    lexical,
    lexicalTotal,
    suggestions,
    "the record",
    nullsAbsent,
  );
  findViolations(RECORD_SCHEMAS[resource], record.value, found);
  return found.total === 0 ? VALID : { violations: found.kept, total: found.total };
}
