import { completeStay, type StayTables } from "./plan-stay.ts";
import type { Booking, PlannedStay } from "./planned.ts";
import type { SeededRandom } from "./seeded-random.ts";

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
    ...{ segment, arrival, type, isMember: true },
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
export function relateStay(random: SeededRandom, tables: StayTables, stay: PlannedStay): Booking {
  const { adults, nights, fails } = stay;
  const draw = random.between(1, SHARED_IN * LINKED_IN);
  if (draw % SHARED_IN === 0 && adults === 2 && nights >= 2 && !fails)
    return { relation: "shared", stays: shareStay(random, tables, stay) };
  if (draw % LINKED_IN === 1 && nights >= 1)
    return { relation: "linked", stays: linkStay(random, tables, stay) };
  return { relation: "single", stays: [stay] };
}
