import { addDays, daysBetween } from "#contract/dates.ts";
import { HOUR_MS } from "./feed-pulse.ts";

/** A night with inventory, and the request of its record. */
export interface InventoryNight {
  readonly night: string;
  readonly request_id: string;
  readonly received_ms: number;
}

/** Nights with missing or outdated inventory. */
export interface MissingNights {
  /** The last night that the feed usually sends; null if it sends none. */
  readonly horizon: string | null;
  /** Nights up to the horizon without a record. */
  readonly absent: readonly string[];
  /** Nights up to the horizon whose record is older than the last push or than 1.5 times the cadence. */
  readonly stale: readonly string[];
}

/** The horizon is the end of the last window of this many nights of which at least half have records; a longer gap ends the feed. */
const NIGHTS_TOGETHER = 30;
/** Maximum age of a night's record relative to the newest, in cadences: one push may be late. */
const CADENCES_MAX = 1.5;

/** The horizon in days from today. */
function horizonOf(days: readonly number[]): number | null {
  let last: number | null = null;
  let first = 0;
  for (const [at, day] of days.entries()) {
    if (day - (days[at - 1] ?? 0) > NIGHTS_TOGETHER) break;
    while ((days[first] as number) <= day - NIGHTS_TOGETHER) first += 1;
    const possible = Math.min(NIGHTS_TOGETHER, day + 1);
    if ((at - first + 1) * 2 >= possible) last = day;
  }
  return last;
}

/**
 * Nights from the property's business day up to the horizon that lack current inventory. `nights` are ordered and start on that day;
 * `pushBegan` is the first request of the last push, `cadenceHours` the expected interval between pushes (null: unknown).
 */
export function missingNights(
  today: string,
  nights: readonly InventoryNight[],
  pushBegan: string | null,
  cadenceHours: number | null,
): MissingNights {
  const last = horizonOf(nights.map(({ night }) => daysBetween(today, night)));
  if (last === null) return { horizon: null, absent: [], stale: [] };
  const newestMs = nights.reduce((newest, { received_ms }) => Math.max(newest, received_ms), 0);
  const oldestMs = cadenceHours === null ? 0 : newestMs - CADENCES_MAX * cadenceHours * HOUR_MS;
  const known = new Map(nights.map((night) => [night.night, night]));
  const absent: string[] = [];
  const stale: string[] = [];
  for (let day = 0; day <= last; day += 1) {
    const night = addDays(today, day);
    const found = known.get(night);
    if (found === undefined) absent.push(night);
    else if ((pushBegan !== null && found.request_id < pushBegan) || found.received_ms < oldestMs)
      stale.push(night);
  }
  return { horizon: addDays(today, last), absent, stale };
}
