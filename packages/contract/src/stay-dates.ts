import { placeAbove } from "./place-above.ts";

/**
 * The dates of all stays of a reservation, including departures. Overlapping stays are merged, so that checking a hostile record takes
 * O(n log n). Dates are comparable numbers.
 */
export class StayDates {
  readonly #arrivals: number[] = [];
  readonly #departures: number[] = [];

  /** `stays` may be in any order. */
  constructor(stays: (readonly [arrival: number, departure: number])[]) {
    for (const [arrival, departure] of stays.sort(([one], [other]) => one - other)) {
      const last = this.#departures.length - 1;
      const reached = this.#departures[last];
      if (reached === undefined || arrival > reached) {
        this.#arrivals.push(arrival);
        this.#departures.push(departure);
      } else if (departure > reached) this.#departures[last] = departure;
    }
  }

  has(day: number): boolean {
    return day <= (this.#departures[placeAbove(this.#arrivals, day) - 1] ?? Number.NEGATIVE_INFINITY);
  }
}
