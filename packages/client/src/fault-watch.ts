/** A fault of one batch shows within this: the pauses grow, so it is some eight attempts. */
export const FAULT_MS = 60_000;
/** So many batches answered 500 while nothing else was accepted: it is not them, and the service is left alone. */
export const FAULTS_IN_A_ROW_MAX = 5;

/**
 * Tells a batch that the service answers with 500 whatever happens from a service that answers so to everything. Of one `send`;
 * times are of `performance.now`.
 */
export class FaultWatch {
  #acceptedAt = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  accepted(now: number): void {
    this.#acceptedAt = now;
    this.#inARow = 0;
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
