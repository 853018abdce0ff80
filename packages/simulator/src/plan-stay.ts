import {
  CALIBRATION,
  type HotelCalibration,
  type HotelProfile,
  LEAD_CLASSES,
  type SegmentCalibration,
  type SegmentCode,
} from "./hotel-profile.ts";
import type { EarlierVersion, PlannedStay } from "./planned.ts";
import { planSteps } from "./planned.ts";
import { drawQuantile, drawQuantileBetween, type SeededRandom, Weights } from "./random.ts";
import { monthOf } from "./simulated-record.ts";

/** What is drawn from of one segment, made ready once. */
interface SegmentTables {
  readonly calibration: SegmentCalibration;
  readonly nights: Weights;
  readonly channels: Weights;
  readonly boards: Weights;
  readonly parties: Weights;
}

/** What is drawn from of one hotel. */
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

  /** How probable it is that a booking so many days ahead is cancelled or not taken up, 0 to 1. */
  failing(segment: SegmentCode, lead: number): number {
    const { cancelled } = this.of(segment).calibration;
    return (cancelled[LEAD_CLASSES.findLastIndex((from) => from <= lead)] ?? 0) / 1_000;
  }

  /** A room and night of a type on an arrival of this day, in cents, by the segment's rates. */
  drawRate(random: SeededRandom, segment: SegmentCode, arrival: number, type: number): number {
    const part = drawQuantile(random, this.of(segment).calibration.rates);
    const { priceLevel, roomTypes } = this.profile;
    const cents = this.calibration.rateCents[monthOf(arrival)] ?? 0;
    return Math.max(0, Math.round((cents * part * priceLevel * (roomTypes[type]?.ratePart ?? 1_000)) / 1e9));
  }
}

const SEVERAL_ROOMS_IN = 40;
const MORE_A_CHANGE_CENTS = 750;

/** What is known of a stay before the rest is drawn: members of a group have it in common. */
export interface StayFrame {
  readonly segment: SegmentCode;
  readonly arrival: number;
  readonly lead: number;
  readonly nights: number;
  readonly type: number;
  readonly rateCents: number;
  readonly fails: boolean;
  /** Of the group it belongs to; undefined where it belongs to none. */
  readonly isMember: boolean;
}

/** A stay of a segment that arrives on a day, by the calibration; its lead time is between two places among the quantiles. */
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

/** Draws what is left of a stay: party, channel, board, guest, changes and steps. */
export function completeStay(random: SeededRandom, tables: StayTables, frame: StayFrame): PlannedStay {
  const { segment, arrival, lead, nights, type, rateCents, fails, isMember } = frame;
  const of = tables.of(segment);
  const { channels, boards, parties } = of.calibration;
  const [adults, children, infants] = parties[of.parties.draw(random)] as readonly [
    number,
    number,
    number,
    number,
  ];
  const several = !isMember && nights > 0 && random.between(1, SEVERAL_ROOMS_IN) === 1;
  const changes = tables.changes.draw(random);
  const earlier = Array.from({ length: changes }, (_, at) =>
    earlierVersion(random, tables, { nights, type, adults, rateCents, isMember, changesLeft: changes - at }),
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
    steps: planSteps(random, { arrival, nights, lead, changes, fails }),
    earlier,
    moves: !isMember && random.chance(tables.calibration.reassigned / 1_000),
    fails,
    guest: random.next(),
  };
}

interface ToChange {
  readonly nights: number;
  readonly type: number;
  readonly adults: number;
  readonly rateCents: number;
  readonly isMember: boolean;
  readonly changesLeft: number;
}

/** What a version before the last one said, invented: the data set tells how often a booking was changed, not what. */
function earlierVersion(random: SeededRandom, tables: StayTables, last: ToChange): EarlierVersion {
  const what = random.between(1, 20);
  const moreRate = { rateCents: last.rateCents + last.changesLeft * MORE_A_CHANGE_CENTS };
  if (what <= 8 && last.nights >= 1 && !last.isMember) {
    const longer = last.nights === 1 || random.chance(0.5);
    return { nights: last.nights + (longer ? 1 : -1) };
  }
  if (what <= 10 && !last.isMember) return { type: tables.types.draw(random) };
  if (what <= 13) return { adults: last.adults > 1 ? last.adults - 1 : last.adults + 1 };
  return last.rateCents === 0 ? {} : moreRate;
}
