import { drawQuantile, Weights } from "./draw.ts";
import { completeStay, type StayTables } from "./plan-stay.ts";
import type { PlannedGroup, PlannedStay } from "./planned.ts";
import type { SeededRandom } from "./seeded-random.ts";

const SIZES = [5, 6, 8, 10, 12, 15, 20, 28, 40];
/** The mean of the above by equal steps. */
const MEAN_SIZE = 15.2;
/** A house for which the sizes are as they stand; smaller ones have smaller groups. */
const ROOMS_OF_SIZES = 180;
/** Rooms that are asked for and never picked up, in thousandths: quantiles. */
const NEVER_PICKED_UP = [0, 50, 100, 150, 200, 280, 400];
const MEAN_NEVER_PICKED_UP = 163;
const LOST_IN = 5;
export const GROUPS_THAT_ARE_KEPT = 1 - 1 / LOST_IN;
const CUTOFF_DAYS = new Weights([
  0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1,
]);
/** Of one member alone; the rest of what is cancelled goes with the whole group. */
const MEMBER_FAILS_MOST = 0.15;
const LEAVES_EARLY_IN = 10;

const sizeFactor = (tables: StayTables): number => Math.min(1.2, tables.profile.rooms / ROOMS_OF_SIZES);

/** Members of a group on average, by which arrivals of the segment become groups. */
export function meanMembers(tables: StayTables): number {
  return MEAN_SIZE * sizeFactor(tables) * (1 - MEAN_NEVER_PICKED_UP / 1_000);
}

/** A group that arrives on a day. */
export function planGroup(random: SeededRandom, tables: StayTables, arrival: number): PlannedGroup {
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
