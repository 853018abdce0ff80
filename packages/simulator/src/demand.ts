import type { HotelProfile, SegmentCalibration, SegmentCode } from "./hotel-profile.ts";
import {
  type Booking,
  completeStay,
  type PlannedGroup,
  type PlannedStay,
  planStay,
  StayTables,
} from "./plan-stay.ts";
import { drawCount, drawQuantile, SeededRandom, Weights } from "./random.ts";
import { monthOf, weekdayOf } from "./simulated-record.ts";

const SIZES = [5, 6, 8, 10, 12, 15, 20, 28, 40];
const MEAN_SIZE = 15.2;
/** Smaller hotels have smaller groups. */
const ROOMS_OF_SIZES = 180;
/** Rooms requested but never picked up, in thousandths: quantiles. */
const NEVER_PICKED_UP = [0, 50, 100, 150, 200, 280, 400];
const MEAN_NEVER_PICKED_UP = 163;
const LOST_IN = 5;
const GROUPS_THAT_ARE_KEPT = 1 - 1 / LOST_IN;
const CUTOFF_DAYS = new Weights([
  0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1,
]);
/** The remaining cancellations cancel the whole group. */
const MEMBER_FAILS_MOST = 0.15;
const LEAVES_EARLY_IN = 10;

const sizeFactor = (tables: StayTables): number => Math.min(1.2, tables.profile.rooms / ROOMS_OF_SIZES);

/** Average members of a group. */
function meanMembers(tables: StayTables): number {
  return MEAN_SIZE * sizeFactor(tables) * (1 - MEAN_NEVER_PICKED_UP / 1_000);
}

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

/** One in this many bookings consists of several reservations. Invented: the data set has one row per booking. */
const SHARED_IN = 25;
const LINKED_IN = 100;
const FIRST_SHARER_PAYS = 60;

const leadOf = ({ arrival, steps }: PlannedStay): number => arrival - (steps[0]?.day ?? arrival);

/** Two guests share a room: each pays a part, and the second may leave a night earlier. */
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

function relateStay(random: SeededRandom, tables: StayTables, stay: PlannedStay): Booking {
  const { adults, nights, fails } = stay;
  const draw = random.between(1, SHARED_IN * LINKED_IN);
  if (draw % SHARED_IN === 0 && adults === 2 && nights >= 2 && !fails)
    return { relation: "shared", stays: shareStay(random, tables, stay) };
  if (draw % LINKED_IN === 1 && nights >= 1)
    return { relation: "linked", stays: linkStay(random, tables, stay) };
  return { relation: "single", stays: [stay] };
}

/** Draws bookings by bands of lead time, so that only those due soon are in memory; split Poisson counts stay Poisson. */
const BANDS = [
  [0, 30],
  [30, 90],
  [90, 180],
  [180, 365],
  [365, 800],
] as const;

/** Fairs and slow days; the mean is 1. Invented. */
const DAY_FACTORS = [1, 1.5, 0.6];
const DAY_FACTOR_WEIGHTS = new Weights([88, 5, 7]);
const STREAMS_A_DAY = 8;
const FACTOR_STREAM = 6;
const GROUP_STREAM = 7;

interface Band {
  readonly from: number;
  readonly to: number;
}

const NO_BAND: Band = { from: 0, to: 0 };

function placeOf(value: number, quantiles: readonly number[]): number {
  const steps = quantiles.length - 1;
  const at = quantiles.findIndex((quantile) => quantile >= value);
  if (at === -1) return steps;
  if (at === 0) return 0;
  const [low, high] = [quantiles[at - 1] as number, quantiles[at] as number];
  return at - 1 + (value - low) / (high - low);
}

function bandsOf({ leadDays }: SegmentCalibration): Band[] {
  const place = (lead: number) => (lead === 0 ? 0 : placeOf(lead - 0.5, leadDays));
  return BANDS.map(([from, to]) => ({ from: place(from), to: place(to) }));
}

export class Demand {
  readonly tables: StayTables;
  /** Days before the first arrival from which bookings must be drawn. */
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

  groups(arrival: number): PlannedGroup[] {
    const calibration = this.tables.segments.get("GRP")?.calibration;
    if (calibration === undefined) return [];
    const random = this.#stream(arrival, GROUP_STREAM);
    const members = this.#arrivals("GRP", calibration, arrival);
    const count = drawCount(random, members / (meanMembers(this.tables) * GROUPS_THAT_ARE_KEPT));
    return Array.from({ length: count }, () => planGroup(random, this.tables, arrival));
  }

  #arrivals(segment: SegmentCode, { arrivals, weekdays }: SegmentCalibration, arrival: number): number {
    const { demand } = this.tables.profile;
    const day = ((arrivals[monthOf(arrival)] ?? 0) * (weekdays[weekdayOf(arrival)] ?? 0)) / 1_000_000;
    // Complimentary rooms and crews do not follow fairs.
    if (segment === "CMP" || segment === "AVI") return demand * day;
    const factor = DAY_FACTOR_WEIGHTS.draw(this.#stream(arrival, FACTOR_STREAM));
    return demand * day * (DAY_FACTORS[factor] as number);
  }

  #stream(arrival: number, use: number): SeededRandom {
    return SeededRandom.stream(this.#seed, arrival * STREAMS_A_DAY + use);
  }
}
