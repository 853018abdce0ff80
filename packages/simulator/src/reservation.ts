import type { GroupBlock } from "./group-block.ts";
import type { StayState } from "./hotel-profile.ts";
import type { PlannedStay } from "./planned.ts";
import type { StayStep } from "./stay-steps.ts";

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
