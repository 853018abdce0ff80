import { placeAbove } from "#contract/place-above.ts";

/** A stay, by days since any date; day use has one day. */
export interface CoveringStay {
  readonly arrival: number;
  readonly days: number;
}

/** Receives the days from `from` to before `to` of a stay: how many stays cover each, and how many of those come before it. */
type TakeDays = (from: number, to: number, place: number, covering: number) => void;

/** The days of a stay as segments from `first` on, and its place among the stays of each. */
interface Places {
  readonly first: number;
  readonly places: Int32Array;
}

/** The index of the last of ascending numbers that is not above `limit`; -1 without one. */
const placeOf = (ascending: Int32Array, limit: number): number => placeAbove(ascending, limit) - 1;

/**
 * The days that stays share, in segments which all of their stays cover, so that ten stays of a year cost no more than ten of a night.
 * A day of `apart` is a segment of its own.
 */
export class SharedDays<Stay extends CoveringStay> {
  /** Ascending: where one segment ends and the next begins. */
  readonly #bounds: Int32Array;
  /** How many stays cover each segment. */
  readonly #covering: Int32Array;
  readonly #places = new Map<Stay, Places>();

  /** `stays` come in the order in which they get the rooms of a day. */
  constructor(stays: readonly Stay[], apart: readonly number[]) {
    const ends = stays.flatMap(({ arrival, days }) => [arrival, arrival + days]);
    this.#bounds = Int32Array.from(new Set([...ends, ...apart.flatMap((day) => [day, day + 1])])).sort();
    this.#covering = new Int32Array(this.#bounds.length);
    for (const stay of stays) {
      const first = placeOf(this.#bounds, stay.arrival);
      const end = placeOf(this.#bounds, stay.arrival + stay.days);
      const places = this.#covering.slice(first, end);
      this.#places.set(stay, { first, places });
      for (let segment = first; segment < end; segment += 1)
        this.#covering[segment] = (this.#covering[segment] as number) + 1;
    }
  }

  /** Calls `take` with the segments of a stay in order. */
  eachOf(stay: Stay, take: TakeDays): void {
    const { first, places } = this.#places.get(stay) as Places;
    for (const [at, place] of places.entries()) {
      const [from, to] = [this.#bounds[first + at] as number, this.#bounds[first + at + 1] as number];
      take(from, to, place, this.#covering[first + at] as number);
    }
  }

  /** Whether a stay has this day. */
  covers(day: number): boolean {
    return (this.#covering[placeOf(this.#bounds, day)] ?? 0) > 0;
  }
}
