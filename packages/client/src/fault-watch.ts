import { BellhopError } from "./error.ts";

/** A fault of one batch shows within this: the pauses grow, so it is some eight attempts. */
export const FAULT_MS = 60_000;
/** So many batches answered 500 while nothing else was accepted: it is not them, and the service is left alone. */
export const FAULTS_IN_A_ROW_MAX = 5;

/** A fault of the service's own, which may be about this batch alone; 502 to 504 are about the way there. */
export function isFault(error: unknown): error is BellhopError {
  return error instanceof BellhopError && error.status === 500;
}

/** What was tried again and again, in one request and the same: how long it is worth another attempt, and when it was first answered 500. */
export interface FaultyRequest {
  readonly patienceMsOf: (error: BellhopError) => number;
  failedAt: number | undefined;
}

/**
 * Tells a batch that the service answers with 500 whatever happens from a service that answers so to everything. Of one `send`, and
 * of sending or of asking for outcomes; times are of `performance.now`.
 */
export class FaultWatch {
  #acceptedAt = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  accepted(now: number): void {
    this.#acceptedAt = now;
    this.#inARow = 0;
  }

  /** A request that is going to be made, of which this is asked. */
  watched(): FaultyRequest {
    const request: FaultyRequest = {
      failedAt: undefined,
      patienceMsOf: (error) => {
        if (!isFault(error)) return Number.POSITIVE_INFINITY;
        request.failedAt ??= performance.now();
        return this.patienceMs(request.failedAt);
      },
    };
    return request;
  }

  /**
   * How long a batch that was first answered 500 at `failedAt` is tried, in milliseconds. Without a bound while that may be an outage; briefly
   * once others were accepted meanwhile, or when an outage has been waited for already.
   */
  patienceMs(failedAt: number): number {
    return this.#isItsOwn(failedAt) || this.#inARow > 0 ? FAULT_MS : Number.POSITIVE_INFINITY;
  }

  /** Notes that such a batch is given up; answers whether the next ones are worth trying. */
  giveUp(failedAt: number): boolean {
    if (!this.#isItsOwn(failedAt)) this.#inARow += 1;
    return this.#inARow < FAULTS_IN_A_ROW_MAX;
  }

  #isItsOwn(failedAt: number): boolean {
    return this.#acceptedAt > failedAt;
  }
}
