import { checkRecord } from "#contract/check-record.ts";
import type { BatchRecord } from "#contract/read-batch.ts";
import type { Resource } from "#contract/resource.ts";
import { isAhead, latestSourceTime } from "#contract/source-time.ts";
import type { Violation } from "#contract/violation.ts";
import type { Admitted } from "../backfill/admission.ts";
import { type Principal, permits } from "../identity/permissions.ts";
import type { RateResult } from "../identity/rate-limiter.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { HttpContext } from "../service-context.ts";
import type { RejectedRecord, SubmittedRecord } from "./log/submission.ts";

/**
 * What one request of a client's rate may bring: with each more so many records, bytes or values, a batch counts as one request
 * more. Measured (npm run noisy, docs/decisions/0017): a rate of 50 requests a second let a client of batches of 10,000
 * records take all there is; now it is a rate of 5,000 records a second as well. A full batch counts as a hundred.
 */
const RECORDS_PER_REQUEST = 100;
/** A hundred reservations of the usual size. */
const BYTES_PER_REQUEST = 262_144;
/**
 * Numbers, texts, arrays and so on. So many in 256 KiB would be 13 bytes each with their names; records of the contract have 15 to 22.
 * What a batch costs beyond its bytes, it costs by its values (npm run token-cost).
 */
const VALUES_PER_REQUEST = 20_000;

/**
 * A useless record counts as so many. An invalid one is parsed, and each fault of it said, which takes 40 µs where to walk over a
 * valid one takes 12. Counted as one, lenient batches of 999 invalid records in 1,000 had the others wait (npm run noisy); and so
 * did batches of 1,000 that are held aside, as their time has not come.
 */
const USELESS_RECORD_COUNTS = 4;

/** What was seen of a batch's records. */
interface SeenRecords {
  readonly records: number;
  readonly values: number;
}

const NONE: SeenRecords = { records: 0, values: 0 };

/** As how many requests a batch counts; `useless` are those of `all` that are. */
export function weightOf(bytes: number, all: SeenRecords, useless: SeenRecords): number {
  const counted = (of: keyof SeenRecords) => all[of] + useless[of] * (USELESS_RECORD_COUNTS - 1);
  return Math.max(
    1,
    Math.ceil(bytes / BYTES_PER_REQUEST),
    Math.ceil(counted("records") / RECORDS_PER_REQUEST),
    Math.ceil(counted("values") / VALUES_PER_REQUEST),
  );
}

/**
 * Counts a batch as its weight, by the bytes that are promised and come and again once its records are known: what it weighs more
 * than was counted is owed, so that none is refused for being large, but what follows it waits.
 */
export class RequestCost {
  readonly #context: HttpContext;
  readonly #principal: Principal;
  /** The request itself was counted when it was let in. */
  #counted = 1;

  constructor(context: HttpContext, principal: Principal) {
    this.#context = context;
    this.#principal = principal;
  }

  /** Answers how the client's rate stands, where the batch weighs more than was counted before. */
  count(bytes: number, all = NONE, useless = NONE): RateResult | undefined {
    const more = weightOf(bytes, all, useless) - this.#counted;
    if (more <= 0) return undefined;
    this.#counted += more;
    const { nodes, rateLimiter } = this.#context;
    const { clientId, requestRate, requestBurst } = this.#principal;
    return rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("accept"));
  }
}

/** Most violations one answer lists. */
const VIOLATIONS_MAX = 100;
/** Most violations kept of one rejected record. */
const VIOLATIONS_KEPT_MAX = 10;
/** A batch whose records were checked: what may be accepted, and what is rejected (empty unless lenient). */
export interface ValidatedBatch {
  readonly records: readonly SubmittedRecord[];
  readonly rejected: readonly RejectedRecord[];
}

export type ForeignRecord = Pick<BatchRecord, "index" | "clientCode" | "propertyCode">;

/** Checks the records of one batch as they are read, and keeps no more of each than where it lies and what is wrong. */
export class BatchValidator {
  readonly #resource: Resource;
  readonly #lenient: boolean;
  readonly #principal: Principal;
  readonly #backfill: Admitted | undefined;
  readonly #records: SubmittedRecord[] = [];
  readonly #rejected: RejectedRecord[] = [];
  readonly #listed: Violation[] = [];
  readonly #latest = latestSourceTime(Date.now());
  /** All records of the batch. */
  readonly seen = { records: 0, values: 0 };
  /** Those that are invalid, or of a time so far ahead that they will be quarantined. */
  readonly useless = { records: 0, values: 0 };
  /** The first record that names a property the client was not granted; no record after it is checked. */
  foreign: ForeignRecord | undefined;
  /** The index of the first record that is not of the backfill's property. */
  misplaced: number | undefined;
  /** The last record whose property is granted. */
  #granted: ForeignRecord | undefined;
  #total = 0;

  constructor(resource: Resource, lenient: boolean, principal: Principal, backfill: Admitted | undefined) {
    this.#resource = resource;
    this.#lenient = lenient;
    this.#principal = principal;
    this.#backfill = backfill;
  }

  /** Checks the next record. */
  see(record: BatchRecord): void {
    this.seen.records += 1;
    this.seen.values += record.values;
    if (this.foreign !== undefined || !this.#isPermitted(record)) return;
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

  /** False for a property that was not granted, as far as the record's codes can be read. Most batches name one: it is looked up once. */
  #isPermitted({ index, clientCode, propertyCode }: BatchRecord): boolean {
    if (clientCode === undefined || propertyCode === undefined) return true;
    const last = this.#granted;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) return true;
    if (!permits(this.#principal, clientCode, propertyCode)) {
      this.foreign = { index, clientCode, propertyCode };
      return false;
    }
    this.#granted = { index, clientCode, propertyCode };
    const of = this.#backfill;
    // A backfill is of one property: what it brings of another would be counted by nobody.
    if (of !== undefined && (clientCode !== of.clientCode || propertyCode !== of.propertyCode))
      this.misplaced ??= index;
    return true;
  }

  #countUseless({ values }: BatchRecord): void {
    this.useless.records += 1;
    this.useless.values += values;
  }

  /**
   * What became of the batch. Throws ServiceError `bellhop.contract.InvalidRecords` with up to 100 violations when any
   * record is invalid and the batch is strict, or when none is valid.
   */
  judgement(): ValidatedBatch {
    if (this.#records.length === 0 || (this.#total > 0 && !this.#lenient)) {
      throw new ServiceError("bellhop.contract.InvalidRecords", {
        violations: this.#listed,
        violationTotal: this.#total,
      });
    }
    return { records: this.#records, rejected: this.#rejected };
  }
}
