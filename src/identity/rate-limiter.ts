import { SharedTable } from "../platform/runtime/shared-memory.ts";
import { monotonicNow } from "../platform/runtime/time.ts";

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
  /**
   * Counts `more` requests of a client without refusing any: what a request that was let in turned out to weigh. Beyond what
   * is in the bucket it is a debt, and until that is paid off `take` refuses.
   */
  charge(clientId: string, more: number, rate: number, burst: number, nodes?: number): RateResult;
}

/**
 * Buckets kept. A client's bucket of 40 bytes is pushed out only when others of its set were used since, and is then full
 * again: with the default rate and burst an idle bucket is full after 2 s anyway.
 */
const SHAPE = { rows: 50_000, numbers: 2 } as const;

/** When a client's bucket will be full again, in ms of the clock (GCRA: one number is the whole bucket). */
const FULL_AT = 0;
/** When it would be full again after the last charge that left a debt: a debt beyond it is one of a burst that was lowered. */
const OWED_UNTIL = 1;

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
  const use = (change: Change, clientId: string, rate: number, burst: number, nodes: number): RateResult => {
    const now = clock();
    const refillMs = (1000 * nodes) / rate;
    const emptyAt = now + Math.max(1, burst / nodes) * refillMs;
    const taken = buckets.use(clientId, now, (bucket) => {
      const fullAt = bucket.isNew ? now : bucket.get(FULL_AT);
      const owedUntil = bucket.isNew ? now : bucket.get(OWED_UNTIL);
      // A burst that was lowered meanwhile leaves an empty bucket, not a debt.
      const at = Math.min(Math.max(fullAt, now), Math.max(emptyAt, owedUntil)) + refillMs * change.requests;
      // A billionth of a request makes up for the rounding of sums of fractions.
      const allowed = change.isOwed || at <= emptyAt + refillMs * 1e-9;
      bucket.set(FULL_AT, allowed ? at : at - refillMs * change.requests);
      if (change.isOwed) bucket.set(OWED_UNTIL, at);
      return { allowed, at };
    });
    if (taken === undefined) throw new Error("A client has no bucket, though any other may go for it.");
    const { allowed, at } = taken;
    const missingMs = at - emptyAt;
    if (!allowed) {
      const waitSeconds = Math.max(1, Math.ceil(missingMs / 1000));
      return { allowed, remaining: 0, resetSeconds: waitSeconds, retryAfterSeconds: waitSeconds };
    }
    const remaining = Math.max(0, Math.floor(-missingMs / refillMs + 1e-9));
    const resetSeconds = Math.max(1, Math.ceil((Math.max(0, missingMs) + refillMs) / 1000));
    return { allowed, remaining, resetSeconds, retryAfterSeconds: 0 };
  };
  return {
    take: (clientId, rate, burst, nodes = 1) =>
      use({ requests: 1, isOwed: false }, clientId, rate, burst, nodes),
    charge: (clientId, more, rate, burst, nodes = 1) =>
      use({ requests: more, isOwed: true }, clientId, rate, burst, nodes),
  };
}

/** So many requests; owed ones are never refused. */
interface Change {
  readonly requests: number;
  readonly isOwed: boolean;
}
