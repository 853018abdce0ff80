import type { RoomBooks } from "./front-desk.ts";
import type { HotelProfile } from "./hotel-profile.ts";
import { SeededRandom } from "./random.ts";
import type { Miscounts, WrongFields } from "./records.ts";
import type { Reservation } from "./reservation.ts";
import { dateText, type SimulatedResource, timeText } from "./simulated-record.ts";

/** Faults in hotels' feeds. They change only what is sent, not what happens in the hotel. */
export const FAULTS = {
  duplicate: "a version of a reservation is sent again on the next day",
  "out-of-order": "a version of a reservation arrives a day after a newer one",
  late: "a version of a reservation arrives one to four days late",
  skew: "a cancellation has a source time a year too early, or thirty years too late",
  totals: "a night's rooms sold, or a reservation's revenue of a night, does not equal the sum of its parts",
  missing: "a reservation is never sent but counted as sold",
  unmapped: "a reservation has an unmapped status",
  "cancelled-sold": "a cancelled reservation is counted as sold",
  "share-twice": "a shared room is counted once per sharer",
  invalid: "a version of a reservation is invalid; the valid one follows on the next day",
} as const;
export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

export interface FaultExpectation {
  readonly outcome?: "duplicate" | "stale" | "quarantined" | "rejected";
  readonly violation?: { readonly code: string; readonly pointer: string };
  readonly warning?: string;
  /** The finding of reconciliation for each night, and how many rooms more inventory reports than reservations. */
  readonly finding?: string;
  readonly nights?: readonly string[];
  readonly roomType?: string;
  readonly difference?: number;
}

/** A planted fault and the record that has it. */
export interface PlantedFault {
  readonly fault: FaultName;
  /** The day on which the record was sent or omitted. */
  readonly date: string;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly resource: SimulatedResource;
  readonly key: string;
  readonly sourceTime: string;
  readonly expects: FaultExpectation;
}

/** One in this many candidates. */
const ONE_IN: Readonly<Partial<Record<FaultName, number>>> = {
  missing: 25,
  unmapped: 25,
  "cancelled-sold": 10,
  skew: 10,
  "share-twice": 3,
};
const WRONG_NIGHT_IN = 4;
const WRONG_REVENUE_IN = 150;
const WRONG_NIGHT_AHEAD_MAX = 20;
const WRONG_ROOMS_MAX = 3;
const WRONG_REVENUE_CENTS = 1_000;
/** Longer stays would leave no night without a fault. */
const NIGHTS_MAX = 7;
const UNKNOWN_STATUS = "HOUSE USE";
const BEHIND_DAYS = 400;
/** Further in the future than any wrong clock. */
const AHEAD_DAYS = 10_958;

/** Plants faults in one hotel from a separate random stream. No night of a room type and no reservation has two. */
export class HotelFaults {
  readonly planted: PlantedFault[] = [];
  readonly random: SeededRandom;
  readonly #faults: ReadonlySet<FaultName>;
  readonly #profile: HotelProfile;
  readonly #books: RoomBooks;
  readonly #horizonDays: number;
  readonly #nights = new Map<string, Miscounts>();
  readonly #skewed = new Map<Reservation, number>();

  constructor(
    seed: number,
    faults: ReadonlySet<FaultName>,
    profile: HotelProfile,
    books: RoomBooks,
    horizonDays: number,
  ) {
    this.random = SeededRandom.stream(seed ^ 0x5bd1e995, profile.number);
    this.#faults = faults;
    this.#profile = profile;
    this.#books = books;
    this.#horizonDays = horizonDays;
  }

  has(fault: FaultName): boolean {
    return this.#faults.has(fault);
  }

  miscounts(type: number, day: number): Miscounts | undefined {
    return this.#nights.get(`${type} ${day}`);
  }

  wrongFields(reservation: Reservation): WrongFields | undefined {
    switch (reservation.planted) {
      case "unmapped":
        return { status: UNKNOWN_STATUS };
      case "skew":
        return { modifiedDay: reservation.modifiedDay + (this.#skewed.get(reservation) ?? 0) };
      case "totals":
        return { totalMoreCents: WRONG_REVENUE_CENTS };
      default:
        return undefined;
    }
  }

  /** Called with every step of a reservation before it is sent. */
  happened(reservation: Reservation, day: number): void {
    if (reservation.planted !== undefined) return;
    const { state, step } = reservation;
    if (state === "cancelled") {
      if (reservation.bookedDay < day) this.#cancelled(reservation, day);
    } else if (state === "reserved" && step === 1) this.#booked(reservation, day);
    if (reservation.planted === undefined && state === "reserved" && this.#drawsWrongRevenue())
      this.#plantIn(reservation, "totals", day, { warning: "reservation.revenue-total" });
  }

  /** Called before each nightly push. */
  beforePush(day: number): void {
    if (!this.has("totals") || this.random.between(1, WRONG_NIGHT_IN) !== 1) return;
    const night = day + this.random.between(1, WRONG_NIGHT_AHEAD_MAX);
    const type = this.random.between(0, this.#profile.roomTypes.length - 1);
    const sumOnly = this.random.between(1, WRONG_ROOMS_MAX);
    if (!this.#claim(type, night, 1, day, { transient: 0, sumOnly })) return;
    const expects = {
      warning: "inventory.sold-split",
      finding: "wrong-sold-count",
      ...this.#nightsOf(type, night, 1, sumOnly),
    };
    this.plant("totals", { resource: "inventories", key: dateText(night), day, second: 0 }, expects);
  }

  plant(
    fault: FaultName,
    { resource, key, day, second }: { resource: SimulatedResource; key: string; day: number; second: number },
    expects: FaultExpectation,
    sentDay = day,
  ): void {
    const { clientCode, propertyCode } = this.#profile;
    const date = dateText(sentDay);
    const sourceTime = timeText(day, second);
    this.planted.push({ fault, date, clientCode, propertyCode, resource, key, sourceTime, expects });
  }

  #booked(reservation: Reservation, day: number): void {
    const { planned, type, nights, sharer } = reservation;
    const { arrival } = planned;
    if (sharer !== undefined) {
      const isCountedTwice = sharer.holds && sharer.planted === undefined && sharer.planned.arrival > day;
      if (!isCountedTwice || planned.fails || sharer.planned.fails || nights > NIGHTS_MAX) return;
      if (!this.#draws("share-twice") || arrival + nights > day + this.#horizonDays) return;
      const both = Math.min(nights, sharer.nights);
      if (!this.#claim(type, arrival, both, day, { transient: 1, sumOnly: 0 })) return;
      sharer.planted = "share-twice";
      this.#plantIn(reservation, "share-twice", day, {
        finding: "share-counted-twice",
        ...this.#nightsOf(type, arrival, both, 1),
      });
      return;
    }
    if (!this.#isPlain(reservation, day) || planned.fails) return;
    const fault = this.#draws("missing") ? "missing" : this.#draws("unmapped") ? "unmapped" : undefined;
    if (fault === undefined || !this.#claim(type, arrival, nights, day)) return;
    const finding = fault === "missing" ? "missing-reservation" : "unmapped-label";
    this.#plantIn(reservation, fault, day, {
      ...(fault === "unmapped" ? { warning: "status.unmapped" } : {}),
      finding,
      ...this.#nightsOf(type, arrival, nights, 1),
    });
  }

  #cancelled(reservation: Reservation, day: number): void {
    const { planned, type, nights, modifiedSecond: second } = reservation;
    if (!this.#isPlain(reservation, day)) return;
    if (this.#draws("cancelled-sold")) {
      if (!this.#claim(type, planned.arrival, nights, day, { transient: 1, sumOnly: 0 })) return;
      const of = this.#nightsOf(type, planned.arrival, nights, 1);
      this.#plantIn(reservation, "cancelled-sold", day, { finding: "cancelled-but-sold", ...of });
    } else if (this.#draws("skew")) {
      if (!this.#claim(type, planned.arrival, nights, day)) return;
      const isBehind = this.random.chance(0.5);
      const skewDays = isBehind ? -BEHIND_DAYS : AHEAD_DAYS;
      this.#skewed.set(reservation, skewDays);
      reservation.planted = "skew";
      const outcome = isBehind ? "stale" : "quarantined";
      // The reservation stays on the service's books.
      const of = this.#nightsOf(type, planned.arrival, nights, -1);
      const where = { resource: "reservations", key: reservation.id, day: day + skewDays, second } as const;
      this.plant("skew", where, { outcome, finding: outcome, ...of }, day);
    }
  }

  #isPlain(reservation: Reservation, day: number): boolean {
    const { planned, group, sharer, linkId, nights, departure } = reservation;
    const isAlone = group === undefined && sharer === undefined && linkId === undefined;
    const staysAsIs = planned.rooms === 1 && planned.earlier.length === 0 && !planned.moves;
    const isReported = planned.arrival > day && departure <= day + this.#horizonDays;
    // A guest on the waiting list never had a room.
    const waited = reservation.steps !== planned.steps;
    return isAlone && staysAsIs && isReported && !waited && nights >= 1 && nights <= NIGHTS_MAX;
  }

  #draws(fault: FaultName): boolean {
    return this.has(fault) && this.random.between(1, ONE_IN[fault] ?? 1) === 1;
  }

  #drawsWrongRevenue(): boolean {
    return this.has("totals") && this.random.between(1, WRONG_REVENUE_IN) === 1;
  }

  #claim(
    type: number,
    first: number,
    nights: number,
    today: number,
    more: Miscounts = { transient: 0, sumOnly: 0 },
  ): boolean {
    if (first <= today) return false;
    for (let day = first; day < first + nights; day += 1)
      if (this.#nights.has(`${type} ${day}`)) return false;
    for (let day = first; day < first + nights; day += 1) {
      this.#nights.set(`${type} ${day}`, more);
      this.#books.touch(day);
    }
    return true;
  }

  #nightsOf(type: number, first: number, nights: number, difference: number) {
    const roomType = this.#profile.roomTypes[type]?.code ?? "";
    return { nights: Array.from({ length: nights }, (_, at) => dateText(first + at)), roomType, difference };
  }

  #plantIn(reservation: Reservation, fault: FaultName, day: number, expects: FaultExpectation): void {
    reservation.planted = fault;
    const { id: key } = reservation;
    this.plant(fault, { resource: "reservations", key, day, second: reservation.modifiedSecond }, expects);
  }
}
