import type { SegmentCode } from "./hotel-profile.ts";
import type { SeededRandom } from "./random.ts";
import { drawQuantile, Weights } from "./random.ts";

/** What a version before the last one says otherwise: the last one leaves what was drawn. */
export interface EarlierVersion {
  readonly nights?: number;
  readonly type?: number;
  readonly adults?: number;
  readonly rateCents?: number;
}

/** What is known of a guest's booking before the hotel knows of it. */
export interface PlannedStay {
  readonly segment: SegmentCode;
  readonly channel: string;
  readonly board: string;
  readonly nationality: string;
  /** Days from 1970. */
  readonly arrival: number;
  readonly nights: number;
  readonly type: number;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly infants: number;
  /** A room and night on a weekday of the sharer's part, net. */
  readonly rateCents: number;
  readonly steps: readonly StayStep[];
  /** One for each change that is to come: what was told before it. */
  readonly earlier: readonly EarlierVersion[];
  /** Given another room type at arrival, if there is room. */
  readonly moves: boolean;
  /** Cancelled or not taken up in the end. */
  readonly fails: boolean;
  /** Tells guests apart, and what they spend. */
  readonly guest: number;
}

/** What one booker books at once: a reservation, two that share a room, or several that are linked. */
export interface Booking {
  readonly relation: "single" | "shared" | "linked";
  readonly stays: readonly PlannedStay[];
}

/** A group before the hotel knows of it. All of it is invented but its members' lead times, nights and cancellations. */
export interface PlannedGroup {
  readonly arrival: number;
  readonly nights: number;
  /** Rooms a night, by room type. */
  readonly rooms: readonly number[];
  readonly rateCents: number;
  /** Days on which it is entered, decided and given up; the last only where it is. */
  readonly bookedDay: number;
  readonly decidedDay: number;
  readonly isLost: boolean;
  readonly cancelledDay: number | undefined;
  /** Some of the rooms are given back half way to the cutoff, in thousandths of those not picked up. */
  readonly washDay: number;
  readonly washPart: number;
  readonly cutoffDays: number;
  readonly members: readonly PlannedStay[];
  readonly name: number;
}

/** What happens to a reservation. */
export type StayEvent =
  | "booked"
  | "changed"
  | "cancelled"
  | "no-show"
  | "checked-in"
  | "checked-out"
  | "corrected";

export interface StayStep {
  readonly event: StayEvent;
  readonly day: number;
  /** Of the day, UTC. */
  readonly second: number;
}

const HOUR = 3_600;
/** Guests book in the evening most. Invented, as are all hours. */
const BOOKING_HOURS = new Weights([1, 1, 1, 1, 1, 2, 4, 6, 9, 10, 10, 9, 8, 8, 9, 9, 9, 8, 8, 9, 10, 8, 5]);
/** When the part of the lead time has passed after which half of those who cancel have done so: soon, or towards arrival. */
const CANCELLED_AFTER = [0, 0.01, 0.03, 0.08, 0.2, 0.4, 0.6, 0.76, 0.87, 0.94, 0.98, 1];
/** The data set does not tell who did not come from who cancelled. */
const NO_SHOW_IN = 37;
const CORRECTED_IN = 40;
/** Before the night's audit, at 23:30. */
const LAST_SECOND = 23 * HOUR + 1_500;
const NIGHT_AUDIT_SECOND = 23 * HOUR + 1_800;
const NIGHT_AUDIT_SECONDS = 480;

function within(random: SeededRandom, fromHour: number, toHour: number): number {
  return random.between(fromHour * HOUR, toHour * HOUR - 1);
}

export interface StayCourse {
  readonly arrival: number;
  readonly nights: number;
  readonly lead: number;
  readonly changes: number;
  readonly fails: boolean;
}

/** The steps of a reservation in their order, each later than the one before. */
export function planSteps(random: SeededRandom, course: StayCourse): StayStep[] {
  const { arrival, nights, lead, changes, fails } = course;
  const bookedDay = arrival - lead;
  const bookedAt = BOOKING_HOURS.draw(random) * HOUR + random.between(0, HOUR - 1);
  // Who books for the same day does so before the evening.
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
