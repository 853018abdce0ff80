import { OUTCOMES } from "../query/outcome.ts";

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Period of the rates. */
const RATES_MS = 7 * DAY_MS;
/** Period of the observed cadence: contains several intervals even of a weekly feed. */
const CADENCE_MS = 28 * DAY_MS;
/** How far back to search for the last push. */
const PUSH_MS = 14 * DAY_MS;
/** Batches further apart than this belong to different pushes. */
const PUSH_PAUSE_MS = HOUR_MS;

const COUNTED = OUTCOMES.filter((outcome) => outcome !== "discarded");
type Counts = Record<"batches" | "warned" | (typeof COUNTED)[number], number>;

/** A feed's share of one apply transaction (`bellhop.feed_arrival`). Times are milliseconds since 1970. */
export interface Arrival extends Readonly<Counts> {
  readonly first_request_id: string;
  readonly first_ms: number;
  readonly last_ms: number;
}

/** Counts of the last seven days; `records` is the sum of the outcomes. */
export interface FeedCounts extends Counts {
  readonly records: number;
}

/** Activity of a feed. */
interface FeedPulse {
  readonly lastReceivedMs: number | null;
  /** Hours; null if there are too few batches to measure it. */
  readonly cadenceHours: number | null;
  readonly counts: FeedCounts;
  /** Start of the last group of batches with at least half the records of the largest group. */
  readonly lastPush: { readonly firstRequestId: string; readonly beganMs: number } | null;
}

/**
 * The time-weighted median interval: half of the time lies in intervals no longer than this. A nightly push of ten batches has a cadence of
 * 24 hours, a steady stream one of minutes; the plain median of the push would be the seconds between its batches.
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

/**
 * The last delivery of at least half the records of the largest one. Deliveries are arrivals without a pause between them; counts records
 * that changed something.
 */
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

/** A feed's activity from its newest arrivals, newest first. */
export function feedPulse(arrivals: readonly Arrival[], nowMs: number): FeedPulse {
  const recent = arrivals.filter(({ last_ms }) => last_ms >= nowMs - RATES_MS);
  const sumOf = (name: keyof Counts) => recent.reduce((sum, arrival) => sum + arrival[name], 0);
  const outcomes = Object.fromEntries(COUNTED.map((name) => [name, sumOf(name)])) as Counts;
  const records = COUNTED.reduce((sum, name) => sum + outcomes[name], 0);
  return {
    lastReceivedMs: arrivals[0]?.last_ms ?? null,
    cadenceHours: cadenceOf(arrivals, nowMs - CADENCE_MS),
    counts: { ...outcomes, batches: sumOf("batches"), records, warned: sumOf("warned") },
    lastPush: lastPushOf(arrivals, nowMs - PUSH_MS),
  };
}
