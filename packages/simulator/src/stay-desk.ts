import type { FrontDesk } from "./front-desk.ts";
import type { HotelProfile } from "./hotel-profile.ts";
import type { StayStep } from "./planned.ts";
import type { Reservation } from "./reservation.ts";

/** Of the guests that a full house turns away a week or more ahead, so many wait for a room. */
const WAITLISTED_IN = 4;
const WAITLISTED_LEAD_MIN = 7;
/** Who still waits so many days before arrival is told that there is no room. */
const WAITS_UNTIL_DAYS = 2;
const NOON = 12 * 3_600;
const FIRST_ID = 100_001;

/** What becomes of reservations, step by step. */
export class StayDesk {
  readonly #desk: FrontDesk;
  readonly #profile: HotelProfile;
  #booked = 0;

  constructor(desk: FrontDesk, profile: HotelProfile) {
    this.#desk = desk;
    this.#profile = profile;
  }

  /** Does a step. Answers whether there is a reservation to tell of: a guest who found no room has none. */
  happen(reservation: Reservation, { event, day, second }: StayStep): boolean {
    switch (event) {
      case "booked":
        return this.#book(reservation, day, second);
      case "changed":
        this.#change(reservation);
        return true;
      case "cancelled":
        this.cancel(reservation);
        return true;
      case "no-show":
        this.#desk.release(reservation);
        reservation.state = "no-show";
        return true;
      case "checked-in":
        this.#checkIn(reservation);
        return true;
      case "checked-out":
        this.#desk.checkOut(reservation);
        reservation.state = "checked-out";
        return true;
      case "corrected":
        reservation.corrections += 1;
        return true;
    }
  }

  cancel(reservation: Reservation): void {
    this.#desk.release(reservation);
    reservation.state = "cancelled";
  }

  #book(reservation: Reservation, day: number, second: number): boolean {
    const { group, planned } = reservation;
    if (group !== undefined && group.state !== "definite") return false;
    if (!this.#desk.book(reservation, day)) {
      const lead = planned.arrival - day;
      const waits = group === undefined && lead >= WAITLISTED_LEAD_MIN && planned.guest % WAITLISTED_IN === 0;
      if (!waits || reservation.sharer !== undefined) return false;
      const [booked] = reservation.steps;
      reservation.state = "waitlisted";
      reservation.steps = [
        ...(booked === undefined ? [] : [booked]),
        { event: "cancelled", day: planned.arrival - WAITS_UNTIL_DAYS, second: NOON },
      ];
    }
    this.#booked += 1;
    reservation.id = String(FIRST_ID + this.#booked);
    reservation.bookedDay = day;
    reservation.bookedSecond = second;
    return true;
  }

  #change(reservation: Reservation): void {
    reservation.changed += 1;
    const { planned, changed } = reservation;
    const next = planned.earlier[changed] ?? {};
    const type = next.type ?? planned.type;
    const isRearranged = this.#desk.rearrange(reservation, next.nights ?? planned.nights, type);
    if (isRearranged) reservation.bookedType = type;
    reservation.adults = next.adults ?? planned.adults;
    reservation.rateCents = next.rateCents ?? planned.rateCents;
  }

  /** Some are given a better room, if there is one. */
  #checkIn(reservation: Reservation): void {
    if (reservation.planned.moves && reservation.sharer === undefined) {
      const type = (reservation.type + 1) % this.#profile.roomTypes.length;
      this.#desk.rearrange(reservation, reservation.nights, type);
    }
    this.#desk.checkIn(reservation);
    reservation.state = "checked-in";
  }
}
