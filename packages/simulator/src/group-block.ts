import type { GroupState } from "./hotel-profile.ts";
import type { PlannedGroup } from "./planned.ts";

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
