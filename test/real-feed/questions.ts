import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import { dayOf } from "../workload/calendar-day.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { GROUPINGS, type Grouping } from "./counted-nights.ts";
import { HOTELS } from "./feed.ts";
import type { FeedRecord } from "./reservation-records.ts";

/** What is asked at one instant of one hotel. */
export interface Asked {
  readonly hotel: RealBooking["hotel"];
  /** The instants of the source clock, in milliseconds since 1970; `sinceMs` is the earlier one, of pickup. */
  readonly atMs: number;
  readonly sinceMs: number;
  /** Of the batches in the order of receipt, the one at whose receipt the other clock is asked: a share from 0 to 1. */
  readonly receivedShare: number;
  /** The first and the last night, in days since 1970. */
  readonly from: number;
  readonly to: number;
  readonly by: readonly Grouping[];
  /** The nights whose curve is asked for. */
  readonly paceTo: number;
}

const FIRST_NIGHT = dayOf("2015-07-01");
const LAST_NIGHT = dayOf("2017-09-14");
const DAY_MS = 86_400_000;
/** Most ask for some weeks, as people do; every tenth for a year. */
const NIGHTS_MAX = 45;
const YEAR_NIGHTS = 366;
const PACE_NIGHTS_MAX = 10;
/** People ask for nights ahead of the instant, and for some behind it. */
const NIGHTS_BEHIND_MAX = 20;
const NIGHTS_AHEAD_MAX = 120;

/**
 * The questions of a seed: at so many instants, of each hotel. An instant is that of a reservation's record, half of them the very same
 * second (an instant is included), the others a second before.
 */
export function questionsOf(records: readonly FeedRecord[], seed: number, instants: number): Asked[][] {
  const random = SeededRandom.stream(seed, 1);
  const reservations = records.filter(({ resource }) => resource === "reservations");
  return Array.from({ length: instants }, (_, at) => {
    const atMs = random.pick(reservations).atMs - (random.chance(0.5) ? 1_000 : 0);
    return HOTELS.map((hotel, place) => {
      const around = Math.floor(atMs / DAY_MS) + random.between(-NIGHTS_BEHIND_MAX, NIGHTS_AHEAD_MAX);
      const from = Math.min(Math.max(around, FIRST_NIGHT), LAST_NIGHT);
      const nights = at % 10 === 0 ? YEAR_NIGHTS : random.between(1, NIGHTS_MAX);
      return {
        hotel,
        atMs,
        sinceMs: atMs - random.between(0, 60 * 86_400) * 1_000,
        receivedShare: random.between(0, 1_000) / 1_000,
        from,
        to: from + nights - 1,
        // All groupings within three instants, each hotel beginning elsewhere.
        by: [GROUPINGS[(2 * at + 3 * place) % 6], GROUPINGS[(2 * at + 3 * place + 1) % 6]] as Grouping[],
        paceTo: from + random.between(0, PACE_NIGHTS_MAX - 1),
      };
    });
  });
}
