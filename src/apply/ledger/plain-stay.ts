import type { DimensionCodes, NightRun } from "./night-run.ts";

/** Stays that are longer, and rates by nights that are more, are left to `reservationNights`. */
const NIGHTS_MAX = 62;
const RATES_TIMES_NIGHTS_MAX = 2_048;

/** An amount that is not told. */
export const NOT_TOLD = Number.NEGATIVE_INFINITY;

/**
 * The one stay of a plain reservation, night by night: what `reservationNights` says of it, without a list for each of its
 * parts. Amounts are ten-thousandths, NOT_TOLD or (where a double does not hold them) NaN. One stay at a time: `begin` says of which.
 */
export class PlainStay {
  readonly #revenue = new Float64Array(NIGHTS_MAX);
  readonly #net = new Float64Array(NIGHTS_MAX);
  readonly #gross = new Float64Array(NIGHTS_MAX);
  #arrival = 0;
  #nights = 0;
  #rooms = 0;
  #ratesLeft = 0;

  /** Days since 1970-01-01; false where the stay is longer than is plain. */
  begin(arrival: number, departure: number, rooms: number): boolean {
    this.#arrival = arrival;
    this.#nights = departure - arrival;
    this.#rooms = rooms;
    this.#ratesLeft = RATES_TIMES_NIGHTS_MAX;
    if (this.#nights > NIGHTS_MAX) return false;
    for (let night = 0; night < this.#nights; night += 1) {
      this.#revenue[night] = NOT_TOLD;
      this.#net[night] = NOT_TOLD;
      this.#gross[night] = NOT_TOLD;
    }
    return true;
  }

  /** The revenue of a day; false where it is not plain. */
  noteRevenue(day: number, amount: number): boolean {
    const night = day - this.#arrival;
    if (amount === NOT_TOLD || night < 0 || night >= this.#nights) return true;
    if (Number.isNaN(amount) || this.#revenue[night] !== NOT_TOLD) return false;
    this.#revenue[night] = amount;
    return true;
  }

  /** A rate from a day to another, that one included: the last one that covers a night is the night's. False where it is not plain. */
  noteRate(firstDay: number, lastDay: number, rate: number, grossRate: number): boolean {
    this.#ratesLeft -= this.#nights;
    if (this.#ratesLeft < 0) return false;
    const ofNight = timesRooms(rate, this.#rooms);
    const grossOfNight = timesRooms(grossRate, this.#rooms);
    if (Number.isNaN(ofNight) || Number.isNaN(grossOfNight)) return false;
    const from = Math.max(0, firstDay - this.#arrival);
    const to = Math.min(this.#nights, lastDay + 1 - this.#arrival);
    for (let night = from; night < to; night += 1) {
      this.#net[night] = ofNight;
      this.#gross[night] = grossOfNight;
    }
    return true;
  }

  /** Its nights, those that follow each other and are alike as one run; guests are of all rooms. */
  runs(adults: number, children: number, codes: DimensionCodes): NightRun[] {
    const [gross, nights, rooms] = [this.#gross, this.#nights, this.#rooms];
    const runs: NightRun[] = [];
    for (let from = 0, to = 1; from < nights; from = to, to += 1) {
      const ofNight = this.#netOf(from);
      const grossOfNight = gross[from] as number;
      while (to < nights && this.#netOf(to) === ofNight && gross[to] === grossOfNight) to += 1;
      runs.push({
        firstNight: this.#arrival + from,
        nights: to - from,
        rooms,
        adults,
        children,
        roomRevenue: ofNight === NOT_TOLD ? null : ofNight,
        grossRoomRevenue: grossOfNight === NOT_TOLD ? null : grossOfNight,
        codes,
      });
    }
    return runs;
  }

  #netOf(night: number): number {
    const told = this.#revenue[night] as number;
    return told === NOT_TOLD ? (this.#net[night] as number) : told;
  }
}

/** NaN where the product is more than a double holds. */
function timesRooms(amount: number, rooms: number): number {
  if (amount === NOT_TOLD) return NOT_TOLD;
  const product = amount * rooms + 0;
  return Number.isSafeInteger(product) ? product : Number.NaN;
}
