import type { SegmentCode } from "./calibration.ts";
import type { StayStep } from "./stay-steps.ts";

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
