const MINUTE = 60;
const HOUR = 3_600;

/**
 * Seconds to wait after each failed try of a message, before chance is added. The first two are over before anybody has
 * noticed an ordinary restart; the later ones reach over a weekend's night. After the last one the message is a dead letter:
 * 11 tries in some 46 hours.
 */
const TRY_AGAIN_SECONDS = [
  5,
  30,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  14 * HOUR,
] as const;

/** Spread by a fifth either way, so that what failed together does not come back together. */
const SPREAD = 0.2;
/** What a receiver may ask for by Retry-After. */
const ASKED_SECONDS_MAX = HOUR;

/** Of an endpoint, beside those of its messages: after so many failures in a row it is tried only now and then. */
const ENDPOINT_FAILURES_FREE = 2;
const ENDPOINT_WAIT_SECONDS = [5, 10, 20, 40, 60] as const;

/** When and how often things are tried. Tests have shorter plans. */
export interface RetryPlan {
  readonly messageSeconds: readonly number[];
  readonly endpointSeconds: readonly number[];
  /** An endpoint none of whose tries was good for so long is paused. */
  readonly pauseAfterSeconds: number;
}

export function standardPlan(pauseAfterSeconds: number): RetryPlan {
  return { messageSeconds: TRY_AGAIN_SECONDS, endpointSeconds: ENDPOINT_WAIT_SECONDS, pauseAfterSeconds };
}

/**
 * Seconds until a message is tried again after its `attempts`-th try failed; undefined when that was the last.
 * `askedSeconds` is what the receiver asked for (Retry-After): never sooner than that, an hour at most.
 */
export function secondsUntilNextTry(
  { messageSeconds }: RetryPlan,
  attempts: number,
  askedSeconds: number,
  chance: number,
): number | undefined {
  const planned = messageSeconds[attempts - 1];
  if (planned === undefined) return undefined;
  const spread = planned * (1 - SPREAD + 2 * SPREAD * chance);
  return Math.max(spread, Math.min(askedSeconds, ASKED_SECONDS_MAX));
}

/**
 * Seconds for which an endpoint is left alone after `failures` failed tries in a row; 0 for the first ones, which may be the
 * fault of one message. Otherwise each of ten thousand waiting messages would knock on a dead receiver by its own plan.
 */
export function secondsEndpointRests(
  { endpointSeconds }: RetryPlan,
  failures: number,
  chance: number,
): number {
  const place = Math.min(failures - ENDPOINT_FAILURES_FREE, endpointSeconds.length) - 1;
  const planned = endpointSeconds[place];
  return planned === undefined ? 0 : planned * (1 - SPREAD + 2 * SPREAD * chance);
}
