import type { SegmentCalibration, SegmentCode } from "./calibration.ts";
import { drawCount, Weights } from "./draw.ts";
import type { HotelProfile } from "./hotel-profile.ts";
import { GROUPS_THAT_ARE_KEPT, meanMembers, planGroup } from "./plan-group.ts";
import { planStay, StayTables } from "./plan-stay.ts";
import type { Booking, PlannedGroup } from "./planned.ts";
import { relateStay } from "./related-stays.ts";
import { SeededRandom } from "./seeded-random.ts";
import { monthOf, weekdayOf } from "./simulated-time.ts";

/**
 * Bookings of an arrival day are drawn in bands of lead time, each when its first ones are due: so no more than what is soon to be
 * booked has to be kept. Counts of events that are split so remain what they are (Poisson).
 */
const BANDS = [
  [0, 30],
  [30, 90],
  [90, 180],
  [180, 365],
  [365, 800],
] as const;

/** Fairs and feast days, and what keeps people at home; the mean is 1. Invented. */
const DAY_FACTORS = [1, 1.5, 0.6];
const DAY_FACTOR_WEIGHTS = new Weights([88, 5, 7]);
/** No two uses of a day's own stream draw the same. */
const STREAMS_A_DAY = 8;
const FACTOR_STREAM = 6;
const GROUP_STREAM = 7;

/** A part of a segment's lead times: between two places among its quantiles. */
interface Band {
  readonly from: number;
  readonly to: number;
}

const NO_BAND: Band = { from: 0, to: 0 };

/** Where among quantiles a value stands, 0 to the number of steps. */
function placeOf(value: number, quantiles: readonly number[]): number {
  const steps = quantiles.length - 1;
  const at = quantiles.findIndex((quantile) => quantile >= value);
  if (at === -1) return steps;
  if (at === 0) return 0;
  const [low, high] = [quantiles[at - 1] as number, quantiles[at] as number];
  return at - 1 + (value - low) / (high - low);
}

function bandsOf({ leadDays }: SegmentCalibration): Band[] {
  // Lead times are rounded to whole days.
  const place = (lead: number) => (lead === 0 ? 0 : placeOf(lead - 0.5, leadDays));
  return BANDS.map(([from, to]) => ({ from: place(from), to: place(to) }));
}

/** What guests and groups want of one hotel, day of arrival by day of arrival. */
export class Demand {
  readonly tables: StayTables;
  /** Days before the first arrival at which all that is drawn for it has to be known. */
  readonly planAheadDays: number;
  readonly #seed: number;
  readonly #bands: ReadonlyMap<SegmentCode, readonly Band[]>;

  constructor(seed: number, profile: HotelProfile) {
    this.tables = new StayTables(profile);
    this.#seed = seed ^ Math.imul(profile.number + 1, 0x9e3779b1);
    const { segments } = this.tables;
    this.#bands = new Map([...segments].map(([code, { calibration }]) => [code, bandsOf(calibration)]));
    const groupLeads = segments.get("GRP")?.calibration.leadDays ?? [];
    this.planAheadDays = (groupLeads.at(-1) ?? 0) + 61;
  }

  /** For each band of lead times, how many days before arrival its bookings begin. */
  static readonly bandStarts: readonly number[] = BANDS.map(([, to]) => to);

  /** Bookings of one band of lead times that arrive on a day. */
  bookings(arrival: number, band: number): Booking[] {
    const random = this.#stream(arrival, band);
    const bookings: Booking[] = [];
    for (const [segment, { calibration }] of this.tables.segments) {
      if (segment === "GRP") continue;
      const { from, to } = this.#bands.get(segment)?.[band] ?? NO_BAND;
      const steps = calibration.leadDays.length - 1;
      const count = drawCount(random, (this.#arrivals(segment, calibration, arrival) * (to - from)) / steps);
      for (let at = 0; at < count; at += 1) {
        const stay = planStay(random, this.tables, segment, arrival, { from, to });
        bookings.push(relateStay(random, this.tables, stay));
      }
    }
    return bookings;
  }

  /** Groups that arrive on a day. */
  groups(arrival: number): PlannedGroup[] {
    const calibration = this.tables.segments.get("GRP")?.calibration;
    if (calibration === undefined) return [];
    const random = this.#stream(arrival, GROUP_STREAM);
    const members = this.#arrivals("GRP", calibration, arrival);
    const count = drawCount(random, members / (meanMembers(this.tables) * GROUPS_THAT_ARE_KEPT));
    return Array.from({ length: count }, () => planGroup(random, this.tables, arrival));
  }

  /** How many bookings of a segment are expected to arrive on a day. */
  #arrivals(segment: SegmentCode, { arrivals, weekdays }: SegmentCalibration, arrival: number): number {
    const { demand } = this.tables.profile;
    const day = ((arrivals[monthOf(arrival)] ?? 0) * (weekdays[weekdayOf(arrival)] ?? 0)) / 1_000_000;
    // Complimentary rooms and airline crews do not come for a fair.
    if (segment === "CMP" || segment === "AVI") return demand * day;
    const factor = DAY_FACTOR_WEIGHTS.draw(this.#stream(arrival, FACTOR_STREAM));
    return demand * day * (DAY_FACTORS[factor] as number);
  }

  #stream(arrival: number, use: number): SeededRandom {
    return SeededRandom.stream(this.#seed, arrival * STREAMS_A_DAY + use);
  }
}
