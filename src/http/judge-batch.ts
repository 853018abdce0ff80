import type { RejectedRecord, SubmittedRecord } from "../accept/submission.ts";
import { checkRecord } from "../contract/check-record.ts";
import type { BatchRecord } from "../contract/read-batch.ts";
import type { Resource } from "../contract/resource.ts";
import { isAhead, latestSourceTime } from "../contract/source-time.ts";
import type { Violation } from "../contract/violation.ts";
import { ServiceError } from "../errors/registry.ts";
import type { SeenRecords } from "./weigh-batch.ts";

/** Most violations one answer lists. */
const VIOLATIONS_MAX = 100;
/** Most violations kept of one rejected record. */
const VIOLATIONS_KEPT_MAX = 10;
/** A batch whose records were checked: what may be accepted, and what is rejected (empty unless lenient). */
export interface JudgedBatch {
  readonly records: readonly SubmittedRecord[];
  readonly rejected: readonly RejectedRecord[];
}

/** Checks the records of one batch as they are read, and keeps no more of each than where it lies and what is wrong. */
export class BatchJudge {
  readonly #resource: Resource;
  readonly #lenient: boolean;
  readonly #records: SubmittedRecord[] = [];
  readonly #rejected: RejectedRecord[] = [];
  readonly #listed: Violation[] = [];
  readonly #latest = latestSourceTime(Date.now());
  readonly #useless = { records: 0, values: 0 };
  #total = 0;

  constructor(resource: Resource, lenient: boolean) {
    this.#resource = resource;
    this.#lenient = lenient;
  }

  /** Those of the records that were seen that are invalid, or of a time so far ahead that they will be quarantined. */
  get useless(): SeenRecords {
    return this.#useless;
  }

  /** Checks the next record. */
  see(record: BatchRecord): void {
    const wanted = Math.max(VIOLATIONS_MAX - this.#listed.length, this.#lenient ? VIOLATIONS_KEPT_MAX : 0);
    const found = checkRecord(this.#resource, record, wanted);
    const { index, start, end, clientCode, propertyCode } = record;
    if (found.total === 0 && clientCode !== undefined && propertyCode !== undefined) {
      this.#records.push({ index, start, end, clientCode, propertyCode });
      if (isAhead(this.#resource, record, this.#latest)) this.#countUseless(record);
      return;
    }
    this.#countUseless(record);
    this.#total += found.total;
    this.#listed.push(...found.violations.slice(0, VIOLATIONS_MAX - this.#listed.length));
    if (this.#lenient) {
      const kept = found.violations.slice(0, VIOLATIONS_KEPT_MAX);
      this.#rejected.push({ index, start, end, violations: kept, violationTotal: found.total });
    }
  }

  #countUseless({ values }: BatchRecord): void {
    this.#useless.records += 1;
    this.#useless.values += values;
  }

  /**
   * What became of the batch. Throws ServiceError `bellhop.contract.InvalidRecords` with up to 100 violations when any
   * record is invalid and the batch is strict, or when none is valid.
   */
  judgement(): JudgedBatch {
    if (this.#records.length === 0 || (this.#total > 0 && !this.#lenient)) {
      throw new ServiceError("bellhop.contract.InvalidRecords", {
        violations: this.#listed,
        violationTotal: this.#total,
      });
    }
    return { records: this.#records, rejected: this.#rejected };
  }
}
