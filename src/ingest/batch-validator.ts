import { latestSourceTime } from "#contract/calendar.ts";
import { checkRecord, type RecordCheck } from "#contract/check-record.ts";
import { type BatchRecord, isAhead } from "#contract/read-batch.ts";
import { readRecord } from "#contract/read-record.ts";
import type { Resource } from "#contract/resource.ts";
import { CODE_CHARACTERS_MAX } from "#contract/schema/field.ts";
import type { Violation } from "#contract/violation.ts";
import { type Principal, permits } from "../identity/permissions.ts";
import { ERRORS, ServiceError } from "../platform/errors/registry.ts";
import type { Admitted } from "./data-context.ts";
import { valuesBeyondUsual } from "./heavy-senders.ts";
import type { RejectedRecord, Submission, SubmittedRecord } from "./log/submission.ts";
import type { RedactionList } from "./redact.ts";

/** Violations listed in an error response. */
const VIOLATIONS_MAX = 100;
/** Violations stored per rejected record; only one after VIOLATIONS_KEPT_OF_BATCH, because every page of an outcome reads all. */
const VIOLATIONS_KEPT_MAX = 10;
const VIOLATIONS_KEPT_OF_BATCH = 10_000;
/** A record of a property that the client has no grant for. */
export type ForeignRecord = Pick<BatchRecord, "index" | "clientCode" | "propertyCode">;

/** The property that an invalid record names; none if its codes are too long for one. */
function namesOf({
  clientCode,
  propertyCode,
}: BatchRecord): Pick<RejectedRecord, "clientCode" | "propertyCode"> {
  const isCode = (code: string | undefined) => code !== undefined && code.length <= CODE_CHARACTERS_MAX;
  return isCode(clientCode) && isCode(propertyCode) ? { clientCode, propertyCode } : {};
}

interface BatchParts {
  readonly resource: Resource;
  readonly lenient: boolean;
  readonly principal: Principal;
  readonly backfill: Admitted | undefined;
  readonly body: Buffer;
  readonly settings?: RedactionList;
}

/** Validates the records of one batch as they are read, keeping only their ranges, properties and violations. */
export class BatchValidator {
  readonly #resource: Resource;
  readonly #lenient: boolean;
  readonly #principal: Principal;
  readonly #backfill: Admitted | undefined;
  readonly #body: Buffer;
  readonly #settings: RedactionList | undefined;
  readonly #records: SubmittedRecord[] = [];
  readonly #rejected: RejectedRecord[] = [];
  readonly #listed: Violation[] = [];
  readonly #latest = latestSourceTime(Date.now());
  readonly #suggestions = { given: 0 };
  readonly all = { records: 0, values: 0 };
  /** Records that are invalid, or so far in the future that they will be quarantined. */
  readonly unusable = { records: 0, values: 0 };
  /** Values of records beyond those of a usual one, in all. */
  valuesBeyond = 0;
  /** The first record of a property that the client has no grant for; later records are not checked. */
  foreign: ForeignRecord | undefined;
  /** The index of the first record of another property than the backfill's. */
  misplaced: number | undefined;
  #granted: ForeignRecord | undefined;
  #total = 0;
  #kept = 0;

  constructor({ resource, lenient, principal, backfill, body, settings }: BatchParts) {
    this.#resource = resource;
    this.#lenient = lenient;
    this.#principal = principal;
    this.#backfill = backfill;
    this.#body = body;
    this.#settings = settings;
  }

  add(record: BatchRecord): void {
    this.all.records += 1;
    this.all.values += record.values;
    this.valuesBeyond += valuesBeyondUsual(record.values);
    if (this.foreign !== undefined || !this.#isPermitted(record)) return;
    const room = Math.max(1, Math.min(VIOLATIONS_KEPT_MAX, VIOLATIONS_KEPT_OF_BATCH - this.#kept));
    const wanted = Math.max(VIOLATIONS_MAX - this.#listed.length, this.#lenient ? room : 0);
    const found = this.#check(record, wanted);
    const { index, start, end, clientCode, propertyCode } = record;
    if (found.total === 0 && clientCode !== undefined && propertyCode !== undefined) {
      this.#records.push({ index, start, end, clientCode, propertyCode });
      if (isAhead(this.#resource, record, this.#body, this.#latest)) this.#countUnusable(record);
      return;
    }
    this.#countUnusable(record);
    this.#total += found.total;
    this.#listed.push(...found.violations.slice(0, VIOLATIONS_MAX - this.#listed.length));
    if (this.#lenient) {
      const kept = found.violations.slice(0, room);
      this.#kept += kept.length;
      this.#rejected.push({
        ...namesOf(record),
        index,
        start,
        end,
        violations: kept,
        violationTotal: found.total,
      });
    }
  }

  #check(record: BatchRecord, wanted: number): RecordCheck {
    const found = checkRecord(
      this.#resource,
      record,
      wanted,
      this.#suggestions,
      this.#principal.nulls === "absent",
    );
    const { index, start, end, clientCode = "", propertyCode = "" } = record;
    if (found.total > 0 || this.#settings?.negativeCounts(clientCode, propertyCode) !== "refuse")
      return found;
    const { negativeCounts } = readRecord(this.#resource, this.#body.subarray(start, end)).content();
    const violations = negativeCounts
      .list(wanted)
      .slice(0, wanted)
      .map(({ pointer, message }): Violation => {
        return { pointer: `/${index}${pointer}`, code: "number.range", message: `${message}: below zero` };
      });
    return { violations, total: negativeCounts.count };
  }

  /** Whether the client has a grant for the record's property; true if its codes cannot be read. */
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
    if (of !== undefined && (clientCode !== of.clientCode || propertyCode !== of.propertyCode))
      this.misplaced ??= index;
    return true;
  }

  #countUnusable({ values }: BatchRecord): void {
    this.unusable.records += 1;
    this.unusable.values += values;
  }

  /**
   * The valid and rejected records. Throws ServiceError `bellhop.contract.InvalidRecords`, whose message ends with `hint`, if no
   * record is valid, or any is invalid in a strict batch.
   */
  result(hint = () => ""): Pick<Submission, "records" | "rejected"> {
    if (this.#records.length === 0 || (this.#total > 0 && !this.#lenient)) {
      throw new ServiceError("bellhop.contract.InvalidRecords", {
        message: `${ERRORS["bellhop.contract.InvalidRecords"].text}${hint()}`,
        violations: this.#listed,
        violationTotal: this.#total,
      });
    }
    return { records: this.#records, rejected: this.#rejected };
  }
}
