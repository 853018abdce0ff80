import { BoundedMap } from "./bounded-map.ts";

/** How a request fared against its client's rate. */
export interface RateResult {
  readonly allowed: boolean;
  /** Requests the client could still send at once. */
  readonly remaining: number;
  /** Seconds until at least one more request may be sent than now (`t` of the RateLimit header). */
  readonly resetSeconds: number;
  /** Seconds to wait when refused, at least 1 (Retry-After); 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export interface RateLimiter {
  /** Takes one request from the client's bucket: `rate` come back every second, `burst` fit in. */
  take(clientId: string, rate: number, burst: number): RateResult;
}

/**
 * Buckets kept. A client's bucket of 16 bytes is pushed out only when this many others were used since, and is then
 * full again: with the default rate and burst an idle bucket is full after 2 s anyway.
 */
const CLIENTS_MAX = 50_000;

/**
 * Makes the limiter of request rates, one bucket a client, in the memory of this node (asking the database at every
 * request would cost more than the request). With several nodes behind a balancer a client gets the rate from each.
 */
export function createRateLimiter(clock: () => number = () => performance.now()): RateLimiter {
  /** When each client's bucket will be full again, in ms of the clock (GCRA: one number is the whole bucket). */
  const fullAt = new BoundedMap<string, number>(CLIENTS_MAX);
  return {
    take(clientId, rate, burst) {
      const now = clock();
      const refillMs = 1000 / rate;
      const emptyAt = now + burst * refillMs;
      // A burst that was lowered meanwhile leaves an empty bucket, not a debt.
      const full = Math.min(Math.max(fullAt.get(clientId) ?? now, now), emptyAt) + refillMs;
      // A billionth of a request makes up for the rounding of sums of fractions.
      if (full > emptyAt + refillMs * 1e-9) {
        fullAt.set(clientId, full - refillMs);
        const waitSeconds = Math.max(1, Math.ceil((full - emptyAt) / 1000));
        return { allowed: false, remaining: 0, resetSeconds: waitSeconds, retryAfterSeconds: waitSeconds };
      }
      fullAt.set(clientId, full);
      const remaining = Math.max(0, Math.floor((emptyAt - full) / refillMs + 1e-9));
      return {
        allowed: true,
        remaining,
        resetSeconds: Math.max(1, Math.ceil(refillMs / 1000)),
        retryAfterSeconds: 0,
      };
    },
  };
}
