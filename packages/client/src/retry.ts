import { BellhopError } from "./error.ts";
import { pause } from "./fetch-within.ts";
import type { Gate } from "./gate.ts";

/** How long and how often what is safe to repeat is repeated. */
export interface RetryOptions {
  /** How long one request is tried before its last error is the answer, in milliseconds; 15 minutes. 0 tries once. */
  readonly forMs?: number | undefined;
  /** What the first pause is about, where the service does not say how long; 250 ms. It doubles each time. */
  readonly firstDelayMs?: number | undefined;
  /** The longest such pause; 30 s. */
  readonly delayMsMax?: number | undefined;
}

export interface RetryPolicy {
  readonly forMs: number;
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
}

/**
 * A token may be refused for 10 minutes at most (the specification's one token every 10 minutes), so with a quarter of an
 * hour a long job outlives even that, and most restarts of a service.
 */
export const RETRY_DEFAULTS: RetryPolicy = { forMs: 900_000, firstDelayMs: 250, delayMsMax: 30_000 };

/** What is told of a request that is going to be repeated. */
export interface RetryNotice {
  readonly error: BellhopError;
  /** Attempts so far. */
  readonly attempt: number;
  readonly delayMs: number;
}

/** Of several that were refused at once, not all come back at once: up to so much later than they were told. */
const SPREAD_MS = 250;

/**
 * How long to wait after the `attempt`-th failure (from 1): as long as the service said and a little more, or else a pause
 * that doubles, of which half is left to chance.
 */
export function delayAfter(
  error: BellhopError,
  attempt: number,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number {
  if (error.retryAfterMs !== undefined) return error.retryAfterMs + random() * SPREAD_MS;
  const whole = Math.min(policy.delayMsMax, policy.firstDelayMs * 2 ** Math.min(attempt - 1, 30));
  return whole / 2 + random() * (whole / 2);
}

/**
 * `Retry-After` in milliseconds (RFC 9110 section 10.2.3): seconds, or a date, which is read by the service's own clock where it
 * sent that. Undefined where there is none that can be read.
 */
export function retryAfterMs(headers: Headers, now: () => number = Date.now): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const sentAt = Date.parse(headers.get("date") ?? "");
  return Math.max(0, at - (Number.isNaN(sentAt) ? now() : sentAt));
}

/**
 * Tries until it succeeds, fails for good, or the time for it is over; `attempt` throws BellhopErrors, and those that are
 * `retryable` are tried again. Whoever waits because the service asked for it holds the others back, too.
 */
export async function withRetries<Value>(
  attempt: () => Promise<Value>,
  policy: RetryPolicy,
  options: {
    readonly gate: Gate;
    readonly signal?: AbortSignal | undefined;
    readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
    /** A bound of its own for this error, where it should be given up sooner. */
    readonly forMsOf?: (error: BellhopError) => number;
  },
): Promise<Value> {
  const startedAt = performance.now();
  for (let count = 1; ; count += 1) {
    try {
      await options.gate.pass(options.signal);
      return await attempt();
    } catch (error) {
      if (!(error instanceof BellhopError) || !error.retryable) throw error;
      const delayMs = delayAfter(error, count, policy);
      const forMs = Math.min(policy.forMs, options.forMsOf?.(error) ?? policy.forMs);
      if (performance.now() - startedAt + delayMs > forMs) throw error;
      if (error.retryAfterMs !== undefined) options.gate.hold(error.retryAfterMs);
      options.onRetry?.({ error, attempt: count, delayMs });
      await pause(delayMs, options.signal);
    }
  }
}
