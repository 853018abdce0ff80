import type { RequestStatus } from "./api-types.ts";
import type { BellhopErrorCode, RecordViolation } from "./error.ts";

/** A record that was not taken as it is, and why. */
export interface RefusedRecord {
  /** Its place in what was given to `send`, from 0. */
  readonly index: number;
  /** The record, as it was given. */
  readonly record: unknown;
  /** `rejected`: it is invalid, or not the client's to send. `quarantined`: an operator decides. `discarded`: one has. */
  readonly outcome: "rejected" | "quarantined" | "discarded";
  /** Why, as a stable code: of the first violation, of the quarantine, or of the error. */
  readonly code: string;
  readonly message: string;
  /** All that is known to be wrong with it. */
  readonly violations: readonly RecordViolation[];
  /** The accepted batch in which it lies; undefined where none was accepted with it. */
  readonly requestId: string | undefined;
}

/** How many records came to which end (docs/contract.md, "What became of a record"). */
export type Outcomes = Omit<RequestStatus["counts"], "records">;

/** Records that were not delivered, as far as is known: where the answer was lost or was 500, they may have been accepted. */
export interface UnconfirmedRecords {
  /** The first of them, and how many; they follow each other unless others between them were refused. */
  readonly first: number;
  readonly count: number;
  /** The first as it was given: the record, or the JsonBatch in which it lies. */
  readonly given: unknown;
  /** The last error, in words; its stable code, the status and `X-Request-Id` where there was an answer. */
  readonly reason: string;
  readonly code: BellhopErrorCode | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
}

/** What became of all that was given to `send`. */
export interface SendReport {
  /** Records taken from the caller. */
  readonly records: number;
  /** Of those, the ones that are in an accepted batch: on disk at the service. */
  readonly accepted: number;
  /** How many were refused, also those that `rejected` has no room for. */
  readonly rejectedTotal: number;
  /** The refused ones, the first 1,000 of them: `onRefused` is told of all. */
  readonly rejected: readonly RefusedRecord[];
  /** With `waitForOutcomes`: the first 1,000 that are held aside or were discarded. */
  readonly quarantined: readonly RefusedRecord[];
  /** Accepted batches, and their ids: the first 10,000 of them. */
  readonly batches: number;
  readonly requestIds: readonly string[];
  /** With `waitForOutcomes`: the sum of what became of the accepted records. */
  readonly outcomes: Outcomes | undefined;
  /** Requests that had to be repeated. */
  readonly retries: number;
  /** Empty unless `send` rejected: a second `send` of the same records settles them, and stores nothing twice. The first 1,000. */
  readonly unconfirmed: readonly UnconfirmedRecords[];
}

/** How far a `send` is. */
export interface SendProgress {
  readonly records: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly batches: number;
  readonly retries: number;
  readonly elapsedMs: number;
  /** Why it is waiting, if it is. */
  readonly waiting: { readonly reason: string; readonly ms: number } | undefined;
}

const LISTED_MAX = 1_000;
const REQUEST_IDS_MAX = 10_000;

const NO_OUTCOMES: Outcomes = {
  pending: 0,
  applied: 0,
  unchanged: 0,
  stale: 0,
  duplicate: 0,
  quarantined: 0,
  discarded: 0,
  rejected: 0,
  warned: 0,
};

export class Tally {
  records = 0;
  accepted = 0;
  batches = 0;
  retries = 0;
  rejectedTotal = 0;
  waiting: SendProgress["waiting"];
  readonly #startedAt = performance.now();
  readonly #rejected: RefusedRecord[] = [];
  readonly #quarantined: RefusedRecord[] = [];
  readonly #requestIds: string[] = [];
  readonly #unconfirmed: UnconfirmedRecords[] = [];
  #outcomes: Outcomes | undefined;

  accept(count: number, requestId: string): void {
    this.accepted += count;
    this.batches += 1;
    if (this.#requestIds.length < REQUEST_IDS_MAX) this.#requestIds.push(requestId);
  }

  refuse(refused: RefusedRecord): void {
    const isRejected = refused.outcome === "rejected";
    if (isRejected) this.rejectedTotal += 1;
    const list = isRejected ? this.#rejected : this.#quarantined;
    if (list.length < LISTED_MAX) list.push(refused);
  }

  leaveUnconfirmed(unconfirmed: UnconfirmedRecords): void {
    if (this.#unconfirmed.length < LISTED_MAX) this.#unconfirmed.push(unconfirmed);
  }

  addOutcomes(counts: RequestStatus["counts"]): void {
    const sums = { ...(this.#outcomes ?? NO_OUTCOMES) };
    for (const name of Object.keys(sums) as (keyof Outcomes)[]) sums[name] += counts[name];
    this.#outcomes = sums;
  }

  leavePending(count: number): void {
    this.addOutcomes({ ...NO_OUTCOMES, records: count, pending: count });
  }

  progress(): SendProgress {
    return {
      records: this.records,
      accepted: this.accepted,
      rejected: this.rejectedTotal,
      batches: this.batches,
      retries: this.retries,
      elapsedMs: performance.now() - this.#startedAt,
      waiting: this.waiting,
    };
  }

  report(): SendReport {
    return {
      records: this.records,
      accepted: this.accepted,
      rejectedTotal: this.rejectedTotal,
      rejected: this.#rejected,
      quarantined: this.#quarantined,
      batches: this.batches,
      requestIds: this.#requestIds,
      outcomes: this.#outcomes,
      retries: this.retries,
      unconfirmed: this.#unconfirmed,
    };
  }
}
