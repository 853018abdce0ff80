import type { HotelProfile, SegmentCalibration, SegmentCode } from "./hotel-profile.ts";
import { completeStay, planStay, StayTables } from "./plan-stay.ts";
import type { Booking, PlannedGroup, PlannedStay } from "./planned.ts";
import { drawCount, drawQuantile, SeededRandom, Weights } from "./random.ts";
import { monthOf, weekdayOf } from "./simulated-record.ts";

const SIZES = [5, 6, 8, 10, 12, 15, 20, 28, 40];
/** The mean of the above by equal steps. */
const MEAN_SIZE = 15.2;
/** A house for which the sizes are as they stand; smaller ones have smaller groups. */
const ROOMS_OF_SIZES = 180;
/** Rooms that are asked for and never picked up, in thousandths: quantiles. */
const NEVER_PICKED_UP = [0, 50, 100, 150, 200, 280, 400];
const MEAN_NEVER_PICKED_UP = 163;
const LOST_IN = 5;
const GROUPS_THAT_ARE_KEPT = 1 - 1 / LOST_IN;
const CUTOFF_DAYS = new Weights([
  0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1,
]);
/** Of one member alone; the rest of what is cancelled goes with the whole group. */
const MEMBER_FAILS_MOST = 0.15;
const LEAVES_EARLY_IN = 10;

const sizeFactor = (tables: StayTables): number => Math.min(1.2, tables.profile.rooms / ROOMS_OF_SIZES);

/** Members of a group on average, by which arrivals of the segment become groups. */
function meanMembers(tables: StayTables): number {
  return MEAN_SIZE * sizeFactor(tables) * (1 - MEAN_NEVER_PICKED_UP / 1_000);
}

/** A group that arrives on a day. */
function planGroup(random: SeededRandom, tables: StayTables, arrival: number): PlannedGroup {
  const { calibration, nights: nightWeights } = tables.of("GRP");
  const size = Math.max(3, Math.round(drawQuantile(random, SIZES) * sizeFactor(tables)));
  const nights = Math.max(1, nightWeights.draw(random));
  const [first, second] = [0, 1];
  const ofSecond = Math.floor((size * random.between(0, 40)) / 100);
  const rooms = tables.profile.roomTypes.map((_, type) =>
    type === first ? size - ofSecond : type === second ? ofSecond : 0,
  );
  const neverPickedUp = drawQuantile(random, NEVER_PICKED_UP) / 1_000;
  const wanted = Math.max(1, Math.round(size * (1 - neverPickedUp)));
  const leads = Array.from({ length: wanted }, () => Math.round(drawQuantile(random, calibration.leadDays)));
  const longest = Math.max(...leads);
  const shortest = Math.min(...leads);
  const bookedLead = longest + random.between(14, 60);
  const decidedLead = longest + random.between(2, 10);
  const failing = leads.reduce((sum, lead) => sum + tables.failing("GRP", lead), 0) / leads.length;
  const memberFails = Math.min(MEMBER_FAILS_MOST, failing);
  const groupFails = random.chance((failing - memberFails) / (1 - memberFails));
  const isLost = random.between(1, LOST_IN) === 1;
  const cutoffDays = CUTOFF_DAYS.draw(random);
  const rateCents = tables.drawRate(random, "GRP", arrival, first);
  const membersOfSecond = Math.round((wanted * ofSecond) / size);
  const member = (lead: number, at: number): PlannedStay => {
    const early = nights >= 2 && random.between(1, LEAVES_EARLY_IN) === 1 ? 1 : 0;
    const type = at < membersOfSecond ? second : first;
    const fails = random.chance(memberFails);
    const frame = {
      segment: "GRP",
      arrival,
      lead,
      nights: nights - early,
      type,
      rateCents,
      fails,
      isMember: true,
    } as const;
    return completeStay(random, tables, frame);
  };
  return {
    arrival,
    nights,
    rooms,
    rateCents,
    bookedDay: arrival - bookedLead,
    decidedDay: arrival - decidedLead,
    isLost,
    cancelledDay: groupFails ? arrival - random.between(0, Math.min(30, shortest)) : undefined,
    washDay: arrival - Math.round((decidedLead + cutoffDays) / 2),
    washPart: random.between(0, 400),
    cutoffDays,
    members: isLost ? [] : leads.map(member),
    name: random.next(),
  };
}

/** How often bookings come as more than one reservation. Invented: the data set has one row a booking. */
const SHARED_IN = 25;
const LINKED_IN = 100;
/** Of the rate, in per cent. */
const FIRST_SHARER_PAYS = 60;

const leadOf = ({ arrival, steps }: PlannedStay): number => arrival - (steps[0]?.day ?? arrival);

/** Two who share a room of two: each pays a part, and the second one may leave a night earlier. */
function shareStay(random: SeededRandom, tables: StayTables, stay: PlannedStay): PlannedStay[] {
  const { segment, arrival, nights, type, rateCents } = stay;
  const early = nights >= 3 && random.chance(0.3) ? 1 : 0;
  const firstCents = Math.round((rateCents * FIRST_SHARER_PAYS) / 100);
  const frame = {
    segment,
    arrival,
    type,
    isMember: true,
    lead: random.between(0, leadOf(stay)),
    nights: nights - early,
    rateCents: rateCents - firstCents,
    fails: random.chance(0.1),
  };
  const second = completeStay(random, tables, frame);
  const alone = { adults: 1, children: 0, infants: 0, rooms: 1, earlier: [], moves: false };
  const withoutChanges = ({ steps }: PlannedStay) => steps.filter(({ event }) => event !== "changed");
  return [
    { ...stay, ...alone, rateCents: firstCents, steps: withoutChanges(stay) },
    { ...second, ...alone, steps: withoutChanges(second) },
  ];
}

/** One or two more reservations of the same booker, for the same nights, each with a life of its own. */
function linkStay(random: SeededRandom, tables: StayTables, stay: PlannedStay): PlannedStay[] {
  const { segment, arrival, nights } = stay;
  const lead = leadOf(stay);
  const more = Array.from({ length: random.between(1, 2) }, () => {
    const type = tables.types.draw(random);
    const rateCents = tables.drawRate(random, segment, arrival, type);
    const fails = random.chance(tables.failing(segment, lead));
    return completeStay(random, tables, {
      segment,
      arrival,
      lead,
      nights,
      type,
      rateCents,
      fails,
      isMember: false,
    });
  });
  return [stay, ...more];
}

/** A booking of a stay: by itself, shared by two, or linked with others. */
function relateStay(random: SeededRandom, tables: StayTables, stay: PlannedStay): Booking {
  const { adults, nights, fails } = stay;
  const draw = random.between(1, SHARED_IN * LINKED_IN);
  if (draw % SHARED_IN === 0 && adults === 2 && nights >= 2 && !fails)
    return { relation: "shared", stays: shareStay(random, tables, stay) };
  if (draw % LINKED_IN === 1 && nights >= 1)
    return { relation: "linked", stays: linkStay(random, tables, stay) };
  return { relation: "single", stays: [stay] };
}

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
