import type { HotelProfile, RoomType } from "./hotel-profile.ts";
import type { GroupBlock, NightBlock, Reservation } from "./reservation.ts";

/** Overbooking ends so many days before arrival. */
const OVERBOOKED_UNTIL_DAYS = 3;

/** Takes rooms for reservations and gives them back: what the hotel has sold is counted here and nowhere else. */
export class FrontDesk {
  readonly #books: RoomBooks;
  readonly #profile: HotelProfile;
  /** Rooms of each type that nobody is in. */
  readonly #numbers: readonly string[][];

  /** Reservations that hold rooms of a group. */
  readonly #members = new WeakMap<GroupBlock, Set<Reservation>>();

  constructor(books: RoomBooks, profile: HotelProfile) {
    this.#books = books;
    this.#profile = profile;
    let number = 0;
    this.#numbers = profile.roomTypes.map(({ rooms }) =>
      Array.from({ length: rooms }, () => {
        number += 1;
        return String(101 + Math.floor((number - 1) / 30) * 100 + ((number - 1) % 30));
      }),
    );
  }

  /** Takes the rooms of a new reservation, of another type where its own is full. Answers whether there were any. */
  book(reservation: Reservation, today: number): boolean {
    const { planned, group, nights, sharer } = reservation;
    if (sharer?.holds === true) return this.#hold(reservation);
    if (group !== undefined) return this.#bookMember(reservation);
    const overbooked =
      planned.arrival - today >= OVERBOOKED_UNTIL_DAYS && reservation.type === 0
        ? this.#profile.overbooks
        : 0;
    const types = this.#books.types.length;
    for (let tried = 0; tried < types; tried += 1) {
      const type = (reservation.type + tried) % types;
      const more = tried === 0 ? overbooked : 0;
      if (this.#books.free(type, planned.arrival, nights) + more < planned.rooms) continue;
      reservation.type = type;
      reservation.bookedType = type;
      return this.#hold(reservation);
    }
    return false;
  }

  /** Reservations that hold rooms of a group, in the order in which they came. */
  membersOf(group: GroupBlock): Reservation[] {
    return [...(this.#members.get(group) ?? [])];
  }

  /** Gives a reservation's rooms back. */
  release(reservation: Reservation): void {
    if (!reservation.holds) return;
    reservation.holds = false;
    this.#count(reservation, -1);
  }

  /** Sets a reservation to other nights or another type, if there is room for them. */
  rearrange(reservation: Reservation, nights: number, type: number): boolean {
    const { planned, sharer } = reservation;
    if (nights === reservation.nights && type === reservation.type) return true;
    const before = { nights: reservation.nights, type: reservation.type };
    this.release(reservation);
    const fits = sharer === undefined && this.#books.free(type, planned.arrival, nights) >= planned.rooms;
    Object.assign(reservation, fits ? { nights, type } : before);
    this.#hold(reservation);
    return fits;
  }

  /** Gives a guest who arrives a room number; two who share have one. */
  checkIn(reservation: Reservation): void {
    const { sharer, type } = reservation;
    reservation.roomNumber = sharer?.state === "checked-in" ? sharer.roomNumber : this.#numbers[type]?.pop();
  }

  checkOut({ roomNumber, sharer, type }: Reservation): void {
    // The last one of a shared room gives it back.
    if (roomNumber !== undefined && sharer?.state !== "checked-in") this.#numbers[type]?.unshift(roomNumber);
  }

  #bookMember(reservation: Reservation): boolean {
    const { planned, group, nights, type } = reservation;
    for (let day = planned.arrival; day < planned.arrival + nights; day += 1) {
      const night = group?.nightOf(type, day);
      const isHeld = night !== undefined && night.blocks > night.pickup;
      if (!isHeld && this.#books.free(type, day, 1) < 1) return false;
    }
    return this.#hold(reservation);
  }

  #hold(reservation: Reservation): true {
    reservation.holds = true;
    this.#count(reservation, 1);
    return true;
  }

  #count(reservation: Reservation, sign: 1 | -1): void {
    const { planned, type, sharer, group, departure } = reservation;
    for (let day = planned.arrival; day < departure; day += 1) {
      // The room of a night that the other sharer has as well is counted once.
      if (sharer?.covers(day) === true) continue;
      this.#books.take(group === undefined ? "transient" : "group", type, day, sign * planned.rooms);
      const night = group?.nightOf(type, day);
      if (group === undefined || night === undefined) continue;
      const held = group.heldOf(night);
      night.pickup += sign * planned.rooms;
      // Who comes after the cutoff, or beyond what was asked for, makes the block larger.
      night.blocks = Math.max(night.blocks, night.pickup);
      this.#books.take("held", type, day, group.heldOf(night) - held);
      group.isTouched = true;
    }
    if (group === undefined) return;
    if (sign === -1) this.#members.get(group)?.delete(reservation);
    else if (this.#members.get(group)?.add(reservation) === undefined)
      this.#members.set(group, new Set([reservation]));
  }

  /** Holds a group's block, as far as there are rooms. Answers whether there was room for half of it. */
  holdBlock(nights: readonly NightBlock[]): boolean {
    const fits = nights.map(({ type, day, blocks }) =>
      Math.max(0, Math.min(blocks, this.#books.free(type, day, 1))),
    );
    const wanted = nights.reduce((sum, { blocks }) => sum + blocks, 0);
    if (fits.reduce((sum, rooms) => sum + rooms, 0) * 2 < wanted) return false;
    nights.forEach((night, at) => {
      night.blocks = fits[at] as number;
      this.#books.take("held", night.type, night.day, night.blocks - night.pickup);
    });
    return true;
  }

  /** Gives back a part, in thousandths, of what a block holds and nobody picked up. */
  wash(nights: readonly NightBlock[], part: number): void {
    for (const night of nights) {
      const given = Math.floor(((night.blocks - night.pickup) * part) / 1_000);
      night.blocks -= given;
      this.#books.take("held", night.type, night.day, -given);
    }
  }
}

/** What rooms of a night are taken by. */
type TakenBy = "transient" | "group" | "held" | "maintenance" | "other";

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
