/**
 * The dates of all stays of a reservation, days of departure included. Overlapping stays are merged once, so that a
 * hostile record of many stays and many days costs n log n to check and not n squared.
 */
export class StayDates {
  readonly #arrivals: string[] = [];
  readonly #departures: string[] = [];

  constructor(stays: readonly { readonly arrivalDate: string; readonly departureDate: string }[]) {
    const byArrival =
      stays.length < 2 ? stays : [...stays].sort((a, b) => (a.arrivalDate < b.arrivalDate ? -1 : 1));
    for (const { arrivalDate, departureDate } of byArrival) {
      const last = this.#departures.length - 1;
      const reached = this.#departures[last];
      if (reached === undefined || arrivalDate > reached) {
        this.#arrivals.push(arrivalDate);
        this.#departures.push(departureDate);
      } else if (departureDate > reached) {
        this.#departures[last] = departureDate;
      }
    }
  }

  /** Whether a date (`YYYY-MM-DD`) lies within any stay. */
  has(date: string): boolean {
    let low = 0;
    let high = this.#arrivals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#arrivals[middle] as string) <= date) low = middle + 1;
      else high = middle;
    }
    const departure = this.#departures[low - 1];
    return departure !== undefined && date <= departure;
  }
}
