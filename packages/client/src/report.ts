import type { RequestStatus, Warning } from "./api-types.ts";
import type { BellhopErrorCode, RecordViolation } from "./error.ts";

export interface RefusedRecord {
  /** Position in the input of `send`, from 0. */
  readonly index: number;
  readonly record: unknown;
  /** `rejected`: invalid or not permitted. `quarantined`: an operator has to decide. `discarded`: an operator decided so. A later release may have others. */
  readonly outcome: "rejected" | "quarantined" | "discarded" | (string & {});
  /** Stable code of the first violation, the quarantine or the error. */
  readonly code: string;
  readonly message: string;
  readonly violations: readonly RecordViolation[];
  /** The accepted batch of this record, if any. */
  readonly requestId: string | undefined;
}

/** An accepted record with warnings. */
export interface WarnedRecord {
  /** Position in the input of `send`, from 0. */
  readonly index: number;
  readonly record: unknown;
  /** Their pointers are into the record. */
  readonly warnings: readonly Warning[];
  /** The accepted batch of this record. */
  readonly requestId: string;
}

/** Number of records by outcome. */
export type Outcomes = Omit<RequestStatus["counts"], "records">;

/** Consecutive records without a response, or with a 500. They may have been accepted. */
export interface UnconfirmedRecords {
  /** Position of the first, and their number without refused records between them. */
  readonly first: number;
  readonly count: number;
  /** The first record, or its JsonBatch. */
  readonly given: unknown;
  /** Message, code, status and `X-Request-Id` of the last error. */
  readonly reason: string;
  readonly code: BellhopErrorCode | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
}

export interface SendReport {
  /** Records read from the input. */
  readonly records: number;
  /** Records in accepted batches, durably stored; with `waitForOutcomes` without those that a lenient batch had rejected. */
  readonly accepted: number;
  /** All refused records. */
  readonly rejectedTotal: number;
  /** The first 1,000 refused records; `onRefused` receives all. */
  readonly rejected: readonly RefusedRecord[];
  /** With `waitForOutcomes`: the first 1,000 quarantined or discarded records, and those whose outcome this client does not know. */
  readonly quarantined: readonly RefusedRecord[];
  /** With `waitForOutcomes`: the first 1,000 records with warnings; `outcomes.warned` counts all. */
  readonly warned: readonly WarnedRecord[];
  /** Accepted batches, and the first 10,000 ids. */
  readonly batches: number;
  readonly requestIds: readonly string[];
  /** Accepted batches that the service had accepted before, under the same key; nothing was stored again. */
  readonly replayedBatches: number;
  /** With `waitForOutcomes`. */
  readonly outcomes: Outcomes | undefined;
  /** Repeated requests. */
  readonly retries: number;
  /** The first 1,000; empty unless `send` rejected. Sending the same records again resolves them and stores nothing twice. */
  readonly unconfirmed: readonly UnconfirmedRecords[];
}

export interface SendProgress {
  readonly records: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Accepted records without an outcome yet. */
  readonly pending: number;
  readonly batches: number;
  readonly retries: number;
  readonly elapsedMs: number;
  /** Why a request waits, and how long. */
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
  pending = 0;
  batches = 0;
  retries = 0;
  replayedBatches = 0;
  rejectedTotal = 0;
  waiting: SendProgress["waiting"];
  readonly #startedAt = performance.now();
  readonly #rejected: RefusedRecord[] = [];
  readonly #quarantined: RefusedRecord[] = [];
  readonly #warned: WarnedRecord[] = [];
  readonly #requestIds: string[] = [];
  readonly #unconfirmed: UnconfirmedRecords[] = [];
  #outcomes: Outcomes | undefined;

  accept(count: number, requestId: string, isReplayed: boolean): void {
    this.accepted += count;
    this.batches += 1;
    if (isReplayed) this.replayedBatches += 1;
    if (this.#requestIds.length < REQUEST_IDS_MAX) this.#requestIds.push(requestId);
  }

  refuse(refused: RefusedRecord): void {
    const isRejected = refused.outcome === "rejected";
    if (isRejected) this.rejectedTotal += 1;
    // It was counted as accepted with its lenient batch.
    if (isRejected && refused.requestId !== undefined) this.accepted -= 1;
    const list = isRejected ? this.#rejected : this.#quarantined;
    if (list.length < LISTED_MAX) list.push(refused);
  }

  /** Whether further warnings would not be listed. */
  get hasListedWarnings(): boolean {
    return this.#warned.length >= LISTED_MAX;
  }

  warn(warned: WarnedRecord): void {
    if (!this.hasListedWarnings) this.#warned.push(warned);
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
      pending: this.pending,
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
      warned: this.#warned,
      batches: this.batches,
      requestIds: this.#requestIds,
      replayedBatches: this.replayedBatches,
      outcomes: this.#outcomes,
      retries: this.retries,
      unconfirmed: this.#unconfirmed,
    };
  }
}
