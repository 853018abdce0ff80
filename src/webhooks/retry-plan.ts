/**
 * Seconds to wait after each failed attempt, before jitter: short at first for a restart, long enough at the end for a weekend. After 11
 * attempts in about 46 hours the message is a dead letter.
 */
const RETRY_SECONDS = [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 50_400] as const;
/** Jitter of ±20 %, so that concurrent failures are not retried together. */
const JITTER = 0.2;
/** The longest Retry-After honoured. */
const RETRY_AFTER_SECONDS_MAX = 3_600;
/** After this many consecutive failures an endpoint rests, in addition to its messages' waits. */
const ENDPOINT_FAILURES_FREE = 2;
const ENDPOINT_WAIT_SECONDS = [5, 10, 20, 40, 60] as const;

/** Retry delays. Tests use shorter ones. */
export interface RetryPlan {
  readonly messageSeconds: readonly number[];
  readonly endpointSeconds: readonly number[];
  /** An endpoint that has only failed for this long is paused. */
  readonly pauseAfterSeconds: number;
}

export function standardPlan(pauseAfterSeconds: number): RetryPlan {
  return { messageSeconds: RETRY_SECONDS, endpointSeconds: ENDPOINT_WAIT_SECONDS, pauseAfterSeconds };
}

const withJitter = (seconds: number, chance: number) => seconds * (1 - JITTER + 2 * JITTER * chance);

/** Seconds until the next attempt after the `attempts`-th failure, at least Retry-After; undefined after the last. */
export function secondsUntilNextTry(
  { messageSeconds }: RetryPlan,
  attempts: number,
  askedSeconds: number,
  chance: number,
): number | undefined {
  const planned = messageSeconds[attempts - 1];
  if (planned === undefined) return undefined;
  return Math.max(withJitter(planned, chance), Math.min(askedSeconds, RETRY_AFTER_SECONDS_MAX));
}

/**
 * Seconds that an endpoint rests after `failures` consecutive failures; 0 for the first ones, which one message may cause. Without a rest,
 * each of ten thousand waiting messages would try a dead receiver.
 */
export function secondsEndpointRests(
  { endpointSeconds }: RetryPlan,
  failures: number,
  chance: number,
): number {
  const place = Math.min(failures - ENDPOINT_FAILURES_FREE, endpointSeconds.length) - 1;
  return withJitter(endpointSeconds[place] ?? 0, chance);
}
