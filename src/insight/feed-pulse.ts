const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What rates are of. */
const RATES_MS = 7 * DAY_MS;
/** What the observed cadence is of: feeds that come once a week have a few intervals in it. */
const CADENCE_MS = 28 * DAY_MS;
/** Where the last push is looked for. */
const PUSH_MS = 14 * DAY_MS;
/** Batches further apart than this are not of one push. */
const PUSH_PAUSE_MS = HOUR_MS;

/** What one apply transaction had of a feed (`bellhop.feed_arrival`). Times are milliseconds since 1970. */
export interface Arrival {
  readonly first_request_id: string;
  readonly first_ms: number;
  readonly last_ms: number;
  readonly batches: number;
  readonly applied: number;
  readonly unchanged: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly rejected: number;
  readonly warned: number;
}

/** What became of the records of the last seven days. `records` is the sum of all others but `warned` and `batches`. */
export interface FeedCounts {
  readonly batches: number;
  readonly records: number;
  readonly applied: number;
  readonly unchanged: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly rejected: number;
  readonly warned: number;
}

/** How a feed comes. */
export interface FeedPulse {
  readonly lastReceivedMs: number | null;
  /** Hours; null where there is nothing to tell it by. */
  readonly cadenceHours: number | null;
  readonly counts: FeedCounts;
  /** The first request of the last batches that together had at least half the records of the most there were. */
  readonly lastPush: { readonly firstRequestId: string; readonly beganMs: number } | null;
}

/**
 * The interval at which half of the time is spent in intervals that are no longer: what somebody who looks at any moment
 * finds to lie between the batch before and the next. A nightly push of ten batches comes every 24 hours by it, and a
 * steady stream every few minutes; the plain median of the push's intervals would be the seconds between its batches.
 */
function cadenceOf(arrivals: readonly Arrival[], sinceMs: number): number | null {
  const gaps: { readonly ms: number; readonly times: number }[] = [];
  let later: Arrival | undefined;
  for (const arrival of arrivals) {
    if (arrival.last_ms < sinceMs) break;
    if (later !== undefined) gaps.push({ ms: Math.max(0, later.first_ms - arrival.last_ms), times: 1 });
    if (arrival.batches > 1) {
      const times = arrival.batches - 1;
      gaps.push({ ms: (arrival.last_ms - arrival.first_ms) / times, times });
    }
    later = arrival;
  }
  gaps.sort((one, other) => one.ms - other.ms);
  const totalMs = gaps.reduce((sum, { ms, times }) => sum + ms * times, 0);
  if (totalMs === 0) return null;
  let passedMs = 0;
  for (const { ms, times } of gaps) {
    passedMs += ms * times;
    if (passedMs * 2 >= totalMs) return ms / HOUR_MS;
  }
  return null;
}

/** Deliveries, newest first: what came without a pause, with the records that said something of a night now. */
function lastPushOf(arrivals: readonly Arrival[], sinceMs: number): FeedPulse["lastPush"] {
  const deliveries: { records: number; first: Arrival }[] = [];
  let later: Arrival | undefined;
  for (const arrival of arrivals) {
    if (arrival.last_ms < sinceMs) break;
    const records = arrival.applied + arrival.unchanged;
    const delivery = deliveries.at(-1);
    if (delivery === undefined || later === undefined || later.first_ms - arrival.last_ms > PUSH_PAUSE_MS)
      deliveries.push({ records, first: arrival });
    else {
      delivery.records += records;
      delivery.first = arrival;
    }
    later = arrival;
  }
  const most = Math.max(0, ...deliveries.map(({ records }) => records));
  const push = deliveries.find(({ records }) => records > 0 && records * 2 >= most);
  return push === undefined
    ? null
    : { firstRequestId: push.first.first_request_id, beganMs: push.first.first_ms };
}

/** How a feed comes, by its newest arrivals, newest first. */
export function feedPulse(arrivals: readonly Arrival[], nowMs: number): FeedPulse {
  const counts = {
    batches: 0,
    applied: 0,
    unchanged: 0,
    stale: 0,
    duplicate: 0,
    quarantined: 0,
    rejected: 0,
  };
  let warned = 0;
  for (const arrival of arrivals) {
    if (arrival.last_ms < nowMs - RATES_MS) break;
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += arrival[name];
    warned += arrival.warned;
  }
  const { batches, ...outcomes } = counts;
  const records = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return {
    lastReceivedMs: arrivals[0]?.last_ms ?? null,
    cadenceHours: cadenceOf(arrivals, nowMs - CADENCE_MS),
    counts: { batches, records, ...outcomes, warned },
    lastPush: lastPushOf(arrivals, nowMs - PUSH_MS),
  };
}
