import { monotonicNow, SharedTable } from "../platform/runtime/shared-memory.ts";

/** Result of charging a request to its client's rate. */
export interface RateResult {
  readonly allowed: boolean;
  /** Requests the client may still send at once. */
  readonly remaining: number;
  /** Seconds until one more request than now may be sent (`t` of the RateLimit header). */
  readonly resetSeconds: number;
  /** Seconds to wait when refused, at least 1 (Retry-After); 0 when allowed. */
  readonly retryAfterSeconds: number;
}

/** Stored buckets of 40 bytes. An evicted bucket is full again, as an idle bucket would be after 2 s with the default rate and burst. */
const SHAPE = { rows: 50_000, numbers: 2 } as const;

/** When a client's bucket will be full again, in ms of the clock. One number represents the whole bucket (GCRA). */
const FULL_AT = 0;
/** FULL_AT after the last charge that left a debt. A value beyond it results from a lowered burst. */
const OWED_UNTIL = 1;

/** Memory for the buckets of one process, shared by its threads. */
export function allocateRates(): SharedArrayBuffer {
  return SharedTable.allocate(SHAPE);
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Creates the limiter of request rates: one bucket per client in this node's memory, shared by its threads; a database query would cost
 * more than the request. Stores the time at which the bucket is full, which is independent of this node's share of the rate.
 */
export function createRateLimiter(clock: () => number = monotonicNow, memory = allocateRates()) {
  const buckets = new SharedTable(memory, SHAPE);
  const use = (change: Change, clientId: string, rate: number, burst: number, nodes: number): RateResult => {
    const now = clock();
    const refillMs = (1000 * nodes) / rate;
    const emptyAt = now + Math.max(1, burst / nodes) * refillMs;
    const taken = buckets.use(clientId, now, (bucket) => {
      const fullAt = bucket.isNew ? now : bucket.get(FULL_AT);
      const owedUntil = bucket.isNew ? now : bucket.get(OWED_UNTIL);
      // A lowered burst leaves an empty bucket, not a debt.
      const at = Math.min(Math.max(fullAt, now), Math.max(emptyAt, owedUntil)) + refillMs * change.requests;
      // Tolerate rounding errors of summed fractions.
      const allowed = change.isOwed || at <= emptyAt + refillMs * 1e-9;
      bucket.set(FULL_AT, allowed ? at : at - refillMs * change.requests);
      if (change.isOwed) bucket.set(OWED_UNTIL, at);
      return { allowed, at };
    });
    if (taken === undefined) throw new Error("No rate limit slot was free although any can be evicted.");
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
    /**
     * Takes one request from this node's share of the client's bucket. `rate` requests are refilled per second up to `burst`; each of
     * `nodes` grants its fraction of both, but at least one request.
     */
    take: (clientId: string, rate: number, burst: number, nodes = 1) =>
      use({ requests: 1, isOwed: false }, clientId, rate, burst, nodes),
    /**
     * Charges `more` requests without refusing any, for a request that cost more than one. What exceeds the bucket is a debt, and `take`
     * refuses until it is paid off.
     */
    charge: (clientId: string, more: number, rate: number, burst: number, nodes = 1) =>
      use({ requests: more, isOwed: true }, clientId, rate, burst, nodes),
  };
}

/** Requests to charge; owed ones are never refused. */
interface Change {
  readonly requests: number;
  readonly isOwed: boolean;
}
