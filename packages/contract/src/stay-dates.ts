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
    let low = 0;
    let high = this.#arrivals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#arrivals[middle] as number) <= day) low = middle + 1;
      else high = middle;
    }
    return day <= (this.#departures[low - 1] ?? Number.NEGATIVE_INFINITY);
  }
}
