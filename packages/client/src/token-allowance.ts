/** The specification, section 5: at most one token every 10 minutes, meaning up to 6 an hour. */
const TOKENS_AT_ONCE = 6;
const REFILL_MS = 600_000;

/**
 * The tokens that a partner may ask for, counted here so that a fault (a service that refuses every token, say) never
 * becomes a flood of token requests: six at once, and one back every 10 minutes, as the service counts them.
 */
export class TokenAllowance {
  #left = TOKENS_AT_ONCE;
  #countedAt: number;

  constructor(now: number) {
    this.#countedAt = now;
  }

  /** How many milliseconds until another token may be asked for; 0 for now. */
  waitMs(now: number): number {
    this.#refill(now);
    return this.#left >= 1 ? 0 : (1 - this.#left) * REFILL_MS;
  }

  /** Counts a token that was given, or may have been. */
  spend(now: number): void {
    this.#refill(now);
    this.#left = Math.max(0, this.#left - 1);
  }

  #refill(now: number): void {
    this.#left = Math.min(TOKENS_AT_ONCE, this.#left + (now - this.#countedAt) / REFILL_MS);
    this.#countedAt = now;
  }
}
