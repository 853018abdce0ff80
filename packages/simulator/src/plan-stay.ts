import {
  CALIBRATION,
  type HotelCalibration,
  type HotelProfile,
  LEAD_CLASSES,
  type SegmentCalibration,
  type SegmentCode,
} from "./hotel-profile.ts";
import { drawQuantile, drawQuantileBetween, type SeededRandom, Weights } from "./random.ts";
import { monthOf } from "./simulated-record.ts";

interface EarlierVersion {
  readonly nights?: number;
  readonly type?: number;
  readonly adults?: number;
  readonly rateCents?: number;
}

/** A booking before the hotel receives it. */
export interface PlannedStay {
  readonly segment: SegmentCode;
  readonly channel: string;
  readonly board: string;
  readonly nationality: string;
  /** Days since 1970. */
  readonly arrival: number;
  readonly nights: number;
  readonly type: number;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly infants: number;
  /** The sharer's part of the weekday rate per room and night, net. */
  readonly rateCents: number;
  readonly steps: readonly StayStep[];
  /** For each later change: the previous values. */
  readonly earlier: readonly EarlierVersion[];
  /** Gets another room type on arrival, if one is free. */
  readonly moves: boolean;
  /** Will be cancelled or become a no-show. */
  readonly fails: boolean;
  /** Identifies the guest, and determines spending. */
  readonly guest: number;
}

/** One booker's reservations: one, two that share a room, or several linked. */
export interface Booking {
  readonly relation: "single" | "shared" | "linked";
  readonly stays: readonly PlannedStay[];
}

export interface PlannedGroup {
  readonly arrival: number;
  readonly nights: number;
  readonly rooms: readonly number[];
  readonly rateCents: number;
  /** Days of booking, decision and cancellation. */
  readonly bookedDay: number;
  readonly decidedDay: number;
  readonly isLost: boolean;
  readonly cancelledDay: number | undefined;
  /** The part of the rooms not picked up that is released half way to the cutoff, in thousandths. */
  readonly washDay: number;
  readonly washPart: number;
  readonly cutoffDays: number;
  readonly members: readonly PlannedStay[];
  readonly name: number;
}

type StayEvent = "booked" | "changed" | "cancelled" | "no-show" | "checked-in" | "checked-out" | "corrected";

export interface StayStep {
  readonly event: StayEvent;
  readonly day: number;
  /** Second of the day, UTC. */
  readonly second: number;
}

const HOUR = 3_600;
/** Invented, as are all hours. */
const BOOKING_HOURS = new Weights([1, 1, 1, 1, 1, 2, 4, 6, 9, 10, 10, 9, 8, 8, 9, 9, 9, 8, 8, 9, 10, 8, 5]);
/** Part of the lead time after which a booking is cancelled: quantiles. */
const CANCELLED_AFTER = [0, 0.01, 0.03, 0.08, 0.2, 0.4, 0.6, 0.76, 0.87, 0.94, 0.98, 1];
/** One in this many. The data set does not distinguish no-shows from cancellations. */
const NO_SHOW_IN = 37;
const CORRECTED_IN = 40;
/** Before the night audit at 23:30. */
const LAST_SECOND = 23 * HOUR + 1_500;
const NIGHT_AUDIT_SECOND = 23 * HOUR + 1_800;
const NIGHT_AUDIT_SECONDS = 480;

function within(random: SeededRandom, fromHour: number, toHour: number): number {
  return random.between(fromHour * HOUR, toHour * HOUR - 1);
}

function planSteps(random: SeededRandom, frame: StayFrame, changes: number): StayStep[] {
  const { arrival, nights, lead, fails } = frame;
  const bookedDay = arrival - lead;
  const bookedAt = BOOKING_HOURS.draw(random) * HOUR + random.between(0, HOUR - 1);
  const steps: StayStep[] = [
    {
      event: "booked",
      day: bookedDay,
      second: lead === 0 ? Math.min(bookedAt, 19 * HOUR + (bookedAt % HOUR)) : bookedAt,
    },
  ];
  const add = (event: StayEvent, day: number, second: number): void => {
    const last = steps.at(-1) as StayStep;
    const later = day > last.day || (day === last.day && second > last.second);
    const at = later ? { day, second } : { day: last.day, second: last.second + 60 + (second % 600) };
    if (event === "changed" && at.second > LAST_SECOND - HOUR) return;
    steps.push({ event, day: at.day, second: at.second });
  };
  const isNoShow = fails && random.between(1, NO_SHOW_IN) === 1;
  const endDay =
    fails && !isNoShow ? bookedDay + Math.floor(lead * drawQuantile(random, CANCELLED_AFTER)) : arrival;
  for (let change = 1; change <= changes; change += 1) {
    const day = bookedDay + Math.floor(((endDay - bookedDay) * change) / (changes + 1));
    add("changed", day, within(random, 8, 20));
  }
  if (isNoShow) add("no-show", arrival, NIGHT_AUDIT_SECOND + random.between(0, NIGHT_AUDIT_SECONDS - 1));
  else if (fails) add("cancelled", endDay, within(random, 7, endDay === arrival ? 18 : 22));
  else {
    add("checked-in", arrival, within(random, 13, 23));
    add("checked-out", arrival + nights, nights === 0 ? within(random, 16, 22) : within(random, 6, 11));
    if (random.between(1, CORRECTED_IN) === 1)
      add("corrected", arrival + nights + random.between(1, 5), within(random, 8, 17));
  }
  return steps;
}

interface SegmentTables {
  readonly calibration: SegmentCalibration;
  readonly nights: Weights;
  readonly channels: Weights;
  readonly boards: Weights;
  readonly parties: Weights;
}

export class StayTables {
  readonly profile: HotelProfile;
  readonly calibration: HotelCalibration;
  readonly segments: ReadonlyMap<SegmentCode, SegmentTables>;
  readonly types: Weights;
  readonly changes: Weights;
  readonly nationalities: Weights;

  constructor(profile: HotelProfile) {
    const calibration = CALIBRATION[profile.kind];
    const counts = (pairs: readonly (readonly [...unknown[], number])[]) =>
      new Weights(pairs.map((pair) => Number(pair.at(-1))));
    this.profile = profile;
    this.calibration = calibration;
    this.types = new Weights(profile.roomTypes.map(({ rooms }) => rooms));
    this.changes = new Weights(calibration.changes);
    this.nationalities = counts(calibration.nationalities);
    const segments = Object.entries(calibration.segments) as [SegmentCode, SegmentCalibration][];
    this.segments = new Map(
      segments.map(([code, segment]) => [
        code,
        {
          calibration: segment,
          nights: new Weights(segment.nights),
          channels: counts(segment.channels),
          boards: counts(segment.boards),
          parties: counts(segment.parties),
        },
      ]),
    );
  }

  of(segment: SegmentCode): SegmentTables {
    const tables = this.segments.get(segment);
    if (tables === undefined) throw new RangeError(`A ${this.profile.kind} has no segment ${segment}.`);
    return tables;
  }

  /** Probability of cancellation or no-show, 0 to 1. */
  failing(segment: SegmentCode, lead: number): number {
    const { cancelled } = this.of(segment).calibration;
    return (cancelled[LEAD_CLASSES.findLastIndex((from) => from <= lead)] ?? 0) / 1_000;
  }

  /** Cents per room and night. */
  drawRate(random: SeededRandom, segment: SegmentCode, arrival: number, type: number): number {
    const part = drawQuantile(random, this.of(segment).calibration.rates);
    const { priceLevel, roomTypes } = this.profile;
    const cents = this.calibration.rateCents[monthOf(arrival)] ?? 0;
    return Math.max(0, Math.round((cents * part * priceLevel * (roomTypes[type]?.ratePart ?? 1_000)) / 1e9));
  }
}

const SEVERAL_ROOMS_IN = 40;
const MORE_A_CHANGE_CENTS = 750;

interface StayFrame {
  readonly segment: SegmentCode;
  readonly arrival: number;
  readonly lead: number;
  readonly nights: number;
  readonly type: number;
  readonly rateCents: number;
  readonly fails: boolean;
  /** Whether it belongs to a group. */
  readonly isMember: boolean;
}

/** Draws a stay from the calibration, with a lead time between two quantiles. */
export function planStay(
  random: SeededRandom,
  tables: StayTables,
  segment: SegmentCode,
  arrival: number,
  leads: { readonly from: number; readonly to: number },
): PlannedStay {
  const { calibration, nights } = tables.of(segment);
  const lead = Math.round(drawQuantileBetween(random, calibration.leadDays, leads.from, leads.to));
  const type = tables.types.draw(random);
  return completeStay(random, tables, {
    segment,
    arrival,
    lead,
    nights: nights.draw(random),
    type,
    rateCents: tables.drawRate(random, segment, arrival, type),
    fails: random.chance(tables.failing(segment, lead)),
    isMember: false,
  });
}

export function completeStay(random: SeededRandom, tables: StayTables, frame: StayFrame): PlannedStay {
  const { segment, arrival, nights, type, rateCents, fails, isMember } = frame;
  const of = tables.of(segment);
  const { channels, boards, parties } = of.calibration;
  const [adults, children, infants] = parties[of.parties.draw(random)] as (typeof parties)[number];
  const several = !isMember && nights > 0 && random.between(1, SEVERAL_ROOMS_IN) === 1;
  const changes = tables.changes.draw(random);
  const earlier = Array.from({ length: changes }, (_, at) =>
    earlierVersion(random, tables, frame, adults, changes - at),
  );
  return {
    segment,
    channel: channels[of.channels.draw(random)]?.[0] ?? "Direct",
    board: boards[of.boards.draw(random)]?.[0] ?? "SC",
    nationality: tables.calibration.nationalities[tables.nationalities.draw(random)]?.[0] ?? "PRT",
    arrival,
    nights,
    type,
    rooms: several ? random.between(2, 3) : 1,
    adults,
    children,
    infants,
    rateCents,
    steps: planSteps(random, frame, changes),
    earlier,
    moves: !isMember && random.chance(tables.calibration.reassigned / 1_000),
    fails,
    guest: random.next(),
  };
}

/** Invented: the data set states how often a booking changed, not what. */
function earlierVersion(
  random: SeededRandom,
  tables: StayTables,
  { nights, rateCents, isMember }: StayFrame,
  adults: number,
  changesLeft: number,
): EarlierVersion {
  const what = random.between(1, 20);
  if (what <= 8 && nights >= 1 && !isMember) {
    const longer = nights === 1 || random.chance(0.5);
    return { nights: nights + (longer ? 1 : -1) };
  }
  if (what <= 10 && !isMember) return { type: tables.types.draw(random) };
  if (what <= 13) return { adults: adults > 1 ? adults - 1 : adults + 1 };
  return rateCents === 0 ? {} : { rateCents: rateCents + changesLeft * MORE_A_CHANGE_CENTS };
}
