import type { GroupState, StayState } from "./hotel-profile.ts";
import type { PlannedGroup, PlannedStay, StayStep } from "./planned.ts";

/** A reservation as the hotel has it. */
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
  /** As planned, unless it has to wait for a room. */
  steps: readonly StayStep[];
  /** How many of them it has behind it, and how many changes. */
  step = 0;
  changed = 0;
  /** Whether its rooms are taken in the hotel's counts. */
  holds = false;
  /** Corrected after departure so often. */
  corrections = 0;
  roomNumber: string | undefined;
  /** The other one of a shared room. */
  sharer: Reservation | undefined;
  shareId: string | undefined;
  /** Linked reservations of one booker. */
  linkId: string | undefined;
  /** A fault that was planted in it, so that no other one is. */
  planted: string | undefined;
  /** The source time of its newest version that was sent. */
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

  /** Whether nothing more happens to its rooms. */
  get isOver(): boolean {
    return this.state === "cancelled" || this.state === "no-show" || this.state === "checked-out";
  }

  /** Whether a night, of those it holds, is its own: who shares a room with another one covers the same nights. */
  covers(day: number): boolean {
    return this.holds && this.planned.arrival <= day && day < this.departure;
  }
}

/** Rooms of one type that a group has on one night. */
export interface NightBlock {
  readonly day: number;
  readonly type: number;
  blocks: number;
  readonly originalBlocks: number;
  pickup: number;
}

/** A group as the hotel has it: its rooms by night and type, and how many are picked up. */
export class GroupBlock {
  readonly planned: PlannedGroup;
  readonly code: string;
  state: GroupState = "tentative";
  readonly nights: readonly NightBlock[];
  bookedDay = 0;
  cancelledDay: number | undefined;
  /** Whether its master has changed since it was last told. */
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

  /** Rooms that are held and not picked up. */
  heldOf({ blocks, pickup }: NightBlock): number {
    return this.state === "definite" ? blocks - pickup : 0;
  }
}
