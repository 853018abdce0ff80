import type { RealBooking } from "../data/real-bookings/real-bookings.ts";
import { dayOf } from "../workload/calendar-day.ts";
import { type LifeStep, lifeOf, type RealReservation, reservationsOf } from "./booking-life.ts";
import { type CountedNight, type CountedStay, countedStay, type Grouping } from "./counted-nights.ts";

/** What is on the books of one night and one group of a grouping. Money in millionths of a euro. */
export interface Books {
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly net: bigint;
  readonly gross: bigint;
}

const NOTHING: Books = { rooms: 0, adults: 0, children: 0, net: 0n, gross: 0n };

/** By day (since 1970) and group. */
export type BooksByNight = ReadonlyMap<number, ReadonlyMap<string | null, Books>>;

/** Whether a step's record is known: all are by the source clock, those received by then by the clock of receipt. */
export type IsKnown = (reservationId: string, step: LifeStep) => boolean;

/** What is asked of the books. */
export interface BooksQuestion {
  /** The first and the last night, in days since 1970. */
  readonly from: number;
  readonly to: number;
  readonly by: Grouping;
  /** The instant of the source clock, in milliseconds since 1970, included; left out: all there is. */
  readonly atMs?: number;
  /** Left out: everything is known. */
  readonly isKnown?: IsKnown;
}

interface Life {
  readonly reservation: RealReservation;
  readonly arrivalDay: number;
  readonly steps: readonly LifeStep[];
  /** What each step counts for, worked out when it is first needed. */
  readonly stays: (CountedStay | null | undefined)[];
}

/** The longest stay has 60 nights; a change makes it one longer, and has it begin a day later. */
const STAY_DAYS_MAX = 62;

function plus(books: Books, more: Books, sign: 1 | -1): Books {
  return {
    rooms: books.rooms + sign * more.rooms,
    adults: books.adults + sign * more.adults,
    children: books.children + sign * more.children,
    net: sign === 1 ? books.net + more.net : books.net - more.net,
    gross: sign === 1 ? books.gross + more.gross : books.gross - more.gross,
  };
}

/** Adds up the nights of stays, by night and group. */
class Sum {
  readonly nights = new Map<number, Map<string | null, Books>>();
  readonly #rooms = new Map<string, { day: number; holder: CountedStay; rooms: number }>();

  add(day: number, group: string | null, more: Books): void {
    let groups = this.nights.get(day);
    if (groups === undefined) {
      groups = new Map();
      this.nights.set(day, groups);
    }
    groups.set(group, plus(groups.get(group) ?? NOTHING, more, 1));
  }

  /** A room that is shared stands with the sharer of the smallest reservation id. */
  share(stay: CountedStay, { day, rooms }: CountedNight): void {
    const key = `${stay.share}/${day}`;
    const before = this.#rooms.get(key);
    const isHolder = before === undefined || stay.reservationId < before.holder.reservationId;
    this.#rooms.set(key, {
      day,
      holder: isHolder ? stay : before.holder,
      rooms: Math.max(rooms, before?.rooms ?? 0),
    });
  }

  settleShares(by: Grouping): void {
    for (const { day, holder, rooms } of this.#rooms.values())
      this.add(day, holder.groups[by], { ...NOTHING, rooms });
  }
}

/** The bookings of one hotel, and what was on its books at any instant: straight from the rows, reservation by reservation. */
export class ExpectedBooks {
  readonly #lives: readonly Life[];
  /** By night, those who may stay in it: curves ask night by night. */
  readonly #byNight = new Map<number, Life[]>();

  constructor(bookings: readonly RealBooking[], hotel: RealBooking["hotel"]) {
    this.#lives = bookings
      .filter((booking) => booking.hotel === hotel)
      .flatMap(reservationsOf)
      .map((reservation) => ({
        reservation,
        arrivalDay: dayOf(reservation.booking.arrivalDate),
        steps: lifeOf(reservation),
        stays: [],
      }));
    for (const life of this.#lives) {
      const { arrivalDay } = life;
      for (let day = arrivalDay; day <= arrivalDay + life.reservation.booking.nights + 1; day += 1) {
        const ofNight = this.#byNight.get(day);
        if (ofNight === undefined) this.#byNight.set(day, [life]);
        else ofNight.push(life);
      }
    }
  }

  /** What is on the books of each night and group. A group that has nothing any more may be there with nothing. */
  onTheBooks(question: BooksQuestion): BooksByNight {
    const { from, to, by } = question;
    const sum = new Sum();
    for (const stay of this.#staysAt(question)) {
      for (const night of stay.nights) {
        if (night.day < from || night.day > to) continue;
        sum.add(night.day, stay.groups[by], stay.share === null ? night : { ...night, rooms: 0 });
        if (stay.share !== null) sum.share(stay, night);
      }
    }
    sum.settleShares(by);
    return sum.nights;
  }

  /** What counts at an instant, of what is known, among those who may stay in the nights that are asked for. */
  *#staysAt({ from, to, atMs = Number.POSITIVE_INFINITY, isKnown }: BooksQuestion): Generator<CountedStay> {
    const lives = from === to ? (this.#byNight.get(from) ?? []) : this.#lives;
    for (const { reservation, arrivalDay, steps, stays } of lives) {
      if (arrivalDay < from - STAY_DAYS_MAX || arrivalDay > to) continue;
      const { reservationId } = reservation;
      const counts = (step: LifeStep) =>
        step.atMs <= atMs && (isKnown === undefined || isKnown(reservationId, step));
      const place = steps.findLastIndex(counts);
      if (place === -1) continue;
      let stay = stays[place];
      if (stay === undefined) {
        stay = countedStay(reservation, steps[place] as LifeStep);
        stays[place] = stay;
      }
      if (stay !== null) yield stay;
    }
  }

  /** What one state of the books has more than another. */
  static difference(later: BooksByNight, earlier: BooksByNight): BooksByNight {
    const days = new Set([...later.keys(), ...earlier.keys()]);
    return new Map(
      [...days].map((day) => {
        const [after, before] = [later.get(day), earlier.get(day)];
        const groups = new Set([...(after?.keys() ?? []), ...(before?.keys() ?? [])]);
        const books = [...groups].map(
          (group) => [group, plus(after?.get(group) ?? NOTHING, before?.get(group) ?? NOTHING, -1)] as const,
        );
        return [day, new Map(books)];
      }),
    );
  }
}
