import type { GroupState, StayState } from "./hotel-profile.ts";
import type { PlannedGroup, PlannedStay, StayStep } from "./plan-stay.ts";

export class Reservation {
  readonly planned: PlannedStay;
  readonly group: GroupBlock | undefined;
  id = "";
  state: StayState = "reserved";
  nights: number;
  type: number;
  bookedType: number;
  adults: number;
  rateCents: number;
  bookedDay = 0;
  bookedSecond = 0;
  modifiedDay = 0;
  modifiedSecond = 0;
  /** As planned, unless the guest has to wait for a room. */
  steps: readonly StayStep[];
  /** Number of completed steps and changes. */
  step = 0;
  changed = 0;
  /** Whether its rooms are in the hotel's counts. */
  holds = false;
  corrections = 0;
  roomNumber: string | undefined;
  /** The reservation that shares its room. */
  sharer: Reservation | undefined;
  shareId: string | undefined;
  linkId: string | undefined;
  /** The planted fault, at most one. */
  planted: string | undefined;
  /** The source time of the newest version sent. */
  sentAt = -1;

  constructor(planned: PlannedStay, group?: GroupBlock) {
    this.planned = planned;
    this.group = group;
    this.steps = planned.steps;
    const [first = {}] = planned.earlier;
    this.nights = first.nights ?? planned.nights;
    this.type = first.type ?? planned.type;
    this.bookedType = this.type;
    this.adults = first.adults ?? planned.adults;
    this.rateCents = first.rateCents ?? planned.rateCents;
  }

  get departure(): number {
    return this.planned.arrival + this.nights;
  }

  /** Its rooms no longer change. */
  get isOver(): boolean {
    return this.state === "cancelled" || this.state === "no-show" || this.state === "checked-out";
  }

  /** Whether it includes this night. */
  covers(day: number): boolean {
    return this.holds && this.planned.arrival <= day && day < this.departure;
  }
}

export interface NightBlock {
  readonly day: number;
  readonly type: number;
  blocks: number;
  readonly originalBlocks: number;
  pickup: number;
}

/** A group's rooms by night and type, and how many are picked up. */
export class GroupBlock {
  readonly planned: PlannedGroup;
  readonly code: string;
  state: GroupState = "tentative";
  readonly nights: readonly NightBlock[];
  /** Reservations that hold rooms. */
  readonly members = new Set<Reservation>();
  bookedDay = 0;
  cancelledDay: number | undefined;
  /** Changed since it was last sent. */
  isTouched = true;

  constructor(planned: PlannedGroup, code: string) {
    this.planned = planned;
    this.code = code;
    this.nights = Array.from({ length: planned.nights }, (_, night) => planned.arrival + night).flatMap(
      (day) =>
        planned.rooms.flatMap((rooms, type) =>
          rooms === 0 ? [] : [{ day, type, blocks: rooms, originalBlocks: rooms, pickup: 0 }],
        ),
    );
  }

  nightOf(type: number, day: number): NightBlock | undefined {
    return this.nights.find((night) => night.type === type && night.day === day);
  }

  heldOf({ blocks, pickup }: NightBlock): number {
    return this.state === "definite" ? blocks - pickup : 0;
  }
}
