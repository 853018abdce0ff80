import type { RoomType } from "./hotel-profile.ts";

/** What rooms of a night are taken by. */
export type TakenBy = "transient" | "group" | "held" | "maintenance" | "other";

/** Rooms of one hotel by room type and night, and what they are taken by. */
export class RoomBooks {
  readonly types: readonly RoomType[];
  readonly firstDay: number;
  readonly days: number;
  readonly #counts: Readonly<Record<TakenBy, Int32Array>>;
  /** Nights whose counts differ from when they were last told. */
  readonly #isTouched: Uint8Array;

  constructor(types: readonly RoomType[], firstDay: number, days: number) {
    this.types = types;
    this.firstDay = firstDay;
    this.days = days;
    const counts = () => new Int32Array(days * types.length);
    this.#counts = {
      transient: counts(),
      group: counts(),
      held: counts(),
      maintenance: counts(),
      other: counts(),
    };
    this.#isTouched = new Uint8Array(days).fill(1);
  }

  /** Rooms of a type on a night; none outside of the days that are counted. */
  count(by: TakenBy, type: number, day: number): number {
    return this.#counts[by][this.#at(type, day)] ?? 0;
  }

  take(by: TakenBy, type: number, day: number, rooms: number): void {
    const at = this.#at(type, day);
    const counts = this.#counts[by];
    if (at < 0 || at >= counts.length) return;
    counts[at] = (counts[at] as number) + rooms;
    this.#isTouched[day - this.firstDay] = 1;
  }

  /** Rooms that can still be sold on each of some nights; rooms held for groups are not among them. */
  free(type: number, from: number, nights: number): number {
    let least = Number.MAX_SAFE_INTEGER;
    const { rooms } = this.types[type] as RoomType;
    const { transient, group, held, maintenance, other } = this.#counts;
    for (let day = from; day < from + nights; day += 1) {
      const at = this.#at(type, day);
      if (at < 0 || at >= transient.length) continue;
      const taken =
        (transient[at] as number) +
        (group[at] as number) +
        (held[at] as number) +
        (maintenance[at] as number) +
        (other[at] as number);
      if (rooms - taken < least) least = rooms - taken;
    }
    return least;
  }

  isTouched(day: number): boolean {
    return this.#isTouched[day - this.firstDay] === 1;
  }

  told(day: number): void {
    this.#isTouched[day - this.firstDay] = 0;
  }

  touch(day: number): void {
    if (day >= this.firstDay && day < this.firstDay + this.days) this.#isTouched[day - this.firstDay] = 1;
  }

  #at(type: number, day: number): number {
    return day < this.firstDay ? -1 : (day - this.firstDay) * this.types.length + type;
  }
}
