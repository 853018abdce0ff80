import type { FrontDesk } from "./front-desk.ts";
import type { PlannedGroup } from "./planned.ts";
import { GroupBlock } from "./reservation.ts";

/** What happens to a group. */
export type GroupEvent = "asked" | "decided" | "washed" | "cut-off" | "given-up";

export interface GroupStep {
  readonly group: GroupBlock;
  readonly event: GroupEvent;
}

const HOUR = 3_600;
const SECOND_OF: Readonly<Record<GroupEvent, number>> = {
  asked: 9 * HOUR,
  "given-up": 10 * HOUR,
  decided: 11 * HOUR,
  washed: 15 * HOUR,
  "cut-off": 16 * HOUR,
};

/** Decides on groups: what they hold, give back and lose. */
export class GroupDesk {
  readonly #desk: FrontDesk;
  readonly #prefix: string;
  #groups = 0;
  /** All that may still change. */
  readonly open = new Set<GroupBlock>();

  constructor(desk: FrontDesk, prefix: string) {
    this.#desk = desk;
    this.#prefix = prefix;
  }

  /** A group's steps, with their days and seconds. */
  stepsOf(planned: PlannedGroup): {
    group: GroupBlock;
    steps: { day: number; second: number; step: GroupStep }[];
  } {
    this.#groups += 1;
    const group = new GroupBlock(planned, `${this.#prefix}${String(this.#groups).padStart(4, "0")}`);
    const { bookedDay, decidedDay, washDay, arrival, cutoffDays, cancelledDay } = planned;
    const days: [GroupEvent, number | undefined][] = [
      ["asked", bookedDay],
      ["decided", decidedDay],
      ["washed", washDay > decidedDay ? washDay : undefined],
      ["cut-off", arrival - cutoffDays > decidedDay ? arrival - cutoffDays : undefined],
      ["given-up", cancelledDay],
    ];
    const steps = days.flatMap(([event, day]) =>
      day === undefined ? [] : [{ day, second: SECOND_OF[event], step: { group, event } }],
    );
    return { group, steps };
  }

  /** Does a step. Those whose reservations are to be cancelled with it are the caller's. */
  happen({ group, event }: GroupStep, day: number): void {
    const { planned } = group;
    if (event === "asked") {
      group.bookedDay = day;
      this.open.add(group);
    } else if (event === "decided") {
      const holds = !planned.isLost && this.#desk.holdBlock(group.nights);
      group.state = holds ? "definite" : "lost";
    } else if (group.state !== "definite") return;
    else if (event === "washed") this.#desk.wash(group.nights, planned.washPart);
    else if (event === "cut-off") this.#desk.wash(group.nights, 1_000);
    else {
      this.#desk.wash(group.nights, 1_000);
      group.state = "cancelled";
      group.cancelledDay = day;
    }
    group.isTouched = true;
  }

  /** Groups whose masters have changed since they were last told; what is over is forgotten. */
  touched(day: number): GroupBlock[] {
    const touched: GroupBlock[] = [];
    for (const group of this.open) {
      if (group.isTouched) touched.push(group);
      group.isTouched = false;
      if (group.planned.arrival + group.planned.nights < day) this.open.delete(group);
    }
    return touched;
  }
}
