import type { HotelProfile, RoomType } from "./hotel-profile.ts";
import type { PlannedGroup, StayStep } from "./plan-stay.ts";
import { GroupBlock, type NightBlock, type Reservation } from "./reservation.ts";

/** Overbooking ends this many days before arrival. */
const OVERBOOKED_UNTIL_DAYS = 3;

/** One in this many guests turned away a week or more ahead joins the waiting list. */
const WAITLISTED_IN = 4;
const WAITLISTED_LEAD_MIN = 7;
const WAITS_UNTIL_DAYS = 2;
const NOON = 12 * 3_600;
const FIRST_ID = 100_001;

type GroupEvent = "asked" | "decided" | "washed" | "cut-off" | "given-up";

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

/** Applies reservations and groups step by step. Only this class changes room counts. */
export class FrontDesk {
  readonly #books: RoomBooks;
  readonly #profile: HotelProfile;
  readonly #numbers: readonly string[][];
  readonly #openGroups = new Set<GroupBlock>();
  #booked = 0;
  #groups = 0;

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

  /** Takes rooms, of another type if the requested one is full. False: none are free. */
  #takeRooms(reservation: Reservation, today: number): boolean {
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

  #release(reservation: Reservation): void {
    if (!reservation.holds) return;
    reservation.holds = false;
    this.#count(reservation, -1);
  }

  #rearrange(reservation: Reservation, nights: number, type: number): boolean {
    const { planned, sharer } = reservation;
    if (nights === reservation.nights && type === reservation.type) return true;
    const before = { nights: reservation.nights, type: reservation.type };
    this.#release(reservation);
    const fits = sharer === undefined && this.#books.free(type, planned.arrival, nights) >= planned.rooms;
    Object.assign(reservation, fits ? { nights, type } : before);
    this.#hold(reservation);
    return fits;
  }

  /** Two guests who share a room have one number. */
  #assignNumber(reservation: Reservation): void {
    const { sharer, type } = reservation;
    reservation.roomNumber = sharer?.state === "checked-in" ? sharer.roomNumber : this.#numbers[type]?.pop();
  }

  #returnNumber({ roomNumber, sharer, type }: Reservation): void {
    // The last guest of a shared room releases it.
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
      // A shared night is counted once.
      if (sharer?.covers(day) === true) continue;
      this.#books.take(group === undefined ? "transient" : "group", type, day, sign * planned.rooms);
      const night = group?.nightOf(type, day);
      if (group === undefined || night === undefined) continue;
      const held = group.heldOf(night);
      night.pickup += sign * planned.rooms;
      // A late or extra pickup enlarges the block.
      night.blocks = Math.max(night.blocks, night.pickup);
      this.#books.take("held", type, day, group.heldOf(night) - held);
      group.isTouched = true;
    }
    if (sign === 1) group?.members.add(reservation);
    else group?.members.delete(reservation);
  }

  /** Blocks rooms for a group as far as they are free. False: less than half. */
  #holdBlock(nights: readonly NightBlock[]): boolean {
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

  /** Releases a part, in thousandths, of the rooms not picked up. */
  #wash(nights: readonly NightBlock[], part: number): void {
    for (const night of nights) {
      const given = Math.floor(((night.blocks - night.pickup) * part) / 1_000);
      night.blocks -= given;
      this.#books.take("held", night.type, night.day, -given);
    }
  }

  /** False: no room was free, so there is no reservation. */
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
        this.#release(reservation);
        reservation.state = "no-show";
        return true;
      case "checked-in":
        this.#checkIn(reservation);
        return true;
      case "checked-out":
        this.#returnNumber(reservation);
        reservation.state = "checked-out";
        return true;
      case "corrected":
        reservation.corrections += 1;
        return true;
    }
  }

  cancel(reservation: Reservation): void {
    this.#release(reservation);
    reservation.state = "cancelled";
  }

  #book(reservation: Reservation, day: number, second: number): boolean {
    const { group, planned } = reservation;
    if (group !== undefined && group.state !== "definite") return false;
    if (!this.#takeRooms(reservation, day)) {
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
    const isRearranged = this.#rearrange(reservation, next.nights ?? planned.nights, type);
    if (isRearranged) reservation.bookedType = type;
    reservation.adults = next.adults ?? planned.adults;
    reservation.rateCents = next.rateCents ?? planned.rateCents;
  }

  /** Some guests get a better room, if one is free. */
  #checkIn(reservation: Reservation): void {
    if (reservation.planned.moves && reservation.sharer === undefined) {
      const type = (reservation.type + 1) % this.#profile.roomTypes.length;
      this.#rearrange(reservation, reservation.nights, type);
    }
    this.#assignNumber(reservation);
    reservation.state = "checked-in";
  }

  stepsOf(planned: PlannedGroup): {
    group: GroupBlock;
    steps: { day: number; second: number; step: GroupStep }[];
  } {
    this.#groups += 1;
    const group = new GroupBlock(planned, `G${String(this.#groups).padStart(4, "0")}`);
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

  /** The caller cancels the members. */
  changeGroup({ group, event }: GroupStep, day: number): void {
    const { planned } = group;
    if (event === "asked") {
      group.bookedDay = day;
      this.#openGroups.add(group);
    } else if (event === "decided") {
      const holds = !planned.isLost && this.#holdBlock(group.nights);
      group.state = holds ? "definite" : "lost";
    } else if (group.state !== "definite") return;
    else if (event === "washed") this.#wash(group.nights, planned.washPart);
    else if (event === "cut-off") this.#wash(group.nights, 1_000);
    else {
      this.#wash(group.nights, 1_000);
      group.state = "cancelled";
      group.cancelledDay = day;
    }
    group.isTouched = true;
  }

  /** Groups that changed since the last call; past ones are dropped. */
  touchedGroups(day: number): GroupBlock[] {
    const touched: GroupBlock[] = [];
    for (const group of this.#openGroups) {
      if (group.isTouched) touched.push(group);
      group.isTouched = false;
      if (group.planned.arrival + group.planned.nights < day) this.#openGroups.delete(group);
    }
    return touched;
  }
}

type TakenBy = "transient" | "group" | "held" | "maintenance" | "other";

/** Room counts by room type and night. */
export class RoomBooks {
  readonly types: readonly RoomType[];
  readonly firstDay: number;
  readonly days: number;
  readonly #counts: Readonly<Record<TakenBy, Int32Array>>;
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

  /** Zero outside of the counted days. */
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

  /** The least number of free rooms on these nights; held rooms are not free. */
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

  reported(day: number): void {
    this.#isTouched[day - this.firstDay] = 0;
  }

  touch(day: number): void {
    if (day >= this.firstDay && day < this.firstDay + this.days) this.#isTouched[day - this.firstDay] = 1;
  }

  #at(type: number, day: number): number {
    return day < this.firstDay ? -1 : (day - this.firstDay) * this.types.length + type;
  }
}
