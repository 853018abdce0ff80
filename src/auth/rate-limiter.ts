import { monotonicNow } from "../memory/clock.ts";
import { SharedTable } from "../memory/shared-table.ts";

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
  /**
   * Takes one request from this node's share of the client's bucket: `rate` come back every second, `burst` fit in, and
   * each of `nodes` gives its part of both, but never less than room for one request.
   */
  take(clientId: string, rate: number, burst: number, nodes?: number): RateResult;
}

/**
 * Buckets kept. A client's bucket of 32 bytes is pushed out only when others of its set were used since, and is then full
 * again: with the default rate and burst an idle bucket is full after 2 s anyway.
 */
const SHAPE = { rows: 50_000, numbers: 1 } as const;

/** When a client's bucket will be full again, in ms of the clock (GCRA: one number is the whole bucket). */
const FULL_AT = 0;

/** Memory for the buckets of one process, which all its threads share. */
export function allocateRates(): SharedArrayBuffer {
  return SharedTable.allocate(SHAPE);
}

/**
 * Makes the limiter of request rates, one bucket a client, in the memory of this node (asking the database at every
 * request would cost more than the request): whichever of its threads the requests come to, their sum is limited. What
 * is kept is when the bucket is full, in time, which means the same whatever share of the bucket this node's is.
 */
export function createRateLimiter(clock: () => number = monotonicNow, memory = allocateRates()): RateLimiter {
  const buckets = new SharedTable(memory, SHAPE);
  return {
    take(clientId, rate, burst, nodes = 1) {
      const now = clock();
      const refillMs = (1000 * nodes) / rate;
      const emptyAt = now + Math.max(1, burst / nodes) * refillMs;
      const full = buckets.use(clientId, now, (bucket) => {
        const fullAt = bucket.isNew ? now : bucket.get(FULL_AT);
        // A burst that was lowered meanwhile leaves an empty bucket, not a debt.
        const taken = Math.min(Math.max(fullAt, now), emptyAt) + refillMs;
        // A billionth of a request makes up for the rounding of sums of fractions.
        const allowed = taken <= emptyAt + refillMs * 1e-9;
        bucket.set(FULL_AT, allowed ? taken : taken - refillMs);
        return { allowed, at: taken };
      });
      if (full === undefined) throw new Error("A client has no bucket, though any other may go for it.");
      if (!full.allowed) {
        const waitSeconds = Math.max(1, Math.ceil((full.at - emptyAt) / 1000));
        return { allowed: false, remaining: 0, resetSeconds: waitSeconds, retryAfterSeconds: waitSeconds };
      }
      const remaining = Math.max(0, Math.floor((emptyAt - full.at) / refillMs + 1e-9));
      return {
        allowed: true,
        remaining,
        resetSeconds: Math.max(1, Math.ceil(refillMs / 1000)),
        retryAfterSeconds: 0,
      };
    },
  };
}
