import { type Money, moneyAt, sumOf, timesWhole } from "#contract/money.ts";
import { COLUMNS, FACT_SOURCES, HEAD, LIST } from "#contract/record-plan.ts";
import type { Resource } from "#contract/resource.ts";
import type { RecordSpans } from "#contract/walk-record.ts";
import { dayAt, TextMemory } from "#contract/walk-value.ts";
import { RESERVATION_NIGHTS_MAX, STAY_NIGHTS_MAX } from "#contract/warnings.ts";

/** What entries are grouped by. Null: not reported. */
export interface DimensionCodes {
  readonly status: string | null;
  readonly roomTypeCode: string | null;
  readonly bookedRoomTypeCode: string | null;
  readonly marketSegmentCode: string | null;
  readonly groupBlockCode: string | null;
  readonly rateCode: string | null;
  readonly channel: string | null;
  readonly currencyCode: string | null;
}

/** The number of a dimension: a bigint in two 32-bit halves. */
export interface Dimension {
  readonly high: number;
  readonly low: number;
}

/** Consecutive nights of one stay with the same revenue. All numbers are per night. */
export interface NightRun {
  /** Days since 1970-01-01. */
  readonly firstNight: number;
  readonly nights: number;
  readonly rooms: number;
  /** Guests in all rooms, as `children`. */
  readonly adults: number;
  readonly children: number;
  /** For all rooms; null if the record reports neither revenue nor rate. */
  readonly roomRevenue: Money | null;
  readonly grossRoomRevenue: Money | null;
  /** One object for all runs of a stay. */
  readonly codes: DimensionCodes;
}

/** The nights of a version of a reservation. */
export interface ReservationNights {
  /** Null if absent or empty. */
  readonly shareId: string | null;
  readonly runs: readonly NightRun[];
}

/** Consecutive nights of one room type with equal values in a group block master. */
export interface BlockRun {
  readonly firstNight: number;
  readonly nights: number;
  readonly blocks: number | null;
  readonly pickedUp: number | null;
  readonly originalBlocks: number | null;
  readonly codes: DimensionCodes;
}

export const COUNT_MAX = 2_147_483_647;

/** Clamps a count to ±COUNT_MAX, so that its negation fits into 32 bits too. */
export function boundedCount(count: number): number {
  return Math.max(-COUNT_MAX, Math.min(COUNT_MAX, count)) + 0;
}

const COLUMN = { ...COLUMNS.reservation, ...COLUMNS.stay, ...COLUMNS.rate, ...COLUMNS.day };

const texts = new TextMemory();

/** The offset of each column within an item of a record's spans. */
const placesOf = (resource: Resource) =>
  Int32Array.from(FACT_SOURCES[resource], (source) => source?.place ?? 0);
const PLACES = { reservations: placesOf("reservations"), groups: placesOf("groups") };

/** Reads facts from spans. Item 0 means the end of a list, or the record itself for a field. Rates are in the order of their stays. */
export class SpanFacts {
  readonly #places: Int32Array;
  readonly #bytes: Buffer;
  readonly #slab: Int32Array;
  readonly #base: number;

  constructor(resource: keyof typeof PLACES, { bytes, slab, base }: RecordSpans) {
    this.#places = PLACES[resource];
    this.#bytes = bytes;
    this.#slab = slab;
    this.#base = base;
  }

  first(list: number): number {
    return this.#slab[this.#base + HEAD.firstOfList + list] as number;
  }

  next(item: number): number {
    return this.#slab[this.#base + item] as number;
  }

  /** The index of the stay that a rate belongs to. */
  stayOf(rate: number): number {
    return this.#slab[this.#base + rate + 1] as number;
  }

  text(item: number, column: number): string | null {
    const place = this.#placeOf(item, column);
    const mark = this.#slab[place] as number;
    return mark === 0 ? null : texts.textAt(this.#bytes, mark >>> 1, this.#slab[place + 1] as number);
  }

  whole(item: number, column: number): number | null {
    const amount = this.amount(item, column);
    return typeof amount === "number" ? amount / 10_000 : null;
  }

  /** Days since 1970-01-01; NaN: absent. */
  day(item: number, column: number): number {
    const mark = this.#slab[this.#placeOf(item, column)] as number;
    return mark === 0 ? Number.NaN : dayAt(this.#bytes, mark >>> 1);
  }

  amount(item: number, column: number): Money | null {
    const place = this.#placeOf(item, column);
    const mark = this.#slab[place] as number;
    return mark === 0 ? null : moneyAt(this.#bytes, mark >>> 1, this.#slab[place + 1] as number);
  }

  #placeOf(item: number, column: number): number {
    return this.#base + item + (this.#places[column] as number);
  }
}

/** The nights of the current stay, by days since arrival; reused by all stays. */
class StayNights {
  /** Reported daily revenue. */
  readonly #revenue: (Money | null)[] = new Array(STAY_NIGHTS_MAX).fill(null);
  /** Index of a night's rate in `#net` and `#gross`; 0: none. */
  readonly #rate = new Int32Array(STAY_NIGHTS_MAX);
  readonly #net: (Money | null)[] = [null];
  readonly #gross: (Money | null)[] = [null];
  #arrival = 0;
  #nights = 0;
  #rooms = 0;

  begin(arrival: number, nights: number, rooms: number): void {
    this.#arrival = arrival;
    this.#nights = nights;
    this.#rooms = rooms;
    this.#revenue.fill(null, 0, nights);
    this.#rate.fill(0, 0, nights);
    this.#net.length = 1;
    this.#gross.length = 1;
  }

  /** Adds revenue if the day is a night of the stay. */
  addRevenue(day: number, amount: Money | null): void {
    const night = day - this.#arrival;
    if (night >= 0 && night < this.#nights)
      this.#revenue[night] = sumOf(this.#revenue[night] ?? null, amount);
  }

  /** Moves the revenue of the stay's nights here from a map by day. */
  takeRevenue(days: Map<number, Money | null>): void {
    for (let night = 0; night < this.#nights; night += 1) {
      const day = this.#arrival + night;
      this.#revenue[night] = days.get(day) ?? null;
      days.delete(day);
    }
  }

  /** Sets the rate of nights, both days included; NaN: from arrival, or until departure. */
  addRate(firstDay: number, lastDay: number, net: Money | null, gross: Money | null): void {
    const from = Number.isNaN(firstDay) ? 0 : Math.max(0, firstDay - this.#arrival);
    const to = Number.isNaN(lastDay) ? this.#nights : Math.min(this.#nights, lastDay + 1 - this.#arrival);
    if (from >= to) return;
    this.#rate.fill(this.#net.length, from, to);
    this.#net.push(timesWhole(net, this.#rooms));
    this.#gross.push(timesWhole(gross, this.#rooms));
  }

  /** Appends the stay to `runs`, consecutive nights with equal revenue as one run. */
  addTo(runs: NightRun[], adults: number, children: number, codes: DimensionCodes): void {
    for (let from = 0, to = 1; from < this.#nights; from = to, to += 1) {
      const roomRevenue = this.#netAt(from);
      const grossRoomRevenue = this.#grossAt(from);
      while (to < this.#nights && this.#netAt(to) === roomRevenue && this.#grossAt(to) === grossRoomRevenue)
        to += 1;
      const firstNight = this.#arrival + from;
      const rooms = this.#rooms;
      const nights = to - from;
      runs.push({ firstNight, nights, rooms, adults, children, roomRevenue, grossRoomRevenue, codes });
    }
  }

  #netAt(night: number): Money | null {
    return this.#revenue[night] ?? (this.#net[this.#rate[night] as number] as Money | null);
  }

  #grossAt(night: number): Money | null {
    return this.#gross[this.#rate[night] as number] as Money | null;
  }
}

const nightsOfStay = new StayNights();

/** The number of stays; undefined if they exceed STAY_NIGHTS_MAX or RESERVATION_NIGHTS_MAX. */
function countStays(facts: SpanFacts): number | undefined {
  let [stays, all] = [0, 0];
  for (let stay = facts.first(LIST.stays); stay !== 0; stay = facts.next(stay)) {
    const nights = facts.day(stay, COLUMN.departureDate) - facts.day(stay, COLUMN.arrivalDate);
    if (nights > 0) all += nights;
    if (nights > STAY_NIGHTS_MAX || all > RESERVATION_NIGHTS_MAX) return undefined;
    stays += 1;
  }
  return stays;
}

function codesOf(facts: SpanFacts, stay: number, status: string | null): DimensionCodes {
  return {
    status,
    roomTypeCode: facts.text(stay, COLUMN.roomTypeCode),
    bookedRoomTypeCode: facts.text(stay, COLUMN.bookedRoomTypeCode),
    marketSegmentCode: facts.text(stay, COLUMN.marketSegmentCode),
    groupBlockCode: facts.text(stay, COLUMN.groupBlockCode),
    rateCode: facts.text(stay, COLUMN.rateCode),
    channel: facts.text(0, COLUMN.channel),
    currencyCode: facts.text(stay, COLUMN.currencyCode) || null,
  };
}

/**
 * The nights of a reservation in runs. Net revenue is the reported daily revenue, on the first stay that covers the date, else the
 * last rate that covers it times the rooms; gross is the gross rate times the rooms. Rooms default to 1. A reservation over
 * RESERVATION_NIGHTS_MAX, or with a stay over STAY_NIGHTS_MAX, has no nights.
 */
export function reservationNights(spans: RecordSpans, status: string | null): ReservationNights {
  const facts = new SpanFacts("reservations", spans);
  const shareId = facts.text(0, COLUMN.shareId) || null;
  const runs: NightRun[] = [];
  const stays = countStays(facts);
  if (stays === undefined) return { shareId, runs };
  const rooms = boundedCount(facts.whole(0, COLUMN.numberOfRooms) ?? 1);
  const eachDay = (add: (day: number, amount: Money | null) => void) => {
    for (let day = facts.first(LIST.days); day !== 0; day = facts.next(day))
      add(facts.day(day, COLUMN.occupancyDate), facts.amount(day, COLUMN.netRoomRevenue));
  };
  /** Daily revenue, if several stays share it. */
  const days = stays > 1 ? new Map<number, Money | null>() : undefined;
  if (days !== undefined) eachDay((day, amount) => days.set(day, sumOf(days.get(day) ?? null, amount)));
  let rate = facts.first(LIST.rates);
  let stay = facts.first(LIST.stays);
  for (let at = 0; stay !== 0; stay = facts.next(stay), at += 1) {
    const arrival = facts.day(stay, COLUMN.arrivalDate);
    const nights = Math.max(0, facts.day(stay, COLUMN.departureDate) - arrival);
    nightsOfStay.begin(arrival, nights, rooms);
    for (; rate !== 0 && facts.stayOf(rate) === at; rate = facts.next(rate))
      nightsOfStay.addRate(
        facts.day(rate, COLUMN.startDate),
        facts.day(rate, COLUMN.endDate),
        facts.amount(rate, COLUMN.rateValue),
        facts.amount(rate, COLUMN.grossRateValue),
      );
    if (nights === 0) continue;
    if (days !== undefined) nightsOfStay.takeRevenue(days);
    else eachDay((day, amount) => nightsOfStay.addRevenue(day, amount));
    const adults = boundedCount((facts.whole(stay, COLUMN.numberOfAdults) ?? 0) * rooms);
    const children = boundedCount((facts.whole(stay, COLUMN.numberOfChildren) ?? 0) * rooms);
    nightsOfStay.addTo(runs, adults, children, codesOf(facts, stay, status));
  }
  return { shareId, runs };
}
