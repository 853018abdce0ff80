import { addDays, daysBetween } from "./stay-date.ts";

/** A night that there is inventory of, and the request that its record is from. */
export interface InventoryNight {
  readonly night: string;
  readonly request_id: string;
  readonly received_ms: number;
}

/** Nights of inventory that are not there, or not fresh. */
export interface MissingNights {
  /** The last night that the feed usually sends; null where it sends none. */
  readonly horizon: string | null;
  /** Nights up to it that have no record. */
  readonly absent: readonly string[];
  /** Nights up to it whose record is older than the last push, or than the feed's cadence and a half. */
  readonly stale: readonly string[];
}

/**
 * So many nights are looked at together to tell where a feed ends from a night that somebody sent far ahead; and a feed
 * ends where so many are missing one after another.
 */
const NIGHTS_TOGETHER = 30;
/** How much older than the newest a night may be, in cadences: one push may come late, but none may leave it out. */
const CADENCES_MAX = 1.5;
const HOUR_MS = 3_600_000;

/** The last night, in days from today, of those before which, together, at least half are there. */
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
 * Which nights from a property's business day on are missing, up to the horizon that it usually sends. `nights` are in order
 * and from that day on; `pushBegan` is the request with which the last push began, `cadenceHours` how far apart pushes are
 * expected to be (null: not known).
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
