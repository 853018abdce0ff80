import { addDays } from "#contract/dates.ts";

/** A reservation as it is sent, as far as figures depend on it. */
export interface NaiveStay {
  readonly arrivalDate: string;
  readonly departureDate: string;
  readonly roomTypeCode: string;
  readonly currencyCode?: string | undefined;
  readonly numberOfAdults?: number | undefined;
  readonly numberOfChildren?: number | undefined;
  readonly rates?:
    | readonly {
        readonly startDate?: string | undefined;
        readonly endDate?: string | undefined;
        readonly rateValue?: string | undefined;
        readonly grossRateValue?: string | undefined;
      }[]
    | undefined;
}

export interface NaiveReservation {
  readonly reservationId: string;
  readonly status: string;
  readonly numberOfRooms?: number | undefined;
  readonly shareId?: string | undefined;
  readonly roomStays: readonly NaiveStay[];
  readonly stayRevenue?:
    | {
        readonly daily: readonly {
          readonly occupancyDate: string;
          readonly netRoomRevenue?: string | undefined;
        }[];
      }
    | undefined;
}

/** Ten-thousandths. */
export type Units = bigint;

export function unitsOf(text: string): Units {
  const [whole = "", fraction = ""] = text.replace("-", "").split(".");
  const units = BigInt(whole) * 10_000n + BigInt(fraction.padEnd(4, "0"));
  return text.startsWith("-") ? -units : units;
}

const plus = (one: Units | null, other: Units | null): Units | null =>
  one === null ? other : one + (other ?? 0n);

/** What one stay has of one date. */
export interface NaivePart {
  readonly stay: NaiveStay;
  readonly rooms: number;
  readonly net: Units | null;
  readonly gross: Units | null;
  /** Whether `net` is daily revenue. */
  readonly isDaily: boolean;
}

export interface NaiveDate {
  readonly nights: readonly NaivePart[];
  readonly dayUses: readonly NaivePart[];
  /** Daily revenue of a date without either. */
  readonly outside: Units | null;
}

function roomsOf({ numberOfRooms = 1, shareId }: NaiveReservation): number {
  return Math.max(numberOfRooms, shareId ? 1 : 0, 0);
}

function rateOf({ rates = [] }: NaiveStay, date: string) {
  return rates.findLast(
    ({ startDate = "0", endDate = "9" }) => startDate.slice(0, 10) <= date && date <= endDate,
  );
}

/** The stays that cover a date in the order in which they get rooms. */
function inTurn(stays: readonly NaiveStay[]): NaiveStay[] {
  // Guests that are not reported, or negative, are 0.
  const guests = (count = 0) => Math.max(count, 0);
  const text = ({ rates: _, numberOfAdults, numberOfChildren, ...stay }: NaiveStay) =>
    JSON.stringify({ ...stay, adults: guests(numberOfAdults), children: guests(numberOfChildren) });
  const isRepeat = (stay: NaiveStay) =>
    stays.findIndex((one) => text(one) === text(stay)) < stays.indexOf(stay);
  const byArrival = (some: readonly NaiveStay[]) =>
    some.toSorted((one, other) => other.arrivalDate.localeCompare(one.arrivalDate));
  return [...byArrival(stays.filter((one) => !isRepeat(one))), ...byArrival(stays.filter(isRepeat))];
}

function partsOf(
  stays: readonly NaiveStay[],
  rooms: number,
  daily: Units | null | undefined,
  date: string,
): NaivePart[] {
  const times = (text: string | undefined, by: number) =>
    text === undefined ? null : unitsOf(text) * BigInt(by);
  return inTurn(stays).map((stay, at, all) => {
    const isLast = at >= rooms;
    const own = isLast ? 0 : at === 0 ? Math.max(rooms - (all.length - 1), 1) : 1;
    const rate = rateOf(stay, date);
    const byRate = own === 0 ? null : times(rate?.rateValue, own);
    const net = daily === undefined ? byRate : at === 0 ? daily : null;
    const isDaily = daily != null && at === 0;
    return { stay, rooms: own, net, gross: own === 0 ? null : times(rate?.grossRateValue, own), isDaily };
  });
}

/** What a reservation has of one date, from docs/figures.md. */
export function naiveDate(reservation: NaiveReservation, date: string): NaiveDate {
  const { roomStays, stayRevenue } = reservation;
  const rooms = roomsOf(reservation);
  const daily = (stayRevenue?.daily ?? [])
    .filter(({ occupancyDate }) => occupancyDate === date)
    .reduce<Units | null>(
      (sum, { netRoomRevenue }) => (netRoomRevenue === undefined ? sum : plus(sum, unitsOf(netRoomRevenue))),
      null,
    );
  const nights = roomStays.filter(
    ({ arrivalDate, departureDate }) => arrivalDate <= date && date < departureDate,
  );
  const dayUses = roomStays.filter(
    ({ arrivalDate, departureDate }) => arrivalDate === date && departureDate === date,
  );
  const reported = daily ?? undefined;
  const ofDayUse = reported !== undefined && nights.length > 0 ? null : reported;
  return {
    nights: partsOf(nights, rooms, reported, date),
    dayUses: partsOf(dayUses, rooms, ofDayUse, date).map((part) => ({ ...part, gross: null })),
    outside: nights.length + dayUses.length === 0 && daily !== 0n ? daily : null,
  };
}

/** The books of one date, all room types and one currency together. */
export interface NaiveBooks {
  rooms: number;
  unmapped: number;
  adults: number;
  children: number;
  net: Units | null;
  gross: Units | null;
  dayUseRooms: number;
  dayUse: Units;
  fee: Units;
  outside: Units;
}

const sum = (parts: readonly NaivePart[], of: (part: NaivePart) => number) =>
  parts.reduce((all, part) => all + of(part), 0);

/** Rooms of reservations, each share counted once with the most rooms of its members. */
function settled(rooms: readonly { readonly shareId: string | undefined; readonly rooms: number }[]): number {
  const shares = new Map<string, number>();
  let all = 0;
  for (const { shareId, rooms: named } of rooms)
    if (!shareId) all += named;
    else shares.set(shareId, Math.max(shares.get(shareId) ?? 0, named));
  return [...shares.values()].reduce((one, other) => one + other, all);
}

export function naiveBooks(
  reservations: readonly NaiveReservation[],
  date: string,
  deducts: (status: string) => boolean | null,
): NaiveBooks {
  const books: NaiveBooks = {
    rooms: 0,
    unmapped: 0,
    adults: 0,
    children: 0,
    net: null,
    gross: null,
    dayUseRooms: 0,
    dayUse: 0n,
    fee: 0n,
    outside: 0n,
  };
  const named = { rooms: [], unmapped: [], dayUse: [] } as Record<
    "rooms" | "unmapped" | "dayUse",
    { shareId: string | undefined; rooms: number }[]
  >;
  for (const reservation of reservations) {
    const { nights, dayUses, outside } = naiveDate(reservation, date);
    const ofStay = { shareId: reservation.shareId, rooms: sum(nights, ({ rooms }) => rooms) };
    const isOn = deducts(reservation.status);
    if (isOn === null) named.unmapped.push(ofStay);
    if (isOn === false)
      for (const { net, isDaily } of [...nights, ...dayUses]) if (isDaily) books.fee += net ?? 0n;
    if (isOn === false) books.fee += outside ?? 0n;
    if (isOn !== true) continue;
    named.rooms.push(ofStay);
    named.dayUse.push({ shareId: reservation.shareId, rooms: sum(dayUses, ({ rooms }) => rooms) });
    for (const { stay, rooms, net, gross } of nights) {
      books.adults += Math.max(stay.numberOfAdults ?? 0, 0) * rooms;
      books.children += Math.max(stay.numberOfChildren ?? 0, 0) * rooms;
      books.net = plus(books.net, net);
      books.gross = plus(books.gross, gross);
    }
    for (const { net } of dayUses) books.dayUse += net ?? 0n;
    books.outside += outside ?? 0n;
  }
  books.rooms = settled(named.rooms);
  books.unmapped = settled(named.unmapped);
  books.dayUseRooms = settled(named.dayUse);
  return books;
}

/** The dates of a reservation, from its stays and its revenue. */
export function datesOf({ roomStays, stayRevenue }: NaiveReservation): string[] {
  const dates = new Set((stayRevenue?.daily ?? []).map(({ occupancyDate }) => occupancyDate));
  for (const { arrivalDate, departureDate } of roomStays)
    for (let date = arrivalDate; date <= departureDate; date = addDays(date, 1)) dates.add(date);
  return [...dates].sort();
}
